//! What a run was asked for, written into its record and read back from it.

use super::columns::{self, Column};
use super::heading::{COLD, DIRECT};
use super::request::{Request, Unit};
use crate::beside::Cuts;
use narrows_model::cell::FactorValue;
use narrows_model::plan::SuiteSource;
use std::collections::BTreeMap;

/// What the native output and the reading need of it.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct Options {
    pub(super) unit: Unit,
    pub(super) auto: bool,
    pub(super) throughput: bool,
    pub(super) files_kb: Vec<u64>,
    pub(super) records_kb: Vec<u64>,
    pub(super) processes: Vec<u64>,
    pub(super) tests: Vec<u64>,
    pub(super) retests: bool,
    pub(super) sheet: bool,
    pub(super) cpu: bool,
    pub(super) stride: u64,
    /// The processor's cache, as given or told by the machine.
    pub(super) cache_kb: Option<u64>,
    pub(super) cache_line_bytes: Option<u64>,
    /// The numbers of processes were given by their ends.
    pub(super) range: bool,
    /// What the letters say over the figures, a line each.
    pub(super) settings: Vec<String>,
}

/// Between the settings of a record.
const BETWEEN: &str = "; ";

impl Options {
    /// Whether files were opened past the page cache.
    pub(super) fn is_direct(&self) -> bool {
        self.settings.iter().any(|line| line == DIRECT)
    }

    /// Whether each file's pages were dropped before each test.
    pub(super) fn is_cold(&self) -> bool {
        self.settings.iter().any(|line| line == COLD)
    }

    /// Those of a run of this suite; `None` of another one.
    pub(super) fn of(source: &SuiteSource) -> Option<Self> {
        (source.name == super::NAME).then_some(())?;
        let is = |name: &str| source.text(name).map(|value| value == "yes");
        let list = |name: &str| -> Option<Vec<u64>> {
            source.text(name)?.split(',').map(|value| value.parse().ok()).collect()
        };
        let settings = source.text("settings")?;
        Some(Self {
            unit: match source.text("unit")?.as_str() {
                "ops/s" => Unit::OpsPerS,
                "us/op" => Unit::MicrosPerOp,
                _ => Unit::KbPerS,
            },
            auto: is("auto")?,
            throughput: is("throughput")?,
            files_kb: list("files_kb")?,
            records_kb: list("records_kb")?,
            processes: list("processes")?,
            tests: list("tests")?,
            retests: is("retests")?,
            sheet: is("sheet")?,
            cpu: is("cpu")?,
            stride: source.number("stride")?,
            cache_kb: source.number("cache_kb"),
            cache_line_bytes: source.number("cache_line_bytes"),
            range: is("range").unwrap_or_default(),
            settings: settings.split(BETWEEN).filter(|line| !line.is_empty()).map(str::to_owned).collect(),
        })
    }

    /// The columns that were measured, in their order.
    pub(super) fn columns(&self) -> Vec<&'static Column> {
        columns::of_tests(&self.tests, self.retests, self.throughput)
    }
}

/// What of `request` goes into its record.
pub(super) fn source(request: &Request) -> SuiteSource {
    let asked = request.asked();
    let text = |word: &str| FactorValue::Text(word.to_owned());
    let flag = |is: bool| text(if is { "yes" } else { "no" });
    let list = |numbers: &[u64]| {
        FactorValue::Text(numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
    };
    let unit = match request.unit() {
        Unit::KbPerS => "kB/s",
        Unit::OpsPerS => "ops/s",
        Unit::MicrosPerOp => "us/op",
    };
    let mut tests: Vec<u64> = request.columns().iter().map(|column| column.number).collect();
    // Throughput mode comes back to a test.
    tests.sort_unstable();
    tests.dedup();
    let mut options = BTreeMap::from([
        ("unit".to_owned(), text(unit)),
        ("auto".to_owned(), flag(asked.auto)),
        ("throughput".to_owned(), flag(request.is_throughput())),
        ("files_kb".to_owned(), list(&request.files_kb())),
        ("records_kb".to_owned(), list(&request.records_kb())),
        ("processes".to_owned(), list(&request.processes())),
        ("tests".to_owned(), list(&tests)),
        ("retests".to_owned(), flag(!asked.no_retests)),
        ("sheet".to_owned(), flag(asked.sheet)),
        ("cpu".to_owned(), flag(asked.cpu)),
        ("stride".to_owned(), FactorValue::Number(request.stride() as f64)),
        ("settings".to_owned(), text(&asked.heading.join(BETWEEN))),
        ("range".to_owned(), flag(asked.processes_least.or(asked.processes_most).is_some())),
        ("cuts".to_owned(), text(Cuts::of(request.has_cuts).name())),
    ]);
    let known = [
        ("cache_kb", request.purged_cache().map(|bytes| bytes.0 / 1024)),
        ("cache_line_bytes", request.cpu_cache_line.map(|bytes| bytes.0)),
    ];
    for (name, number) in known.into_iter().filter_map(|(name, number)| Some((name, number?))) {
        options.insert(name.to_owned(), FactorValue::Number(number as f64));
    }
    SuiteSource { name: super::NAME.to_owned(), options }
}
