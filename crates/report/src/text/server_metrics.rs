//! Around how many trials the metrics of a server were read on which nothing of ours runs.

use super::units::counted_len;
use narrows_model::Summary;
use narrows_model::printable::one_line;
use narrows_model::summary::ServerMetricsSummary;

/// What was read, in a sentence; `None` where nothing was asked for.
pub(crate) fn sentence(summary: &Summary) -> Option<String> {
    let metrics = summary.server_metrics.as_ref()?;
    let read = usize::try_from(metrics.read_count).unwrap_or(usize::MAX);
    let read = counted_len(read, "trial");
    let source = format!("node_exporter at {}, read around {read}", one_line(&metrics.url));
    Some(match missed(metrics) {
        None => format!(
            "The server's CPU and devices are those of {source}; whatever else runs there is included."
        ),
        Some(missed) => format!("The server's CPU and devices are those of {source}; {missed}."),
    })
}

/// That the server's counters are missing, for the first screen; `None` where they are not.
pub(crate) fn caution(summary: &Summary) -> Option<String> {
    let metrics = summary.server_metrics.as_ref()?;
    missed(metrics).map(|missed| format!("the server's counters were {missed}"))
}

fn missed(metrics: &ServerMetricsSummary) -> Option<String> {
    let count = usize::try_from(metrics.missed_count).unwrap_or(usize::MAX);
    (count > 0).then(|| {
        let because = metrics.missed_because.as_deref().map(one_line).unwrap_or_default();
        format!("not read around {}: {because}", counted_len(count, "trial"))
    })
}
