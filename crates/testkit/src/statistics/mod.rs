//! Statistics that only tests and the fit of the confidence need: whether drawn values follow their law, what queueing
//! networks do by theory, a logistic fit and how good its forecasts are.
//!
//! Known answers come from SciPy and `NumPy` through `crates/stats/tests/known_answers/generate.py`.

pub mod bounds;
pub mod goodness;
pub mod logistic;
pub mod reliability;
pub mod verdicts;
