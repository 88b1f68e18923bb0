//! How much of a contended processor the calling thread gets beside others.

use crate::error::{Result, SysErrno};

/// Range of the kernel's nice values: the lowest is served first.
const NICE_MAX: i32 = 19;

/// Gives the calling thread, and threads it starts from now on, another nice value: each step is about a tenth more or
/// less of a CPU that others want too, and the disk's queue where its scheduler heeds it.
///
/// # Errors
/// `Permission` for a value below the present one without the right to it (`CAP_SYS_NICE`, `RLIMIT_NICE`).
///
/// # Source
/// `setpriority(2)`, which sets a thread's alone on Linux; `sched(7)`, "The nice value and group scheduling"; the I/O
/// priority follows it, `ioprio_set(2)`.
pub fn set_niceness(nice: i32) -> Result<()> {
    let nice = nice.clamp(-NICE_MAX - 1, NICE_MAX);
    rustix::process::setpriority_process(None, nice).map_err(|errno| {
        SysErrno::from(errno)
            .during("set", format!("the nice value {nice}"))
            .advising("a value below the present one needs CAP_SYS_NICE")
    })
}

/// The nice value of the calling thread.
///
/// # Errors
/// Where the kernel does not report it.
pub fn niceness() -> Result<i32> {
    rustix::process::getpriority_process(None)
        .map_err(|errno| SysErrno::from(errno).during("read", "the nice value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_makes_room_and_its_children_are_nicer_and_others_are_not() {
        let before = niceness().unwrap();
        let inner = std::thread::spawn(move || {
            set_niceness(before + 3).unwrap();
            (niceness().unwrap(), std::thread::spawn(|| niceness().unwrap()).join().unwrap())
        });
        assert_eq!(inner.join().unwrap(), (before + 3, before + 3));
        assert_eq!(niceness().unwrap(), before);
    }
}
