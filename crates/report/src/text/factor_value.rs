//! The values of factors in words.

use super::units::op_column;
use narrows_model::cell::FactorValue;
use narrows_model::factor::FactorUnit;
use narrows_model::quantity::{seconds, storage_rate};
use narrows_model::summary::Sweep;
use narrows_model::units::round_to_u64;
use narrows_model::{Bytes, OpsPerSec, Summary};

/// `value` with its unit: `64KiB`, `5.00 ms`, `16`, `random`.
pub(crate) fn format_value(value: &FactorValue, unit: FactorUnit) -> String {
    match value {
        FactorValue::Number(number) => match unit {
            FactorUnit::Bytes => Bytes(round_to_u64(*number)).to_string(),
            FactorUnit::Seconds => seconds(*number),
            FactorUnit::BytesPerSecond => storage_rate(*number),
            FactorUnit::OpsPerSecond => format!("{}/s", op_column(Some(OpsPerSec(*number)))),
            FactorUnit::Count | FactorUnit::None => number.to_string(),
        },
        FactorValue::Text(text) => text.clone(),
    }
}

/// The fixed values of the other factors of a sweep: `block 4KiB, op read`.
pub(super) fn fixed_values(sweep: &Sweep, summary: &Summary) -> String {
    let all = || summary.study.iter().flat_map(|study| &study.factors);
    let unit =
        |name: &str| all().find(|factor| factor.name == name).map_or(FactorUnit::None, |factor| factor.unit);
    let varied = |name: &str| all().any(|factor| factor.name == name && factor.values.len() > 1);
    let each = sweep.fixed.iter().filter(|(name, _)| varied(name));
    each.map(|(name, value)| format!("{name} {}", format_value(value, unit(name))))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_unit_of_their_factor() {
        let number = FactorValue::Number(65_536.0);
        assert_eq!(format_value(&number, FactorUnit::Bytes), "64KiB");
        assert_eq!(format_value(&number, FactorUnit::Count), "65536");
        assert_eq!(format_value(&FactorValue::Number(0.005), FactorUnit::Seconds), "5.00 ms");
        assert_eq!(format_value(&FactorValue::Number(0.99), FactorUnit::None), "0.99");
    }
}
