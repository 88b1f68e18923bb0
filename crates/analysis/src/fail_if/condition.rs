//! One condition: which loads, which figure, compared how with which value.

use super::FAIL_IF_FORM;
use super::selection::LoadSelection;
use narrows_model::quantity::{parse_duration, parse_rate};
use narrows_model::summary::{CellSummary, Interval, KindSummary, LatencySummary};
use narrows_model::{Cell, Nanos, units::ratio};

/// The metrics, for refusals.
const METRICS: &str = "rate, iops, p50, p99, p999, commit p50, commit p99, commit p999";

/// A figure of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThresholdMetric {
    /// Bytes a second.
    Rate,
    /// Operations a second.
    Iops,
    /// A quantile of the response time.
    Response(LatencyQuantile),
    /// A quantile of the time until data is durable.
    Commit(LatencyQuantile),
}

/// A quantile that every summary has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LatencyQuantile {
    P50,
    P99,
    P999,
}

/// How a figure is compared with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComparisonSign {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// A condition that is understood.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FailCondition {
    pub(super) selection: LoadSelection,
    pub(super) metric: ThresholdMetric,
    pub(super) sign: ComparisonSign,
    pub(super) limit: f64,
}

impl FailCondition {
    /// The condition that `text` means.
    ///
    /// # Errors
    /// All that is wrong with it, each with what is allowed.
    pub(super) fn parse(text: &str) -> Result<Self, Vec<String>> {
        let Some((left, sign, right)) = split(text) else {
            return Err(vec![format!("found no comparison; allowed: {FAIL_IF_FORM}")]);
        };
        let words: Vec<&str> = left.split_whitespace().collect();
        let mut problems = Vec::new();
        let found = metric(&words);
        if found.is_none() {
            let last = words.last().copied().unwrap_or_default();
            problems.push(format!("found `{last}` before the comparison; allowed metrics: {METRICS}"));
        }
        let metric_words = found.map_or(1, |(_, count)| count);
        let load_words = words.get(..words.len().saturating_sub(metric_words)).unwrap_or_default();
        let selection = LoadSelection::parse(load_words, &mut problems);
        let metric = found.map(|(metric, _)| metric);
        let limit = metric.and_then(|metric| metric.parse_limit(right, &mut problems));
        match (metric, limit) {
            (Some(metric), Some(limit)) if problems.is_empty() => Ok(Self { selection, metric, sign, limit }),
            _ => Err(problems),
        }
    }

    /// Whether a planned cell is one of those meant.
    pub(super) fn selects(&self, cell: &Cell) -> bool {
        self.selection.matches(&cell.workload, &cell.factors)
    }
}

/// The sides of the comparison in `text`.
fn split(text: &str) -> Option<(&str, ComparisonSign, &str)> {
    let (left, rest) = text.split_at(text.find(['<', '>'])?);
    let signs = [
        ("<=", ComparisonSign::AtMost),
        (">=", ComparisonSign::AtLeast),
        ("<", ComparisonSign::Below),
        (">", ComparisonSign::Above),
    ];
    signs.into_iter().find_map(|(sign, meaning)| Some((left, meaning, rest.strip_prefix(sign)?.trim())))
}

/// The metric at the end of `words`, and how many of them it takes.
fn metric(words: &[&str]) -> Option<(ThresholdMetric, usize)> {
    let (last, before) = words.split_last()?;
    let quantile = match *last {
        "rate" => return Some((ThresholdMetric::Rate, 1)),
        "iops" => return Some((ThresholdMetric::Iops, 1)),
        "p50" => LatencyQuantile::P50,
        "p99" => LatencyQuantile::P99,
        "p999" | "p99.9" => LatencyQuantile::P999,
        _ => return None,
    };
    Some(match before.last() {
        Some(&"commit") => (ThresholdMetric::Commit(quantile), 2),
        _ => (ThresholdMetric::Response(quantile), 1),
    })
}

impl ThresholdMetric {
    /// Unit of its figures in a summary.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Rate => "bytes/s",
            Self::Iops => "ops/s",
            Self::Response(_) | Self::Commit(_) => "ns",
        }
    }

    fn parse_limit(self, text: &str, problems: &mut Vec<String>) -> Option<f64> {
        let (limit, allowed) = match self {
            // A bare number would be taken for one of MiB by some.
            Self::Rate => (
                parse_rate(text).map(|rate| rate.0).filter(|_| text.ends_with("/s")),
                "a rate such as 100MiB/s or 1Gbit/s",
            ),
            Self::Iops => (parse_count(text), "operations a second such as 20000 or 20k"),
            Self::Response(_) | Self::Commit(_) => {
                (parse_duration(text).map(Nanos::as_f64), "a time such as 500us, 20ms or 1.5s")
            }
        };
        if limit.is_none() {
            problems.push(format!("found `{text}` after the comparison; allowed: {allowed}"));
        }
        limit
    }

    /// The figure of what is meant of a cell, with its interval; `None` where it was not measured.
    pub(super) fn figure(
        self,
        cell: &CellSummary,
        selection: &LoadSelection,
    ) -> Option<(f64, Option<Interval>)> {
        match selection.kinds(cell) {
            Some(kinds) => self.of_kinds(cell, &kinds),
            None => self.of_cell(cell),
        }
    }

    /// The figure of some kinds of requests of a mix: rates add up, quantiles of several kinds do not.
    fn of_kinds(self, cell: &CellSummary, kinds: &[&KindSummary]) -> Option<(f64, Option<Interval>)> {
        let only = match kinds {
            [kind] => Some(&kind.latency_ns),
            _ => None,
        };
        let sum = |rate: fn(&KindSummary) -> Option<f64>| {
            let sum = kinds.iter().filter_map(|kind| rate(kind)).reduce(|a, b| a + b)?;
            // The parts of a mix vary with it: their shares are drawn.
            Some((sum, scaled_interval(cell, sum)))
        };
        match self {
            Self::Rate => sum(|kind| Some(kind.rate_bytes_per_s?.0)),
            Self::Iops => sum(|kind| Some(kind.ops_per_s?.0)),
            Self::Response(quantile) => quantile.pick(only?),
            Self::Commit(quantile) => {
                // Writes alone wait until data is durable, all of them together.
                let writes: Vec<&KindSummary> =
                    cell.kinds.iter().filter(|kind| kind.op.moves_towards_device()).collect();
                let is_whole = !writes.is_empty() && writes == kinds;
                quantile.pick(&cell.commit.as_ref().filter(|_| is_whole)?.latency_ns)
            }
        }
    }

    fn of_cell(self, cell: &CellSummary) -> Option<(f64, Option<Interval>)> {
        match self {
            Self::Rate => Some((cell.rate_bytes_per_s?.0, cell.interval.clone())),
            Self::Iops => {
                let ops_per_s = cell.ops_per_s?.0;
                Some((ops_per_s, scaled_interval(cell, ops_per_s)))
            }
            Self::Response(quantile) => quantile.pick(&cell.latency_ns),
            Self::Commit(quantile) => quantile.pick(&cell.commit.as_ref()?.latency_ns),
        }
    }
}

impl LatencyQuantile {
    /// Quantiles have no interval in a summary.
    fn pick(self, latency: &LatencySummary) -> Option<(f64, Option<Interval>)> {
        let nanos = match self {
            Self::P50 => latency.p50,
            Self::P99 => latency.p99,
            Self::P999 => latency.p999,
        };
        nanos.map(|nanos| (nanos as f64, None))
    }
}

/// The interval of the rate in bytes as one of another rate that varies with it: of operations, whose number of bytes is the same
/// on average, or of a part of a mix.
fn scaled_interval(cell: &CellSummary, rate: f64) -> Option<Interval> {
    let interval = cell.interval.as_ref()?;
    let factor = ratio(rate, cell.rate_bytes_per_s?.0)?;
    Some(Interval { low: interval.low * factor, high: interval.high * factor, ..interval.clone() })
}

/// `20000`, `20k`, `1.5M`.
fn parse_count(text: &str) -> Option<f64> {
    let (number, factor) = match text.strip_suffix(['k', 'M']) {
        Some(number) if text.ends_with('k') => (number, 1e3),
        Some(number) => (number, 1e6),
        None => (text, 1.0),
    };
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    number.parse::<f64>().ok().filter(|_| is_number).map(|number| number * factor)
}

impl ComparisonSign {
    /// Whether the condition holds for `value`.
    pub(super) fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
        }
    }
}
