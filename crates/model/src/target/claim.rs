//! What a run has claimed of a disk that has no folders: a part of it that narrows may write, by a number in its mark.

use std::fmt;

/// What a run has claimed of a unit or a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UnitClaim {
    /// The number in the mark at its beginning.
    pub nonce: u64,
    /// Bytes from the beginning of one client's data to that of the next.
    pub stride_bytes: u64,
}

/// Why two texts are no claim, as a phrase that follows the target.
const FOREIGN: &str = "has a claim that narrows did not write";

impl UnitClaim {
    /// The claim of `nonce`, in hexadecimal digits, and `stride`, in bytes, as [`UnitClaim::nonce_text`] and its display write
    /// them.
    ///
    /// # Errors
    /// When they are not what narrows writes, as a phrase that follows the target.
    pub(super) fn parse(nonce: &str, stride: &str) -> Result<Self, String> {
        match (u64::from_str_radix(nonce, 16), stride.parse()) {
            (Ok(nonce), Ok(stride_bytes)) if stride_bytes > 0 => Ok(Self { nonce, stride_bytes }),
            _ => Err(FOREIGN.to_owned()),
        }
    }

    /// The number as it is written in targets.
    pub(super) fn nonce_text(self) -> String {
        format!("{:016x}", self.nonce)
    }
}

/// The options of a target.
impl fmt::Display for UnitClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "claim={}&stride={}", self.nonce_text(), self.stride_bytes)
    }
}
