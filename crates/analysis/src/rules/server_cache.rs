//! Requests end in the server's cache: the device behind it was not measured.

use super::{Rule, SegmentVerdict};
use crate::case::Cases;
use crate::case::table::ObservationTable;
use crate::method::cache::{self, CacheBytes, CountingPoint};
use crate::method::{EvidenceSource, device, given};
use crate::view::SummaryView;
use narrows_model::observation::ObservedOp;
use narrows_model::summary::CellSummary;
use narrows_model::{Observation, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "server-cache-served",
    slug: "cache_served",
    segment: Segment::ServerCache,
    title: "served by the server's cache",
    definition: "The bytes crossed the wire, but less than half of them reached the server's device in the same \
                 interval (on a mount, they are counted at the interfaces). The figure is that of network and server; \
                 the device behind them was not measured. It is named as the limit only where neither network nor CPU \
                 is full. In an observation file also where the rate is above the devices' ceiling; writes above it \
                 are acknowledged early (early-acknowledgement).",
    formula: "bytes at the server's device < 0.5 x bytes of the application, while they crossed the wire; in a file \
              also rate > 1.03 x count x ceiling of the device, or hit ratio >= 0.9",
    source: "Byte triangulation; Traeger et al., ACM Transactions on Storage 4 (2008), on cached benchmarks",
    example: "reads of 1.10 GiB over the wire, 34 MiB of them at the device (3.0 %)",
    how_to_measure: Some(
        "run `narrows serve` on the storage server with --root on its device: it reads diskstats there",
    ),
    how_to_write: Some(
        "count the bytes at the application, on the wire and at the device over the same time (bytes = { .. }), \
         and write the link's speed as a declared [[ceiling]]",
    ),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let has_server = cases.view().is_some_and(|view| view.server().is_some());
    let mut verdicts = if has_server { cases.evaluate_cells(evaluate) } else { Vec::new() };
    if let Some(table) = cases.table() {
        // Writes above the device are acknowledged early, which has a rule for itself.
        let writes = cache::writes(table);
        let is_read = |found: &SegmentVerdict| !writes.contains(found.cell.as_str());
        let above = given::impossible(table).into_iter().filter(|found| found.segment == RULE.segment);
        verdicts.extend(above.filter(is_read));
    }
    verdicts.extend(cases.evaluate_observations(observed));
    verdicts
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let crossed = cell.bytes.wire.is_some_and(|wire| wire.0 >= cell.bytes.application.0 / 2);
    let below = cell.bytes.device.filter(|_| crossed)?;
    let said = cache::application(cell);
    let counted = CacheBytes { above: cell.bytes.application, said, below, place: "at the server's device" };
    let command = device::command(view);
    cache::served(
        RULE.segment,
        &cell.id,
        &counted,
        EvidenceSource { counter: cache::counter(cell), command: &command },
    )
}

fn observed(table: &ObservationTable<'_>, one: &Observation) -> Option<SegmentVerdict> {
    let is_read = one.op != ObservedOp::Write;
    if !table.is_remote(one) {
        return None;
    }
    let of_bytes = || cache::of_observation(one, RULE.segment, CountingPoint::Device);
    Some(()).filter(|()| is_read).and_then(|()| of_bytes()).or_else(|| cache::of_hits(one, RULE.segment))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found, mounted, named};

    #[test]
    fn single_reads_that_the_server_keeps_in_memory_are_named_served_there() {
        let summary = builtin("cached-server");
        assert_eq!(named(&summary, "one-at-a-time read")[0], Segment::ServerCache);
        assert!(found(&summary, RULE.code));
    }

    #[test]
    fn bytes_that_nobody_saw_on_the_wire_do_not_blame_the_servers_cache() {
        let mut summary = builtin("cached-server");
        for cell in &mut summary.cells {
            cell.bytes.wire = None;
        }
        let diagnosis = crate::diagnose(&summary);
        assert!(!diagnosis.findings.iter().any(|finding| finding.code == RULE.code));
        assert!(!diagnosis.exonerated.iter().any(|entry| entry.segment == Segment::ServerCache));
    }

    #[test]
    fn a_mount_is_evaluated_by_the_interfaces_and_says_so() {
        let finding = |summary: &narrows_model::Summary| {
            let diagnosis = &summary.diagnosis;
            diagnosis.findings.iter().find(|finding| finding.code == RULE.code).cloned()
        };
        let warning = finding(&mounted("cached-server")).expect("the server's cache served the reads");
        assert!(
            warning.evidence.iter().any(|evidence| evidence.counter.contains("interfaces")),
            "{warning:?}"
        );
        assert!(finding(&mounted("slow-disk")).is_none());
    }

    #[test]
    fn a_full_wire_is_named_before_the_cache_behind_it() {
        let summary = builtin("cached-server");
        assert_eq!(named(&summary, "bulk read")[0], Segment::NetworkBandwidth);
    }

    #[test]
    fn reads_that_reach_the_device_are_not_called_cached() {
        let summary = builtin("slow-disk");
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::ServerCache));
    }
}
