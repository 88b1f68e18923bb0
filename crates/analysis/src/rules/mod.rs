//! The rules that evaluate cases: one static registry, one file a rule.
//!
//! A rule looks at one segment and says of each load whether it limits, is cleared, or cannot be assessed. It evaluates
//! runs, observations and the buffer experiment alike, by the facts that a case has. Which of several limiting segments
//! is named, and how sure that is, is decided in `diagnose`. Rules do not use each other: what several of them do alike
//! is `method`'s.

mod call_count_broken;
mod ceiling_exceeded;
mod ceiling_reached;
mod claim_mismatch;
mod client_cache;
mod client_connection;
mod client_cpu;
mod client_memory;
mod clients_add_nothing;
mod coalescing;
mod contradiction;
mod daemon_cpu;
mod device_bandwidth;
mod device_bus;
mod device_iops;
mod device_latency;
mod early_acknowledgement;
mod factor_effect;
mod file_size_fall;
mod foreign_load;
mod generator_limited;
mod host_cpu;
mod imbalance;
mod mixture;
mod mount_client;
mod network_bandwidth;
mod network_latency;
mod network_loss;
mod not_enough_evidence;
mod offered_load;
mod operations_failed;
mod per_call;
mod protocol_cache;
mod protocol_commit;
mod protocol_connection;
mod protocol_device;
mod protocol_server;
mod protocol_wire;
mod proxy_cpu;
mod proxy_queue;
mod repeated_counts;
mod response_floor;
mod retrograde;
mod same_without_path;
mod segment_busy;
mod server_cache;
mod server_commit;
mod server_cpu;
mod server_protocol;
mod server_threads;
mod server_time_parts;
mod short_run;
mod stripe_bus;
mod think_time;
mod time_parts;
mod too_little_concurrency;
mod waits_for_device;
mod window_bound;
// new rule: module

#[cfg(test)]
mod planned;

pub use crate::verdict::{Basis, SegmentVerdict, Stance, Tier};

use crate::case::Cases;
use narrows_model::Segment;

/// The evaluation of cases: pure.
pub type RuleTest = fn(&Cases<'_>) -> Vec<SegmentVerdict>;

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Code, for `narrows explain`.
    pub code: &'static str,
    /// A stable word for programs.
    pub slug: &'static str,
    /// The segment that it evaluates.
    pub segment: Segment,
    /// What it finds, in one line.
    pub title: &'static str,
    /// What that means and when the rule says so.
    pub definition: &'static str,
    /// The test as a formula.
    pub formula: &'static str,
    /// Where the method comes from.
    pub source: &'static str,
    /// A case with numbers.
    pub example: &'static str,
    /// How a run measures the segment where it was not measured; `None` where no run has the facts.
    pub how_to_measure: Option<&'static str>,
    /// What to write into an observation file; `None` where no file has the facts.
    pub how_to_write: Option<&'static str>,
    /// The test itself.
    pub run: RuleTest,
}

/// Every rule, in the order of the path; notes on figures are last.
///
/// Of verdicts with the same weight the one of the earlier rule is named first, and of the rules of a segment the first that
/// has a `how_to_measure` or a `how_to_write` says what to do about a segment that was not measured. A new rule is put after
/// all that name a segment, where its place changes no verdict; put it beside the rules of its segment.
pub(crate) static RULES: &[&Rule] = &[
    &offered_load::RULE,
    &think_time::RULE,
    &generator_limited::RULE,
    &ceiling_reached::RULE,
    &client_cache::RULE,
    &server_cache::RULE,
    &file_size_fall::RULE,
    &waits_for_device::RULE,
    &early_acknowledgement::RULE,
    &network_bandwidth::RULE,
    &client_connection::RULE,
    &window_bound::RULE,
    &network_latency::RULE,
    &network_loss::RULE,
    &response_floor::RULE,
    &host_cpu::RULE,
    &client_cpu::RULE,
    &client_memory::RULE,
    &daemon_cpu::RULE,
    &proxy_cpu::RULE,
    &proxy_queue::RULE,
    &server_cpu::RULE,
    &segment_busy::RULE,
    &same_without_path::RULE,
    &per_call::RULE,
    &call_count_broken::RULE,
    &coalescing::RULE,
    &repeated_counts::RULE,
    &server_threads::RULE,
    &server_protocol::RULE,
    &server_commit::RULE,
    &device_bandwidth::RULE,
    &device_iops::RULE,
    &device_latency::RULE,
    &device_bus::RULE,
    &stripe_bus::RULE,
    &too_little_concurrency::RULE,
    &factor_effect::RULE,
    &clients_add_nothing::RULE,
    &retrograde::RULE,
    &foreign_load::RULE,
    &time_parts::RULE,
    &protocol_wire::RULE,
    &protocol_connection::RULE,
    &protocol_server::RULE,
    &protocol_cache::RULE,
    &protocol_commit::RULE,
    &protocol_device::RULE,
    &mount_client::RULE,
    &server_time_parts::RULE,
    // new rule: entry
    &operations_failed::RULE,
    &short_run::RULE,
    &mixture::RULE,
    &imbalance::RULE,
    &ceiling_exceeded::RULE,
    &claim_mismatch::RULE,
    &contradiction::RULE,
    &not_enough_evidence::RULE,
];

/// The code under which a load is named of which nothing limits.
pub const NOT_ENOUGH_EVIDENCE: &str = not_enough_evidence::RULE.code;

/// The code under which users who think are named: their load limits and is not simply delivered.
pub const USERS_THINK: &str = think_time::RULE.code;

/// The code under which programs are named that are no part of the path, among the CPUs of a machine.
pub const FOREIGN_LOAD: &str = foreign_load::RULE.code;

/// The rules by which `host.cpu` is what other programs used: the foreign load, and the parts of a load's time.
pub const CPU_OF_OTHERS: [&str; 3] = [FOREIGN_LOAD, time_parts::RULE.code, server_time_parts::RULE.code];

/// The rule with this code; `None` when there is none.
#[must_use]
pub fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.code == code)
}
