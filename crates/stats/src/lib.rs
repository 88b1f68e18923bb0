//! Pure statistics for measurements: slices in, numbers out.
//!
//! Nothing here knows what a benchmark is, reads a clock or a file, starts a thread or draws a seed: every function
//! that resamples takes its seed, so the same input gives the same output. Missing or unusable data is a `None` where
//! the only failure is "there is no such number", and a [`StatsError`] where the caller may want to distinguish causes;
//! nothing panics on data.
//!
//! Deliberately absent: histograms, and any presentation of numbers.
//!
//! Known answers come from SciPy and `NumPy` through `tests/known_answers/generate.py`; coverage of the intervals is
//! compared with its nominal level on seeded data in `tests/it/coverage.rs`.
#![forbid(unsafe_code)]

pub mod autocorrelation;
pub mod chi_square;
pub mod dip;
pub mod error;
pub mod hockney;
pub mod interval;
pub mod linear;
pub mod modes;
pub mod moments;
pub mod mser;
pub mod multiplicity;
pub mod mva;
pub mod normal;
pub mod power;
pub mod quantile;
pub mod regression;
pub mod resample;
pub mod saturation;
pub mod scaling;
pub mod simulation;
pub mod steady;
pub mod student_t;

mod index;
mod level;
mod root;

pub use error::StatsError;
pub use interval::{ConfidenceInterval, IntervalMethod, Level};
