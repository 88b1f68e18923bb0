//! Values of TOML as numbers and words, and tables in the order of the file.
//!
//! Not here: which values are taken.

use narrows_model::Bytes;
use narrows_model::quantity::parse_size;
use std::borrow::Cow;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A key with its position.
pub(crate) type FoundName<'t, 'i> = &'t Spanned<Cow<'i, str>>;
/// A value with its position.
pub(crate) type FoundValue<'t, 'i> = &'t Spanned<DeValue<'i>>;

/// A whole number that is not negative.
pub(super) fn integer(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// A finite number.
pub(super) fn number(value: &DeValue<'_>) -> Option<f64> {
    let float = value.as_float().and_then(|float| float.as_str().parse::<f64>().ok());
    let integer = || {
        let integer = value.as_integer()?;
        i128::from_str_radix(integer.as_str(), integer.radix()).ok().map(|integer| integer as f64)
    };
    float.or_else(integer).filter(|number| number.is_finite())
}

/// Bytes of a size's text or of a whole number.
pub(super) fn size(value: &DeValue<'_>) -> Option<Bytes> {
    match value {
        DeValue::String(text) => parse_size(text).ok(),
        _ => integer(value).map(Bytes),
    }
}

/// The type of a value as people of TOML call it.
pub(super) fn type_words(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

pub(crate) fn joined(table: &str, name: &str) -> String {
    if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") }
}

pub(crate) fn in_file_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(FoundName<'t, 'i>, FoundValue<'t, 'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}
