//! Getting a ring: every feature is asked for and taken where it is granted; a kernel's version is never looked at.
//!
//! Registration of buffers and files is here too; what a ring does with them is not.

use std::fs::File;
use std::os::fd::AsRawFd;

use io_uring::{EnterFlags, IoUring, Probe, opcode, types};

use super::refusal::{buffers_advice, is_prohibition, registration_advice, setup_refused, use_refused};
use super::{FeatureMode, RingError, RingGrants, RingSetup};
use crate::clock::{read_ns, wait_ns};
use crate::error::SysErrno;

/// Time after which an idle submission thread sleeps; longer than any pause within a loaded loop.
const SUBMISSION_THREAD_IDLE_MS: u32 = 1000;
/// Longest wait for a request that does nothing.
const NOP_TIMEOUT_S: u64 = 2;
/// Longest wait for memory of rings that are gone.
const GIVEN_BACK_NS: u64 = 300_000_000;
/// Time between two looks for it.
const LOOK_AGAIN_NS: u64 = 5_000_000;
/// Largest region that the kernel registers as one buffer.
const REGION_BYTES_MAX: usize = 1 << 30;

/// When the kernel runs its part of a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskRun {
    /// When completions are waited for.
    Deferred,
    /// Whenever the thread enters the kernel.
    Cooperative,
    /// At once, by an interrupt of the thread.
    AtOnce,
}

/// Flags that a setup may have and works without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OptionalSetupFlags {
    single_issuer: bool,
    task_run: TaskRun,
    submit_all: bool,
    /// Entries are taken in the order of the queue, without a table of indices: 1 % of a cached read.
    linear: bool,
}

const NONE: OptionalSetupFlags =
    OptionalSetupFlags { single_issuer: false, task_run: TaskRun::AtOnce, submit_all: false, linear: false };

/// What is tried, best first: each step leaves out what the next older kernels do not know.
const LADDER: [OptionalSetupFlags; 6] = [
    OptionalSetupFlags { single_issuer: true, task_run: TaskRun::Deferred, submit_all: true, linear: true },
    OptionalSetupFlags { single_issuer: true, task_run: TaskRun::Deferred, submit_all: true, linear: false },
    OptionalSetupFlags {
        single_issuer: true,
        task_run: TaskRun::Cooperative,
        submit_all: true,
        linear: false,
    },
    OptionalSetupFlags { task_run: TaskRun::Cooperative, submit_all: true, ..NONE },
    OptionalSetupFlags { submit_all: true, ..NONE },
    NONE,
];

/// The same for a ring with a submission thread, whose task work is never the caller's.
const LADDER_SUBMISSION_POLLING: [OptionalSetupFlags; 4] = [
    OptionalSetupFlags { single_issuer: true, submit_all: true, linear: true, ..NONE },
    OptionalSetupFlags { single_issuer: true, submit_all: true, ..NONE },
    OptionalSetupFlags { submit_all: true, ..NONE },
    NONE,
];

/// Who looks for submissions and completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Polling {
    completion: bool,
    submission: bool,
}

/// A ring of at least `entries`, with all that the machine grants and `asked` asks for, before any registration.
pub(super) fn build(entries: u32, asked: RingSetup) -> Result<(IoUring, RingGrants), RingError> {
    let polling = Polling { completion: asked.completion_polling, submission: asked.submission_polling };
    let attempt = |polling: Polling| climb(polling, |step| setup(entries, polling, step));
    let (mut ring, step) = match retry_for_memory(|| attempt(polling)) {
        Ok(built) => built,
        Err(errno) => return Err(refused(errno, entries, polling, |polling| attempt(polling).map(drop))),
    };
    checked(&ring)?;
    one_round(&mut ring)?;
    Ok((ring, grants(polling, step)))
}

/// What `attempt` gives, tried again for a while where memory lacks: the kernel gives that of a ring that is gone back when it
/// comes to it, and counts it until then.
fn retry_for_memory<T>(mut attempt: impl FnMut() -> Result<T, SysErrno>) -> Result<T, SysErrno> {
    let until_ns = read_ns().saturating_add(GIVEN_BACK_NS);
    loop {
        match attempt() {
            Err(errno) if errno.raw() == libc::ENOMEM && read_ns() < until_ns => _ = wait_ns(LOOK_AGAIN_NS),
            answer => return answer,
        }
    }
}

fn grants(polling: Polling, step: OptionalSetupFlags) -> RingGrants {
    RingGrants {
        single_issuer: step.single_issuer,
        deferred_task_run: step.task_run == TaskRun::Deferred,
        cooperative_task_run: step.task_run == TaskRun::Cooperative,
        completion_polling: polling.completion,
        submission_polling: polling.submission,
        ..RingGrants::default()
    }
}

/// The first step of the ladder that `setup` does not call invalid.
fn climb<T>(
    polling: Polling,
    mut setup: impl FnMut(OptionalSetupFlags) -> Result<T, SysErrno>,
) -> Result<(T, OptionalSetupFlags), SysErrno> {
    let ladder: &[OptionalSetupFlags] = if polling.submission { &LADDER_SUBMISSION_POLLING } else { &LADDER };
    let mut answer = SysErrno::from_raw(libc::EINVAL);
    for step in ladder {
        match setup(*step) {
            Ok(built) => return Ok((built, *step)),
            Err(errno) if errno.raw() == libc::EINVAL => answer = errno,
            Err(errno) => return Err(errno),
        }
    }
    Err(answer)
}

/// Whether polling was refused or any ring at all: a ring without polling is tried.
fn refused(
    errno: SysErrno,
    entries: u32,
    polling: Polling,
    mut attempt: impl FnMut(Polling) -> Result<(), SysErrno>,
) -> RingError {
    let refusal = |feature| RingError::Refused {
        feature,
        errno,
        advice: "do not use it, or ask this machine's administrator for permission".to_owned(),
    };
    if polling.submission && attempt(Polling { submission: false, ..polling }).is_ok() {
        return refusal("polling for submissions (IORING_SETUP_SQPOLL)");
    }
    if polling.completion && attempt(Polling { completion: false, ..polling }).is_ok() {
        return refusal("polling for completions (IORING_SETUP_IOPOLL)");
    }
    setup_refused(errno, entries)
}

fn setup(entries: u32, polling: Polling, step: OptionalSetupFlags) -> Result<IoUring, SysErrno> {
    let mut builder = IoUring::builder();
    builder.dontfork();
    if polling.completion {
        builder.setup_iopoll();
    }
    if polling.submission {
        builder.setup_sqpoll(SUBMISSION_THREAD_IDLE_MS);
    }
    if step.single_issuer {
        builder.setup_single_issuer();
    }
    match step.task_run {
        TaskRun::Deferred => _ = builder.setup_defer_taskrun(),
        TaskRun::Cooperative => _ = builder.setup_coop_taskrun(),
        TaskRun::AtOnce => {}
    }
    if step.submit_all {
        builder.setup_submit_all();
    }
    if step.linear {
        builder.setup_no_sqarray();
    }
    builder.build(entries).map_err(SysErrno::from)
}

/// Refuses a ring that cannot do what every ring here must.
fn checked(ring: &IoUring) -> Result<(), RingError> {
    if !ring.params().is_feature_ext_arg() {
        return Err(RingError::Lacking { what: "wait with a deadline (IORING_FEAT_EXT_ARG)" });
    }
    let probe = probe(ring)?;
    let needed = [
        (opcode::Read::CODE, "IORING_OP_READ"),
        (opcode::Write::CODE, "IORING_OP_WRITE"),
        (opcode::Fsync::CODE, "IORING_OP_FSYNC"),
    ];
    match needed.iter().find(|(code, _)| !probe.is_supported(*code)) {
        Some((_, what)) => Err(RingError::Lacking { what }),
        None => Ok(()),
    }
}

/// Which operations the kernel has.
pub(super) fn probe(ring: &IoUring) -> Result<Probe, RingError> {
    let mut probe = Probe::new();
    match ring.submitter().register_probe(&mut probe) {
        Ok(()) => Ok(probe),
        Err(error) => Err(match SysErrno::from(error) {
            errno if is_prohibition(errno) => use_refused("io_uring_register", errno),
            _ => RingError::Lacking { what: "probe of its operations (IORING_REGISTER_PROBE)" },
        }),
    }
}

/// Submits a request that does nothing and takes its completion: a sandbox may let rings be set up and not be used.
fn one_round(ring: &mut IoUring) -> Result<(), RingError> {
    let nothing = opcode::Nop::new().build().user_data(u64::MAX);
    // SAFETY: the request refers to no memory; nothing else is queued, so that there is room.
    let pushed = unsafe { ring.submission().push(&nothing) };
    debug_assert!(pushed.is_ok(), "a new ring is full");
    let timeout = types::Timespec::new().sec(NOP_TIMEOUT_S);
    let arguments = types::SubmitArgs::new().timespec(&timeout);
    while let Err(error) = ring.submitter().submit_with_args(1, &arguments) {
        let errno = SysErrno::from(error);
        // A signal came; the wait is repeated, and the request is not.
        if errno.raw() != libc::EINTR {
            return Err(use_refused("io_uring_enter", errno));
        }
    }
    match ring.completion().count() {
        0 => Err(use_refused("io_uring_enter", SysErrno::from_raw(libc::ETIME))),
        _ => Ok(()),
    }
}

/// Whether a wait may name its end on the clock, so that the clock need not be read before it.
pub(super) fn grants_absolute_deadlines(ring: &IoUring) -> bool {
    let instant = types::Timespec::new().nsec(1);
    let arguments = types::SubmitArgs::new().timespec(&instant);
    let flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG | EnterFlags::ABS_TIMER;
    // SAFETY: nothing is submitted or waited for, and the argument is the structure that EXT_ARG announces; it and
    // the instant it points to outlive the call.
    unsafe { ring.submitter().enter(0, 0, flags.bits(), Some(&arguments)) }.is_ok()
}

/// Registers `length_bytes` from `start` in regions of whole slots of `stride_bytes`; how many slots a region has, or
/// `None` where that is not requested or not granted.
///
/// # Errors
/// `Refused` where it is required and not granted.
///
/// # Safety
/// The memory must be mapped, and not be unmapped before [`unregister_buffers`] says so, or the ring is gone.
pub(super) unsafe fn register_buffers(
    ring: &IoUring,
    start: *mut u8,
    length_bytes: usize,
    stride_bytes: usize,
    mode: FeatureMode,
) -> Result<Option<u32>, RingError> {
    let region_bytes = region_bytes(length_bytes, stride_bytes, REGION_BYTES_MAX);
    let regions: Vec<libc::iovec> = (0..length_bytes)
        .step_by(region_bytes)
        .map(|from| libc::iovec {
            iov_base: start.wrapping_add(from).cast(),
            iov_len: region_bytes.min(length_bytes - from),
        })
        .collect();
    let registered = granted(mode, || {
        // SAFETY: the regions are within the memory that the caller vouches for, up to the end of the ring.
        unsafe { ring.submitter().register_buffers(&regions) }
    });
    match registered {
        Ok(true) => Ok(u32::try_from(region_bytes / stride_bytes).ok()),
        Ok(false) => Ok(None),
        Err(errno) => Err(RingError::Refused {
            feature: "registered buffers (IORING_REGISTER_BUFFERS)",
            errno,
            advice: buffers_advice(errno, length_bytes as u64),
        }),
    }
}

/// Takes all registered buffers back; whether the kernel knows none any more, so that they may be freed.
pub(super) fn unregister_buffers(ring: &IoUring) -> bool {
    match ring.submitter().unregister_buffers() {
        Ok(()) => true,
        // None was registered.
        Err(error) => SysErrno::from(error).raw() == libc::ENXIO,
    }
}

/// The largest number of bytes up to `bytes_max` that is whole slots, at least one; all of them where they fit.
fn region_bytes(length_bytes: usize, stride_bytes: usize, bytes_max: usize) -> usize {
    (bytes_max / stride_bytes).min(length_bytes / stride_bytes).max(1) * stride_bytes
}

/// Registers `files` in their order; whether that was wished for and granted.
pub(super) fn register_files(ring: &IoUring, files: &[File], mode: FeatureMode) -> Result<bool, RingError> {
    let numbers: Vec<i32> = files.iter().map(AsRawFd::as_raw_fd).collect();
    let mode = if numbers.is_empty() { FeatureMode::Off } else { mode };
    granted(mode, || ring.submitter().register_files(&numbers)).map_err(|errno| RingError::Refused {
        feature: "registered files (IORING_REGISTER_FILES)",
        errno,
        advice: registration_advice(
            errno,
            "files",
            "raise RLIMIT_NOFILE (ulimit -n), or do not require registered files".to_owned(),
        ),
    })
}

/// Whether `register` was wished for and succeeded; its failure matters only where it was required.
fn granted(mode: FeatureMode, register: impl FnOnce() -> std::io::Result<()>) -> Result<bool, SysErrno> {
    if mode == FeatureMode::Off {
        return Ok(false);
    }
    match register() {
        Ok(()) => Ok(true),
        Err(error) if mode == FeatureMode::Required => Err(SysErrno::from(error)),
        Err(_) => Ok(false),
    }
}

/// A ring of each step that this machine knows, best first, without polling.
#[cfg(test)]
pub(super) fn every_step(entries: u32) -> Vec<(IoUring, RingGrants)> {
    let polling = Polling { completion: false, submission: false };
    let built =
        |step: &OptionalSetupFlags| Some((setup(entries, polling, *step).ok()?, grants(polling, *step)));
    LADDER.iter().filter_map(built).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERRUPTS: Polling = Polling { completion: false, submission: false };

    fn invalid() -> SysErrno {
        SysErrno::from_raw(libc::EINVAL)
    }

    #[test]
    fn an_older_kernel_gets_the_best_it_knows() {
        let knows_no_deferral = |step: OptionalSetupFlags| {
            if step.task_run == TaskRun::Deferred { Err(invalid()) } else { Ok(()) }
        };
        assert_eq!(climb(INTERRUPTS, knows_no_deferral).unwrap().1, LADDER[2]);
        let knows_nothing = |step: OptionalSetupFlags| if step == NONE { Ok(()) } else { Err(invalid()) };
        assert_eq!(climb(INTERRUPTS, knows_nothing).unwrap().1, NONE);
    }

    #[test]
    fn memory_that_is_given_back_meanwhile_is_waited_for() {
        let mut count = 0;
        let answer = retry_for_memory(|| {
            count += 1;
            if count < 3 { Err(SysErrno::from_raw(libc::ENOMEM)) } else { Ok(count) }
        });
        assert_eq!(answer, Ok(3));
    }

    #[test]
    fn a_prohibition_is_not_tried_again() {
        let mut count = 0;
        let answer = climb(INTERRUPTS, |_| {
            count += 1;
            Err::<(), _>(SysErrno::from_raw(libc::EPERM))
        });
        assert_eq!((answer.unwrap_err().raw(), count), (libc::EPERM, 1));
    }

    #[test]
    fn refused_polling_is_distinguished_from_a_refused_ring() {
        let both = Polling { completion: true, submission: true };
        let no_thread = |polling: Polling| if polling.submission { Err(invalid()) } else { Ok(()) };
        assert!(refused(invalid(), 8, both, no_thread).to_string().contains("SQPOLL"));
        let only_completion = Polling { completion: true, submission: false };
        let no_polling = |polling: Polling| if polling.completion { Err(invalid()) } else { Ok(()) };
        assert!(refused(invalid(), 8, only_completion, no_polling).to_string().contains("IOPOLL"));
        let nothing = |_| Err(SysErrno::from_raw(libc::EPERM));
        let error = refused(SysErrno::from_raw(libc::EPERM), 8, both, nothing);
        assert!(matches!(error, RingError::Forbidden { .. }), "{error}");
    }

    #[test]
    fn a_region_contains_whole_slots_and_all_of_them_where_they_fit() {
        assert_eq!(region_bytes(4 * 4096, 4096, 1 << 30), 4 * 4096);
        assert_eq!(region_bytes(7 * 12288, 12288, 40_000), 3 * 12288);
        assert_eq!(region_bytes(7 * 12288, 12288, 4096), 12288, "a slot larger than a region is tried alone");
    }

    #[test]
    fn only_a_required_registration_may_fail_the_ring() {
        let fails = || Err(std::io::Error::from_raw_os_error(libc::ENOMEM));
        assert_eq!(granted(FeatureMode::IfGranted, fails), Ok(false));
        assert_eq!(granted(FeatureMode::Off, fails), Ok(false));
        assert_eq!(granted(FeatureMode::Required, fails).unwrap_err().raw(), libc::ENOMEM);
        assert_eq!(granted(FeatureMode::Required, || Ok(())), Ok(true));
    }
}
