//! The text of a study: from its file or from stdin, as much of it as a study can be.

use crate::exit::Failure;
use std::io::{self, Read};
use std::path::Path;

/// A study has a few dozen lines. What is larger is some other file, and is not read to its end.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// What stands for stdin.
const STDIN: &str = "-";

/// A study as it was found.
#[derive(Debug)]
pub(super) struct StudyText {
    /// What its file is called in messages and in the record.
    pub(super) name: String,
    /// Its text.
    pub(super) text: String,
}

/// The study at `path`; `-` is stdin.
///
/// # Errors
/// When it cannot be read, is too large for a study, or is no text.
pub(super) fn read(path: &Path) -> Result<StudyText, Failure> {
    let from_stdin = path == Path::new(STDIN);
    let name = if from_stdin { "stdin".to_owned() } else { path.display().to_string() };
    let bytes = if from_stdin { bounded(io::stdin().lock()) } else { file(path) };
    let bytes = bytes.map_err(|error| {
        Failure::bad_input(format!("read the study {name}: {error}; give a TOML file, or - for stdin"))
    })?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        return Err(Failure::bad_input(format!(
            "{name} is larger than {TEXT_BYTES_MAX} bytes, which no study is; is this the right file?"
        )));
    }
    let text = String::from_utf8(bytes).map_err(|error| Failure::bad_input(not_text(&name, &error)))?;
    Ok(StudyText { name, text })
}

fn file(path: &Path) -> io::Result<Vec<u8>> {
    let file = std::fs::File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    bounded(file)
}

/// All of `source`, or one byte more than a study may have.
fn bounded(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn not_text(name: &str, error: &std::string::FromUtf8Error) -> String {
    let valid = error.utf8_error().valid_up_to();
    let before = error.as_bytes().get(..valid).unwrap_or_default();
    let line = before.split(|byte| *byte == b'\n').count();
    format!(
        "{name}:{line}: found bytes that are no UTF-8; allowed: a text in UTF-8, as TOML is; is this the right file?"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_source_is_read_to_the_bound_and_no_further() {
        assert_eq!(bounded(io::repeat(b'x')).unwrap().len() as u64, TEXT_BYTES_MAX + 1);
    }

    #[test]
    fn what_is_no_text_is_told_with_its_line() {
        let error = String::from_utf8(b"a = 1\nb = \xff".to_vec()).unwrap_err();
        assert!(not_text("s.toml", &error).starts_with("s.toml:2: "));
    }
}
