//! Digests: a CRC32C behind the header, and one behind the data and its padding.

/// Bytes of a digest.
pub const DIGEST_BYTES: usize = 4;

/// Which digests PDUs of a connection have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digests {
    /// One behind the header.
    pub header: bool,
    /// One behind data.
    pub data: bool,
}

/// The digest of these parts as one, as it is sent.
#[must_use]
pub fn digest(parts: &[&[u8]]) -> [u8; DIGEST_BYTES] {
    let sum = parts.iter().fold(0, |sum, part| crc32c::crc32c_append(sum, part));
    sum.to_le_bytes()
}

/// Bytes of padding behind `length` bytes of data: up to the next multiple of four.
#[must_use]
pub const fn padding(length: usize) -> usize {
    length.wrapping_neg() & 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_that_the_standard_lists() {
        let rising: Vec<u8> = (0..32).collect();
        let falling: Vec<u8> = (0..32).rev().collect();
        assert_eq!(digest(&[&[0; 32]]), [0xaa, 0x36, 0x91, 0x8a]);
        assert_eq!(digest(&[&[0xff; 32]]), [0x43, 0xab, 0xa8, 0x62]);
        assert_eq!(digest(&[&rising]), [0x4e, 0x79, 0xdd, 0x46]);
        assert_eq!(digest(&[&falling]), [0x5c, 0xdb, 0x3f, 0x11]);
        assert_eq!(digest(&[&rising[..7], &rising[7..]]), [0x4e, 0x79, 0xdd, 0x46]);
    }
}
