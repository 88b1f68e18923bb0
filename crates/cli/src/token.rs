//! The token of an endpoint, from its file.

use crate::exit::Failure;
use std::path::Path;

/// Shorter tokens can be guessed.
const TOKEN_BYTES_MIN: usize = 16;
/// How a token comes into a file.
const MAKE: &str = "make one with `head -c 32 /dev/urandom | base64 > FILE`, the same on both machines";

/// The token in the file at `path`, without white space around it.
///
/// # Errors
/// When the file cannot be read or its token is too short to be a secret.
pub(crate) fn read(path: Option<&Path>) -> Result<Option<Vec<u8>>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::bad_input(format!(
            "read the token file {}: {error}; give a file that holds the token, or {MAKE}",
            path.display()
        ))
    })?;
    let token = bytes.trim_ascii().to_vec();
    if token.len() < TOKEN_BYTES_MIN {
        return Err(Failure::bad_input(format!(
            "the token in {} has {} bytes and needs at least {TOKEN_BYTES_MIN}; {MAKE}",
            path.display(),
            token.len()
        )));
    }
    Ok(Some(token))
}
