//! Proofs that both sides know the same token, without sending it.
//!
//! The key is SHA-256 over a fixed label and the token, so that a token used elsewhere too yields another key here.
//! A proof is HMAC-SHA256 under that key over a label that names the prover, the protocol's version, the purpose of
//! the connection and both nonces. The labels differ, so that one side's proof cannot be sent back as the other's;
//! both nonces take part, so that no proof of one connection fits another. A proof can be tried against guessed
//! tokens by who records it: a token must be random (16 bytes or more), not a word.
//!
//! # Source
//! RFC 2104 (HMAC), FIPS 180-4 (SHA-256).

use crate::greeting::{Nonce, Purpose, VERSION};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Bytes of a proof.
pub const PROOF_BYTES: usize = 32;

/// Fewest bytes of a token.
pub const TOKEN_BYTES_MIN: usize = 16;

const KEY_LABEL: &[u8] = b"narrows endpoint token key 1\0";
const CLIENT_LABEL: &[u8] = b"narrows endpoint proof of client\0";
const SERVER_LABEL: &[u8] = b"narrows endpoint proof of server\0";

/// The key that a token yields. It is never printed.
#[derive(Clone)]
pub struct TokenKey([u8; 32]);

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Who proves that it knows the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prover {
    /// The side that connected.
    Client,
    /// The side that was connected to.
    Server,
}

/// What a proof is bound to besides the token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transcript {
    pub(crate) purpose: Purpose,
    pub(crate) client_nonce: Nonce,
    pub(crate) server_nonce: Nonce,
}

impl TokenKey {
    /// The key that `token` yields.
    #[must_use]
    pub fn from_token(token: &[u8]) -> Self {
        Self(Sha256::new().chain_update(KEY_LABEL).chain_update(token).finalize().into())
    }

    pub(crate) fn proof(&self, prover: Prover, transcript: &Transcript) -> [u8; PROOF_BYTES] {
        let label = match prover {
            Prover::Client => CLIENT_LABEL,
            Prover::Server => SERVER_LABEL,
        };
        // HMAC pads a key shorter than its 64-byte block with zeros, as is done here.
        let mut block = [0; 64];
        block[..32].copy_from_slice(&self.0);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(label);
        mac.update(&VERSION.to_le_bytes());
        mac.update(&[transcript.purpose.code()]);
        mac.update(&transcript.client_nonce.0);
        mac.update(&transcript.server_nonce.0);
        mac.finalize().into_bytes().into()
    }

    /// Whether `proof` is right; takes the same time wherever it is wrong.
    pub(crate) fn accepts(&self, prover: Prover, transcript: &Transcript, proof: &[u8]) -> bool {
        self.proof(prover, transcript).ct_eq(proof).into()
    }
}
