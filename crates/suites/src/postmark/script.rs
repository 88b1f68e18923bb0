//! Scripts of the command language: from their lines to what is done in turn, with every problem in its place.
//!
//! A script is read whole before anything is done, so that a mistake in its last line does not end it after an hour.

use super::command::{ALIASES, COMMANDS, CommandAction, CommandInput, PostmarkCommand, SET_SIZE, help};
use super::settings::PostmarkSettings;
use super::show::show;
use narrows_model::located::{Complaint, FileProblems, Findings, printable};
use narrows_study::nearest;

/// Scripts that load each other, one within the other.
const LOADS_MAX: usize = 16;
/// Most that a script and what it loads ask for.
const STEPS_MAX: usize = 100_000;

/// Something that a script asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptStep {
    /// To print a text.
    Say(String),
    /// To remark on a command.
    Remark(String),
    /// To write a text to the end of a file.
    Write(ScriptOutput),
    /// To run.
    Run(Box<PostmarkRun>),
}

/// A text for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptOutput {
    /// The text.
    pub text: String,
    /// The file that it is appended to.
    pub to: String,
    /// Its position, such as `script:3`.
    pub at: String,
}

/// A run that a script asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostmarkRun {
    /// How.
    pub settings: PostmarkSettings,
    /// The file that the report is appended to; `None` for stdout.
    pub to: Option<String>,
    /// Its position, such as `script:3`.
    pub at: String,
}

impl PostmarkRun {
    /// A run with `settings`, whose report is appended to the file `to`, and which was asked for at `at`.
    ///
    /// # Errors
    /// What keeps these settings from being run.
    pub fn new(settings: PostmarkSettings, to: Option<String>, at: &str) -> Result<Self, Complaint> {
        match settings.problem() {
            Some(complaint) => Err(complaint),
            None => Ok(Self { settings, to, at: at.to_owned() }),
        }
    }

    /// The folders in each of which it makes one of its own; at least one, the current one without a location.
    #[must_use]
    pub fn locations(&self) -> Vec<&str> {
        let named: Vec<&str> =
            self.settings.locations.iter().map(|location| location.path.as_str()).collect();
        if named.is_empty() { vec!["."] } else { named }
    }
}

/// What reads the text of a script by its name, or says why it cannot.
pub type ScriptLoader<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

/// A script's state: what is set, and what was asked for.
#[derive(Debug, Clone)]
pub struct PostmarkSession {
    /// What is set.
    pub settings: PostmarkSettings,
    /// The folder in which commands are given.
    here: String,
    is_over: bool,
}

impl PostmarkSession {
    /// A session that begins with `settings`, in the folder `here`.
    #[must_use]
    pub fn new(settings: PostmarkSettings, here: String) -> Self {
        Self { settings, here, is_over: false }
    }

    /// Whether `quit` was met.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// What the script `text`, which is called `name`, asks for; the settings are those at its end.
    ///
    /// # Errors
    /// All that is wrong with it and with the scripts that it loads, a list for each.
    pub fn read(
        &mut self,
        name: &str,
        text: &str,
        load: ScriptLoader<'_>,
    ) -> Result<Vec<ScriptStep>, Vec<FileProblems>> {
        let mut reading = ScriptProgress { steps: Vec::new(), problems: Vec::new(), load };
        self.script(name, text, &mut reading, 0);
        if reading.problems.is_empty() { Ok(reading.steps) } else { Err(reading.problems) }
    }

    fn script(&mut self, name: &str, text: &str, reading: &mut ScriptProgress<'_>, depth: usize) {
        let mut findings = Findings::new(name, text);
        let mut start = 0;
        for (index, line) in text.split('\n').enumerate() {
            if self.is_over || findings.is_full() {
                break;
            }
            let at = ScriptPosition { name, number: index + 1, start, depth };
            self.line(line, &at, reading, &mut findings);
            start += line.len() + 1;
        }
        reading.problems.extend(findings.into_result().err());
    }

    fn line(
        &mut self,
        line: &str,
        at: &ScriptPosition<'_>,
        reading: &mut ScriptProgress<'_>,
        findings: &mut Findings<'_>,
    ) {
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            return;
        }
        let begin = at.start + (line.len() - line.trim_start().len());
        let span = begin..begin + text.len();
        if let Err(complaint) = self.command(text, at, reading) {
            findings.add(&span, complaint);
        } else if reading.steps.len() > STEPS_MAX {
            findings.add(&span, too_many_steps());
            self.is_over = true;
        }
    }

    fn command(
        &mut self,
        text: &str,
        at: &ScriptPosition<'_>,
        reading: &mut ScriptProgress<'_>,
    ) -> Result<(), Complaint> {
        let (command, rest) = command_of(text).ok_or_else(|| unknown(text))?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let input = CommandInput { name: command.name, rest, words: &words };
        match command.action {
            CommandAction::Set(set) => {
                set(&input, &mut self.settings)?;
                reading.steps.extend(unread(&input, at).map(ScriptStep::Remark));
            }
            CommandAction::Load => self.load(&input, at, reading)?,
            CommandAction::Run => {
                let to = (!rest.is_empty()).then(|| rest.to_owned());
                let run = PostmarkRun::new(self.settings.clone(), to, &at.describe())?;
                reading.steps.push(ScriptStep::Run(Box::new(run)));
            }
            CommandAction::Help => reading.steps.push(ScriptStep::Say(help(rest))),
            CommandAction::Show => {
                let text = show(&self.settings, &self.here);
                reading.steps.push(match rest {
                    "" => ScriptStep::Say(text),
                    file => ScriptStep::Write(ScriptOutput { text, to: file.to_owned(), at: at.describe() }),
                });
            }
            CommandAction::Quit => {
                expect_no_arguments(&input)?;
                self.is_over = true;
            }
        }
        Ok(())
    }

    fn load(
        &mut self,
        input: &CommandInput<'_>,
        at: &ScriptPosition<'_>,
        reading: &mut ScriptProgress<'_>,
    ) -> Result<(), Complaint> {
        let allowed = "the name of a file with such commands";
        if input.rest.is_empty() {
            return Err(input.complaint(allowed, "name the file"));
        }
        if at.depth >= LOADS_MAX {
            let hint = "scripts that load each other never end: remove one of the loads";
            return Err(input.complaint(format!("{LOADS_MAX} nested scripts"), hint));
        }
        let text = (reading.load)(input.rest).map_err(|problem| input.complaint(allowed, problem))?;
        reading.steps.push(ScriptStep::Say(reading_from(input.rest)));
        self.script(input.rest, &text, reading, at.depth + 1);
        Ok(())
    }
}

/// Changes `settings` as the command `name` with the words `rest` does; problems name `option`, which is in its place.
///
/// # Errors
/// What is wrong with the words.
pub(super) fn set(
    settings: &mut PostmarkSettings,
    name: &str,
    option: &str,
    rest: &str,
) -> Result<(), Complaint> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let input = CommandInput { name: option, rest: rest.trim(), words: &words };
    match COMMANDS.iter().find(|command| command.name == name).map(|command| command.action) {
        Some(CommandAction::Set(set)) => set(&input, settings),
        _ => Err(unknown(name)),
    }
}

/// What the original prints before it reads the script `name`.
#[must_use]
pub fn reading_from(name: &str) -> String {
    format!("Reading configuration from file '{name}'\n")
}

/// What is said of numbers that a command does not read, as the original does not.
fn unread(input: &CommandInput<'_>, at: &ScriptPosition<'_>) -> Option<String> {
    let rest = input.words.get(2..).filter(|rest| input.name == SET_SIZE && !rest.is_empty())?;
    let (name, place) = (input.name, at.describe());
    Some(format!("{place}: {name}: `{}` is not read: it takes LOW and HIGH, as the original", rest.join(" ")))
}

/// A line's place.
struct ScriptPosition<'a> {
    name: &'a str,
    number: usize,
    /// Bytes before it.
    start: usize,
    /// Scripts that it was loaded through.
    depth: usize,
}

impl ScriptPosition<'_> {
    /// As it is printed: `script:3`.
    fn describe(&self) -> String {
        format!("{}:{}", printable(self.name), self.number)
    }
}

/// What a script and those that it loads have come to.
struct ScriptProgress<'a> {
    steps: Vec<ScriptStep>,
    problems: Vec<FileProblems>,
    load: ScriptLoader<'a>,
}

/// The command that `text` begins with, and the rest; words may be separated by more than one blank.
fn command_of(text: &str) -> Option<(&'static PostmarkCommand, &str)> {
    let named = |name: &str| COMMANDS.iter().find(|command| command.name == name);
    let own = || COMMANDS.iter().find_map(|command| Some((command, strip_command(text, command.name)?)));
    let other = || ALIASES.iter().find_map(|(alias, name)| Some((named(name)?, strip_command(text, alias)?)));
    own().or_else(other)
}

fn strip_command<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = text;
    for word in name.split(' ') {
        rest = rest.trim_start().strip_prefix(word)?;
        if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
            return None;
        }
    }
    Some(rest.trim())
}

fn expect_no_arguments(input: &CommandInput<'_>) -> Result<(), Complaint> {
    let hint = "remove what follows it";
    if input.rest.is_empty() { Ok(()) } else { Err(input.complaint(format!("{} alone", input.name), hint)) }
}

fn unknown(text: &str) -> Complaint {
    let shown: String = printable(text).chars().take(60).collect();
    Complaint::new("", format!("`{shown}`"), "a command of PostMark, in lower case", suggestion(text))
}

/// What to do about `text`, which is no command.
fn suggestion(text: &str) -> String {
    if text.starts_with('!') {
        return "commands of a shell are not run here: run them before or after".to_owned();
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let begin = |count: usize| words.get(..count).map(|words| words.join(" ").to_lowercase());
    if let Some(begin) = begin(2).map(|begin| begin + " ") {
        let longer: Vec<String> = COMMANDS
            .iter()
            .filter(|command| command.name.starts_with(&begin))
            .map(|command| format!("`{}`", command.name))
            .collect();
        if !longer.is_empty() {
            return format!("did you mean {}?", longer.join(" or "));
        }
    }
    // `set bias read` is the longest.
    let near = (1..=words.len().min(3))
        .rev()
        .find_map(|count| nearest(&begin(count)?, COMMANDS.iter().map(|command| command.name)));
    near.map_or_else(|| "`help` lists them".to_owned(), |name| format!("did you mean `{name}`?"))
}

fn too_many_steps() -> Complaint {
    Complaint::new(
        "",
        "one more",
        format!("{STEPS_MAX} runs, shows and helps"),
        "split it into several scripts",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// What `files` ask for, beginning with `script`.
    fn read(files: &[(&str, &str)]) -> Result<Vec<ScriptStep>, String> {
        let files: BTreeMap<&str, &str> = files.iter().copied().collect();
        let mut load =
            |name: &str| files.get(name).map(|text| (*text).to_owned()).ok_or("give a file".to_owned());
        let rendered = |problems: Vec<FileProblems>| -> String {
            let each = problems.iter().flat_map(|file| file.list.iter().map(move |one| (file, one)));
            each.map(|(file, one)| format!("{}:{one}", file.name)).collect::<Vec<_>>().join("\n")
        };
        PostmarkSession::new(PostmarkSettings::default(), "/here".to_owned())
            .read("script", files["script"], &mut load)
            .map_err(rendered)
    }

    fn runs(steps: &[ScriptStep]) -> Vec<&PostmarkRun> {
        let mut runs = Vec::new();
        for step in steps {
            if let ScriptStep::Run(run) = step {
                runs.push(&**run);
            }
        }
        runs
    }

    #[test]
    fn a_script_is_done_line_by_line_until_it_quits() {
        let text = "# a comment\n\nset number 20\n  set   transactions  30\r\nshow\nrun\nset bias read -1\nrun out.txt\n\
                    quit\nnonsense\nrun\n";
        let steps = read(&[("script", text)]).unwrap();
        let ScriptStep::Say(shown) = &steps[0] else { panic!("{steps:?}") };
        assert!(shown.contains("number of files is 20\nTransactions: 30\n"), "{shown}");
        let runs = runs(&steps);
        assert_eq!((runs.len(), steps.len()), (2, 3));
        assert_eq!((runs[0].settings.number, &runs[0].to, runs[0].at.as_str()), (20, &None, "script:6"));
        assert_eq!((runs[1].settings.bias_read, runs[1].to.as_deref()), (None, Some("out.txt")));
        assert_eq!(runs[1].settings.transactions, 30);
    }

    #[test]
    fn every_problem_is_reported_with_its_line_before_anything_is_done() {
        let said = read(&[("script", "set number 0\nrun\nset numbr 5\nFOO\nset size 9 1\n quit now\n")])
            .unwrap_err();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 5, "{said}");
        assert!(
            lines[0].starts_with("script:1:1: set number: found `0`; allowed: one whole number"),
            "{said}"
        );
        assert!(
            lines[1].starts_with("script:3:1: ") && lines[1].contains("did you mean `set number`?"),
            "{said}"
        );
        assert!(lines[2].contains("found `FOO`") && lines[2].contains("`help` lists them"), "{said}");
        assert!(lines[3].starts_with("script:5:1: set size: found `9 1`"), "{said}");
        assert!(lines[4].starts_with("script:6:2: quit: found `now`"), "{said}");
    }

    #[test]
    fn a_loaded_script_continues_with_the_same_settings() {
        let files =
            [("script", "set seed 7\nload more\nrun\n"), ("more", "set number 9\nset transactions 10\n")];
        let steps = read(&files).unwrap();
        assert_eq!((runs(&steps)[0].settings.seed, runs(&steps)[0].settings.number), (7, 9));
        let quits = read(&[("script", "load more\nrun\n"), ("more", "quit\n")]).unwrap();
        assert_eq!(quits, [ScriptStep::Say(reading_from("more"))]);
    }

    #[test]
    fn problems_of_loaded_scripts_are_reported_in_their_own_places() {
        let said =
            read(&[("script", "load more\nload none\nload\n"), ("more", "\nset seed x\n")]).unwrap_err();
        assert!(said.contains("more:2:1: set seed: found `x`"), "{said}");
        assert!(said.contains("script:2:1: load: found `none`; allowed: the name of a file"), "{said}");
        assert!(said.contains("script:3:1: load: found nothing"), "{said}");
    }

    #[test]
    fn scripts_that_load_each_other_come_to_an_end() {
        let said = read(&[("script", "load script\n")]).unwrap_err();
        assert!(said.contains("16 nested scripts"), "{said}");
        let text = "show\n".repeat(STEPS_MAX + 9);
        assert!(read(&[("script", &text)]).unwrap_err().contains("split it into several scripts"));
    }

    #[test]
    fn a_third_size_is_not_read_and_that_is_said() {
        let steps = read(&[("script", "set size 5 9 13\nrun\n")]).unwrap();
        let ScriptStep::Remark(said) = &steps[0] else { panic!("{steps:?}") };
        assert!(said.starts_with("script:1: set size: `13` is not read"), "{said}");
        assert_eq!((runs(&steps)[0].settings.size_low, runs(&steps)[0].settings.size_high), (5, 9));
        let mut settings = PostmarkSettings::default();
        assert!(set(&mut settings, "set size", "--size", "5 9 13").is_err());
    }

    #[test]
    fn a_command_is_its_words_and_no_beginning_of_them() {
        for text in ["runx", "set numbers 5", "quitx", "exitx", "?x", "sets size 5", "exit now", "s"] {
            assert!(read(&[("script", text)]).is_err(), "{text}");
        }
        assert!(read(&[("script", "set\tnumber\t5")]).is_ok());
        assert!(read(&[("script", "\u{1b}[31m\0")]).unwrap_err().contains('\u{fffd}'));
    }

    #[test]
    fn exit_and_a_question_mark_are_quit_and_help() {
        assert_eq!(read(&[("script", "exit\nnonsense\n")]).unwrap(), []);
        let helped = |text| read(&[("script", text)]).unwrap();
        assert_eq!((helped("?\n"), helped(" ? run\n")), (helped("help\n"), helped("help run\n")));
    }

    #[test]
    fn what_is_shown_goes_to_the_end_of_a_file_that_is_named() {
        let steps = read(&[("script", "show\nset seed 7\nshow my file\n")]).unwrap();
        let [ScriptStep::Say(_), ScriptStep::Write(note)] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!((note.to.as_str(), note.at.as_str()), ("my file", "script:3"));
        assert!(note.text.contains("seed is 7\n"), "{note:?}");
    }

    #[test]
    fn what_begins_a_command_is_reported_with_all_that_continues_with_it() {
        let hint = |text| read(&[("script", text)]).unwrap_err();
        for text in ["set bias", "set bias 5", "SET  BIAS -1"] {
            let said = hint(text);
            assert!(said.contains("did you mean `set bias read` or `set bias create`?"), "{said}");
        }
        assert!(hint("set bais read 5").contains("did you mean `set bias read`?"));
        assert!(hint("!date").contains("of a shell are not run"), "{}", hint("!date"));
    }

    #[test]
    fn an_option_is_reported_under_its_own_name() {
        let mut settings = PostmarkSettings::default();
        set(&mut settings, "set size", "--size", "5 9").unwrap();
        assert_eq!((settings.size_low, settings.size_high), (5, 9));
        assert_eq!(set(&mut settings, "set number", "--number", "x").unwrap_err().key, "--number");
    }
}
