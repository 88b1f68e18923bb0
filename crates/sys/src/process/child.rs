//! How a child process is ended, and waited for within a bound.

use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::clock::wait_ns;
use crate::error::{Result, SysErrno};

/// How often a child that is waited for is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a child that is to end is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGTERM: it may finish what it is writing.
    Terminate,
    /// SIGCONT: one that is stopped runs again, so that it can act on another signal.
    Continue,
    /// SIGKILL: it ends at once.
    Kill,
}

/// What became of a request to end a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopOutcome {
    /// The signal was sent; the child has yet to be waited for.
    Signalled,
    /// The child had ended by itself, and has been waited for.
    AlreadyEnded,
}

/// Sends `child` a signal on the way to its end, unless it has ended already.
///
/// Exclusive access makes this safe against reuse of its number: nobody else can reap the child meanwhile.
///
/// # Errors
/// `Denied` for a child that has changed its user; `Missing` for one that something else in the process reaped.
pub fn stop_child(child: &mut Child, how: StopSignal) -> Result<StopOutcome> {
    let target = format!("child process {}", child.id());
    let ended = child.try_wait().map_err(|error| SysErrno::from(error).during("look at", &target))?;
    if ended.is_some() {
        return Ok(StopOutcome::AlreadyEnded);
    }
    let signal = match how {
        StopSignal::Terminate => Signal::TERM,
        StopSignal::Continue => Signal::CONT,
        StopSignal::Kill => Signal::KILL,
    };
    let raw = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = raw.ok_or_else(|| SysErrno::from_raw(libc::ESRCH).during("signal", &target))?;
    rustix::process::kill_process(pid, signal)
        .map_err(|errno| SysErrno::from(errno).during("signal", &target))?;
    Ok(StopOutcome::Signalled)
}

/// How `child` ended, once it has; `None` where it runs, or is stopped, after `within`, to the next 20 ms.
///
/// # Errors
/// `Missing` for one that something else in the process reaped.
pub fn wait_within(child: &mut Child, within: Duration) -> Result<Option<ExitStatus>> {
    let looks = within.as_millis() / LOOK_EVERY.as_millis();
    for _ in 0..=looks {
        let ended = child.try_wait().map_err(|error| {
            SysErrno::from(error).during("wait for", format!("child process {}", child.id()))
        })?;
        if ended.is_some() {
            return Ok(ended);
        }
        let _ = wait_ns(u64::from(LOOK_EVERY.subsec_nanos()));
    }
    Ok(None)
}
