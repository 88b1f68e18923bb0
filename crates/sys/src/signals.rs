//! Which thread of a process the signals that ask it to end are delivered to.
//!
//! The kernel gives such a signal to one thread that does not block it, by preference the first one, also where that one
//! waits in a call that no signal ends. Blocked in all threads but one that waits for nothing else, it is always noticed.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::error::{Result, SysErrno};

/// The signals that ask a process to end: Ctrl-C, `kill`, a closed terminal.
const ENDING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Blocks SIGINT, SIGTERM and SIGHUP in the calling thread and in those that it starts from now on.
///
/// # Errors
/// None are documented for valid arguments.
///
/// # Source
/// `pthread_sigmask(3)`.
pub fn block_ending_signals() -> Result<()> {
    change_mask(libc::SIG_BLOCK).map_err(|errno| errno.during("block", "SIGINT, SIGTERM and SIGHUP"))
}

/// Lets the calling thread receive SIGINT, SIGTERM and SIGHUP again, those included that have come since they were blocked.
///
/// # Errors
/// As [`block_ending_signals`].
pub fn receive_ending_signals() -> Result<()> {
    change_mask(libc::SIG_UNBLOCK).map_err(|errno| errno.during("receive", "SIGINT, SIGTERM and SIGHUP"))
}

fn change_mask(how: libc::c_int) -> std::result::Result<(), SysErrno> {
    let mut set = empty_set();
    for signal in ENDING {
        // SAFETY: `set` is an initialised set, and the number is that of a signal.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    // SAFETY: the set is initialised and read alone; a null pointer asks for no copy of the mask before.
    let errno = unsafe { libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut()) };
    if errno == 0 { Ok(()) } else { Err(SysErrno::from_raw(errno)) }
}

fn empty_set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the pointer is valid for one set, all of which is written.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: it was initialised above.
    unsafe { set.assume_init() }
}

/// Makes the child of `command` start with no signal blocked, whatever the thread that spawns it blocks.
pub fn unblock_in_child(command: &mut Command) {
    let none = empty_set();
    let arm = move || {
        // SAFETY: as in `change_mask`.
        let errno =
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) };
        if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
    };
    // SAFETY: between fork and exec the closure makes one plain system call; it allocates nothing, takes no lock and
    // touches no state of the parent.
    unsafe {
        command.pre_exec(arm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The signals blocked in the thread whose `status` in `/proc` is given, as hexadecimal digits.
    fn blocked(status: &str) -> String {
        status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap().trim().to_owned()
    }

    #[test]
    fn what_a_thread_blocks_is_not_blocked_in_its_children_and_can_be_received_again() {
        std::thread::spawn(|| {
            let here = || blocked(&std::fs::read_to_string("/proc/thread-self/status").unwrap());
            let before = here();
            block_ending_signals().unwrap();
            // Bits 0, 1 and 14: SIGHUP, SIGINT, SIGTERM.
            assert_eq!(u64::from_str_radix(&here(), 16).unwrap() & 0x4003, 0x4003);
            let mut command = Command::new("cat");
            command.arg("/proc/self/status");
            unblock_in_child(&mut command);
            let seen = String::from_utf8(command.output().unwrap().stdout).unwrap();
            assert_eq!(blocked(&seen), "0000000000000000");
            receive_ending_signals().unwrap();
            assert_eq!(here(), before);
        })
        .join()
        .unwrap();
    }
}
