//! The token of an endpoint: from its file, or drawn for an endpoint that this program starts itself.

use crate::exit::CommandFailure;
use std::fmt::Write;
use std::io::{BufRead, Read};
use std::path::Path;

/// Shorter tokens can be guessed.
const TOKEN_BYTES_MIN: usize = 16;
/// Bytes that a token of our own is drawn from.
const DRAWN_BYTES: usize = 32;
/// Neither the first line of stdin nor a file is read beyond this.
const LINE_BYTES_MAX: u64 = 4096;
/// How a token comes into a file.
const MAKE: &str = "create one with `head -c 32 /dev/urandom | base64 > FILE`, the same on both machines";

/// The token in the file at `path`, without white space around it.
///
/// # Errors
/// When the file cannot be read, is a link that other users can have made, or its token is too short to be a secret.
pub(crate) fn read(path: Option<&Path>) -> Result<Option<Vec<u8>>, CommandFailure> {
    let Some(path) = path else { return Ok(None) };
    let bytes = narrows_sys::file::read_small_through_links(path, LINE_BYTES_MAX).map_err(|error| {
        CommandFailure::bad_input(format!(
            "token file {}: {error}; give a file that contains the token, or {MAKE}",
            path.display()
        ))
    })?;
    checked(&bytes, &path.display().to_string()).map(Some)
}

/// The token in the first line of stdin, where no other process sees it.
///
/// # Errors
/// When the line cannot be read or its token is too short to be a secret.
pub(crate) fn from_stdin() -> Result<Vec<u8>, CommandFailure> {
    let mut line = Vec::new();
    std::io::stdin()
        .lock()
        .take(LINE_BYTES_MAX)
        .read_until(b'\n', &mut line)
        .map_err(|error| CommandFailure::could_not_run(format!("read the token from stdin: {error}")))?;
    checked(&line, "stdin")
}

/// A token that nobody can guess, of one line.
///
/// # Errors
/// When the system has no random numbers.
pub(crate) fn drawn() -> Result<Vec<u8>, CommandFailure> {
    let mut bytes = [0; DRAWN_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| CommandFailure::could_not_run(format!("draw a token: {error}")))?;
    let digits = bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    });
    Ok(digits.into_bytes())
}

fn checked(bytes: &[u8], place: &str) -> Result<Vec<u8>, CommandFailure> {
    let token = bytes.trim_ascii().to_vec();
    if token.len() < TOKEN_BYTES_MIN {
        return Err(CommandFailure::bad_input(format!(
            "the token in {place} has {} bytes and needs at least {TOKEN_BYTES_MIN}; {MAKE}",
            token.len()
        )));
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tokens_differ_and_pass_as_a_line() {
        let (one, other) = (drawn().unwrap(), drawn().unwrap());
        assert_ne!(one, other);
        assert_eq!(checked(&[&one[..], b"\n"].concat(), "stdin").unwrap(), one);
        assert_eq!(one.len(), 2 * DRAWN_BYTES);
    }

    #[test]
    fn an_empty_line_is_no_token() {
        assert!(checked(b"\n", "stdin").unwrap_err().message().contains("stdin"));
    }
}
