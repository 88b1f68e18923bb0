//! The server daemon's own path is the limit: neither its CPU nor the network is full.

use super::{Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::method::{self, EvidenceSource, proxy};
use crate::text;
use crate::thresholds::FULL_RATIO;
use crate::view::SummaryView;
use narrows_model::counters::Role;
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "server-protocol-full",
    slug: "server_protocol",
    segment: Segment::ServerProtocol,
    title: "the server daemon's own path is the limit",
    definition: "The path moves nearly what the same requests move when the server keeps the data in memory, and that \
                 is clearly less than the raw stream over the same connections, with CPU left on both sides. Behind a \
                 proxy, which these requests also pass, this is reported only if the same load is as slow past it \
                 (`direct-path`).",
    formula: "rate >= 0.9 x rate from the server's memory, that being < 0.9 x the raw stream, CPUs under 0.95",
    source: "Substitution: one segment is replaced by a faster one and the rate compared (asymptotic bounds, 1978)",
    example: "1 MiB reads at 310 MiB/s from disk and 322 MiB/s from the server's memory, on a wire that transfers \
        1.10 GiB/s",
    how_to_measure: Some(
        "run `narrows serve` on the storage server and give --server HOST:PORT (cut `server-memory`)",
    ),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(view) = cases.view() else { return Vec::new() };
    if view.sharing.one_station() {
        return Vec::new();
    }
    let bulk = view.regimes().iter().filter(|regime| !method::is_single(regime.cell));
    bulk.filter_map(|regime| evaluate(view, regime.cell)).collect()
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let memory = view.ceiling(Cut::ServerMemory, cell)?;
    let shown =
        EvidenceSource { counter: "rate from the server's memory", command: "top -H -b -n1 (on the server)" };
    let verdict = method::evaluate_cell_rate(RULE.segment, cell, memory, text::storage_rate, shown)?;
    let wire = view.ceiling(Cut::NetworkStream, cell);
    // Where there is a network that no stream measured, the daemon cannot be distinguished from it.
    let below_wire =
        wire.map_or(!view.has_network(), |wire| memory.bytes_per_s < wire.bytes_per_s * FULL_RATIO);
    let full =
        |role: Role| SummaryView::cpu(memory.cell, role).is_some_and(|cpu| cpu.busy_ratio >= FULL_RATIO);
    // The server's memory was reached through the proxy: what delays these requests may be the proxy's.
    let behind = view.passes_proxy(cell) && !proxy::is_cleared(view, cell);
    let explained = !below_wire || behind || [Role::Client, Role::Proxy, Role::Server].into_iter().any(full);
    // What the wire or a CPU explains is theirs; the daemon's own path then cannot be distinguished from them.
    (verdict.stance == Stance::Clears || !explained).then_some(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, found};
    use narrows_model::{BytesPerSec, Summary};

    /// A server whose daemon serves one request at a time, so that its CPUs stay idle while the path waits for it.
    fn slowed() -> Summary {
        let mut summary = builtin("ten-gigabit-nfs");
        let slow = |cell: &&mut CellSummary| matches!(cell.cut, Cut::Path | Cut::ServerMemory);
        for cell in summary.cells.iter_mut().filter(slow).filter(|cell| cell.in_flight.configured > 1) {
            cell.rate_bytes_per_s = cell.rate_bytes_per_s.map(|_| BytesPerSec(200e6));
        }
        summary
    }

    #[test]
    fn a_daemon_slower_than_wire_and_device_is_named_first() {
        let diagnosis = crate::diagnose(&slowed());
        assert_eq!(diagnosis.limiting[0].segment, Segment::ServerProtocol);
    }

    #[test]
    fn a_daemon_faster_than_the_device_is_not() {
        assert!(!found(&builtin("slow-disk"), RULE.code));
    }

    #[test]
    fn behind_a_proxy_a_daemon_is_named_only_where_the_load_past_it_is_as_slow() {
        let behind = |past: Option<f64>| {
            let mut summary = slowed();
            summary.target = "tcp://storage:7300/disk?via=proxy:7301".parse().unwrap();
            for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
                cell.target = summary.target.clone();
            }
            let paths = summary.cells.iter().filter(|cell| cell.cut == Cut::Path).cloned();
            let direct: Vec<CellSummary> = paths
                .filter_map(|mut cell| {
                    cell.cut = Cut::DirectPath;
                    cell.rate_bytes_per_s.as_mut()?.0 *= past?;
                    cell.ops_per_s.as_mut()?.0 *= past?;
                    Some(cell)
                })
                .collect();
            summary.cells.extend(direct);
            summary.diagnosis = crate::diagnose(&summary);
            found(&summary, RULE.code)
        };
        assert_eq!([behind(None), behind(Some(3.0)), behind(Some(1.0))], [false, false, true]);
    }
}
