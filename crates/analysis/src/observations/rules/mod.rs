//! The rules that judge observations: a static registry, one file a rule.
//!
//! As the rules of summaries, each says of one segment under one observation whether it limits, is cleared, or something
//! must be known. Rules that mean the same have the code and the slug of their namesake there.

mod cache_served;
mod call_count_broken;
mod ceiling_reached;
mod claim_mismatch;
mod clients_add_nothing;
mod coalescing;
mod concurrency;
mod contradiction;
mod cpu_full;
mod early_acknowledgement;
mod factor_effect;
mod failed;
mod file_size_fall;
mod generator;
mod imbalance;
mod latency_bound;
pub(super) mod mixture;
mod offered_load;
mod per_call;
mod repeated_counts;
mod response_floor;
mod retrograde;
mod same_without_path;
mod segment_busy;
mod short_run;
mod waits_for_device;
mod window_bound;

use super::table::Table;
use crate::rules::{Rule, Verdict};

/// What judges observations.
pub type ObservationTest = fn(&Table<'_>) -> Vec<Verdict>;
/// A rule on observations.
pub type ObservationRule = Rule<ObservationTest>;

/// Every rule.
pub(crate) static RULES: &[&ObservationRule] = &[
    &offered_load::RULE,
    &generator::RULE,
    &ceiling_reached::RULE,
    &cache_served::CLIENT,
    &cache_served::SERVER,
    &file_size_fall::RULE,
    &waits_for_device::RULE,
    &early_acknowledgement::RULE,
    &cpu_full::CLIENT,
    &cpu_full::PROXY,
    &cpu_full::SERVER,
    &segment_busy::RULE,
    &same_without_path::RULE,
    &per_call::RULE,
    &call_count_broken::RULE,
    &coalescing::RULE,
    &repeated_counts::RULE,
    &latency_bound::RULE,
    &response_floor::RULE,
    &window_bound::RULE,
    &concurrency::RULE,
    &factor_effect::RULE,
    &clients_add_nothing::RULE,
    &retrograde::RULE,
    &mixture::RULE,
    &imbalance::RULE,
    &short_run::RULE,
    &claim_mismatch::RULE,
    &contradiction::RULE,
    &failed::RULE,
];

/// What is told under the code of this rule: that nothing limits.
pub(crate) use crate::rules::NOT_ENOUGH_EVIDENCE;
