//! Secrets of CHAP, read from files, and the random bytes of a login.
//!
//! What is random here decides nothing that is measured, so no seed applies.

use super::portal::IscsiPortal;
use crate::connections::StoragePeer;
use crate::error::{EngineError, ErrorKind};
use narrows_model::ChapFile;
use narrows_wire::iscsi::chap::{CHALLENGE_BYTES, ChapCredentials, ChapEntropy, ChapSecret};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

/// Longest secret.
const SECRET_BYTES_MAX: u64 = 256;
/// Challenges of this program that are remembered.
const ISSUED_MAX: usize = 64;

/// The challenges that this program has sent to targets last.
static ISSUED: Mutex<VecDeque<[u8; CHALLENGE_BYTES]>> = Mutex::new(VecDeque::new());

/// Random bytes of one login.
#[derive(Debug, Clone)]
pub(super) struct LoginEntropy {
    pub(super) chap: ChapEntropy,
    pub(super) session_id: [u8; 6],
    /// Challenges of this program, this one included.
    pub(super) issued: Vec<[u8; CHALLENGE_BYTES]>,
}

/// Bytes of the system's random source.
fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Random bytes for a login of `portal`.
pub(super) fn login_entropy(portal: &IscsiPortal) -> Result<LoginEntropy, EngineError> {
    let drawn = random::<{ CHALLENGE_BYTES + 6 }>().map_err(|error| portal.io_error("log in to", error))?;
    let mut challenge = [0; CHALLENGE_BYTES];
    challenge.copy_from_slice(&drawn[..CHALLENGE_BYTES]);
    let mut rest = [0; 6];
    rest.copy_from_slice(&drawn[CHALLENGE_BYTES..]);
    let [identifier, one, two, three, four, five] = rest;
    let mut known = ISSUED.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() == ISSUED_MAX {
        known.pop_front();
    }
    known.push_back(challenge);
    Ok(LoginEntropy {
        chap: ChapEntropy { identifier, challenge },
        // Type 2: a random number and a qualifier.
        session_id: [0x80, one, two, three, four, five],
        issued: known.iter().copied().collect(),
    })
}

/// The proofs that the address of `portal` names.
pub(super) fn credentials(portal: &IscsiPortal) -> Result<Option<ChapCredentials>, EngineError> {
    let Some(own) = &portal.address.chap else { return Ok(None) };
    let initiator = secret(portal, own)?;
    let target = portal.address.target_chap.as_ref().map(|file| secret(portal, file)).transpose()?;
    if target.as_ref().is_some_and(|target| target.secret == initiator.secret) {
        return Err(EngineError::new(ErrorKind::Unsupported, "log in to", portal.name())
            .detail("both sides have the same secret, so that an answer of one could be repeated as that of the other")
            .hint("give the target a secret of its own"));
    }
    Ok(Some(ChapCredentials { initiator, target }))
}

fn secret(portal: &IscsiPortal, file: &ChapFile) -> Result<ChapSecret, EngineError> {
    let failed = |source| {
        EngineError::from_io("read the secret of", portal.name(), source)
            .detail(format!("file {}", file.secret_file))
            .hint("give a file of this user that contains the secret in one line")
    };
    let opened = File::open(&file.secret_file).map_err(failed)?;
    let mut text = Vec::new();
    opened.take(SECRET_BYTES_MAX + 1).read_to_end(&mut text).map_err(failed)?;
    while text.last().is_some_and(u8::is_ascii_whitespace) {
        text.pop();
    }
    let length = text.len() as u64;
    if length == 0 || length > SECRET_BYTES_MAX || text.contains(&b'\n') {
        let why = format!("file {}: it is empty, has several lines or more than 256 bytes", file.secret_file);
        return Err(EngineError::new(ErrorKind::Unsupported, "read the secret of", portal.name())
            .detail(why)
            .hint("write the secret in one line"));
    }
    Ok(ChapSecret { name: file.user.clone(), secret: text })
}
