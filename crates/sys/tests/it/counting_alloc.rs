//! The counting allocator counts, and the hot paths of this crate do not allocate.

use narrows_sys::buffer::AlignedBuffer;
use narrows_sys::clock::Monotonic;
use narrows_sys::counting_alloc::{CountingAlloc, allocated_bytes_during, allocations_during};
use narrows_sys::ring::{Ring, RingOp, RingRequest, RingSetup, RingSpec};
use narrows_sys::{file, memory, process};

#[global_allocator]
static ALLOCATOR: CountingAlloc = CountingAlloc;

#[test]
fn each_allocation_and_each_growth_counts_once() {
    let (count, mut bytes) = allocations_during(|| Vec::<u8>::with_capacity(16));
    assert_eq!(count, 1);
    let (count, ()) = allocations_during(|| bytes.reserve_exact(4096));
    assert_eq!(count, 1);
    let (bytes, _) = allocated_bytes_during(|| {
        drop(Vec::<u8>::with_capacity(1000));
        let mut grown = Vec::<u8>::with_capacity(16);
        grown.reserve_exact(100);
        grown
    });
    assert_eq!(bytes, 1000 + 16 + 100);
}

#[test]
fn another_threads_allocations_are_not_counted_here() {
    let worker = std::thread::spawn(|| allocations_during(|| vec![0_u8; 100]).0);
    let (here, there) = allocations_during(|| worker.join().unwrap());
    assert_eq!((here, there), (0, 1));
}

#[test]
fn reading_clocks_moving_bytes_and_doing_io_allocate_nothing() {
    let clock = Monotonic::new();
    let mut source = AlignedBuffer::new(4096).unwrap();
    let mut target = AlignedBuffer::new(4096).unwrap();
    let scratch = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (count, done) = allocations_during(|| {
        source.fill_entropy(clock.now_ns());
        memory::black_box_copy(&mut target, &source);
        let written = file::pwrite(&scratch, &target, 0);
        let read = file::pread(&scratch, &mut source, 0);
        let refused = file::pread(&scratch, &mut source, u64::MAX);
        let times = process::cpu_times(process::CpuScope::Thread);
        (written, read, refused, times)
    });
    assert_eq!(count, 0);
    assert_eq!(done.0.unwrap().done_bytes(), 4096);
    assert_eq!(done.1.unwrap().done_bytes(), 4096);
    assert!(done.2.is_err());
}

#[test]
fn a_ring_that_is_made_queues_waits_and_drains_without_allocating() {
    let scratch = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let spec =
        RingSpec { depth: 8, block_bytes: 4096, seed: 1, files: vec![scratch], setup: RingSetup::default() };
    let mut ring = Ring::new(spec).unwrap();
    let mut moved_bytes = 0;
    let (count, ()) = allocations_during(|| {
        for slot in 0..8 {
            ring.block(slot).fill(1);
            let request = RingRequest {
                op: RingOp::Write,
                slot,
                file: 0,
                offset_bytes: u64::from(slot) * 4096,
                length_bytes: 4096,
                block_offset_bytes: 0,
            };
            ring.queue(&request).unwrap();
        }
        ring.submit().unwrap();
        ring.wait(8, u64::MAX).unwrap();
        ring.drain(|done| moved_bytes += done.result.unwrap());
    });
    assert_eq!((count, moved_bytes), (0, 8 * 4096));
}
