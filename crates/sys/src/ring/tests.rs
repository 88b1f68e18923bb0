//! A ring on real files: what it transfers, what it refuses, and that it is dropped without leaving a writer behind.

use super::*;
use crate::clock::{Monotonic, read_ns};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileExt as _;

const BLOCK_BYTES: usize = 4096;
/// Nothing here takes longer; a test that hangs ends by it.
const WAIT_NS_MAX: u64 = 20_000_000_000;

fn setup(buffers: FeatureMode, files: FeatureMode) -> RingSetup {
    RingSetup { registered_buffers: buffers, registered_files: files, ..RingSetup::default() }
}

fn ring_on(file: &File, depth: u32, setup: RingSetup) -> Ring {
    let files = vec![file.try_clone().unwrap()];
    Ring::new(RingSpec { depth, block_bytes: BLOCK_BYTES, seed: 1, files, setup }).unwrap()
}

fn ring(depth: u32) -> (File, Ring) {
    let file = tempfile::tempfile().unwrap();
    let ring = ring_on(&file, depth, RingSetup::default());
    (file, ring)
}

fn request(op: RingOp, slot: u32, block: u64) -> RingRequest {
    RingRequest {
        op,
        slot,
        file: 0,
        offset_bytes: block * BLOCK_BYTES as u64,
        length_bytes: u32::try_from(BLOCK_BYTES).unwrap(),
        block_offset_bytes: 0,
    }
}

/// Runs all that is queued to its end; slots with their results, sorted.
fn complete(ring: &mut Ring) -> Vec<(u32, Result<u32, i32>)> {
    ring.submit().unwrap();
    let until_ns = Monotonic::new().now_ns() + WAIT_NS_MAX;
    let mut done = Vec::new();
    while ring.in_flight_count() > 0 {
        assert!(read_ns() < until_ns, "the ring completes nothing");
        ring.wait(ring.in_flight_count(), until_ns).unwrap();
        ring.drain(|one| done.push((one.slot, one.result.map_err(SysErrno::raw))));
    }
    done.sort_unstable();
    done
}

#[test]
fn what_is_written_is_read_however_blocks_and_files_are_known() {
    for buffers in [FeatureMode::Required, FeatureMode::Off] {
        for files in [FeatureMode::Required, FeatureMode::Off] {
            let file = tempfile::tempfile().unwrap();
            let mut ring = ring_on(&file, 8, setup(buffers, files));
            assert_eq!(ring.grants().registered_buffers, buffers == FeatureMode::Required);
            assert_eq!(ring.grants().registered_files, files == FeatureMode::Required);
            for slot in 0..8_u8 {
                ring.block(slot.into()).fill(slot + 1);
                ring.queue(&request(RingOp::Write, slot.into(), slot.into())).unwrap();
            }
            assert!(complete(&mut ring).iter().all(|(_, result)| *result == Ok(4096)));
            let mut block = [0; BLOCK_BYTES];
            for slot in 0..8_u8 {
                file.read_exact_at(&mut block, u64::from(slot) * BLOCK_BYTES as u64).unwrap();
                assert!(block.iter().all(|byte| *byte == slot + 1), "{slot}");
                ring.queue(&request(RingOp::Read, slot.into(), u64::from(7 - slot))).unwrap();
            }
            assert_eq!(complete(&mut ring).len(), 8);
            assert!((0..8_u8).all(|slot| ring.block(slot.into()).iter().all(|byte| *byte == 8 - slot)));
        }
    }
}

#[test]
fn a_ring_works_at_every_step_that_an_older_kernel_would_leave_it_at() {
    let steps = setup::every_step(8);
    assert!(!steps.is_empty());
    for (kernel, grants) in steps {
        let files = vec![tempfile::tempfile().unwrap()];
        let setup = RingSetup::default();
        let spec = RingSpec { depth: 8, block_bytes: BLOCK_BYTES, seed: 1, files, setup };
        let mut ring = Ring::over(kernel, grants, spec).unwrap();
        for turn in 0..40_u8 {
            for slot in 0..8 {
                ring.block(slot).fill(turn);
                ring.queue(&request(RingOp::Write, slot, slot.into())).unwrap();
            }
            assert!(complete(&mut ring).iter().all(|(_, result)| *result == Ok(4096)), "{grants:?}");
        }
        ring.queue(&request(RingOp::Read, 0, 7)).unwrap();
        complete(&mut ring);
        assert!(ring.block(0).iter().all(|byte| *byte == 39), "{grants:?}");
    }
}

#[test]
fn a_sync_completes_and_a_punched_hole_reads_as_zeroes() {
    let (file, mut ring) = ring(2);
    file.write_all_at(&[7; 4 * BLOCK_BYTES], 0).unwrap();
    ring.queue(&request(RingOp::PunchHole, 0, 1)).unwrap();
    ring.queue(&request(RingOp::Fdatasync, 1, 0)).unwrap();
    assert_eq!(complete(&mut ring), [(0, Ok(0)), (1, Ok(0))]);
    ring.queue(&request(RingOp::Read, 0, 1)).unwrap();
    ring.queue(&request(RingOp::Read, 1, 2)).unwrap();
    complete(&mut ring);
    assert!(ring.block(0).iter().all(|byte| *byte == 0));
    assert!(ring.block(1).iter().all(|byte| *byte == 7));
    assert_eq!(file.metadata().unwrap().len(), 4 * BLOCK_BYTES as u64);
}

#[test]
fn a_transfer_is_as_short_as_the_kernel_made_it_and_can_be_continued_in_its_block() {
    let (file, mut ring) = ring(1);
    file.write_all_at(&[5; 1000], 0).unwrap();
    ring.queue(&request(RingOp::Read, 0, 0)).unwrap();
    assert_eq!(complete(&mut ring), [(0, Ok(1000))]);
    file.write_all_at(&[6; 96], 1000).unwrap();
    let rest = RingRequest {
        offset_bytes: 1000,
        block_offset_bytes: 1000,
        length_bytes: 3096,
        ..request(RingOp::Read, 0, 0)
    };
    ring.queue(&rest).unwrap();
    assert_eq!(complete(&mut ring), [(0, Ok(96))]);
    assert_eq!((ring.block(0)[999], ring.block(0)[1000]), (5, 6));
}

#[test]
fn what_does_not_fit_is_refused_before_the_kernel_sees_it() {
    let (_, mut ring) = ring(2);
    let fits = request(RingOp::Read, 0, 0);
    let wrong = [
        RingRequest { slot: 2, ..fits },
        RingRequest { file: 1, ..fits },
        RingRequest { block_offset_bytes: 1, ..fits },
        RingRequest { block_offset_bytes: u32::MAX, length_bytes: u32::MAX, ..fits },
    ];
    for request in wrong {
        assert_eq!(ring.queue(&request).unwrap_err().raw(), libc::EINVAL, "{request:?}");
    }
    ring.queue(&fits).unwrap();
    assert_eq!(ring.queue(&fits).unwrap_err().raw(), libc::EBUSY);
    assert_eq!(ring.in_flight_count(), 1);
}

#[test]
#[should_panic(expected = "belongs to the kernel")]
fn a_block_in_flight_cannot_be_touched() {
    let (_, mut ring) = ring(1);
    ring.queue(&request(RingOp::Read, 0, 0)).unwrap();
    let _ = ring.block(0);
}

#[test]
fn a_failed_request_brings_the_kernels_number() {
    let file = File::open("/proc/self/exe").unwrap();
    let mut ring = ring_on(&file, 1, RingSetup::default());
    ring.queue(&request(RingOp::Write, 0, 0)).unwrap();
    assert_eq!(complete(&mut ring), [(0, Err(libc::EBADF))]);
}

#[test]
fn a_wait_for_what_does_not_come_ends_at_its_deadline() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let file = File::from(std::os::fd::OwnedFd::from(reader));
    for absolute in [true, false] {
        let mut ring = ring_on(&file, 2, RingSetup::default());
        ring.absolute_deadlines &= absolute;
        ring.queue(&request(RingOp::Read, 0, 0)).unwrap();
        ring.submit().unwrap();
        let until_ns = read_ns() + 2_000_000;
        ring.wait(1, until_ns).unwrap();
        assert!(read_ns() >= until_ns);
        ring.drain(|done| panic!("{done:?}"));
        writer.write_all(&[1]).unwrap();
        assert_eq!(complete(&mut ring), [(0, Ok(1))]);
    }
}

#[test]
fn a_wait_that_gets_some_of_what_it_waits_for_ends_at_its_deadline() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let file = File::from(std::os::fd::OwnedFd::from(reader));
    for absolute in [true, false] {
        let mut ring = ring_on(&file, 2, RingSetup::default());
        ring.absolute_deadlines &= absolute;
        ring.queue(&request(RingOp::Read, 0, 0)).unwrap();
        ring.queue(&request(RingOp::Read, 1, 0)).unwrap();
        ring.submit().unwrap();
        writer.write_all(&[1]).unwrap();
        // Whoever ends the wait in place of the deadline does so later.
        let (ended, end) = std::sync::mpsc::channel::<()>();
        let mut late_writer = writer.try_clone().unwrap();
        let watch = std::thread::spawn(move || {
            let is_late = end.recv_timeout(std::time::Duration::from_secs(5)).is_err();
            late_writer.write_all(&[2]).unwrap();
            is_late
        });
        ring.wait(2, read_ns() + 2_000_000).unwrap();
        let _ = ended.send(());
        assert!(!watch.join().unwrap(), "the wait went on past its deadline");
        assert_eq!(complete(&mut ring), [(0, Ok(1)), (1, Ok(1))]);
    }
}

#[test]
fn a_wait_with_nothing_in_flight_returns_at_once() {
    let (_, mut ring) = ring(2);
    ring.wait(2, u64::MAX).unwrap();
    ring.wait(0, u64::MAX).unwrap();
}

#[test]
fn dropping_a_ring_cancels_what_would_never_complete() {
    let (reader, writer) = std::io::pipe().unwrap();
    let file = File::from(std::os::fd::OwnedFd::from(reader));
    let mut ring = ring_on(&file, 4, RingSetup::default());
    for slot in 0..3 {
        ring.queue(&request(RingOp::Read, slot, 0)).unwrap();
    }
    ring.submit().unwrap();
    ring.queue(&request(RingOp::Read, 3, 0)).unwrap();
    assert!(ring.settle(WAIT_NS_MAX));
    assert_eq!(ring.in_flight_count(), 0);
    drop(ring);
    // Nobody takes what is written now.
    (&writer).write_all(&[9]).unwrap();
    drop(writer);
    let mut rest = Vec::new();
    (&file).read_to_end(&mut rest).unwrap();
    assert_eq!(rest, [9]);
}

#[test]
fn memory_that_the_kernel_does_not_give_back_is_never_freed() {
    let (_, mut ring) = ring(1);
    let first = ring.start.as_ptr();
    // As if the kernel still had a request that nothing can cancel.
    ring.busy[0] = true;
    ring.in_flight_count = 1;
    drop(ring);
    // SAFETY: the block is still mapped, which is the claim; the kernel uses it no more.
    let byte = unsafe { first.read_volatile() };
    let mut expected = [0; 1];
    crate::entropy::fill_entropy(&mut expected, 1);
    assert_eq!(byte, expected[0]);
}

/// Asks the ring behind `descriptor` to unregister buffers: its answer shows whether it has any.
fn registered_buffers(descriptor: &OwnedFd) -> Result<(), SysErrno> {
    const IORING_UNREGISTER_BUFFERS: libc::c_uint = 1;
    // SAFETY: the descriptor is open, and the operation takes no argument.
    let status = unsafe {
        libc::syscall(
            libc::SYS_io_uring_register,
            descriptor.as_raw_fd(),
            IORING_UNREGISTER_BUFFERS,
            std::ptr::null::<libc::c_void>(),
            0,
        )
    };
    if status == 0 { Ok(()) } else { Err(SysErrno::last()) }
}

/// A second descriptor of the ring, by which it lives on.
fn kept_alive(kernel: &IoUring) -> OwnedFd {
    // SAFETY: the ring is open while it is borrowed.
    unsafe { std::os::fd::BorrowedFd::borrow_raw(kernel.as_raw_fd()) }.try_clone_to_owned().unwrap()
}

#[test]
fn buffers_are_unregistered_before_a_ring_frees_them() {
    let file = tempfile::tempfile().unwrap();
    let ring = ring_on(&file, 4, setup(FeatureMode::Required, FeatureMode::Off));
    let kept = kept_alive(&ring.kernel);
    drop(ring);
    assert_eq!(registered_buffers(&kept).map_err(SysErrno::raw), Err(libc::ENXIO));
}

#[test]
fn buffers_are_unregistered_before_an_error_frees_them() {
    let setup = setup(FeatureMode::Required, FeatureMode::Required);
    let (kernel, grants) = super::setup::build(entries_of(4, setup), setup).unwrap();
    let kept = kept_alive(&kernel);
    // A descriptor of a path alone is no file that can be registered.
    let path = rustix::fs::open("/", rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
    let spec = RingSpec { depth: 4, block_bytes: BLOCK_BYTES, seed: 1, files: vec![File::from(path)], setup };
    let refused = Ring::over(kernel, grants, spec).unwrap_err();
    assert_eq!(refused.errno().map(SysErrno::raw), Some(libc::EBADF), "{refused}");
    assert_eq!(registered_buffers(&kept).map_err(SysErrno::raw), Err(libc::ENXIO));
}

#[test]
fn a_submission_thread_is_granted_or_refused_by_name() {
    let file = tempfile::tempfile().unwrap();
    let polled = RingSetup { submission_polling: true, ..RingSetup::default() };
    let files = vec![file.try_clone().unwrap()];
    match Ring::new(RingSpec { depth: 4, block_bytes: BLOCK_BYTES, seed: 1, files, setup: polled }) {
        Ok(mut ring) => {
            assert!(ring.grants().submission_polling && !ring.grants().deferred_task_run);
            for slot in 0..4 {
                ring.queue(&request(RingOp::Write, slot, slot.into())).unwrap();
            }
            assert!(complete(&mut ring).iter().all(|(_, result)| *result == Ok(4096)));
        }
        Err(error) => assert!(error.to_string().contains("SQPOLL"), "{error}"),
    }
}

#[test]
fn polling_for_completions_takes_no_buffered_file() {
    let file = tempfile::tempfile().unwrap();
    let polled = RingSetup { completion_polling: true, ..RingSetup::default() };
    let mut ring = ring_on(&file, 1, polled);
    ring.queue(&request(RingOp::Read, 0, 0)).unwrap();
    assert_eq!(complete(&mut ring), [(0, Err(libc::EOPNOTSUPP))]);
}

#[test]
fn a_ring_without_slots_or_bytes_is_refused_with_the_limits() {
    for (depth, block_bytes) in [(0, 4096), (RING_DEPTH_MAX + 1, 4096), (1, 0)] {
        let spec = RingSpec { depth, block_bytes, seed: 1, files: Vec::new(), setup: RingSetup::default() };
        assert!(Ring::new(spec).unwrap_err().to_string().contains("1 to 4096 slots"));
    }
    let spec = RingSpec {
        depth: 2,
        block_bytes: usize::MAX,
        seed: 1,
        files: Vec::new(),
        setup: RingSetup::default(),
    };
    assert_eq!(Ring::new(spec).unwrap_err().errno().map(SysErrno::raw), Some(libc::ENOMEM));
}

#[test]
fn a_submission_thread_that_reports_late_what_it_took_loses_no_request() {
    const DEPTH: u32 = 16;
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(&vec![1; DEPTH as usize * BLOCK_BYTES], 0).unwrap();
    let setup = RingSetup { submission_polling: true, ..RingSetup::default() };
    let files = vec![file];
    let Ok(mut ring) = Ring::new(RingSpec { depth: DEPTH, block_bytes: BLOCK_BYTES, seed: 1, files, setup })
    else {
        return;
    };
    // The thread reports once a batch which entries it took, and their requests may complete before.
    assert!(ring.kernel.params().sq_entries() >= 2 * DEPTH);
    let until_ns = read_ns() + WAIT_NS_MAX;
    let (mut done_count, mut free) = (0, (0..DEPTH).collect::<Vec<u32>>());
    while done_count < 400_000 {
        assert!(read_ns() < until_ns, "the ring completes nothing");
        for slot in free.drain(..) {
            ring.queue(&request(RingOp::Read, slot, slot.into())).unwrap();
        }
        ring.submit().unwrap();
        ring.wait(1, until_ns).unwrap();
        ring.drain(|done| free.push(done.slot));
        done_count += free.len();
    }
}
