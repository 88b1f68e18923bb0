//! Runs of a suite that a script asks for: a file, standard input, or lines as they are typed.

use super::refused;
use super::session::ScriptRunner;
use crate::exit::{CommandFailure, Exit};
use crate::input::{self, InputBytes, InputText, SCRIPT};
use crate::measurement::{OutputContext, Watch};
use narrows_model::located::FileProblems;
use narrows_suites::postmark::{Arguments, PostmarkSession, ScriptStep, reading_from};
use narrows_sys::ErrorKind;
use narrows_sys::file::read_small_trusted;
use std::io::{BufRead, IsTerminal, Read};
use std::path::Path;

/// The script that is read where none is named.
const OWN_SCRIPT: &str = ".pmrc";
/// Longest line that is typed.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Runs what was typed and prints its output.
///
/// # Errors
/// When anything of it cannot be run, or nothing was measured.
pub(super) fn run(
    arguments: &Arguments,
    watch: Watch,
    context: OutputContext<'_>,
) -> Result<Exit, CommandFailure> {
    let settings = arguments.settings().map_err(refused)?;
    let mut runs = ScriptRunner::new(arguments, watch, context);
    match &arguments.script {
        Some(path) => script(path, PostmarkSession::new(settings, here()?), Vec::new(), &mut runs),
        None if arguments.has_settings() => {
            let asked = arguments.run().map_err(refused)?;
            runs.steps(&[ScriptStep::Run(Box::new(asked))])
        }
        None => {
            let mut session = PostmarkSession::new(settings, here()?);
            let own = own_script(&mut session, &runs)?;
            if std::io::stdin().is_terminal() {
                typed(session, &own, &mut runs)
            } else {
                script(Path::new("-"), session, own, &mut runs)
            }
        }
    }
}

/// What the script of this folder asks for that is done before others, where there is one, as with the original. Others may
/// have put it into a folder that a user happens to be in: it is read only if they cannot.
fn own_script(
    session: &mut PostmarkSession,
    runs: &ScriptRunner<'_>,
) -> Result<Vec<ScriptStep>, CommandFailure> {
    let bytes = match read_small_trusted(Path::new(OWN_SCRIPT), SCRIPT.bytes_max) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::Missing => return Ok(Vec::new()),
        Err(error) => {
            runs.say(&format!("narrows: '{OWN_SCRIPT}' of this folder is not used: {error}"));
            return Ok(Vec::new());
        }
    };
    let found = input::text(InputBytes { name: OWN_SCRIPT.to_owned(), bytes })?;
    let mut steps = vec![ScriptStep::Say(reading_from(OWN_SCRIPT))];
    steps.extend(read(session, &found)?);
    Ok(steps)
}

/// The steps of a script, unless something is wrong with any of it.
fn read(session: &mut PostmarkSession, found: &InputText) -> Result<Vec<ScriptStep>, CommandFailure> {
    session.read(&found.name, &found.text, &mut load).map_err(|problems| {
        CommandFailure::bad_input(format!("this script cannot be run:\n\n{}", rendered(&problems)))
    })
}

/// Does `steps` and those of a whole script, unless something is wrong with any of it.
fn script(
    path: &Path,
    mut session: PostmarkSession,
    mut steps: Vec<ScriptStep>,
    runs: &mut ScriptRunner<'_>,
) -> Result<Exit, CommandFailure> {
    if !session.is_over() {
        if path != Path::new("-") {
            steps.push(ScriptStep::Say(reading_from(&path.display().to_string())));
        }
        steps.extend(read(&mut session, &input::read(path, SCRIPT)?)?);
    }
    if !steps.iter().any(|step| matches!(step, ScriptStep::Run(_))) {
        runs.say("the script has no `run`: nothing is measured");
    }
    runs.steps(&steps)
}

/// Does line after line as they are typed; what is wrong with one is said, and the next one is waited for.
fn typed(
    mut session: PostmarkSession,
    first: &[ScriptStep],
    runs: &mut ScriptRunner<'_>,
) -> Result<Exit, CommandFailure> {
    let mut exit = runs.steps(first)?;
    runs.say("PostMark's commands, one a line; `help` lists them, `quit` ends");
    while !session.is_over() && !runs.is_stopped() {
        runs.prompt("pm>");
        let mut line = String::new();
        let read = std::io::stdin().lock().take(LINE_BYTES_MAX).read_line(&mut line);
        match read {
            Ok(0) => break,
            Err(error) => {
                return Err(CommandFailure::bad_input(format!("read stdin: {error}; give commands as text")));
            }
            Ok(_) => {}
        }
        match session.read("stdin", &line, &mut load) {
            Err(problems) => runs.say(&short(&problems)),
            Ok(steps) => match runs.steps(&steps) {
                Ok(Exit::Done | Exit::Crossed) => {}
                Ok(Exit::Untrustworthy) => exit = Exit::Untrustworthy,
                Err(failure) => runs.say(&format!("narrows: {}", failure.message())),
            },
        }
    }
    Ok(exit)
}

fn load(name: &str) -> Result<String, String> {
    input::read(Path::new(name), SCRIPT).map(|found| found.text).map_err(|failure| failure.message())
}

fn here() -> Result<String, CommandFailure> {
    let found = std::env::current_dir().map_err(|error| {
        CommandFailure::could_not_run(format!("find the current folder: {error}; change to one that exists"))
    })?;
    Ok(found.display().to_string())
}

fn rendered(problems: &[FileProblems]) -> String {
    problems.iter().map(FileProblems::render).collect::<Vec<_>>().join("\n")
}

/// Problems of a line that was just typed, without its place.
fn short(problems: &[FileProblems]) -> String {
    let one = |problem: &narrows_model::located::FileProblem| {
        let key = if problem.key.is_empty() { String::new() } else { format!("{}: ", problem.key) };
        format!("{key}found {}; allowed: {}; {}", problem.found, problem.allowed, problem.hint)
    };
    problems.iter().flat_map(|file| file.list.iter().map(one)).collect::<Vec<_>>().join("\n")
}
