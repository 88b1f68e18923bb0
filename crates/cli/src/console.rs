//! The terminal: results to stdout, everything else to stderr. The only place that prints.

use crate::exit::Failure;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// Columns where there is no terminal to ask, and at most: longer lines are hard to read.
const WIDTH_COLUMNS_MAX: usize = 90;
/// Narrower than this the tables cannot be.
const WIDTH_COLUMNS_MIN: usize = 60;

/// Where a command's words go.
#[derive(Debug, Clone)]
pub(crate) struct Console {
    /// Whether stderr is a terminal, so that a line may be drawn over.
    pub(crate) live: bool,
    /// Whether stdout is a terminal that may show colour.
    pub(crate) colour: bool,
}

#[allow(clippy::unused_self, reason = "to hold a console is the right to print")]
impl Console {
    /// The console of this process.
    pub(crate) fn of_process() -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { live: io::stderr().is_terminal(), colour: io::stdout().is_terminal() && !plain }
    }

    /// Columns of text: the terminal's, within bounds.
    pub(crate) fn width(&self) -> usize {
        match terminal_size::terminal_size_of(io::stdout()) {
            Some((terminal_size::Width(columns), _)) => {
                usize::from(columns).clamp(WIDTH_COLUMNS_MIN, WIDTH_COLUMNS_MAX)
            }
            None => WIDTH_COLUMNS_MAX,
        }
    }

    /// Writes a result to stdout.
    ///
    /// # Errors
    /// When stdout cannot be written, other than because its reader went away.
    pub(crate) fn result(&self, text: &str) -> Result<(), Failure> {
        let written = io::stdout().lock().write_all(text.as_bytes()).and_then(|()| io::stdout().flush());
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::could_not_run(format!("write to stdout: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Writes a line for people to stderr.
    pub(crate) fn say(&self, line: &str) {
        // A closed stderr must not end a measurement.
        drop(writeln!(io::stderr().lock(), "{line}"));
    }

    /// Writes `text` to stderr without ending the line, so that an answer is typed behind it.
    pub(crate) fn prompt(&self, text: &str) {
        drop(write!(io::stderr().lock(), "{text}"));
    }

    /// Says why a command failed and returns its exit code.
    pub(crate) fn fail(&self, failure: &Failure) -> ExitCode {
        self.say(&format!("narrows: {}", failure.message()));
        ExitCode::from(failure.code())
    }

    /// Shows what clap has to say: help and version to stdout, problems to stderr.
    pub(crate) fn usage(&self, error: &clap::Error) -> ExitCode {
        drop(error.print());
        if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
    }
}
