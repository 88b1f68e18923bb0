//! Limits that the requests of several suites have.
//!
//! Not here: room in a folder, which each suite reckons by its own files.

use narrows_study::Problem;
use std::ops::RangeInclusive;

/// That `value` is outside of what is `allowed` for `key`; `None` where it is not.
pub(crate) fn outside(
    key: &'static str,
    value: u64,
    allowed: RangeInclusive<u64>,
    hint: &str,
) -> Option<Problem> {
    let words = format!("{} to {}", allowed.start(), allowed.end());
    (!allowed.contains(&value)).then(|| Problem::new(key, value.to_string(), words, hint))
}

/// That ranks are shifted by as many as there are or more, which is no shift or another one than was asked for; `None` where
/// they are not, or their number is not known yet. `effect` is what the option `key` with 1 does, as a phrase.
pub(crate) fn shift_problem(
    key: &'static str,
    shift: u32,
    ranks: Option<u32>,
    effect: &str,
) -> Option<Problem> {
    let ranks = ranks?;
    (shift > 0 && shift >= ranks).then(|| {
        let found = format!("{shift} with {ranks} {}", if ranks == 1 { "rank" } else { "ranks" });
        let hint = format!("{key} 1 has {effect}; give more ranks with --clients or mpirun");
        Problem::new(key, found, "less than the number of ranks", hint)
    })
}
