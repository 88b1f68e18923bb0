//! A copy that the optimiser may not remove: what moving a block through memory costs, and nothing else; and memory asked
//! for before it is needed.
//!
//! It measures nothing itself.

use crate::racy_copy::racy_copy;
use std::hint::black_box;

/// Copies `src` into `dst` although nobody may ever read `dst`, as the kernel copies from its page cache: the C library's
/// `memcpy` has other instructions from some length on, a third slower on some processors.
///
/// # Panics
/// If the two differ in length.
///
/// # Cost
/// That of the kernel's own copy to user memory.
#[inline]
pub fn black_box_copy(dst: &mut [u8], src: &[u8]) {
    assert_eq!(dst.len(), src.len(), "a copy needs two slices of one length");
    // SAFETY: both are valid for this length, and a slice that may be written overlaps no other.
    unsafe { racy_copy(src.as_ptr(), dst.as_mut_ptr(), src.len()) };
    // The copy must be complete here: for all the optimiser knows, someone reads `dst` now.
    black_box(dst);
}

/// Asks for `place` to be brought into the cache, and does not wait for it: a program that reads it after its next system
/// call finds it there, and one that writes it has no later instruction wait for it. A hint, which changes nothing that can be
/// seen; nothing on other processors than `x86_64`.
///
/// # Cost
/// One instruction.
#[inline]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction may be given any address, and this one is valid.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives() {
        let source: Vec<u8> = (0..=255).cycle().take(5000).collect();
        let mut target = vec![0; 5000];
        black_box_copy(&mut target, &source);
        assert_eq!(target, source);
    }

    #[test]
    #[should_panic(expected = "one length")]
    fn slices_of_different_length_are_refused() {
        black_box_copy(&mut [0; 3], &[0; 4]);
    }
}
