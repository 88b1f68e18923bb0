//! Codes of what must be known to read a cell's figures. Raising them is the summary's.

use narrows_model::summary::CellSummary;

/// The window is under half a second or under fifty ticks of the clock.
pub(crate) const SHORT_RUN: &str = "short_run";
/// Fewer than fifty operations completed.
pub(crate) const FEW_OPERATIONS: &str = "few_operations";
/// Operations failed.
pub(crate) const ERRORS: &str = "errors";
/// What was read is not what was written.
pub(crate) const DATA_MISMATCH: &str = "data_mismatch";
/// The load's data was made and checked by its workers, which costs what other loads do not pay.
pub(crate) const VERIFIED: &str = "verified";
/// A trial did not run to its planned end, or is missing.
pub(crate) const INCOMPLETE: &str = "incomplete";
/// A hypervisor took more than 1 % of the machine's time.
pub(crate) const STEAL: &str = "steal";
/// Programs that are no part of the path took CPU time from the cell: see [`super::foreign`].
pub(crate) const FOREIGN_LOAD: &str = "foreign_load";
/// It was measured twice, since others disturbed the first measurement or a verdict rests on it: these figures are those of the
/// one that was disturbed less, of equals the second.
pub(crate) const MEASURED_AGAIN: &str = "measured_again";
/// The rate was not steady in the window.
pub(crate) const UNSTEADY: &str = "unsteady";
/// The path was faster than a ceiling measured at the same settings.
pub(crate) const CEILING_EXCEEDED: &str = "ceiling_exceeded";
/// More requests were in flight than were asked for: the load generator is broken.
pub(crate) const LITTLE_LAW_VIOLATED: &str = "little_law_violated";
/// Fewer requests were in flight than were asked for: the load did not keep them up, or waited between them.
pub(crate) const IN_FLIGHT_BELOW: &str = "in_flight_below";
/// The rate reached 0.8 of what the load generator can do.
pub(crate) const GENERATOR_LIMITED: &str = "generator_limited";
/// The wire's bytes are those of the machines' interfaces: headers and the traffic of others included.
pub(crate) const WIRE_BY_INTERFACES: &str = "wire_by_interfaces";
/// Client and server are charged to one control group under a quota: what one uses the other lacks.
pub(crate) const ONE_GROUP: &str = "one_control_group";
/// The trials ended before the interval of their mean was as narrow as was asked for.
pub(crate) const INTERVAL_NOT_REACHED: &str = "interval_not_reached";
/// The trials ended before the last of them were steady, as was asked for.
pub(crate) const STEADY_NOT_REACHED: &str = "steady_not_reached";
/// Time ended a trial before the operations or bytes that it was to do.
pub(crate) const COUNT_NOT_REACHED: &str = "count_not_reached";
/// An open loop asked for more than was completed: requests waited for their start, longer and longer.
pub(crate) const BEHIND_SCHEDULE: &str = "behind_schedule";
/// More than a thousandth of an open loop's requests had not been started when their window ended.
pub(crate) const BACKLOG_AT_END: &str = "backlog_at_end";
/// The load's own workers started requests of an open loop late, though there was room for them.
pub(crate) const GENERATOR_LATE: &str = "generator_late";
/// The rate did not settle in the first half of the window (MSER-5): it is that of a change.
pub(crate) const WINDOW_TOO_SHORT: &str = "window_too_short";
/// The window begins with a warm-up that moves its mean rate by more than 3 %.
pub(crate) const WARM_UP_IN_WINDOW: &str = "warm_up_in_window";
/// The rate or the response times have more than one mode: their mean describes none of them.
pub(crate) const MIXTURE: &str = "mixture";
/// A request had been in flight for longer when its window ended than any that completed: no latency shows it.
pub(crate) const STUCK_REQUESTS: &str = "stuck_requests";
/// Of a cold load under nine tenths of the bytes came from the device: a cache served the rest.
pub(crate) const NOT_COLD: &str = "not_cold";

/// Below this share of what was asked for in flight the load is not the one that was asked for.
pub(crate) const IN_FLIGHT_MIN_RATIO: f64 = 0.9;

/// Whether `flag` is raised on a cell.
pub(crate) fn has(cell: &CellSummary, flag: &str) -> bool {
    cell.flags.iter().any(|known| known == flag)
}
