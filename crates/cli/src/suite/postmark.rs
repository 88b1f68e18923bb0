//! `narrows suite postmark`: from options, a script or what is typed to reports and verdicts, run after run.

mod sitting;

use crate::args::PostmarkArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::measurement::Watch;
use crate::written::{self, SCRIPT, Written};
use narrows_model::located::FileProblems;
use narrows_suites::postmark::{Run, Session, Step};
use sitting::Sitting;
use std::io::{BufRead, IsTerminal, Read};
use std::path::Path;

/// The script that is read where none is named.
const OWN_SCRIPT: &str = ".pmrc";
/// Longest line that is typed.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Runs the suite.
pub(super) fn run(
    arguments: &PostmarkArguments,
    command: &[String],
    console: &Console,
) -> Result<Exit, Failure> {
    let settings = arguments.settings.settings().map_err(|problems| refused(&problems))?;
    let has_options = !arguments.settings.are_none();
    let mut sitting = Sitting::new(arguments, command, console, Watch::start(console)?);
    match &arguments.script {
        Some(path) => script(path, Session::new(settings, here()?), Vec::new(), &mut sitting),
        None if has_options => {
            let asked = Run::new(settings, None, "options").map_err(|said| {
                refused(&[format!(
                    "{}: found {}; allowed: {}; {}",
                    said.key, said.found, said.allowed, said.hint
                )])
            })?;
            sitting.steps(&[Step::Run(Box::new(asked))])
        }
        None => {
            let mut session = Session::new(settings, here()?);
            let own = own_script(&mut session, &sitting)?;
            if std::io::stdin().is_terminal() {
                typed(session, &own, &mut sitting)
            } else {
                script(Path::new("-"), session, own, &mut sitting)
            }
        }
    }
}

/// What the script of this folder asks for that is done before others, where there is one, as with the original.
fn own_script(session: &mut Session, sitting: &Sitting<'_>) -> Result<Vec<Step>, Failure> {
    let path = Path::new(OWN_SCRIPT);
    if !path.is_file() {
        return Ok(Vec::new());
    }
    sitting.say(&format!("Reading configuration from file '{OWN_SCRIPT}'"));
    let found = written::read(path, SCRIPT)?;
    read(session, &found)
}

/// The steps of a script, unless something is wrong with any of it.
fn read(session: &mut Session, found: &Written) -> Result<Vec<Step>, Failure> {
    session.read(&found.name, &found.text, &mut load).map_err(|problems| {
        Failure::bad_input(format!("this script cannot be run:\n\n{}", rendered(&problems)))
    })
}

fn refused(problems: &[String]) -> Failure {
    Failure::bad_input(format!("this suite cannot be run:\n  {}", problems.join("\n  ")))
}

/// Does `steps` and those of a whole script, unless something is wrong with any of it.
fn script(
    path: &Path,
    mut session: Session,
    mut steps: Vec<Step>,
    sitting: &mut Sitting<'_>,
) -> Result<Exit, Failure> {
    if !session.is_over() {
        steps.extend(read(&mut session, &written::read(path, SCRIPT)?)?);
    }
    if !steps.iter().any(|step| matches!(step, Step::Run(_))) {
        sitting.say("the script has no `run`: nothing is measured");
    }
    sitting.steps(&steps)
}

/// Does line after line as they are typed; what is wrong with one is said, and the next one is waited for.
fn typed(mut session: Session, first: &[Step], sitting: &mut Sitting<'_>) -> Result<Exit, Failure> {
    let mut exit = sitting.steps(first)?;
    sitting.say("PostMark's commands, one a line; `help` lists them, `quit` ends");
    while !session.is_over() && !sitting.is_stopped() {
        sitting.prompt("pm>");
        let mut line = String::new();
        let read = std::io::stdin().lock().take(LINE_BYTES_MAX).read_line(&mut line);
        match read {
            Ok(0) => break,
            Err(error) => {
                return Err(Failure::bad_input(format!("read stdin: {error}; give commands as text")));
            }
            Ok(_) => {}
        }
        match session.read("stdin", &line, &mut load) {
            Err(problems) => sitting.say(&short(&problems)),
            Ok(steps) => match sitting.steps(&steps) {
                Ok(Exit::Done | Exit::Crossed) => {}
                Ok(Exit::Untrustworthy) => exit = Exit::Untrustworthy,
                Err(failure) => sitting.say(&format!("narrows: {}", failure.message())),
            },
        }
    }
    Ok(exit)
}

fn load(name: &str) -> Result<String, String> {
    written::read(Path::new(name), SCRIPT).map(|found| found.text).map_err(|failure| failure.message())
}

fn here() -> Result<String, Failure> {
    let found = std::env::current_dir().map_err(|error| {
        Failure::could_not_run(format!("find the current folder: {error}; go to one that exists"))
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
