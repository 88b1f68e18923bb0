//! What a ring says when the machine refuses it or a part of it; the refusals are the kernel's own.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use narrows_sys::Errno;
use narrows_sys::denied_calls::{DeniedCall, deny_in_this_thread};
use narrows_sys::ring::{self, Ring, RingError, RingSpec, RingWishes, Wish};

/// Runs `work` in a thread of which `call` is refused with `errno`.
fn without<T: Send + 'static>(call: DeniedCall, errno: i32, work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::spawn(move || {
        deny_in_this_thread(call, Errno::from_raw(errno)).unwrap();
        work()
    })
    .join()
    .unwrap()
}

fn ring(wishes: RingWishes) -> Result<Ring, RingError> {
    let files = vec![tempfile::tempfile().unwrap()];
    Ring::new(RingSpec { depth: 4, block_bytes: 4096, seed: 1, files, wishes })
}

#[test]
fn a_forbidden_ring_says_who_forbids_it_and_what_to_do() {
    for (errno, name) in [(libc::EPERM, "EPERM"), (libc::ENOSYS, "ENOSYS"), (libc::EACCES, "EACCES")] {
        let error = without(DeniedCall::RingSetup, errno, || ring(RingWishes::default()).unwrap_err());
        assert!(error.is_forbidden());
        let message = error.to_string();
        assert!(message.contains("forbidden") && message.contains(name), "{message}");
        assert!(message.contains("another engine"), "{message}");
        let error = without(DeniedCall::RingSetup, errno, || ring::support().unwrap_err());
        assert!(error.is_forbidden(), "{error}");
    }
}

#[test]
fn another_thread_is_not_refused() {
    without(DeniedCall::RingSetup, libc::EPERM, || ());
    assert!(ring::support().is_ok());
}

#[test]
fn buffers_that_may_not_be_locked_are_done_without_and_said() {
    let grants = without(DeniedCall::RingBuffers, libc::ENOMEM, || {
        ring(RingWishes::default()).map(|ring| ring.grants())
    });
    let grants = grants.unwrap();
    assert!(!grants.registered_buffers && grants.registered_files);
}

#[test]
fn required_buffers_that_may_not_be_locked_name_the_limit() {
    let required = RingWishes { registered_buffers: Wish::Required, ..RingWishes::default() };
    let error = without(DeniedCall::RingBuffers, libc::ENOMEM, move || ring(required).unwrap_err());
    assert!(!error.is_forbidden());
    let message = error.to_string();
    assert!(message.contains("registered buffers") && message.contains("RLIMIT_MEMLOCK is"), "{message}");
    assert!(message.contains("16384 bytes") && message.contains("ulimit -l"), "{message}");
}

#[test]
fn required_files_that_are_refused_are_named() {
    let required = RingWishes { registered_files: Wish::Required, ..RingWishes::default() };
    let message =
        without(DeniedCall::RingFiles, libc::EMFILE, move || ring(required).unwrap_err().to_string());
    assert!(message.contains("registered files") && message.contains("RLIMIT_NOFILE"), "{message}");
}
