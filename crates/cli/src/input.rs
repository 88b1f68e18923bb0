//! Text that people write or tools print, a study, observations, an import: from its file or from stdin, as much of it
//! as there can be.

use crate::exit::CommandFailure;
use std::io::{self, Read};
use std::path::Path;

/// The name of stdin on the command line.
const STDIN: &str = "-";

/// What is to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputSpec {
    /// What it is, as in "read the study".
    pub(crate) what: &'static str,
    /// What is larger is some other file, and is not read to its end.
    pub(crate) bytes_max: u64,
    /// What to give instead where it cannot be opened.
    pub(crate) give: &'static str,
}

/// A study has a few dozen lines.
pub(crate) const STUDY: InputSpec =
    InputSpec { what: "study", bytes_max: 1 << 20, give: "give a TOML file, or - for stdin" };
/// Tables of published figures.
pub(crate) const OBSERVATIONS: InputSpec = InputSpec {
    what: "observations",
    bytes_max: narrows_study::observations::TEXT_BYTES_MAX as u64,
    give: "give a TOML file, or - for stdin",
};
/// What another tool printed.
pub(crate) const IMPORT: InputSpec = InputSpec {
    what: "import",
    bytes_max: narrows_suites::import::TEXT_BYTES_MAX as u64,
    give: "give the file with the tool's output, or - for stdin",
};
/// Commands of a suite.
pub(crate) const SCRIPT: InputSpec = InputSpec {
    what: "script",
    bytes_max: 1 << 20,
    give: "give a file with a command in each line, or - for stdin",
};

/// Hosts, a line for each process.
pub(crate) const HOST_LIST: InputSpec = InputSpec {
    what: "list of hosts",
    bytes_max: 1 << 20,
    give: "give a file with a host, a folder and a program in each line",
};

/// A text as it was found.
#[derive(Debug)]
pub(crate) struct InputText {
    /// What its file is called in messages and in the record.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
}

/// Bytes as they were found.
#[derive(Debug)]
pub(crate) struct InputBytes {
    /// What their file is called in messages.
    pub(crate) name: String,
    /// The bytes.
    pub(crate) bytes: Vec<u8>,
}

/// Whether `path` means stdin.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// The text at `path`; `-` is stdin.
///
/// # Errors
/// When it cannot be read, is too large for what is wanted, or is no text.
pub(crate) fn read(path: &Path, wanted: InputSpec) -> Result<InputText, CommandFailure> {
    text(read_bytes(path, wanted)?)
}

/// The text that `found` is.
///
/// # Errors
/// When it is no text.
pub(crate) fn text(found: InputBytes) -> Result<InputText, CommandFailure> {
    let InputBytes { name, bytes } = found;
    let text =
        String::from_utf8(bytes).map_err(|error| CommandFailure::bad_input(not_text(&name, &error)))?;
    Ok(InputText { name, text })
}

/// The bytes at `path`; `-` is stdin.
///
/// # Errors
/// When they cannot be read, or are more than wanted.
pub(crate) fn read_bytes(path: &Path, wanted: InputSpec) -> Result<InputBytes, CommandFailure> {
    let (from_stdin, InputSpec { what, bytes_max, give }) = (is_stdin(path), wanted);
    let name = if from_stdin { "stdin".to_owned() } else { path.display().to_string() };
    let bytes = if from_stdin { bounded(io::stdin().lock(), bytes_max) } else { file(path, bytes_max) };
    let bytes = bytes
        .map_err(|error| CommandFailure::bad_input(format!("read the {what} {name}: {error}; {give}")))?;
    if bytes.len() as u64 > bytes_max {
        return Err(CommandFailure::bad_input(format!(
            "{name} has more than {bytes_max} bytes, the limit of {what} files; is this the right file?"
        )));
    }
    Ok(InputBytes { name, bytes })
}

fn file(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = std::fs::File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    bounded(file, bytes_max)
}

/// All of `source`, or one byte more than there may be.
fn bounded(source: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(bytes_max + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn not_text(name: &str, error: &std::string::FromUtf8Error) -> String {
    let valid = error.utf8_error().valid_up_to();
    let before = error.as_bytes().get(..valid).unwrap_or_default();
    let line = before.split(|byte| *byte == b'\n').count();
    let of_line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let column = String::from_utf8_lossy(of_line).chars().count() + 1;
    format!(
        "{name}:{line}:{column}: found bytes that are not UTF-8; allowed: text in UTF-8; is this the right file?"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_source_is_read_to_the_bound_and_no_further() {
        assert_eq!(bounded(io::repeat(b'x'), 1000).unwrap().len(), 1001);
    }

    #[test]
    fn what_is_no_text_is_reported_with_its_line() {
        let error = String::from_utf8(b"a = 1\nb = \xff".to_vec()).unwrap_err();
        assert!(not_text("s.toml", &error).starts_with("s.toml:2:5: "));
    }
}
