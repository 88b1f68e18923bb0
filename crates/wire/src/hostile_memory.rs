//! What tests of decoders say of memory: it is bounded by what has arrived, never by a length that a peer claims.

use narrows_sys::counting_alloc::{CountingAlloc, allocated_bytes_during};

#[global_allocator]
static ALLOCATOR: CountingAlloc = CountingAlloc;

/// Bytes of messages of errors and of small tables.
const SMALL_BYTES: u64 = 16 << 10;
/// Bytes of memory for each that has arrived: a table of names has two references for a name of two bytes.
const BYTES_A_BYTE: u64 = 64;

/// Fails if `read` allocates more than `arrived_bytes` can be the reason for.
pub(crate) fn assert_bounded_memory(arrived_bytes: usize, read: impl FnOnce()) {
    let (bytes, ()) = allocated_bytes_during(read);
    let most_bytes = SMALL_BYTES + BYTES_A_BYTE * arrived_bytes as u64;
    assert!(bytes <= most_bytes, "{bytes} bytes of memory for {arrived_bytes} bytes that arrived");
}

#[test]
#[should_panic(expected = "1000000 bytes of memory for 4 bytes that arrived")]
fn memory_for_a_claimed_length_is_noticed() {
    assert_bounded_memory(4, || drop(Vec::<u8>::with_capacity(1_000_000)));
}
