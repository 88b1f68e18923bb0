//! Whether times, CPU times and segments that a role reports are possible: verdicts are based on them, and a peer may
//! send false ones.
//!
//! Bounds are what no honest host exceeds; a false value within them cannot be detected here.

use super::RoleReport;
use crate::error::{Error, Result};
use narrows_model::Nanos;
use narrows_model::relay::{RelayRoleOutput, RelaySegments};

/// Longest text of a fault, in bytes.
const FAULT_BYTES_MAX: usize = 1024;

/// CPU time that a kernel may count beside a span: it counts in ticks, of up to 10 ms, and at both ends.
const CPU_SLACK_NS: u64 = 20_000_000;

/// What the clocks of two hosts may differ by in a trial, apart from a hundredth of it.
const CLOCK_SLACK_NS: u64 = 1_000_000;

/// Segments that may come without a byte of the stream being new: words, probes, what a short trial repeats.
const SEGMENT_SLACK: u64 = 1024;

/// What is wrong with what a role says of itself; `None` where it can be.
pub(super) fn problem(done: &RoleReport) -> Option<String> {
    let RelayRoleOutput { elapsed_ns: Nanos(elapsed), user_ns, system_ns, .. } = done.output;
    let moved = done.output.reads.total().0.max(done.output.writes.total().0);
    if elapsed == 0 && moved > 0 {
        return Some(format!("{moved} bytes moved in no time"));
    }
    // One thread moves the bytes, so that it has one CPU at most.
    let cpu = user_ns.0.saturating_add(system_ns.0);
    if cpu > elapsed.saturating_add(elapsed / 8).saturating_add(CPU_SLACK_NS) {
        return Some(format!("{cpu} ns of CPU time of one thread in {elapsed} ns"));
    }
    if let Some(fault) = done.content_fault.as_ref().filter(|fault| fault.len() > FAULT_BYTES_MAX) {
        return Some(format!("a fault of {} bytes of text; allowed are {FAULT_BYTES_MAX}", fault.len()));
    }
    done.output.segments.and_then(|segments| segments_problem(segments, moved))
}

/// A segment with data has a byte at least; each may be sent once more.
fn segments_problem(segments: RelaySegments, moved_bytes: u64) -> Option<String> {
    let RelaySegments { data_out_count, data_in_count, retransmitted_count } = segments;
    let most = moved_bytes.saturating_mul(2).saturating_add(SEGMENT_SLACK);
    let counts = [("sent", data_out_count), ("received", data_in_count), ("sent again", retransmitted_count)];
    let (what, count) = counts.into_iter().find(|(_, count)| *count > most)?;
    Some(format!("{count} segments {what} for {moved_bytes} bytes"))
}

impl RoleReport {
    /// Whether its time fits in a trial that took `trial` for the client.
    ///
    /// # Errors
    /// `Protocol` that names both times.
    pub fn check_within(&self, trial: Nanos) -> Result<()> {
        let most = trial.0.saturating_add(trial.0 / 100).saturating_add(CLOCK_SLACK_NS);
        let Nanos(elapsed) = self.output.elapsed_ns;
        if elapsed <= most {
            return Ok(());
        }
        let role = self.output.role.name();
        let what = format!("the {role} sent an impossible report: {elapsed} ns of a trial of {} ns", trial.0);
        Err(Error::protocol(what))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "this is test code, outside of test functions too")]
mod tests {
    use super::*;
    use crate::ErrorKind;

    /// A server that read 6400 bytes in a second, half of which its thread had the CPU.
    fn honest() -> RoleReport {
        let text = r#"{"output": {"role": "server", "host": "h", "reads": {"by_bytes": {"64": 100}},
            "writes": {"by_bytes": {}}, "elapsed_ns": 1000000000, "user_ns": 200000000, "system_ns": 300000000,
            "segments": {"data_out_count": 0, "data_in_count": 100, "retransmitted_count": 0}}}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_no_host_can_do_is_found_and_named() {
        type Corruption = fn(&mut RoleReport);
        assert_eq!(problem(&honest()), None);
        let corruptions: [(Corruption, &str); 8] = [
            (|done| done.output.elapsed_ns = Nanos(0), "in no time"),
            (|done| done.output.user_ns = Nanos(1_000_000_000), "CPU time of one thread"),
            (|done| done.output.system_ns = Nanos(u64::MAX), "CPU time of one thread"),
            (|done| done.output.elapsed_ns = Nanos(1), "CPU time of one thread"),
            (|done| done.output.segments.as_mut().unwrap().data_in_count = 14_000, "segments received"),
            (|done| done.output.segments.as_mut().unwrap().data_out_count = u64::MAX, "segments sent for"),
            (|done| done.output.segments.as_mut().unwrap().retransmitted_count = 1 << 40, "sent again"),
            (|done| done.content_fault = Some("x".repeat(1025)), "a fault of 1025 bytes"),
        ];
        for (corrupt, word) in corruptions {
            let mut done = honest();
            corrupt(&mut done);
            let found = problem(&done).unwrap();
            assert!(found.contains(word), "{found}");
        }
    }

    #[test]
    fn a_thread_that_has_its_cpu_all_the_time_and_a_fault_in_words_are_believed() {
        let mut done = honest();
        (done.output.user_ns, done.output.system_ns) = (Nanos(0), Nanos(1_010_000_000));
        done.content_fault = Some("x".repeat(1024));
        assert_eq!(problem(&done), None);
    }

    #[test]
    fn a_role_takes_no_longer_than_its_trial() {
        let done = honest();
        done.check_within(Nanos(1_000_000_000)).unwrap();
        done.check_within(Nanos(995_000_000)).unwrap();
        let error = done.check_within(Nanos(900_000_000)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.to_string().contains("1000000000 ns of a trial of 900000000 ns"), "{error}");
    }
}
