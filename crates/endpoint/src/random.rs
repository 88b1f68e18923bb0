//! Values of the system's random source: what others must not guess, and nothing that decides what is measured.

use crate::channel::refused;
use narrows_wire::hello::Nonce;
use narrows_wire::{Error, Refusal};
use std::fmt::Write;

/// A nonce for one hello.
pub(crate) fn nonce() -> Result<Nonce, Error> {
    bytes().map(Nonce)
}

/// A name that nobody can guess: it lets its holder into a session.
pub(crate) fn session_id() -> Result<String, Error> {
    let bytes: [u8; 16] = bytes()?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Bytes that nobody can guess.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| refused(Refusal::Io, format!("the server has no random numbers: {error}")))?;
    Ok(bytes)
}
