//! PDUs that a target sends after the login, read from their headers.
//!
//! Hot path: values on the stack.

use super::header::{BasicHeader, FINAL, NO_TAG, PduKind};

/// The numbers of a PDU of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceivedNumbers {
    /// Its status number; `None` of a PDU without one.
    pub status: Option<u32>,
    /// Whether the number is used up, so that the next one is expected from now on.
    pub is_used: bool,
    /// The command that the target expects next.
    pub expected_command: u32,
    /// The last command that may be sent.
    pub max_command: u32,
}

/// Where the data of a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Residual {
    /// With what was asked for.
    None,
    /// So many bytes earlier.
    Underflow(u32),
    /// So many bytes would have followed.
    Overflow(u32),
}

/// The status of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandStatus {
    /// The status that SCSI gives it.
    pub status: u8,
    /// Where its data ended.
    pub residual: Residual,
}

/// A PDU of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataInPart {
    /// Its place among the PDUs of data of its command.
    pub number: u32,
    /// Where its data begins in the data of the command.
    pub offset_bytes: u32,
    /// The status of the command, where this is its last PDU.
    pub status: Option<CommandStatus>,
}

/// A wish for data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferWish {
    /// The target's tag of the transfer.
    pub transfer_tag: u32,
    /// Where the data begins in that of the command.
    pub offset_bytes: u32,
    /// Bytes of it.
    pub data_bytes: u32,
}

/// What an event of the target is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetEvent {
    /// An event of a unit; its sense data is in the PDU.
    Sense,
    /// The target asks for a logout.
    LogoutWanted,
    /// The target ends this connection.
    ConnectionDropped,
    /// The target ends all connections of the session.
    AllDropped,
    /// The target asks for other parameters.
    NegotiationWanted,
    /// Any other.
    Other(u8),
}

/// The numbers of a PDU of this kind.
#[must_use]
pub fn numbers(kind: PduKind, header: &BasicHeader) -> ReceivedNumbers {
    let has_status = match kind {
        PduKind::DataIn => header.0[1] & 1 != 0,
        PduKind::NopIn => header.task_tag() != NO_TAG,
        PduKind::ReadyToTransfer => false,
        _ => true,
    };
    ReceivedNumbers {
        // A Data-In without a status has none; the others state at least which one comes next.
        status: (has_status || kind != PduKind::DataIn).then(|| header.u32_at(24)),
        is_used: has_status,
        expected_command: header.u32_at(28),
        max_command: header.u32_at(32),
    }
}

/// The status in a SCSI response; `None` where the target could not execute the command at all.
#[must_use]
pub fn command_status(header: &BasicHeader) -> Option<CommandStatus> {
    let is_completed = header.0[2] == 0;
    is_completed.then(|| CommandStatus { status: header.0[3], residual: residual(header, 44) })
}

/// The parts of a Data-In.
#[must_use]
pub fn data_in(header: &BasicHeader) -> DataInPart {
    let status = CommandStatus { status: header.0[3], residual: residual(header, 44) };
    DataInPart {
        number: header.u32_at(36),
        offset_bytes: header.u32_at(40),
        status: (header.0[1] & 1 != 0 && header.0[1] & FINAL != 0).then_some(status),
    }
}

/// The parts of an R2T.
#[must_use]
pub fn transfer_wish(header: &BasicHeader) -> TransferWish {
    TransferWish {
        transfer_tag: header.transfer_tag(),
        offset_bytes: header.u32_at(40),
        data_bytes: header.u32_at(44),
    }
}

/// What an event is about.
#[must_use]
pub fn target_event(header: &BasicHeader) -> TargetEvent {
    match header.0[36] {
        0 => TargetEvent::Sense,
        1 => TargetEvent::LogoutWanted,
        2 => TargetEvent::ConnectionDropped,
        3 => TargetEvent::AllDropped,
        4 => TargetEvent::NegotiationWanted,
        other => TargetEvent::Other(other),
    }
}

/// Seconds that the target wants between the end of a connection and the next login, in a logout response or an event.
#[must_use]
pub fn seconds_to_wait(header: &BasicHeader) -> u16 {
    header.u16_at(40)
}

/// Why a PDU was rejected, in words.
#[must_use]
pub fn reject_reason(header: &BasicHeader) -> &'static str {
    match header.0[2] {
        0x02 => "a digest of its data was wrong",
        0x03 => "the target does not resend",
        0x04 => "protocol error",
        0x05 => "command not supported",
        0x06 => "too many immediate commands",
        0x07 => "task in progress",
        0x08 => "invalid data acknowledgement",
        0x09 => "invalid field of a PDU",
        0x0a => "long operation",
        0x0c => "waiting for a logout",
        _ => "a reason that is not assigned",
    }
}

/// The header of the rejected PDU, in the data of a Reject.
#[must_use]
pub fn rejected_header(data: &[u8]) -> Option<BasicHeader> {
    data.first_chunk().map(|header| BasicHeader(*header))
}

fn residual(header: &BasicHeader, at: usize) -> Residual {
    let count = header.u32_at(at);
    match header.0[1] & 0x06 {
        0x02 => Residual::Underflow(count),
        0x04 => Residual::Overflow(count),
        _ => Residual::None,
    }
}
