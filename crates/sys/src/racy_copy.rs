//! A copy to or from memory that others may write at the same time: other workers, other processes, the device.
//!
//! Two plain accesses of one byte, one of them a write, and nothing that orders them are undefined behaviour in Rust's
//! memory model, even where the bytes do not matter. Workers share the mapping of one file, and there must be no lock
//! between them: it would be measured. So the copy is no access of the memory model at all: on `x86_64` one
//! instruction in assembly, which the compiler may not look into, split, repeat or assume anything about; elsewhere
//! volatile accesses, which it may neither split nor repeat. What arrives in a race is some mixture of old and new bytes,
//! as read(2) gives while another process writes; nothing is made of them but data, for which every byte is valid.
//!
//! Hot path: no system call, no allocation.

/// Below this length words are copied one by one.
const SHORT_BYTES: usize = 64;

/// Copies `length` bytes from `from` to `to`; either may be mapped memory that others write or read at the same time.
///
/// # Safety
/// `from` must be readable and `to` writable for `length` bytes, and the two must not overlap. A page that faults is
/// put there by the handler of SIGBUS before the access goes on.
///
/// # Cost
/// That of the kernel's own copy to user memory, which is the same instruction (`rep movsb`) on processors of 2013 and later;
/// below a cache line, where the start of that instruction may take ten times as long as the copy, that of its words.
///
/// # Source
/// Intel, *Optimization Reference Manual*, 3.7.6 (enhanced REP MOVSB); Rust reference, *Inline assembly*, rules.
#[inline]
pub(crate) unsafe fn racy_copy(from: *const u8, to: *mut u8, length: usize) {
    if length < SHORT_BYTES {
        // SAFETY: the caller vouches for both ranges.
        return unsafe { volatile_copy(from, to, length) };
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the caller vouches for both ranges; the direction flag is clear where assembly begins, and the three
    // registers are the only ones that the instruction changes.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") length => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: the caller vouches for both ranges.
    unsafe {
        volatile_copy(from, to, length);
    }
}

/// The same by volatile accesses: words where both sides are aligned alike, bytes at the ends.
///
/// # Safety
/// As [`racy_copy`].
#[allow(
    clippy::cast_ptr_alignment,
    reason = "words are accessed only where both addresses are aligned to words"
)]
unsafe fn volatile_copy(from: *const u8, to: *mut u8, length: usize) {
    const WORD: usize = size_of::<usize>();
    let mut at = 0;
    // Bounded: every turn moves on by a byte or a word, up to `length`.
    while at < length {
        // SAFETY: `at` is below `length`, and a word is copied only where so many bytes are left and both are aligned.
        unsafe {
            let (source, target) = (from.add(at), to.add(at));
            let is_aligned = source.addr() % WORD == 0 && target.addr() % WORD == 0;
            if is_aligned && length - at >= WORD {
                target.cast::<usize>().write_volatile(source.cast::<usize>().read_volatile());
                at += WORD;
            } else {
                target.write_volatile(source.read_volatile());
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_alignment_arrives_and_nothing_around_it_changes() {
        let source: Vec<u8> = (1..=255).cycle().take(600).collect();
        for copy in [racy_copy, volatile_copy] {
            for (from, to, length) in [
                (0, 0, 0),
                (0, 0, 1),
                (1, 2, 7),
                (3, 3, 29),
                (0, 8, 63),
                (0, 8, 64),
                (0, 8, 512),
                (5, 13, 511),
            ] {
                let mut target = vec![0; 600];
                // SAFETY: both ranges are within their vectors, which are two.
                unsafe { copy(source.as_ptr().add(from), target.as_mut_ptr().add(to), length) };
                let mut expected = vec![0; 600];
                expected[to..to + length].copy_from_slice(&source[from..from + length]);
                assert_eq!(target, expected, "{from} {to} {length}");
            }
        }
    }
}
