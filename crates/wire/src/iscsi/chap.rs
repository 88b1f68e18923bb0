//! CHAP with MD5: the target's challenge is answered, and with a secret of the target it has to answer one as well.
//!
//! MD5 is what RFC 7143 demands of every implementation. What an eavesdropper records can be guessed offline: a secret has
//! to be long and random. Randomness is the caller's.

use crate::error::{Error, ErrorKind, Result};
use md5::{Digest, Md5};
use std::fmt;
use subtle::ConstantTimeEq;

/// Bytes of a response.
const RESPONSE_BYTES: usize = 16;
/// Bytes of our own challenge.
pub const CHALLENGE_BYTES: usize = 16;
/// Longest challenge, as RFC 7143 limits it.
const CHALLENGE_BYTES_MAX: usize = 1024;
/// The number of MD5 among the algorithms.
pub const MD5_ALGORITHM: &str = "5";

/// A name with its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct ChapSecret {
    /// Who proves.
    pub name: String,
    /// By what.
    pub secret: Vec<u8>,
}

/// The secret is left out.
impl fmt::Debug for ChapSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChapSecret").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Both sides' proofs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChapCredentials {
    /// Our own.
    pub initiator: ChapSecret,
    /// That of the target, where it has to prove itself too.
    pub target: Option<ChapSecret>,
}

/// Random bytes for one login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChapEntropy {
    /// The identifier of our challenge.
    pub identifier: u8,
    /// Our challenge.
    pub challenge: [u8; CHALLENGE_BYTES],
}

/// A challenge of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetChallenge {
    identifier: u8,
    challenge: Vec<u8>,
}

fn response(identifier: u8, secret: &[u8], challenge: &[u8]) -> [u8; RESPONSE_BYTES] {
    Md5::new().chain_update([identifier]).chain_update(secret).chain_update(challenge).finalize().into()
}

impl TargetChallenge {
    /// The challenge in what the target sent.
    ///
    /// # Errors
    /// Another algorithm, and what is no challenge.
    pub fn read(algorithm: Option<&str>, identifier: Option<&str>, challenge: Option<&str>) -> Result<Self> {
        if algorithm != Some(MD5_ALGORITHM) {
            return Err(Error::protocol("the target chose another algorithm than MD5 for CHAP"));
        }
        let identifier = identifier.and_then(|text| text.parse().ok());
        let challenge = challenge.and_then(|text| binary(text, CHALLENGE_BYTES_MAX));
        match (identifier, challenge) {
            (Some(identifier), Some(challenge)) if !challenge.is_empty() => {
                Ok(Self { identifier, challenge })
            }
            _ => Err(Error::protocol("the target's challenge (CHAP_I, CHAP_C) is none")),
        }
    }

    /// Our answer, as text.
    ///
    /// # Errors
    /// A challenge that is among `issued`, those that this program sent to targets: who has no secret of its own would get
    /// the answer to it from us.
    pub fn answer(&self, own: &ChapSecret, issued: &[[u8; CHALLENGE_BYTES]]) -> Result<String> {
        if issued.iter().any(|known| self.challenge == *known) {
            return Err(Error::new(
                ErrorKind::Token,
                "the target sent a challenge of this program back to it: it may know no secret of its own",
            ));
        }
        Ok(hex(&response(self.identifier, &own.secret, &self.challenge)))
    }

    /// Checks that the target knows its own secret.
    ///
    /// # Errors
    /// Another name, a wrong answer, and one that repeats ours.
    pub fn check_target(
        &self,
        credentials: &ChapCredentials,
        sent: ChapEntropy,
        name: Option<&str>,
        answer: Option<&str>,
    ) -> Result<()> {
        let Some(expected) = &credentials.target else { return Ok(()) };
        let wrong =
            |why: &str| Err(Error::new(ErrorKind::Token, format!("the target did not prove itself: {why}")));
        let Some(answer) = answer.and_then(|text| binary(text, RESPONSE_BYTES)) else {
            return wrong("it sent no answer to the challenge (CHAP_R)");
        };
        if name != Some(expected.name.as_str()) {
            return wrong("its name (CHAP_N) is another one");
        }
        let own = response(self.identifier, &credentials.initiator.secret, &self.challenge);
        if bool::from(answer.ct_eq(&own)) {
            return wrong("it repeated the answer that it was sent");
        }
        let right = response(sent.identifier, &expected.secret, &sent.challenge);
        if bool::from(answer.ct_eq(&right)) { Ok(()) } else { wrong("its answer is wrong") }
    }
}

/// Bytes as hexadecimal text.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold("0x".to_owned(), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// The bytes that a text is, in hexadecimal (`0x`) or base 64 (`0b`) form; `None` of what is neither or longer than `most`.
fn binary(text: &str, most: usize) -> Option<Vec<u8>> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        if digits.len() > 2 * most || !digits.len().is_multiple_of(2) || !digits.is_ascii() {
            return None;
        }
        let pairs = (0..digits.len()).step_by(2);
        return pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect();
    }
    let digits = text.strip_prefix("0b").or_else(|| text.strip_prefix("0B"))?.trim_end_matches('=');
    if digits.len() > most.div_ceil(3) * 4 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut bit_count) = (0_u32, 0_u32);
    for digit in digits.bytes() {
        bits = bits << 6 | base_64_digit(digit)?;
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            bytes.push(u8::try_from(bits >> bit_count & 0xff).ok()?);
        }
        bits &= (1 << bit_count) - 1;
    }
    (bytes.len() <= most).then_some(bytes)
}

fn base_64_digit(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(target: Option<&str>) -> ChapCredentials {
        let secret = |name: &str, secret: &str| ChapSecret { name: name.to_owned(), secret: secret.into() };
        ChapCredentials { initiator: secret("me", "secret"), target: target.map(|text| secret("it", text)) }
    }

    #[test]
    fn an_answer_is_that_of_an_independent_implementation() {
        // python3: hashlib.md5(bytes([7]) + b"secret" + bytes(range(16))).hexdigest()
        let challenge =
            TargetChallenge::read(Some("5"), Some("7"), Some("0x000102030405060708090a0b0c0d0e0f"));
        let answer = challenge.unwrap().answer(&credentials(None).initiator, &[]).unwrap();
        assert_eq!(answer, "0x821643665b430359e52ac524d29c8f95");
    }

    #[test]
    fn base_64_is_read_as_hexadecimal_is() {
        assert_eq!(binary("0bAAECAwQ=", 16), Some(vec![0, 1, 2, 3, 4]));
        assert_eq!(binary("0x0001020304", 16), Some(vec![0, 1, 2, 3, 4]));
        for wrong in ["0x1", "0xzz", "0b?", "12", "0xé0", &format!("0x{}", "00".repeat(17))] {
            assert_eq!(binary(wrong, 16), None, "{wrong}");
        }
    }

    #[test]
    fn a_challenge_that_we_have_sent_is_not_answered() {
        let challenge = TargetChallenge::read(Some("5"), Some("1"), Some(&hex(&[9; 16]))).unwrap();
        let own = credentials(None).initiator;
        assert!(challenge.answer(&own, &[[8; 16]]).is_ok());
        let error = challenge.answer(&own, &[[8; 16], [9; 16]]).unwrap_err();
        assert!(error.to_string().contains("back to it"), "{error}");
    }

    #[test]
    fn a_target_has_to_know_its_secret() {
        let sent = ChapEntropy { identifier: 3, challenge: [4; 16] };
        let challenge = TargetChallenge::read(Some("5"), Some("1"), Some(&hex(&[9; 16]))).unwrap();
        let both = credentials(Some("theirs"));
        let check = |name, answer: &str| challenge.check_target(&both, sent, Some(name), Some(answer));
        assert!(check("it", &hex(&response(3, b"theirs", &[4; 16]))).is_ok());
        let ours = challenge.answer(&both.initiator, &[]).unwrap();
        for (name, answer, part) in [
            ("it", hex(&response(3, b"other", &[4; 16])), "wrong"),
            ("me", hex(&response(3, b"theirs", &[4; 16])), "another one"),
            ("it", ours, "repeated"),
            ("it", "0x12".to_owned(), "wrong"),
        ] {
            let error = check(name, &answer).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
        assert!(challenge.check_target(&both, sent, Some("it"), None).is_err());
    }
}
