//! Checks of servers of storage protocols on which nothing of ours runs, in host 2 from host 1, each on a CPU of its own.

use std::process::Command;

use narrows_lab::{Lab, narrows_bin, pin_to_cpus};
use narrows_model::{Limiting, Relation, Segment};

use super::check::{Checked, run_check};

/// The points that bulk verdicts are given for.
pub(crate) const BULK: &str = "--seconds 12 --cell-seconds 0.5 --block 1MiB --depth 16";
/// One small request at a time.
pub(crate) const SINGLE: &str = "--seconds 12 --cell-seconds 0.6 --block 4KiB --depth 1";
/// What every verdict on a server as a whole ends with.
const SERVER_CAVEAT: &str = "the server's CPU, threads and protocol were not seen apart";

/// Puts a server's command on its CPU.
pub(crate) fn place_server(command: &mut Command) {
    pin_to_cpus(command, &[1]);
}

/// Checks `target` from host 1; `prepare` gives the client's command what it needs besides.
#[track_caller]
pub(crate) fn check_target(
    lab: &Lab,
    target: &str,
    prepare: impl FnOnce(&mut Command),
    words: &str,
) -> Checked {
    let mut command = lab.host(1).unwrap().command(narrows_bin().unwrap());
    command.arg("check").arg(target);
    pin_to_cpus(&mut command, &[0]);
    prepare(&mut command);
    run_check(lab, "spoken", command, words)
}

impl Checked {
    /// Fails where anything else than one of `segments` is named for a load whose name begins with `kind`.
    #[track_caller]
    pub(crate) fn assert_only(&self, kind: &str, segments: &[Segment]) {
        for entry in self.limiting(kind) {
            assert!(segments.contains(&entry.segment), "{}: {:#?}", entry.regime, entry);
        }
    }

    /// Fails unless the server is named first and as a whole for bulk data, with what was not seen of it. Beside it one of its
    /// connections may be the alternative: a server that is throttled needs less CPU for each request of several connections.
    #[track_caller]
    pub(crate) fn assert_whole_server(&self) {
        self.assert_only("bulk", &[Segment::Server, Segment::ClientConnection]);
        let entries = self.limiting("bulk");
        let entry = entries[0];
        assert_eq!(entry.segment, Segment::Server, "{entries:#?}");
        let is_alternative = |other: &&Limiting| other.relation == Relation::OneOf;
        assert!(entries[1..].iter().all(is_alternative), "{entries:#?}");
        assert!(entry.evidence.iter().any(|evidence| evidence.text.ends_with(SERVER_CAVEAT)), "{entry:#?}");
    }

    /// Fails where the way to a healthy server, its device or its commit is blamed.
    #[track_caller]
    pub(crate) fn assert_healthy(&self) {
        self.assert_none_limit(&[
            Segment::Network,
            Segment::NetworkBandwidth,
            Segment::NetworkLatency,
            Segment::NetworkLoss,
            Segment::Device,
            Segment::ServerCommit,
        ]);
    }
}
