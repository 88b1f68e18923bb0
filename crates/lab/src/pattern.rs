//! Content that shows its position in a stream, so that a byte lost, repeated or out of order is detected.

/// The byte at `place` of the stream. Equal stretches of any length above a few bytes do not recur within 2^32 bytes.
#[must_use]
pub fn byte_at(place: u64) -> u8 {
    // splitmix64: https://prng.di.unimi.it/splitmix64.c
    let mut mixed = place.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed.to_be_bytes()[0]
}

/// Fills `bytes` with those from `place` on.
pub fn fill(bytes: &mut [u8], place: u64) {
    for (offset, byte) in (0..).zip(bytes) {
        *byte = byte_at(place + offset);
    }
}

/// The first of `bytes`, which begin at `place`, that is not the one of its place; `None` where all are.
#[must_use]
pub fn first_wrong(bytes: &[u8], place: u64) -> Option<u64> {
    (place..).zip(bytes).find(|(place, byte)| byte_at(*place) != **byte).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_lost_repeated_or_changed_is_found_where_it_is() {
        let mut bytes = vec![0; 100_000];
        fill(&mut bytes, 7);
        assert_eq!(first_wrong(&bytes, 7), None);
        assert!(first_wrong(&bytes, 8).is_some_and(|place| place < 20));
        let mut lost = bytes.clone();
        lost.remove(5000);
        assert!(first_wrong(&lost, 7).is_some_and(|place| (5007..5030).contains(&place)));
        let mut repeated = bytes.clone();
        repeated.insert(5000, bytes[5000]);
        assert!(first_wrong(&repeated, 7).is_some_and(|place| (5007..5030).contains(&place)));
        bytes[99_999] ^= 1;
        assert_eq!(first_wrong(&bytes, 7), Some(100_006));
    }
}
