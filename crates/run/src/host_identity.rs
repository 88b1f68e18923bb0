//! What a client process reports of its machine and its program.
//!
//! Not here: reading it, which is the command line's.

use narrows_model::Bytes;
use serde::{Deserialize, Serialize};

/// A machine and the program on it. Another build may report less: what is missing is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostIdentity {
    /// Host name.
    pub hostname: String,
    /// Boot id; empty where it is not known.
    pub boot_id: String,
    /// Kernel release.
    pub kernel_release: Option<String>,
    /// CPUs on which the process may run.
    pub affinity_cpus: Vec<u32>,
    /// Memory that a process can use; `None` where it is not known.
    pub memory_bytes: Option<Bytes>,
    /// Boot id and namespace of processes: equal where both processes know each other by number; empty where numbers mean
    /// nothing.
    pub processes: String,
    /// Boot id and namespace of time: equal where both have one monotonic clock.
    pub clock: String,
    /// Version of the program.
    pub version: String,
    /// Length and checksum of the program.
    pub program: String,
}

impl HostIdentity {
    /// Whether both are processes of one machine.
    pub(crate) fn shares_machine(&self, other: &Self) -> bool {
        !self.processes.is_empty() && self.processes == other.processes
    }

    /// Whether both read the same monotonic clock.
    pub(crate) fn shares_clock(&self, other: &Self) -> bool {
        !self.boot_id.is_empty() && self.clock == other.clock
    }

    /// Whether both run the same build.
    pub(crate) fn is_same_build(&self, other: &Self) -> bool {
        self.version == other.version && self.program == other.program
    }

    /// The build for people: its version, length and checksum.
    pub(crate) fn build(&self) -> String {
        let version = if self.version.is_empty() { "of an unknown version" } else { &self.version };
        format!("{version}, {}", self.program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_of_a_machine_makes_no_two_of_them_one() {
        let unknown = HostIdentity::default();
        assert!(!unknown.shares_machine(&unknown) && !unknown.shares_clock(&unknown));
        let known = HostIdentity {
            boot_id: "b".to_owned(),
            processes: "b 1".to_owned(),
            clock: "b time:[1]".to_owned(),
            ..HostIdentity::default()
        };
        assert!(known.shares_machine(&known) && known.shares_clock(&known));
        let container = HostIdentity { processes: "b 2".to_owned(), ..known.clone() };
        assert!(!container.shares_machine(&known) && container.shares_clock(&known));
    }

    #[test]
    fn an_identity_with_fields_of_another_version_is_read_and_is_another_build() {
        let other: HostIdentity = serde_json::from_str(r#"{"version": "9.0.0", "colour": "red"}"#).unwrap();
        let own = HostIdentity { version: "0.1.0".to_owned(), ..HostIdentity::default() };
        assert!(!other.is_same_build(&own) && own.is_same_build(&own));
        assert!(other.build().starts_with("9.0.0"));
    }
}
