//! The clock ticks in which Linux counts the CPU time of processes and machines.

/// Nanoseconds per tick (`USER_HZ`, 100 a second).
pub(super) const TICK_NS: u64 = 10_000_000;
/// Windows shorter than this many ticks, of this clock or another, are not assessed by them: each reading may be one off,
/// 2.5 % of these. The shortest window that is planned, half a second, is longer even where its last request ended a little before it.
pub(super) const TICKS_MIN: u64 = 40;
