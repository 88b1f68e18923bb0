//! Why there is no ring, or not one as it was required to be.
//!
//! It names what the machine refused and what to do about it; it decides nothing.

use crate::error::{Errno, Error};

/// Why there is no ring as asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// The machine lets this process have no ring at all.
    #[error("io_uring is forbidden here: io_uring_setup answers {} ({errno}); {advice}", .errno.name())]
    Forbidden {
        /// What the kernel answered.
        errno: Errno,
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
        errno: Errno,
        /// What to do.
        advice: String,
    },
    /// The machine has not what a ring needs: memory, descriptors.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl RingError {
    /// Whether no ring of any kind is to be had, so that nothing but another engine helps.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Forbidden { .. } | Self::Lacking { .. })
    }

    /// The kernel's answer, where there was one.
    #[must_use]
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Forbidden { errno, .. } | Self::Refused { errno, .. } => Some(*errno),
            Self::Lacking { .. } => None,
            Self::Failed(error) => Some(error.errno()),
        }
    }
}

/// What a refused setup of a plain ring means.
pub(super) fn setup_refused(errno: Errno, entries: u32) -> RingError {
    match errno.raw() {
        libc::ENOSYS => RingError::Forbidden {
            errno,
            advice: "the kernel was built without it, or a sandbox hides it; use another engine".to_owned(),
        },
        libc::EPERM | libc::EACCES => {
            let setting = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok();
            RingError::Forbidden { errno, advice: forbidden_by(setting.as_deref().map(str::trim)) }
        }
        libc::ENOMEM => Errno::from_raw(libc::ENOMEM)
            .during("set up", format!("an io_uring of {entries} entries"))
            .advising("free some memory, raise RLIMIT_MEMLOCK (ulimit -l), or ask for a smaller depth")
            .into(),
        _ => errno.during("set up", format!("an io_uring of {entries} entries")).into(),
    }
}

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
        _ => {
            "a seccomp filter (that of a container) or a security module refuses it; allow io_uring_setup, \
             io_uring_enter and io_uring_register there, or use another engine"
        }
    }
    .to_owned()
}

/// What to do about buffers that were not registered.
pub(super) fn buffers_advice(errno: Errno, asked_bytes: usize) -> String {
    if errno.raw() != libc::ENOMEM {
        return "do not require registered buffers".to_owned();
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    let limit = limit.map_or_else(|| "no limit".to_owned(), |bytes| format!("{bytes} bytes"));
    format!(
        "{asked_bytes} bytes are to be locked in memory and RLIMIT_MEMLOCK is {limit}: raise it (ulimit -l, \
         LimitMEMLOCK=), ask for smaller blocks or a smaller depth, or do not require registered buffers"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_forbids_rings_is_told_by_the_machines_setting() {
        assert!(forbidden_by(Some("2")).contains("io_uring_disabled is 2"));
        assert!(forbidden_by(Some("1")).contains("io_uring_group"));
        assert!(forbidden_by(Some("0")).contains("seccomp"));
        assert!(forbidden_by(None).contains("seccomp"));
    }

    #[test]
    fn a_setup_without_memory_is_no_prohibition() {
        let error = setup_refused(Errno::from_raw(libc::ENOMEM), 64);
        assert!(!error.is_forbidden() && error.to_string().contains("RLIMIT_MEMLOCK"), "{error}");
        assert!(setup_refused(Errno::from_raw(libc::ENOSYS), 64).is_forbidden());
    }
}
