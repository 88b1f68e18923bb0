//! Values of TOML as numbers and words, and tables in the order of the file.
//!
//! Not here: which values are taken.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A key with its place.
pub(crate) type Name<'t, 'i> = &'t Spanned<std::borrow::Cow<'i, str>>;

pub(crate) fn integer(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

pub(crate) fn number(value: &DeValue<'_>) -> Option<f64> {
    let float = value.as_float().and_then(|float| float.as_str().parse::<f64>().ok());
    float.or_else(|| integer(value).map(|integer| integer as f64)).filter(|number| number.is_finite())
}

/// The type of a value as people of TOML call it.
pub(crate) fn type_words(value: &DeValue<'_>) -> &'static str {
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

pub(crate) fn in_file_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(Name<'t, 'i>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}
