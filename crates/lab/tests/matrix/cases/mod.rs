//! The cases: a path with one fault, the check of it, and what limits each load in truth.

mod cpu;
mod local;
mod network;
mod served;

use super::support::check::Checked;
use narrows_lab::Lab;
use narrows_model::Segment;

/// Loads by the start of their names, each with the segments that limit it in truth.
type Truth = &'static [(&'static str, &'static [Segment])];

/// A path with a fault.
pub(crate) struct MatrixCase {
    /// The fault, in words.
    pub fault: &'static str,
    pub truth: Truth,
    /// Makes it and checks it.
    pub check: fn(&Lab) -> Checked,
}

/// Every case.
pub(crate) fn all() -> impl Iterator<Item = &'static MatrixCase> {
    [network::CASES, cpu::CASES, served::CASES, local::CASES].into_iter().flatten()
}

const BULK: &str = "--block 1MiB --depth 16 --seconds 15 --cell-seconds 1";
const SMALL: &str = "--block 64KiB --depth 16 --seconds 15 --cell-seconds 1";
const SINGLE: &str = "--block 4KiB --depth 1 --seconds 15 --cell-seconds 1";
const RANDOM: &str = "--block 4KiB --depth 16 --seconds 15 --cell-seconds 1";
