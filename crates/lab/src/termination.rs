//! Ends processes by id: asks (SIGTERM), waits a bounded time, then kills.
//!
//! A process counts as ended once it is a zombie, because a process id may stay in the table long after its
//! process is gone when the parent reaps late. It never searches for processes by name.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::clock::{Deadline, wait_for_event};

/// How long a process may take to end after SIGTERM: the lab's programs take milliseconds, a database seconds.
pub(crate) const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A handle that stays bound to one process even when its id is given away again.
pub(crate) fn handle_of(pid: u32) -> Option<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Sends a signal; false when the process is already gone.
pub(crate) fn signal(handle: &OwnedFd, signal: Signal) -> bool {
    pidfd_send_signal(handle, signal).is_ok()
}

/// Waits until the process has ended (a zombie has ended); false when the time is over before that.
pub(crate) fn wait_ended(handle: &OwnedFd, deadline: Deadline) -> bool {
    loop {
        let mut watched = [PollFd::new(handle, PollFlags::IN)];
        if wait_for_event(&mut watched, deadline.left()).unwrap_or(true) {
            return true;
        }
        if deadline.is_over() {
            return false;
        }
    }
}

/// SIGTERM, a bounded wait, SIGKILL, a bounded wait; false when even that did not end it.
pub(crate) fn end(handle: &OwnedFd) -> bool {
    if !signal(handle, Signal::TERM) || wait_ended(handle, Deadline::after(END_TIMEOUT)) {
        return true;
    }
    !signal(handle, Signal::KILL) || wait_ended(handle, Deadline::after(END_TIMEOUT))
}

/// Ends every process of the list, all asked at once; the number that would not end.
pub(crate) fn end_all(pids: &[u32]) -> usize {
    let handles: Vec<OwnedFd> = pids.iter().filter_map(|&pid| handle_of(pid)).collect();
    for handle in &handles {
        signal(handle, Signal::TERM);
    }
    handles.iter().filter(|handle| !end(handle)).count()
}

/// The handle as a thing to wait on beside others.
pub(crate) fn watched(handle: &OwnedFd) -> PollFd<'_> {
    PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_zombie_counts_as_ended() {
        let mut child = Command::new("true").spawn().unwrap();
        let handle = handle_of(child.id()).unwrap();
        assert!(wait_ended(&handle, Deadline::after(END_TIMEOUT)));
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        assert!(stat.contains(") Z "), "{stat}");
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn a_process_that_ignores_sigterm_is_killed() {
        let script = "trap '' TERM; echo deaf; while :; do read -r line; done";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
        let handle = handle_of(child.id()).unwrap();
        signal(&handle, Signal::TERM);
        assert!(!wait_ended(&handle, Deadline::after(Duration::from_millis(50))));
        assert!(end(&handle));
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&child.wait().unwrap()), Some(9));
    }

    #[test]
    fn ending_nothing_leaves_nothing() {
        assert_eq!(end_all(&[]), 0);
    }
}
