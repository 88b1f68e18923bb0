//! Why there is no ring, or not one as it was required to be.
//!
//! It names what the machine refused and what to do about it; it decides nothing.

use crate::error::{Error, SysErrno};

/// Why there is no ring as asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// The machine lets this process have no ring at all, or none that can be used.
    #[error("io_uring is forbidden here: {call} returns {} ({errno}); {advice}", .errno.name())]
    Forbidden {
        /// The system call that is refused.
        call: &'static str,
        /// What the kernel answered.
        errno: SysErrno,
        /// Who probably forbids it, and what to do.
        advice: String,
    },
    /// The kernel has rings, and they lack something that is needed.
    #[error("this kernel's io_uring has no {what}; use a newer kernel or another engine")]
    Lacking {
        /// What they lack.
        what: &'static str,
    },
    /// Something that was required was refused.
    #[error("io_uring refuses {feature}: {} ({errno}); {advice}", .errno.name())]
    Refused {
        /// What was refused.
        feature: &'static str,
        /// What the kernel answered.
        errno: SysErrno,
        /// What to do.
        advice: String,
    },
    /// There is no memory for rings, or none that may be locked.
    #[error("cannot set up {what}: {} ({errno}); {advice}", .errno.name())]
    NoMemory {
        /// Which rings, and how many of them.
        what: String,
        /// What the kernel answered.
        errno: SysErrno,
        /// How much they need, and what to do.
        advice: String,
    },
    /// The machine has not what a ring needs, such as descriptors.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl RingError {
    /// The kernel's answer, where there was one.
    #[must_use]
    pub fn errno(&self) -> Option<SysErrno> {
        match self {
            Self::Forbidden { errno, .. } | Self::Refused { errno, .. } | Self::NoMemory { errno, .. } => {
                Some(*errno)
            }
            Self::Lacking { .. } => None,
            Self::Failed(error) => Some(error.errno()),
        }
    }
}

/// Whether a kernel that has a call answers so to nobody, and what forbids the call does.
pub(super) fn is_prohibition(errno: SysErrno) -> bool {
    matches!(errno.raw(), libc::EPERM | libc::EACCES | libc::ENOSYS)
}

/// What a refused setup of a plain ring means.
pub(super) fn setup_refused(errno: SysErrno, entries: u32) -> RingError {
    let call = "io_uring_setup";
    match errno.raw() {
        libc::ENOSYS => RingError::Forbidden {
            call,
            errno,
            advice: "the kernel was built without it, or a sandbox hides it; use another engine".to_owned(),
        },
        libc::EPERM | libc::EACCES => {
            let setting = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok();
            RingError::Forbidden { call, errno, advice: forbidden_by(setting.as_deref().map(str::trim)) }
        }
        libc::ENOMEM => no_memory(entries, 1, locked_bytes(entries)),
        _ => errno.during("set up", format!("an io_uring of {entries} entries")).into(),
    }
}

/// What it means that a ring that was set up cannot be used, because `call` is refused.
pub(super) fn use_refused(call: &'static str, errno: SysErrno) -> RingError {
    if is_prohibition(errno) {
        return RingError::Forbidden { call, errno, advice: SANDBOX.to_owned() };
    }
    errno.during("try", format!("an io_uring by {call}")).into()
}

/// What it means that there is no memory for `count` rings of `entries`, which lock `needed_bytes` in all.
pub(super) fn no_memory(entries: u32, count: u32, needed_bytes: u64) -> RingError {
    let needed_kib = needed_bytes.div_ceil(1024);
    let what = if count == 1 {
        format!("an io_uring of {entries} entries")
    } else {
        format!("{count} io_urings of {entries} entries")
    };
    let advice = format!(
        "that takes {needed_kib} KiB of locked memory and RLIMIT_MEMLOCK is {} for all of this user: raise it (ulimit \
         -l {needed_kib} or more, LimitMEMLOCK=), free some memory, or use a smaller depth or fewer workers",
        memlock_words()
    );
    RingError::NoMemory { what, errno: SysErrno::from_raw(libc::ENOMEM), advice }
}

/// Bytes that the kernel locks for a ring of `entries`: its entries of 64 bytes, and twice as many completions of 16 with the
/// heads of both queues and the table of indices that older kernels have.
///
/// # Source
/// `rings_size` in `io_uring/io_uring.c` of Linux; both regions are whole pages.
pub(super) fn locked_bytes(entries: u32) -> u64 {
    const PAGE_BYTES: u64 = 4096;
    const HEADS_BYTES: u64 = 512;
    let entries = u64::from(entries);
    let queues = HEADS_BYTES + entries * (2 * 16 + 4);
    (entries * 64).next_multiple_of(PAGE_BYTES) + queues.next_multiple_of(PAGE_BYTES)
}

fn memlock_words() -> String {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    limit.map_or_else(|| "no limit".to_owned(), |bytes| format!("{} KiB", bytes / 1024))
}

/// Who refuses one of the calls of a ring that could be set up.
const SANDBOX: &str = "a seccomp filter (that of a container) or another sandbox refuses it; allow io_uring_setup, \
                       io_uring_enter and io_uring_register there, or use another engine";

/// Who forbids rings, by the value of `kernel.io_uring_disabled`.
fn forbidden_by(setting: Option<&str>) -> String {
    match setting {
        Some("2") => {
            "kernel.io_uring_disabled is 2 on this machine; set it to 0 (sysctl), or use another engine"
        }
        Some("1") => {
            "kernel.io_uring_disabled is 1 on this machine; run as root or in the group of \
             kernel.io_uring_group, or use another engine"
        }
        _ => SANDBOX,
    }
    .to_owned()
}

/// What to do about `what` that was not registered because of a sandbox, or of another reason than `otherwise` knows.
pub(super) fn registration_advice(errno: SysErrno, what: &str, otherwise: String) -> String {
    if is_prohibition(errno) {
        return format!(
            "a seccomp filter (that of a container) or another sandbox refuses io_uring_register; allow it there, or do not \
             require registered {what}"
        );
    }
    otherwise
}

/// What to do about buffers of `asked_bytes` that were not registered.
pub(super) fn buffers_advice(errno: SysErrno, asked_bytes: u64) -> String {
    let otherwise = if errno.raw() == libc::ENOMEM {
        format!(
            "{asked_bytes} bytes are to be locked in memory and RLIMIT_MEMLOCK is {}: raise it (ulimit -l {} or more, \
             LimitMEMLOCK=), use smaller blocks or a smaller depth, or do not require registered buffers",
            memlock_words(),
            asked_bytes.div_ceil(1024)
        )
    } else {
        "do not require registered buffers".to_owned()
    };
    registration_advice(errno, "buffers", otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether no ring of any kind is to be had, so that nothing but another engine helps.
    fn is_forbidden(error: &RingError) -> bool {
        matches!(error, RingError::Forbidden { .. } | RingError::Lacking { .. })
    }

    #[test]
    fn who_forbids_rings_is_reported_by_the_machines_setting() {
        assert!(forbidden_by(Some("2")).contains("io_uring_disabled is 2"));
        assert!(forbidden_by(Some("1")).contains("io_uring_group"));
        assert!(forbidden_by(Some("0")).contains("seccomp"));
        assert!(forbidden_by(None).contains("seccomp"));
    }

    #[test]
    fn a_setup_without_memory_is_no_prohibition() {
        let error = setup_refused(SysErrno::from_raw(libc::ENOMEM), 64);
        assert!(!is_forbidden(&error) && error.to_string().contains("RLIMIT_MEMLOCK"), "{error}");
        assert!(is_forbidden(&setup_refused(SysErrno::from_raw(libc::ENOSYS), 64)));
    }

    #[test]
    fn want_of_locked_memory_reports_how_much_is_needed() {
        // 64 pages of entries, 32 of completions, 4 of indices, 1 of heads.
        assert_eq!(locked_bytes(4096), 101 * 4096);
        let words = no_memory(4096, 3, 3 * locked_bytes(4096)).to_string();
        assert!(words.contains("3 io_urings of 4096") && words.contains("ulimit -l 1212 or more"), "{words}");
    }

    #[test]
    fn a_call_that_a_sandbox_refuses_is_named() {
        for raw in [libc::EPERM, libc::ENOSYS] {
            let error = use_refused("io_uring_enter", SysErrno::from_raw(raw));
            let words = error.to_string();
            assert!(is_forbidden(&error) && words.contains("io_uring_enter returns"), "{words}");
            assert!(words.contains("seccomp") && !words.contains("newer kernel"), "{words}");
        }
        assert!(!is_forbidden(&use_refused("io_uring_enter", SysErrno::from_raw(libc::ETIME))));
    }
}
