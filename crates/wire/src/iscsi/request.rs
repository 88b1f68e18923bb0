//! Headers of the PDUs that an initiator sends after its login.
//!
//! Hot path: values on the stack.

use super::header::{BasicHeader, FINAL, IMMEDIATE, NO_TAG, PduKind};
use super::scsi::cdb::ScsiCdb;

/// The wish to read, in the second byte of a command.
const READ: u8 = 0x40;
/// The wish to write.
const WRITE: u8 = 0x20;
/// The task may be executed in any order with others.
const SIMPLE: u8 = 1;

/// Which way the data of a command goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataDirection {
    /// It has none.
    None,
    /// From the target.
    In,
    /// To the target.
    Out,
}

/// The numbers by which both sides know what has arrived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SendNumbers {
    /// The place of the command among the commands of the session.
    pub command: u32,
    /// The status that is expected next on the connection.
    pub status: u32,
}

impl BasicHeader {
    /// Sets the numbers of an immediate request to those of the moment at which it is sent.
    pub fn put_numbers(&mut self, numbers: SendNumbers) {
        self.put_u32(24, numbers.command);
        self.put_u32(28, numbers.status);
    }
}

/// What a command asks for.
#[derive(Debug, Clone, Copy)]
pub struct CommandRequest<'a> {
    /// The tag of its task.
    pub tag: u32,
    /// The unit.
    pub unit: [u8; 8],
    /// The command.
    pub cdb: &'a ScsiCdb,
    /// Which way its data goes.
    pub direction: DataDirection,
    /// Bytes of data in all.
    pub expected_bytes: u32,
    /// Bytes of data that are sent with it.
    pub immediate_bytes: u32,
    /// Whether Data-Out that nobody asked for follows.
    pub is_continued: bool,
}

/// The header of a SCSI command.
#[must_use]
pub fn command(request: &CommandRequest<'_>, numbers: SendNumbers) -> BasicHeader {
    let mut header = BasicHeader::new(PduKind::Command);
    let direction = match request.direction {
        DataDirection::None => 0,
        DataDirection::In => READ,
        DataDirection::Out => WRITE,
    };
    header.0[1] = direction | SIMPLE | if request.is_continued { 0 } else { FINAL };
    header.set_data_bytes(request.immediate_bytes);
    header.put(8, &request.unit);
    header.put_u32(16, request.tag);
    header.put_u32(20, request.expected_bytes);
    header.put_u32(24, numbers.command);
    header.put_u32(28, numbers.status);
    header.put(32, &request.cdb.0);
    header
}

/// One PDU of a sequence of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataOutPart {
    /// The tag of the task.
    pub tag: u32,
    /// The target's tag of the transfer; [`NO_TAG`] where nobody asked for it.
    pub transfer_tag: u32,
    /// The unit.
    pub unit: [u8; 8],
    /// The place of the PDU in its sequence.
    pub number: u32,
    /// Where its data begins in the data of the command.
    pub offset_bytes: u32,
    /// Bytes of it.
    pub data_bytes: u32,
    /// Whether it is the last one of its sequence.
    pub is_last: bool,
}

/// The header of a PDU of data.
#[must_use]
pub fn data_out(part: &DataOutPart, status: u32) -> BasicHeader {
    let mut header = BasicHeader::new(PduKind::DataOut);
    header.0[1] = if part.is_last { FINAL } else { 0 };
    header.set_data_bytes(part.data_bytes);
    header.put(8, &part.unit);
    header.put_u32(16, part.tag);
    header.put_u32(20, part.transfer_tag);
    header.put_u32(28, status);
    header.put_u32(36, part.number);
    header.put_u32(40, part.offset_bytes);
    header
}

/// The answer to a ping of the target, which is known by `transfer_tag`.
#[must_use]
pub fn pong(transfer_tag: u32, unit: [u8; 8], numbers: SendNumbers) -> BasicHeader {
    let mut header = BasicHeader::new(PduKind::NopOut);
    header.0[0] |= IMMEDIATE;
    header.0[1] = FINAL;
    header.put(8, &unit);
    header.put_u32(16, NO_TAG);
    header.put_u32(20, transfer_tag);
    header.put_u32(24, numbers.command);
    header.put_u32(28, numbers.status);
    header
}

/// A ping that the target answers with the same tag.
#[must_use]
pub fn ping(tag: u32, numbers: SendNumbers) -> BasicHeader {
    let mut header = BasicHeader::new(PduKind::NopOut);
    header.0[0] |= IMMEDIATE;
    header.0[1] = FINAL;
    header.put_u32(16, tag);
    header.put_u32(20, NO_TAG);
    header.put_u32(24, numbers.command);
    header.put_u32(28, numbers.status);
    header
}

/// A ping at its place in the order of commands, which the target's window bounds as theirs.
#[must_use]
pub fn ordered_ping(tag: u32, numbers: SendNumbers) -> BasicHeader {
    let mut header = ping(tag, numbers);
    header.0[0] &= !IMMEDIATE;
    header
}

/// The wish to end the session.
#[must_use]
pub fn logout(tag: u32, numbers: SendNumbers) -> BasicHeader {
    let mut header = BasicHeader::new(PduKind::LogoutRequest);
    header.0[0] |= IMMEDIATE;
    // Reason 0: the session is closed.
    header.0[1] = FINAL;
    header.put_u32(16, tag);
    header.put_u32(24, numbers.command);
    header.put_u32(28, numbers.status);
    header
}
