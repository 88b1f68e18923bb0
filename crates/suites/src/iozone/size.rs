//! Sizes as the letters give them.
//!
//! Not here: which sizes are measured, which is the request's.

use narrows_study::Problem;

/// A size in kB of 1024 bytes; with k, m or g in those.
///
/// # Errors
/// What is no such size, or is not between 1 and `most`.
pub(super) fn size_kb(key: &'static str, value: &str, most: u64) -> Result<u64, Problem> {
    let unit = value.chars().last().map(|letter| letter.to_ascii_lowercase());
    let factor = match unit {
        Some('m') => 1 << 10,
        Some('g') => 1 << 20,
        _ => 1,
    };
    let digits = value.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']).unwrap_or(value);
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    number.filter(|number| (1..=most).contains(number)).ok_or_else(|| {
        let allowed = format!("1 to {most} kB of 1024 bytes");
        let hint = "write 64, 64k, 4m or 1g";
        Problem::new(key, format!("`{}`", value.escape_default()), allowed, hint)
    })
}
