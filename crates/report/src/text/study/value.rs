//! The values of factors in words.

use narrows_analysis::text::{op_rate, seconds, storage_rate};
use narrows_model::Bytes;
use narrows_model::cell::FactorValue;
use narrows_model::factor::FactorUnit;
use narrows_model::units::round_to_u64;

/// `value` with its unit: `64KiB`, `5.00 ms`, `16`, `random`.
pub(super) fn words(value: &FactorValue, unit: FactorUnit) -> String {
    match value {
        FactorValue::Number(number) => match unit {
            FactorUnit::Bytes => Bytes(round_to_u64(*number)).to_string(),
            FactorUnit::Seconds => seconds(*number),
            FactorUnit::BytesPerSecond => storage_rate(*number),
            FactorUnit::OpsPerSecond => op_rate(*number),
            FactorUnit::Count | FactorUnit::None => number.to_string(),
        },
        FactorValue::Text(text) => text.clone(),
    }
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
