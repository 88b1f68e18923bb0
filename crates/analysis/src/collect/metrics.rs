//! Around how many trials the metrics of a server were read on which nothing of ours runs.

use narrows_model::counters::CounterOrigin;
use narrows_model::summary::ServerMetricsSummary;
use narrows_model::trial::TrialOutput;

/// The metrics were read for the first time.
pub(super) fn connected(known: &mut Option<ServerMetricsSummary>, url: &str) {
    known.get_or_insert_with(|| ServerMetricsSummary {
        url: url.to_owned(),
        read_count: 0,
        missed_count: 0,
        missed_because: None,
    });
}

/// They were not read around a trial.
pub(super) fn missed(known: &mut Option<ServerMetricsSummary>, reason: &str) {
    if let Some(known) = known {
        known.missed_count = known.missed_count.saturating_add(1);
        known.missed_because.get_or_insert_with(|| reason.to_owned());
    }
}

/// A trial is over; whether they were read around it is in its counters.
pub(super) fn finished(known: &mut Option<ServerMetricsSummary>, trial: &TrialOutput) {
    if let Some(known) = known
        && trial.counters.iter().any(|pair| pair.after.origin == CounterOrigin::NodeExporter)
    {
        known.read_count = known.read_count.saturating_add(1);
    }
}
