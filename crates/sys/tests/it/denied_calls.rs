//! What a ring says when the machine refuses it or a part of it; the refusals are the kernel's own.

use narrows_sys::SysErrno;
use narrows_sys::denied_calls::{DeniedCall, deny_in_this_thread};
use narrows_sys::ring::{self, FeatureMode, Ring, RingError, RingSetup, RingSpec};

/// Whether no ring of any kind is to be had.
fn is_forbidden(error: &RingError) -> bool {
    matches!(error, RingError::Forbidden { .. } | RingError::Lacking { .. })
}

/// Runs `work` in a thread of which `call` is refused with `errno`.
fn without<T: Send + 'static>(call: DeniedCall, errno: i32, work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::spawn(move || {
        deny_in_this_thread(call, SysErrno::from_raw(errno)).unwrap();
        work()
    })
    .join()
    .unwrap()
}

fn ring(setup: RingSetup) -> Result<Ring, RingError> {
    let files = vec![tempfile::tempfile().unwrap()];
    Ring::new(RingSpec { depth: 4, block_bytes: 4096, seed: 1, files, setup })
}

#[test]
fn a_forbidden_ring_says_who_forbids_it_and_what_to_do() {
    for (errno, name) in [(libc::EPERM, "EPERM"), (libc::ENOSYS, "ENOSYS"), (libc::EACCES, "EACCES")] {
        let error = without(DeniedCall::RingSetup, errno, || ring(RingSetup::default()).unwrap_err());
        assert!(is_forbidden(&error));
        let message = error.to_string();
        assert!(message.contains("forbidden") && message.contains(name), "{message}");
        assert!(message.contains("another engine"), "{message}");
        let error = without(DeniedCall::RingSetup, errno, || ring::support().unwrap_err());
        assert!(is_forbidden(&error), "{error}");
    }
}

#[test]
fn a_call_that_rings_need_and_that_is_refused_is_named_with_who_refuses_it() {
    let calls = [(DeniedCall::RingEnter, "io_uring_enter"), (DeniedCall::RingRegister, "io_uring_register")];
    for (call, name) in calls {
        for errno in [libc::EPERM, libc::EACCES, libc::ENOSYS] {
            let error = without(call, errno, || ring(RingSetup::default()).unwrap_err());
            let support = without(call, errno, || ring::support().unwrap_err());
            for error in [error, support] {
                let words = error.to_string();
                assert!(is_forbidden(&error) && words.contains(&format!("{name} returns")), "{words}");
                assert!(words.contains("seccomp") && !words.contains("newer kernel"), "{words}");
            }
        }
    }
}

#[test]
fn a_trial_says_what_a_load_would_be_refused() {
    let wanted = |setup| ring::RingTrialSpec { depth: 64, block_bytes: 4096, count: 2, setup };
    let required = RingSetup {
        registered_buffers: FeatureMode::Required,
        registered_files: FeatureMode::Required,
        ..RingSetup::default()
    };
    let refused = |call, errno, setup| {
        without(call, errno, move || ring::try_rings(wanted(setup)).unwrap_err()).to_string()
    };
    let words = refused(DeniedCall::RingSetup, libc::ENOMEM, RingSetup::default());
    assert!(words.contains("2 io_urings") && words.contains("RLIMIT_MEMLOCK"), "{words}");
    let words = refused(DeniedCall::RingBuffers, libc::ENOMEM, required);
    assert!(words.contains("registered buffers") && words.contains("ulimit -l "), "{words}");
    for call in [DeniedCall::RingBuffers, DeniedCall::RingFiles] {
        let words = refused(call, libc::EPERM, required);
        assert!(words.contains("registered") && words.contains("seccomp"), "{words}");
    }
    for call in [DeniedCall::RingBuffers, DeniedCall::RingFiles] {
        let granted = without(call, libc::EPERM, move || ring::try_rings(wanted(RingSetup::default())));
        assert!(granted.is_ok(), "what is not required may be refused: {granted:?}");
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
        ring(RingSetup::default()).map(|ring| ring.grants())
    });
    let grants = grants.unwrap();
    assert!(!grants.registered_buffers && grants.registered_files);
}

#[test]
fn required_buffers_that_may_not_be_locked_name_the_limit() {
    let required = RingSetup { registered_buffers: FeatureMode::Required, ..RingSetup::default() };
    let error = without(DeniedCall::RingBuffers, libc::ENOMEM, move || ring(required).unwrap_err());
    assert!(!is_forbidden(&error));
    let message = error.to_string();
    assert!(message.contains("registered buffers") && message.contains("RLIMIT_MEMLOCK is"), "{message}");
    assert!(message.contains("16384 bytes") && message.contains("ulimit -l"), "{message}");
}

#[test]
fn required_files_that_are_refused_are_named() {
    let required = RingSetup { registered_files: FeatureMode::Required, ..RingSetup::default() };
    let message =
        without(DeniedCall::RingFiles, libc::EMFILE, move || ring(required).unwrap_err().to_string());
    assert!(message.contains("registered files") && message.contains("RLIMIT_NOFILE"), "{message}");
}
