//! The values of factors in words.

use super::super::units::op_column;
use narrows_analysis::text::{seconds, storage_rate};
use narrows_model::cell::FactorValue;
use narrows_model::factor::FactorUnit;
use narrows_model::summary::Sweep;
use narrows_model::units::round_to_u64;
use narrows_model::{Bytes, OpsPerSec, Summary};

/// `value` with its unit: `64KiB`, `5.00 ms`, `16`, `random`.
pub(crate) fn words(value: &FactorValue, unit: FactorUnit) -> String {
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

/// The values at which the other factors of a sweep are held: `block 4KiB, op read`.
pub(super) fn held(sweep: &Sweep, summary: &Summary) -> String {
    let all = || summary.study.iter().flat_map(|study| &study.factors);
    let unit =
        |name: &str| all().find(|factor| factor.name == name).map_or(FactorUnit::None, |factor| factor.unit);
    let varied = |name: &str| all().any(|factor| factor.name == name && factor.values.len() > 1);
    let each = sweep.held.iter().filter(|(name, _)| varied(name));
    each.map(|(name, value)| format!("{name} {}", words(value, unit(name)))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_the_unit_of_their_factor() {
        let number = FactorValue::Number(65_536.0);
        assert_eq!(words(&number, FactorUnit::Bytes), "64KiB");
        assert_eq!(words(&number, FactorUnit::Count), "65536");
        assert_eq!(words(&FactorValue::Number(0.005), FactorUnit::Seconds), "5.00 ms");
        assert_eq!(words(&FactorValue::Number(0.99), FactorUnit::None), "0.99");
    }
}
