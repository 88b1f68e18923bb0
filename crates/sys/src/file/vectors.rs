//! Reads and writes of one block that is spread over several buffers: one call each, at an offset.
//!
//! Hot path: no allocation, no lock.

use super::TransferResult;
use crate::error::SysErrno;
use crate::return_stack;
use std::array::from_fn;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::AsFd;

/// Most buffers of one call: what POSIX grants everywhere (`_XOPEN_IOV_MAX`).
pub const VECTORS_MAX: usize = 16;

/// Bytes of each of `count` equal buffers of a block; the last one is smaller where they do not divide.
fn part_bytes(block_bytes: usize, count: usize) -> (usize, usize) {
    let count = count.clamp(1, VECTORS_MAX);
    let part = block_bytes.div_ceil(count).max(1);
    (part, block_bytes.div_ceil(part))
}

/// As [`super::pread`], into `count` buffers (1 to [`VECTORS_MAX`]) that `into` is divided into.
///
/// # Errors
/// As [`super::pread`].
pub fn preadv(
    file: impl AsFd,
    into: &mut [u8],
    count: usize,
    offset_bytes: u64,
) -> Result<TransferResult, SysErrno> {
    let asked_bytes = into.len();
    let (part, used) = part_bytes(asked_bytes, count);
    let mut parts = into.chunks_mut(part);
    let mut slices: [IoSliceMut<'_>; VECTORS_MAX] =
        from_fn(|_| IoSliceMut::new(parts.next().unwrap_or_default()));
    let answer = rustix::io::preadv(file, &mut slices[..used], offset_bytes);
    return_stack::refill();
    Ok(TransferResult { done_bytes: answer?, asked_bytes })
}

/// As [`super::pwrite`], from `count` buffers (1 to [`VECTORS_MAX`]) that `from` is divided into.
///
/// # Errors
/// As [`super::pwrite`].
pub fn pwritev(
    file: impl AsFd,
    from: &[u8],
    count: usize,
    offset_bytes: u64,
) -> Result<TransferResult, SysErrno> {
    let (part, used) = part_bytes(from.len(), count);
    let mut parts = from.chunks(part);
    let slices: [IoSlice<'_>; VECTORS_MAX] = from_fn(|_| IoSlice::new(parts.next().unwrap_or_default()));
    let answer = rustix::io::pwritev(file, &slices[..used], offset_bytes);
    return_stack::refill();
    Ok(TransferResult { done_bytes: answer?, asked_bytes: from.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_in_several_buffers_comes_back_whole() {
        let file = tempfile::tempfile().unwrap();
        let block: Vec<u8> = (0..10_007_u32).map(|byte| u8::try_from(byte % 251).unwrap()).collect();
        for count in [1, 3, 16, 99] {
            assert_eq!(pwritev(&file, &block, count, 5).map(TransferResult::done_bytes), Ok(block.len()));
            let mut read = vec![0; block.len()];
            assert_eq!(preadv(&file, &mut read, count, 5).map(TransferResult::done_bytes), Ok(block.len()));
            assert_eq!(read, block, "{count}");
        }
        let mut beyond = [0; 8];
        assert!(preadv(&file, &mut beyond, 4, 1 << 20).is_ok_and(TransferResult::is_short));
        assert_eq!(pwritev(&file, &[], 4, 0).map(TransferResult::done_bytes), Ok(0));
    }

    #[test]
    fn no_call_has_more_buffers_than_bytes() {
        assert_eq!(
            (part_bytes(3, 16), part_bytes(4096, 16), part_bytes(4097, 16)),
            ((1, 3), (256, 16), (257, 16))
        );
    }
}
