//! Thresholds for evaluating cases: every one that more than one rule uses, once, with its reason.
//!
//! Not here: constants of a single rule, which stay in its file, and those by which figures are made, which are the
//! summary's.

/// From this share of what it can sustain a segment counts as full: cuts repeat within a few percent, and the stages
/// around a full one keep it under its ceiling.
pub(crate) const FULL_RATIO: f64 = 0.9;
/// Below this share of a ceiling or of a time a segment has room. Between the two it is neither full nor free: what
/// serves several at once is busy before it is full, and ceilings as written are good to a fifth.
pub(crate) const FREE_RATIO: f64 = 0.7;
/// Above a ceiling by this the bytes did not pass the segment, or the ceiling was none: steady cells repeat within 3 %, as
/// do clocks and the rounding of printed figures.
pub(crate) const RAISED_RATIO: f64 = 1.03;
/// Above this share of a measured ceiling, or of the time of one request, the cut did not do what the path does (a cache,
/// a read-ahead or a buffer helps the path): it is no measure of the segment then.
pub(crate) const BEYOND_RATIO: f64 = 1.25;
/// A residual above this share of the composed rate is not explained by the errors of cuts, which repeat within a few percent
/// each, and lowers the confidence (methodology, section 11).
pub(crate) const HARDLY_EXPLAINED_RATIO: f64 = 0.15;
/// A residual above this share of the measured rate is unexplained (methodology, section 11).
pub const UNEXPLAINED_RATIO: f64 = 0.25;
/// Two figures of one case that are this far apart cannot both be what they seem: real data contradict themselves by a
/// tenth (Gunther, Guerrilla Capacity Planning).
pub(crate) const CONTRADICTION_RATIO: f64 = 1.1;

/// From this share of its capacity a CPU counts as full: what is read of it lags its window by a tick or two.
pub(crate) const CPU_FULL_RATIO: f64 = 0.95;
/// Below this share a CPU has room; between the two it is neither full nor free.
pub(crate) const CPU_FREE_RATIO: f64 = 0.9;
/// From this share on a CPU that equal loads have in common is what limits them, though it is not quite full: a phase
/// also has its start and its end.
pub const BUSY_RATIO: f64 = 0.8;
/// A role that its quota throttled for this share of the time, and that uses most of its CPU, has none to spare.
pub const THROTTLED_RATIO: f64 = 0.10;

/// From this share of a time, or of bytes, a part dominates the whole.
pub(crate) const DOMINANT_RATIO: f64 = 0.5;

/// From this share of a load's time a part is named where nothing is full: removing less gains at most two fifths.
pub(crate) const LARGE_PART_RATIO: f64 = 0.3;
/// From this share on the parts that are known explain a load's time: a rest of a fifth or less is within the error of the
/// counters of threads and devices.
pub(crate) const MOSTLY_EXPLAINED_RATIO: f64 = 0.8;

/// From this ratio of two rates the second is clearly more: repeated steady cells differ by less.
pub(crate) const GAIN_RATIO: f64 = 1.10;
/// From this ratio on it is so much more that no neighbour explains it: what is above is unexplained.
pub(crate) const STRONG_GAIN_RATIO: f64 = 1.0 + UNEXPLAINED_RATIO;
/// What a segment that is twice as strong gains at the most, which more in flight must exceed to be the better remedy for sure.
pub(crate) const DOUBLED_GAIN_MAX: f64 = 2.0;
/// No gain from here on is stated: shares of a time, and waits, are known to a percent at best.
pub(crate) const GAIN_MAX: f64 = 100.0;
/// Below this ratio a change of one thing had no effect: runs repeat within a few percent.
pub const NO_EFFECT_RATIO: f64 = 1.05;

/// [`NO_EFFECT_RATIO`] for rates that are known to `doubt_ratio`. At least a hundredth is left, within which rates with a
/// larger doubt count as equal too.
pub(crate) fn no_effect_ratio(doubt_ratio: f64) -> f64 {
    NO_EFFECT_RATIO - doubt_ratio.min(0.04)
}

/// A rate follows what is raised where its logarithm grows by half of the other's, or more: then most of what is added is
/// served, and below it most of it waits (Little's law).
pub(crate) const FOLLOWS_ELASTICITY: f64 = 0.5;

/// Below this probability of its dip a distribution is not believed to have one mode.
pub(crate) const ONE_MODE_PROBABILITY: f64 = 0.05;

/// Fewer sizes than this show no fall and no plateau, only a difference.
pub const SIZES_MIN: usize = 3;
/// From this ratio of the rates of two sizes a fall is one that no noise makes.
pub const FALL_RATIO: f64 = 2.0;
/// From this ratio of the fastest client to the slowest they were served unequally.
pub const UNEQUAL_RATIO: f64 = 2.0;
/// Clients that end this much apart, or whose sum is above the aggregate by this, did not run together all of the time:
/// their rates may not be summed.
pub const OVERLAP_RATIO: f64 = 1.2;

/// From this share of the asked rate a load is delivered: pacing keeps within a few percent, and Poisson's own spread stays above it
/// from some thousand arrivals on.
pub(crate) const DELIVERED_RATIO: f64 = 0.95;
/// From this share of what it can issue a load generator measures itself (methodology, section 6).
pub(crate) const GENERATOR_LIMITED_RATIO: f64 = 0.8;
/// Shorter windows are within the error of clocks and start-up; bonnie++ prints no figure below it either.
pub const SHORT_RUN_S: f64 = 0.5;

/// A load that is measured for less than this is ten time slices of a CPU long at most: one wait for a CPU is a tenth of it.
pub(crate) const BRIEF_S: f64 = 0.03;

/// Two loads this close cannot be distinguished: cuts repeat within a few percent.
pub(crate) const ONE_OF_RATIO: f64 = 0.10;
/// From this load a resource that does not limit is near enough to name what it is part of.
pub(crate) const NEARLY_FULL_RATIO: f64 = 0.75;
/// Below this confidence the segment is not named, only what it is part of.
pub(crate) const NAMED_CONFIDENCE: f64 = 0.5;

/// Nobody has yet changed the segment on purpose and seen the rate move as predicted (methodology, section 11).
pub(crate) const NO_INTERVENTION_CONFIDENCE: f64 = 0.9;
/// A part that dominates with less than this share of a time barely does: what takes the rest is nearly as much.
pub(crate) const BARELY_RATIO: f64 = 0.6;
/// What barely dominates, or gains barely more than chance: the next segment is nearly as right. The same where client and
/// server are one machine: where they run there may limit too.
pub(crate) const BARELY_CONFIDENCE: f64 = 0.8;
/// What the evidence points to without having seen it: a measured ceiling that was passed, the busiest of several, a fall
/// that a cache would make, what cuts name that predict no rate.
pub(crate) const INFERRED_CONFIDENCE: f64 = 0.7;
/// What is left where others were ruled out, or beside another explanation that is known.
pub(crate) const ELIMINATED_CONFIDENCE: f64 = 0.6;
