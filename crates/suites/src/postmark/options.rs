//! What a run was asked for: into its record, and back from it.

use super::request::Request;
use super::settings::{Report, Settings};
use crate::beside::Cuts;
use narrows_model::Bytes;
use narrows_model::cell::FactorValue;
use narrows_model::plan::SuiteSource;
use std::collections::BTreeMap;

/// What the native output and the reading need of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) number: u64,
    pub(super) transactions: u64,
    /// Whether files lie in subdirectories: the original makes none where one is set.
    pub(super) has_subdirectories: bool,
    /// Bytes of the files at the start, as expected.
    pub(super) set_bytes: Bytes,
    pub(super) report: Report,
    pub(super) memory: Option<Bytes>,
}

impl Options {
    /// Those of a run of this suite; `None` of another one.
    pub(super) fn of(source: &SuiteSource) -> Option<Self> {
        (source.name == super::NAME).then_some(())?;
        let number = |name: &str| source.number(name);
        Some(Self {
            number: number("number")?,
            transactions: number("transactions")?,
            has_subdirectories: number("subdirectories")? > 1,
            set_bytes: Bytes(number("set_bytes")?),
            report: Report::named(&source.text("report")?)?,
            memory: number("memory_bytes").map(Bytes),
        })
    }
}

/// What is written of `request`.
pub(super) fn source(request: &Request) -> SuiteSource {
    let Settings { number, transactions, seed, subdirectories, .. } = request.settings;
    let settings = &request.settings;
    let figure = |value: u64| FactorValue::Number(value as f64);
    let text = |word: &str| FactorValue::Text(word.to_owned());
    let bias = |bias: Option<u8>| FactorValue::Number(bias.map_or(-1.0, f64::from));
    let mut options = BTreeMap::from([
        ("size_low_bytes".to_owned(), figure(settings.size_low)),
        ("size_high_bytes".to_owned(), figure(settings.size_high)),
        ("number".to_owned(), figure(number)),
        ("transactions".to_owned(), figure(transactions)),
        ("seed".to_owned(), figure(seed)),
        ("subdirectories".to_owned(), figure(subdirectories)),
        ("read_bytes".to_owned(), figure(settings.read_bytes)),
        ("write_bytes".to_owned(), figure(settings.write_bytes)),
        ("buffering".to_owned(), text(if settings.is_buffered { "true" } else { "false" })),
        ("bias_read".to_owned(), bias(settings.bias_read)),
        ("bias_create".to_owned(), bias(settings.bias_create)),
        ("report".to_owned(), text(settings.report.name())),
        ("set_bytes".to_owned(), figure(settings.objects(false).expected_bytes().0)),
        ("cuts".to_owned(), text(Cuts::of(request.has_cuts).name())),
    ]);
    options.extend(request.memory.map(|bytes| ("memory_bytes".to_owned(), figure(bytes.0))));
    SuiteSource { name: super::NAME.to_owned(), options }
}

#[cfg(test)]
mod tests {
    use super::super::testing::request;
    use super::*;

    #[test]
    fn a_record_says_what_was_asked_for() {
        let mut asked = request();
        asked.settings.report = Report::Terse;
        asked.memory = Some(Bytes(7));
        let read = Options::of(&source(&asked)).unwrap();
        assert_eq!((read.number, read.transactions, read.has_subdirectories), (500, 500, false));
        assert_eq!(
            (read.set_bytes, read.memory, read.report),
            (Bytes(2_625_000), Some(Bytes(7)), Report::Terse)
        );
        for (count, made) in [(1, false), (2, true)] {
            asked.settings.subdirectories = count;
            assert_eq!(Options::of(&source(&asked)).unwrap().has_subdirectories, made, "{count}");
        }
        let other = SuiteSource { name: "ioperf".to_owned(), ..source(&asked) };
        assert_eq!(Options::of(&other), None);
    }
}
