//! Short paths that are made over and over, with their end: it need not be looked for when they are used.
//!
//! Hot path: no allocation; to hand a path to a call reads none of its bytes.

use std::ffi::CStr;

/// A path of fewer than `ROOM` bytes.
#[derive(Debug, Clone, Copy)]
pub struct ShortPath<const ROOM: usize> {
    /// The only zero up to `length` is the one there.
    bytes: [u8; ROOM],
    length: usize,
}

impl<const ROOM: usize> ShortPath<ROOM> {
    /// The empty path, which names nothing.
    pub const EMPTY: Self = Self { bytes: [0; ROOM], length: 0 };

    /// Stores another path here: `write` gets room for its bytes and returns how many there are. Bytes that are no
    /// path, because one is zero or there is no room for the terminating zero, leave the empty path.
    pub fn put(&mut self, write: impl FnOnce(&mut [u8; ROOM]) -> usize) {
        *self = Self::EMPTY;
        let mut bytes = [0; ROOM];
        let length = write(&mut bytes);
        // Over all of the room, so that no branch hangs on the length.
        let zero_count = (0..).zip(&bytes).filter(|(at, byte)| **byte == 0 && *at < length).count();
        if length < ROOM && zero_count == 0 {
            bytes[length] = 0;
            *self = Self { bytes, length };
        }
    }

    /// The path as calls take it.
    #[inline]
    #[must_use]
    pub fn as_c_str(&self) -> &CStr {
        // SAFETY: the only zero up to `length` is the one there; a path is only ever put here whole.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.bytes[..=self.length]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of these bytes put in the place of another.
    fn put<const ROOM: usize>(path: &[u8], length: usize) -> ShortPath<ROOM> {
        let mut made = ShortPath::EMPTY;
        for (path, length) in [(&b"xyz"[..ROOM.min(3) - 1], ROOM.min(3) - 1), (path, length)] {
            made.put(|room| {
                room[..path.len()].copy_from_slice(path);
                length
            });
        }
        made
    }

    #[test]
    fn a_path_ends_where_it_was_said_to_whatever_was_there_before() {
        assert_eq!(put::<8>(b"ab/cdef", 7).as_c_str(), c"ab/cdef");
        assert_eq!(put::<8>(b"ab/cdefg", 2).as_c_str(), c"ab");
        assert_eq!(put::<8>(b"", 0).as_c_str(), c"");
    }

    #[test]
    fn bytes_that_are_no_path_leave_the_empty_one() {
        assert_eq!(put::<8>(b"a\0b", 3).as_c_str(), c"");
        assert_eq!(put::<8>(b"abcdefgh", 8).as_c_str(), c"");
        assert_eq!(put::<8>(b"abcdefgh", usize::MAX).as_c_str(), c"");
    }

    #[test]
    fn a_path_that_breaks_off_while_it_is_written_leaves_the_empty_one() {
        let mut path = put::<8>(b"whole", 5);
        let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            path.put(|room| {
                room.fill(b'x');
                panic!("as an error of the caller's would")
            });
        }));
        assert!(broken.is_err());
        assert_eq!(path.as_c_str(), c"");
    }
}
