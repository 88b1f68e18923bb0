//! Keys and values of a login: `KEY=VALUE`, each ended by a zero byte.

use crate::error::{Error, Result};

/// Most bytes of the text of one login step, over all PDUs that it is continued in.
pub const TEXT_BYTES_MAX: usize = 64 << 10;
/// Most keys of one login step.
const KEYS_MAX: usize = 256;
/// Longest name of a key.
const KEY_BYTES_MAX: usize = 63;

/// Appends one pair.
pub fn put_pair(out: &mut Vec<u8>, key: &str, value: &str) {
    out.extend_from_slice(key.as_bytes());
    out.push(b'=');
    out.extend_from_slice(value.as_bytes());
    out.push(0);
}

/// The pairs in `text`, in their order.
///
/// # Errors
/// What is no text, has no `=` or too long a key, and absurdly many pairs.
pub fn read_pairs(text: &[u8]) -> Result<Vec<(&str, &str)>> {
    let text = std::str::from_utf8(text).map_err(|_| Error::protocol("a key or value is no text"))?;
    let mut pairs = Vec::new();
    for pair in text.split('\0').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').ok_or_else(|| Error::protocol("a key has no value"))?;
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return Err(Error::protocol("a key is empty or longer than 63 bytes"));
        }
        if pairs.len() == KEYS_MAX {
            return Err(Error::protocol("one step of the login has more than 256 keys"));
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

/// The value of `key`.
#[must_use]
pub fn value<'a>(pairs: &[(&str, &'a str)], key: &str) -> Option<&'a str> {
    pairs.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
}
