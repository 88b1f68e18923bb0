//! Why a command failed: its status and its sense data, in words and as the system's number.

use std::fmt;

/// The command did what was asked.
pub const GOOD: u8 = 0x00;
/// Sense data says more.
pub const CHECK_CONDITION: u8 = 0x02;

const EIO: i32 = 5;
const EAGAIN: i32 = 11;
const EBUSY: i32 = 16;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;
const EBADE: i32 = 52;
const EREMOTEIO: i32 = 121;
const ECANCELED: i32 = 125;

/// What sense data says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScsiSense {
    /// The kind of error.
    pub key: u8,
    /// The error itself.
    pub code: u8,
    /// Its qualifier.
    pub qualifier: u8,
}

impl ScsiSense {
    /// What `data` says, which begins with its length, as a SCSI response has it; nothing of what is too short.
    #[must_use]
    pub fn from_response(data: &[u8]) -> Self {
        let Some((length, rest)) = data.split_first_chunk::<2>() else { return Self::default() };
        let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
        Self::from_sense(&rest[..length])
    }

    fn from_sense(sense: &[u8]) -> Self {
        let at = |index: usize| sense.get(index).copied().unwrap_or(0);
        match at(0) & 0x7f {
            0x70 | 0x71 => Self { key: at(2) & 0x0f, code: at(12), qualifier: at(13) },
            0x72 | 0x73 => Self { key: at(1) & 0x0f, code: at(2), qualifier: at(3) },
            _ => Self::default(),
        }
    }

    /// Whether something happened to the unit that is reported once, before the command was looked at.
    #[must_use]
    pub fn is_attention(self) -> bool {
        self.key == 6
    }

    /// Whether the unit is known, but there is none of this number.
    #[must_use]
    pub fn is_no_unit(self) -> bool {
        self.key == 5 && self.code == 0x25
    }

    /// Whether the unit does not have such a command, or not this form of it.
    #[must_use]
    pub fn is_illegal(self) -> bool {
        self.key == 5 && matches!(self.code, 0x20 | 0x24 | 0x26)
    }

    /// Whether what was to be on the unit was not there, so that nothing was written.
    #[must_use]
    pub fn is_miscompare(self) -> bool {
        self.key == 0xe
    }

    fn errno(self) -> i32 {
        match (self.key, self.code) {
            (2, _) | (5, 0x25) => ENODEV,
            (4, _) => EREMOTEIO,
            (5, _) => EINVAL,
            (7, 0x27) if self.qualifier == 7 => ENOSPC,
            (7, _) => EROFS,
            (0xb, _) => ECANCELED,
            _ => EIO,
        }
    }

    fn key_name(self) -> &'static str {
        match self.key {
            0 => "NO SENSE",
            1 => "RECOVERED ERROR",
            2 => "NOT READY",
            3 => "MEDIUM ERROR",
            4 => "HARDWARE ERROR",
            5 => "ILLEGAL REQUEST",
            6 => "UNIT ATTENTION",
            7 => "DATA PROTECT",
            8 => "BLANK CHECK",
            0xa => "COPY ABORTED",
            0xb => "ABORTED COMMAND",
            0xd => "VOLUME OVERFLOW",
            0xe => "MISCOMPARE",
            _ => "an unknown sense key",
        }
    }

    fn code_name(self) -> Option<&'static str> {
        Some(match (self.code, self.qualifier) {
            (0x04, _) => "the logical unit is not ready",
            (0x20, _) => "invalid command",
            (0x21, _) => "block address out of range",
            (0x24, _) => "invalid field of the command",
            (0x25, _) => "there is no such logical unit",
            (0x27, 0x07) => "its pool has no space left",
            (0x27, _) => "write protected",
            (0x29, _) => "power on or reset",
            (0x2a, 0x09) => "its capacity has changed",
            (0x3a, _) => "no medium is present",
            (0x3f, 0x0e) => "the list of logical units has changed",
            _ => return None,
        })
    }
}

impl fmt::Display for ScsiSense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, ASC {:02X}h/{:02X}h", self.key_name(), self.code, self.qualifier)?;
        self.code_name().map_or(Ok(()), |name| write!(f, ": {name}"))
    }
}

/// Why a command failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScsiFailure {
    /// Its status.
    pub status: u8,
    /// What its sense data says.
    pub sense: ScsiSense,
}

impl ScsiFailure {
    /// The system's number that means the same.
    #[must_use]
    pub fn errno(self) -> i32 {
        match self.status {
            CHECK_CONDITION => self.sense.errno(),
            0x08 => EBUSY,
            0x18 => EBADE,
            0x28 => EAGAIN,
            0x40 => ECANCELED,
            _ => EIO,
        }
    }
}

impl fmt::Display for ScsiFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            CHECK_CONDITION => self.sense.fmt(f),
            0x08 => f.write_str("BUSY: the unit takes no command at present"),
            0x18 => f.write_str("RESERVATION CONFLICT: another initiator has reserved the unit"),
            0x28 => f.write_str("TASK SET FULL: more commands in flight than the unit takes"),
            0x30 => f.write_str("ACA ACTIVE"),
            0x40 => f.write_str("TASK ABORTED: another initiator ended it"),
            other => write!(f, "status {other:02X}h"),
        }
    }
}
