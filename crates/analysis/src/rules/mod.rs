//! The rules that judge a summary: a static registry, one file a rule.
//!
//! A rule looks at one segment and says for each regime whether it limits, is cleared, or cannot be judged. Which of
//! several limiting segments is named, and how sure that is, is decided in `diagnose`.

mod ceiling_exceeded;
mod client_cache;
mod client_connection;
mod client_cpu;
mod client_memory;
mod device_bandwidth;
mod device_bus;
mod device_iops;
mod device_latency;
pub(crate) mod gain;
mod generator_limited;
mod host_cpu;
mod judge;
mod mixture;
mod network_bandwidth;
mod network_latency;
mod network_loss;
mod network_scope;
mod not_enough_evidence;
pub(crate) mod offered_load;
mod one_more;
mod operations_failed;
mod proxy_cpu;
mod proxy_queue;
pub(crate) mod saturation;
mod server_cache;
mod server_commit;
mod server_cpu;
mod server_protocol;
mod server_threads;
mod short_run;
mod stripe_bus;
mod think_time;
pub(crate) mod too_little_concurrency;
mod verdict;

pub use verdict::{Basis, Stance, Tier, Verdict};

#[cfg(test)]
mod planned;

use crate::view::View;
use narrows_model::Segment;

/// What judges a summary.
pub type SummaryTest = fn(&View<'_>) -> Vec<Verdict>;

/// One rule, with what it judges by: a summary unless told otherwise.
#[derive(Debug)]
pub struct Rule<Test = SummaryTest> {
    /// Code, for `narrows explain`.
    pub code: &'static str,
    /// A stable word for programs.
    pub slug: &'static str,
    /// The segment that it judges.
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
    /// How the segment is measured where it was not.
    pub how_to_measure: &'static str,
    /// The test itself: pure.
    pub run: Test,
}

/// Every rule.
pub(super) static RULES: &[&Rule] = &[
    &offered_load::RULE,
    &think_time::RULE,
    &generator_limited::RULE,
    &client_cache::RULE,
    &server_cache::RULE,
    &network_bandwidth::RULE,
    &client_connection::RULE,
    &network_latency::RULE,
    &network_loss::RULE,
    &host_cpu::RULE,
    &client_cpu::RULE,
    &client_memory::RULE,
    &proxy_cpu::RULE,
    &proxy_queue::RULE,
    &server_cpu::RULE,
    &server_threads::RULE,
    &server_protocol::RULE,
    &server_commit::RULE,
    &device_bandwidth::RULE,
    &device_iops::RULE,
    &device_latency::RULE,
    &device_bus::RULE,
    &stripe_bus::RULE,
    &too_little_concurrency::RULE,
    &operations_failed::RULE,
    &short_run::RULE,
    &mixture::RULE,
    &ceiling_exceeded::RULE,
    &not_enough_evidence::RULE,
];

/// The code under which a regime is told in which nothing limits.
pub(crate) const NOT_ENOUGH_EVIDENCE: &str = not_enough_evidence::RULE.code;

/// The code under which users who think are named: their load limits and is not simply delivered.
pub const USERS_THINK: &str = think_time::RULE.code;

/// The rule with this code; `None` when there is none.
#[must_use]
pub fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.code == code)
}
