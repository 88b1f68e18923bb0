//! What every hello and every refusal begins with, and what a hello is about.

use crate::error::{Error, Result};

/// The first bytes of every hello and every refusal.
pub const MAGIC: [u8; 8] = *b"narrows\0";

/// The protocol's version. Sides of different versions do not talk: an endpoint of version 1 would run cells of its own
/// with a seed that nobody learns of.
pub const VERSION: u16 = 2;

/// A number that is used once.
///
/// # Shape
/// 32 bytes from the system's random source; the caller draws them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Nonce(pub [u8; 32]);

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Facts, counters, cells; it has a session.
    Control,
    /// Blocks.
    Data,
    /// Facts, counters and roles of a proxy on the way. It answers the hello itself; every other passes through it.
    Proxy,
}

impl Purpose {
    pub(crate) fn code(self) -> u8 {
        match self {
            Purpose::Control => 1,
            Purpose::Data => 2,
            Purpose::Proxy => 3,
        }
    }

    pub(crate) fn from_code(code: u8) -> Result<Self> {
        [Purpose::Control, Purpose::Data, Purpose::Proxy]
            .into_iter()
            .find(|purpose| purpose.code() == code)
            .ok_or_else(|| {
                Error::protocol(format!("the peer requested a connection of unknown purpose {code}"))
            })
    }
}
