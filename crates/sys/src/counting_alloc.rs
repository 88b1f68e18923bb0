//! A global allocator that counts, for tests that require "no allocation" of a hot path, or a bound of what is allocated.
//!
//! It counts per thread, so that tests that run side by side do not see each other. It is not for production: the
//! feature `counting-alloc` is off by default, and a test binary installs it with
//! `#[global_allocator] static ALLOCATOR: CountingAlloc = CountingAlloc;`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Constant and without a destructor, so that touching it never allocates.
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, with every allocation and reallocation counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountingAlloc;

/// How often this thread has allocated or grown memory so far; 0 for ever where [`CountingAlloc`] is not installed.
#[must_use]
pub fn allocation_count() -> u64 {
    COUNT.try_with(Cell::get).unwrap_or(0)
}

/// How often `work` allocated on this thread, with what it returned.
pub fn allocations_during<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let before = allocation_count();
    let value = work();
    (allocation_count() - before, value)
}

/// How many bytes `work` allocated on this thread, with what it returned. What was freed meanwhile is not taken off, and
/// memory that grows counts again at its new size, so that no moment had more than that.
///
/// 0 where [`CountingAlloc`] is not installed.
pub fn allocated_bytes_during<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let bytes = || BYTES.try_with(Cell::get).unwrap_or(0);
    let before = bytes();
    let value = work();
    (bytes() - before, value)
}

fn count_one(size_bytes: usize) {
    // Fails only while the thread is being torn down; nobody can ask for its count then.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
    let _ = BYTES.try_with(|bytes| bytes.set(bytes.get().wrapping_add(size_bytes as u64)));
}

// SAFETY: every call is passed unchanged to `System`, which upholds the contract; counting neither allocates nor
// unwinds.
unsafe impl GlobalAlloc for CountingAlloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_one(layout.size());
        // SAFETY: the caller's promises are exactly those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_one(layout.size());
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from `System` through this allocator, with the same layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_bytes: usize) -> *mut u8 {
        count_one(new_bytes);
        // SAFETY: as in `dealloc`; the new size is the caller's promise.
        unsafe { System.realloc(block, layout, new_bytes) }
    }
}
