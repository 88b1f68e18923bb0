//! What this process has used of the processors, which of them it may use, and which files its threads share.
//!
//! It reads the kernel's answers for the calling process only; other processes, cgroups and the host are the probe's.

use std::io;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::Mode;
use rustix::process::Signal;
use rustix::thread::CpuSet;

use crate::error::{Error, Result, SysErrno};

mod child;

pub use child::{StopOutcome, StopSignal, stop_child, wait_within};

/// Whose processor time is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuScope {
    /// All threads of this process, also those that have ended.
    Process,
    /// The calling thread.
    Thread,
    /// The children (and theirs) that have ended and were waited for; running ones count nothing yet.
    Children,
}

/// Processor time used so far.
///
/// # Units
/// Nanoseconds; the kernel answers in whole microseconds, of a running thread up to this moment, and on kernels without precise accounting
/// (`CONFIG_VIRT_CPU_ACCOUNTING_GEN`, `..._NATIVE`) the split into user and system rests on samples at the tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTimes {
    /// Time in user mode.
    pub user_ns: u64,
    /// Time in the kernel on behalf of the scope.
    pub system_ns: u64,
}

impl CpuTimes {
    /// User and system time together: the figure that does not depend on how the kernel splits them.
    #[must_use]
    pub fn total_ns(self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }

    /// What was used since `earlier`, a value of the same scope.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
        }
    }
}

/// The processor time that `scope` has used so far.
///
/// # Cost
/// Two system calls, no allocation.
///
/// # Source
/// getrusage(2). By itself it answers for a thread as of its last tick or switch, up to 10 ms ago; reading the thread's CPU
/// clock (`clock_gettime(2)`) before brings the kernel's account up to date.
#[must_use]
pub fn cpu_times(scope: CpuScope) -> CpuTimes {
    if scope != CpuScope::Children {
        let _ = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    }
    let who = match scope {
        CpuScope::Process => libc::RUSAGE_SELF,
        CpuScope::Thread => libc::RUSAGE_THREAD,
        CpuScope::Children => libc::RUSAGE_CHILDREN,
    };
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one `rusage`, which is all that the kernel writes.
    let status = unsafe { libc::getrusage(who, usage.as_mut_ptr()) };
    debug_assert_eq!(status, 0, "getrusage fails only for a bad scope or pointer");
    // SAFETY: all fields are integers, so the zeroes alone are a valid value; the kernel has overwritten them.
    let usage = unsafe { usage.assume_init() };
    CpuTimes { user_ns: timeval_ns(usage.ru_utime), system_ns: timeval_ns(usage.ru_stime) }
}

/// How long the calling thread was runnable and waited for a processor, since it began; `None` where the kernel does not
/// report it (`CONFIG_SCHED_INFO`), or `/proc` is not mounted.
///
/// # Units
/// Nanoseconds. The time that a quota of its control group throttled the thread is included.
///
/// # Source
/// Linux, `Documentation/scheduler/sched-stats.rst`, `/proc/<pid>/schedstat`: the second number.
#[must_use]
pub fn thread_cpu_wait_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The processors that the calling thread may run on, ascending.
///
/// # Errors
/// `Invalid` where the host has more than 1,024 processors: the kernel then refuses a mask of that length.
pub fn affinity() -> Result<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(None)
        .map_err(|errno| SysErrno::from(errno).during("read", "the thread's CPU affinity"))?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// Asks the kernel to wake the calling thread on time: waits end up to 50 us late otherwise (timer slack), so that
/// several wake-ups can share one interrupt. Threads started from now on inherit it.
///
/// # Errors
/// Where the kernel knows no timer slack or a sandbox refuses the call; waits are then late as before.
///
/// # Source
/// prctl(2), `PR_SET_TIMERSLACK`; 1 ns is the least that can be asked for.
pub fn wake_on_time() -> Result<()> {
    rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN))
        .map_err(|errno| SysErrno::from(errno).during("set", "the thread's timer slack"))
}

/// Binds the calling thread, and threads it starts from now on, to `cpus`.
///
/// # Errors
/// `Invalid` for an empty list, a number of 1,024 or more, or processors none of which this process may use.
pub fn set_affinity(cpus: &[usize]) -> Result<()> {
    let target = || format!("the calling thread to CPUs {cpus:?}");
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(Error::invalid("bind", target(), "CPU numbers must be below 1024"));
        }
        set.set(cpu);
    }
    rustix::thread::sched_setaffinity(None, &set).map_err(|errno| {
        SysErrno::from(errno)
            .during("bind", target())
            .advising("name at least one CPU that is online and in the cpuset")
    })
}

/// Gives the calling thread a table of open files of its own, which begins as a copy of the process's.
///
/// In every `read(2)` and `write(2)` of a thread that shares its table the kernel takes a reference to the file and the
/// lock of its position, and neither in those of a thread with a table of its own: reads of one byte came at 2.47
/// million a second with such a table and at 2.12 with a shared one. Files that any thread opens or closes afterwards
/// are open or closed in its own table alone.
///
/// # Safety
/// From now on a descriptor is open in the table of one thread only, and its number may be another file in another table.
/// The caller ensures that no value that owns or borrows a descriptor passes between the calling thread and another one
/// after this call, and that descriptors that both had before stay open in both for as long as either uses them.
///
/// # Errors
/// On kernels before 5.9 and where a sandbox refuses the call; the table is then shared as before.
///
/// # Source
/// `close_range(2)`, `CLOSE_RANGE_UNSHARE`, with a range in which no file is. Sandboxes of containers allow it, while
/// unshare(2) is kept from them whatever it is asked for.
pub unsafe fn unshare_open_files() -> Result<()> {
    let nothing = libc::c_uint::MAX;
    // SAFETY: the call takes no pointer and closes nothing, since no descriptor has that number; the caller ensures that no
    // descriptor passes between tables afterwards.
    let status = unsafe { libc::syscall(libc::SYS_close_range, nothing, nothing, libc::CLOSE_RANGE_UNSHARE) };
    if status == 0 {
        Ok(())
    } else {
        Err(SysErrno::last().during("copy", "the thread's table of open files"))
    }
}

/// Makes a write past the process's limit of file sizes (`RLIMIT_FSIZE`, `ulimit -f`) fail with `EFBIG` from now on; by
/// default the signal `SIGXFSZ` ends the process in its midst, with all that it has not cleaned up. Processes that this
/// one starts inherit it.
///
/// # Errors
/// Where a sandbox refuses the call.
///
/// # Source
/// setrlimit(2), `RLIMIT_FSIZE`; signal(7).
pub fn report_oversized_files_as_errors() -> Result<()> {
    // SAFETY: no handler is set, and ignoring this signal is what write(2) documents EFBIG for.
    let before = unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    if before == libc::SIG_ERR {
        return Err(SysErrno::last().during("ignore", "the signal SIGXFSZ"));
    }
    Ok(())
}

/// Takes the rights of the owner out of the umask of this process: with a umask that has them, a user other than root could
/// not open the own files again. The rights of all others stay as the umask has them. For the start of a process, before
/// it has another thread that makes files; processes that this one starts inherit it.
///
/// # Source
/// umask(2), which cannot be asked for without being set.
pub fn keep_rights_of_owner() {
    let umask = rustix::process::umask(Mode::from_raw_mode(0o777));
    rustix::process::umask(umask.difference(Mode::RWXU));
}

/// The number of the user that this process acts as, whom new files belong to.
///
/// # Source
/// geteuid(2).
#[must_use]
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The size of a memory page.
#[must_use]
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// The unit of processor times in `/proc`: ticks in a second.
#[must_use]
pub fn clock_ticks_per_s() -> u64 {
    rustix::param::clock_ticks_per_second()
}

/// Makes the child of `command` receive SIGTERM when the thread that spawned it ends; no signal is blocked in it, whatever
/// that thread blocks.
///
/// The kernel ties this to the spawning *thread*, not to its process: spawn from a thread that outlives the child's
/// work. A parent that has already gone when the child starts makes the spawn fail instead of leaving an orphan.
pub fn die_with_parent(command: &mut Command) {
    crate::signals::unblock_in_child(command);
    let parent = rustix::process::getpid();
    let arm = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
        // The parent may have ended before the line above: no signal comes for that any more.
        if rustix::process::getppid() == Some(parent) {
            Ok(())
        } else {
            Err(io::Error::from_raw_os_error(libc::ESRCH))
        }
    };
    // SAFETY: between fork and exec the closure makes two plain system calls (prctl, getppid); it allocates nothing,
    // takes no lock and touches no state of the parent.
    unsafe {
        command.pre_exec(arm);
    }
}

/// When the living process `pid` started, which distinguishes it from a later one with the same number; `None` for one
/// that has ended, is a zombie, or cannot be looked at.
///
/// # Units
/// Clock ticks since boot; see [`clock_ticks_per_s`].
///
/// # Source
/// proc(5), `/proc/PID/stat`: the state is the first field after the name in brackets, the start the twentieth.
#[must_use]
pub fn started_ticks(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = text.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X");
    if is_dead { None } else { fields.nth(18)?.parse().ok() }
}

/// The namespace in which the numbers of processes that this one sees are valid, by its inode; `None` where `/proc` is
/// not mounted or shows those of another namespace.
///
/// # Source
/// namespaces(7), `/proc/PID/ns/pid`.
#[must_use]
pub fn pid_namespace() -> Option<u64> {
    let shown = std::fs::read_link("/proc/self").ok()?;
    if shown.to_str()?.parse() != Ok(std::process::id()) {
        return None;
    }
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

/// Ends this process at once with the exit code `code`: nothing is flushed, and no thread is waited for. One that waits in
/// the kernel for storage keeps the process from vanishing until the storage answers.
///
/// # Source
/// `_exit(2)`.
pub fn end_now(code: u8) -> ! {
    // SAFETY: it takes no pointer and does not return.
    unsafe { libc::_exit(i32::from(code)) }
}

fn timeval_ns(value: libc::timeval) -> u64 {
    // Neither part is ever negative in a resource usage.
    let seconds = u64::try_from(value.tv_sec).unwrap_or(0);
    let micros = u64::try_from(value.tv_usec).unwrap_or(0);
    seconds * 1_000_000_000 + micros * 1_000
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
