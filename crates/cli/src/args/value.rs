//! Values of options: targets, sizes, times.

use narrows_model::size::parse_size;
use narrows_model::{Bytes, Target};

pub(super) fn parse_target(text: &str) -> Result<Target, String> {
    text.parse().map_err(|error: narrows_model::target::TargetError| error.to_string())
}

pub(super) fn parse_block(text: &str) -> Result<Bytes, String> {
    match parse_size(text) {
        Ok(Bytes(0)) => Err("must be above 0".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(error.to_string()),
    }
}

/// The length of a measured window, within the range that a study may give it.
pub(super) fn window_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.01..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err(format!("`{text}` is not a time from 0.01 to 86400 seconds")),
    }
}

pub(super) fn positive_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 && seconds <= 1e7 => Ok(seconds),
        _ => Err(format!("`{text}` is not a time above 0 seconds")),
    }
}
