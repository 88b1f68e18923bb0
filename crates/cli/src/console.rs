//! The terminal: results to stdout, everything else to stderr. The only place that prints.
//!
//! Names, errors and what peers send may contain whatever a terminal acts on: all of it is escaped here, last, but for
//! newlines, tabs and the colours of reports.

use crate::exit::{BAD_INPUT, CommandFailure};
use crate::job_rank::is_launched;
use crate::signals::while_printing;
use narrows_model::printable;
use narrows_report::text::COLOURS;
use narrows_sys::output::write_within;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Columns where there is no terminal to ask, and at most: longer lines are hard to read.
const WIDTH_COLUMNS_MAX: usize = 90;
/// Narrower than this the tables cannot be.
const WIDTH_COLUMNS_MIN: usize = 60;

/// Narrower than this a live view shows nothing.
const LIVE_COLUMNS_MIN: usize = 20;
/// Lines of a live view where the terminal does not say how many it has.
const LIVE_LINES: usize = 20;
/// Lines of a terminal that a live view leaves for what was printed before.
const LIVE_LINES_LEFT: usize = 4;

/// Whether the first of these values of the environment that is set names UTF-8, as the C library chooses a locale.
fn is_unicode(values: [Option<OsString>; 3]) -> bool {
    let set = values.into_iter().flatten().find(|value| !value.is_empty());
    set.is_some_and(|locale| {
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// Where a command prints.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own about where is printed")]
pub(crate) struct Console {
    /// Whether stderr is a terminal, so that a line may be drawn over.
    pub(crate) live: bool,
    /// Whether stdout is a terminal that may show colour.
    pub(crate) colour: bool,
    /// The same of what is drawn on stderr.
    pub(crate) live_colour: bool,
    /// Whether the locale's characters are those of Unicode.
    pub(crate) unicode: bool,
    /// Whether a program reads stdout, for which a failure is JSON too.
    json: bool,
    /// Whether stdout has a result already: a document that follows would make it none.
    has_result: Arc<AtomicBool>,
}

#[allow(clippy::unused_self, reason = "to hold a console is the right to print")]
impl Console {
    /// The console of this process, which was started with the words `raw`.
    pub(crate) fn for_process(raw: &[OsString]) -> Self {
        let set_to = |name: &str, value: &str| std::env::var_os(name).is_some_and(|found| found == value);
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = set_to("TERM", "dumb");
        // Open MPI gives each rank a terminal, and writes what comes out of it to the launcher's output, which may be a file.
        let is_plain = no_colour || set_to("CLICOLOR", "0") || is_dumb || is_launched();
        let live = io::stderr().is_terminal() && !is_dumb;
        Self {
            live,
            colour: io::stdout().is_terminal() && !is_plain,
            live_colour: live && !is_plain,
            unicode: is_unicode(["LC_ALL", "LC_CTYPE", "LANG"].map(std::env::var_os)),
            json: raw.iter().take_while(|word| *word != "--").any(|word| word == "--json"),
            has_result: Arc::default(),
        }
    }

    /// Columns of text, within bounds: `COLUMNS` where it is set, as for other tools, else the terminal's.
    pub(crate) fn width(&self) -> usize {
        let asked = std::env::var_os("COLUMNS").and_then(|value| value.to_str()?.parse::<usize>().ok());
        let terminal = || {
            let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(io::stdout())?;
            Some(usize::from(columns))
        };
        asked
            .or_else(terminal)
            .map_or(WIDTH_COLUMNS_MAX, |columns| columns.clamp(WIDTH_COLUMNS_MIN, WIDTH_COLUMNS_MAX))
    }

    /// Columns of what is drawn on stderr: `COLUMNS` where it is set, but no more than the terminal has, since a line that is
    /// wrapped could not be drawn over.
    pub(crate) fn live_width(&self) -> usize {
        let asked = std::env::var_os("COLUMNS").and_then(|value| value.to_str()?.parse::<usize>().ok());
        let terminal =
            terminal_size::terminal_size_of(io::stderr()).map(|(columns, _)| usize::from(columns.0));
        let most = terminal.map_or(WIDTH_COLUMNS_MAX, |columns| columns.min(WIDTH_COLUMNS_MAX));
        asked.map_or(most, |columns| columns.min(most)).max(LIVE_COLUMNS_MIN)
    }

    /// Lines of what is drawn on stderr: less than the terminal has, so that a line above remains.
    pub(crate) fn live_lines(&self) -> usize {
        let terminal = terminal_size::terminal_size_of(io::stderr()).map(|(_, lines)| usize::from(lines.0));
        terminal.map_or(LIVE_LINES, |lines| lines.saturating_sub(LIVE_LINES_LEFT))
    }

    /// Writes a result to stdout.
    ///
    /// # Errors
    /// When stdout cannot be written, other than because its reader closed it.
    pub(crate) fn result(&self, text: &str) -> Result<(), CommandFailure> {
        self.has_result.store(true, Ordering::Relaxed);
        let text = if self.colour { coloured(text) } else { printable::lines(text) };
        let written = while_printing(|| {
            io::stdout().lock().write_all(text.as_bytes()).and_then(|()| io::stdout().flush())
        });
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(CommandFailure::could_not_run(format!("write to stdout: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Writes a line for people to stderr.
    pub(crate) fn say(&self, line: &str) {
        // A closed stderr must not end a measurement.
        drop(writeln!(io::stderr().lock(), "{}", printable::lines(line)));
    }

    /// Writes a line for people to stderr, past its lock, and waits no longer than `within` for room for each part of it;
    /// what finds none is lost: for a thread that must not wait for a reader.
    pub(crate) fn say_within(&self, line: &str, within: Duration) {
        write_within(io::stderr(), &format!("{}\n", printable::lines(line)), within);
    }

    /// Writes `text` to stderr without ending the line, so that an answer is typed behind it.
    pub(crate) fn prompt(&self, text: &str) {
        drop(write!(io::stderr().lock(), "{}", printable::lines(text)));
    }

    /// Says why a command failed and returns its exit code.
    pub(crate) fn fail(&self, failure: &CommandFailure) -> ExitCode {
        self.say(&format!("narrows: {}", failure.message()));
        self.fail_as_json(failure.kind(), &failure.message(), failure.code());
        ExitCode::from(failure.code())
    }

    /// Prints a failure for the program that reads stdout, if one does and there is no result.
    fn fail_as_json(&self, kind: &'static str, message: &str, code: u8) {
        if !self.json || self.has_result.load(Ordering::Relaxed) {
            return;
        }
        // Where stdout cannot be written, the exit code and stderr say the same.
        drop(self.result(&narrows_report::json::failure(kind, message, code)));
    }

    /// Shows what clap has to say: help and version to stdout, problems to stderr.
    pub(crate) fn usage(&self, error: &clap::Error) -> ExitCode {
        if !error.use_stderr() {
            drop(error.print());
            return ExitCode::SUCCESS;
        }
        // It repeats what was typed; its colours cannot be distinguished from those of a word that was typed.
        let text = error.render().to_string();
        self.prompt(&text);
        let first = text.lines().next().unwrap_or_default();
        self.fail_as_json(BAD_INPUT.kind, first.trim_start_matches("error: "), BAD_INPUT.code);
        ExitCode::from(BAD_INPUT.code)
    }
}

/// `text` with all escaped but newlines, tabs and the colours of reports: a name can at most look like a part of one.
pub(crate) fn coloured(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return printable::lines(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&printable::lines(&rest[..at]));
        let tail = &rest[at..];
        let colour = COLOURS.iter().find(|colour| tail.starts_with(**colour));
        let taken = colour.map_or(1, |colour| colour.len());
        out.push_str(colour.copied().unwrap_or("\\u001b"));
        rest = &tail[taken..];
    }
    out.push_str(&printable::lines(rest));
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_locale_that_is_set_decides_about_characters() {
        let of = |values: [&str; 3]| is_unicode(values.map(|value| Some(OsString::from(value))));
        assert!(of(["", "", "en_GB.UTF-8"]) && of(["de_DE.utf8", "", "C"]) && of(["", "C.UTF-8", "C"]));
        assert!(!of(["C", "", "en_GB.UTF-8"]) && !of(["", "", "C"]) && !of(["", "", ""]));
        assert!(!is_unicode([None, None, None]));
    }

    #[test]
    fn a_report_keeps_its_colours_and_a_name_in_it_steers_nothing() {
        let text = "\u{1b}[1;31mLIMIT\u{1b}[0m a\u{1b}[2J\u{9b}2Jb\n";
        assert_eq!(coloured(text), "\u{1b}[1;31mLIMIT\u{1b}[0m a\\u001b[2J\\u009b2Jb\n");
        assert_eq!(coloured("\u{1b}"), "\\u001b");
    }
}
