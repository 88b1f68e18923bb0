//! Requests and completions of a ring, and the form in which the kernel takes a request.
//!
//! Hot path: values on the stack.

use io_uring::{opcode, types};

use crate::error::SysErrno;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingOp {
    /// Reads into the slot's block.
    Read,
    /// Writes from the slot's block.
    Write,
    /// Makes what was written to the file durable; range and block are not heeded.
    Fdatasync,
    /// Discards a range of the file, which reads as zeroes then; the block is not heeded.
    PunchHole,
}

/// Which part of which file, and which part of the slot's block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingRequest {
    /// What to do.
    pub op: RingOp,
    /// The slot; it must be free.
    pub slot: u32,
    /// Index of the file.
    pub file: u32,
    /// Where in the file.
    pub offset_bytes: u64,
    /// How much.
    pub length_bytes: u32,
    /// Where in the block the data starts.
    pub block_offset_bytes: u32,
}

/// A finished request; its slot is free again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingCompletion {
    /// The slot it was in.
    pub slot: u32,
    /// Bytes moved, or the kernel's number.
    pub result: Result<u32, SysErrno>,
}

/// The submission entry of `request` on the file that the kernel knows by `file`.
#[inline]
pub(super) fn entry(
    request: &RingRequest,
    file: i32,
    place: *mut u8,
    region: Option<u16>,
) -> io_uring::squeue::Entry {
    let file = types::Fd(file);
    let (length, offset) = (request.length_bytes, request.offset_bytes);
    match (request.op, region) {
        (RingOp::Read, Some(region)) => {
            opcode::ReadFixed::new(file, place, length, region).offset(offset).build()
        }
        (RingOp::Read, None) => opcode::Read::new(file, place, length).offset(offset).build(),
        (RingOp::Write, Some(region)) => {
            opcode::WriteFixed::new(file, place, length, region).offset(offset).build()
        }
        (RingOp::Write, None) => opcode::Write::new(file, place, length).offset(offset).build(),
        (RingOp::Fdatasync, _) => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
        (RingOp::PunchHole, _) => opcode::Fallocate::new(file, u64::from(length))
            .offset(offset)
            .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE)
            .build(),
    }
}
