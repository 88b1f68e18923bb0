//! Requests end in the server's cache: the device behind it was not measured.

use super::{Rule, Tier, Verdict};
use crate::view::View;
use narrows_model::Segment;
use narrows_model::summary::CellSummary;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "server-cache-served",
    slug: "cache_served",
    segment: Segment::ServerCache,
    title: "served by the server's cache",
    definition: "The bytes crossed the wire, but less than half of them reached the server's device in the same \
                 interval (on a mount, the interfaces carried them). The figure is that of network and server; the device behind them was not measured. It is \
                 named as the limit only where neither network nor CPU is full.",
    formula: "bytes at the server's device < 0.5 x bytes of the application, while the wire carried them",
    source: "Byte triangulation; Traeger et al., ACM Transactions on Storage 4 (2008), on cached benchmarks",
    example: "reads of 1.10 GiB over the wire, 34 MiB of them at the device (3.0 %)",
    how_to_measure: "run `narrows serve` on the storage server with --root on its device: it reads diskstats there",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    if view.server().is_none() {
        return Vec::new();
    }
    view.regimes().iter().filter_map(|regime| judge(view, regime.cell)).collect()
}

fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let below = cell.bytes.device?;
    let crossed = cell.bytes.wire.is_some_and(|wire| wire.0 >= cell.bytes.application.0 / 2);
    let command = super::device_bandwidth::command(view);
    let place = "at the server's device";
    let verdict = super::client_cache::served(RULE.segment, cell, below, place, &command)?;
    crossed.then(|| verdict.in_tier(Tier::Served))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found, mounted, named};

    #[test]
    fn single_reads_that_the_server_keeps_in_memory_are_named_served_there() {
        let summary = builtin("cached-server");
        assert_eq!(named(&summary, "small synchronous read")[0], Segment::ServerCache);
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
    fn a_mount_is_judged_by_the_interfaces_and_says_so() {
        let finding = |summary: &narrows_model::Summary| {
            let diagnosis = &summary.diagnosis;
            diagnosis.findings.iter().find(|finding| finding.code == RULE.code).cloned()
        };
        let told = finding(&mounted("cached-server")).expect("the server's cache served the reads");
        assert!(told.evidence.iter().any(|evidence| evidence.counter.contains("interfaces")), "{told:?}");
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
