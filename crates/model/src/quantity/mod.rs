//! Sizes, durations and rates as people write and read them: the one place where texts become numbers with units, and
//! numbers with units texts.
//!
//! Not here: what a value may be, which is for who asks for it, and the words of classic benchmarks, which are their own.

mod duration;
mod rate;
pub mod size;
mod text;

pub use duration::{exact_duration, parse_duration};
pub use rate::{parse_byte_rate, parse_op_rate, parse_rate};
pub use size::{SizeError, parse_size};
pub use text::{amount, cpus, network_rate, op_rate, percent, rounded_duration, seconds, span, storage_rate};

/// A number and what is written after it; `None` without a number or without a unit.
fn number_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    number.is_finite().then(|| (number, unit.trim()))
}
