//! The kernel's client of a mount takes the time, and not what is behind it.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::method;
use crate::method::export::{self, ExportLoad, MountCalls};
use crate::method::time;
use crate::text;
use crate::thresholds::{DOMINANT_RATIO, ELIMINATED_CONFIDENCE};
use crate::view::SummaryView;
use narrows_model::Segment;
use narrows_model::summary::CellSummary;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "mount-client-bound",
    slug: "mount_client",
    segment: Segment::ClientFilesystem,
    title: "the kernel's NFS client takes the time: the same load without it is much faster",
    definition: "A folder is on an NFS mount, and the same load is put on the export behind it by narrows itself, without the \
                 kernel's client. What of a request's time is gone then is that client's: half of it or more limits, less \
                 than a quarter clears it. Where calls wait for most of their time before they are sent \
                 (/proc/self/mountstats), the slots and connections of the mount are named in its place. Where the mount \
                 takes as long as the export, what limits the export limits the mount. Where the export may not be used, the \
                 kernel's counts alone say whether calls waited in the client, or one request in flight spent its time outside \
                 of calls.",
    formula: "(T(mount) - T(export)) / T(mount) >= 0.5; queue time / execute time of READ, WRITE and COMMIT >= 0.5",
    source: "Substitution of one stage (Denning and Buzen 1978); Linux, net/sunrpc/stats.c (queue, round trip, execute)",
    example: "1 MiB reads, 16 in flight: 61 MiB/s over the mount, 410 MiB/s without the kernel's client: 85 %",
    how_to_measure: Some("check a folder on an NFS mount whose export this user may mount over NFSv3"),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_cells(|view, cell| match export::beside(view, cell) {
        Some(load) => Some(evaluate(cell, &load)),
        None => by_counts(view, cell),
    })
}

/// By the kernel's counts alone, where the export was not measured by itself: they tell the client from what is behind it,
/// and not the network from the server.
fn by_counts(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let calls = export::mount_calls(cell).filter(|_| cell.requested.objects.is_none())?;
    let queued = calls.queue_share()?;
    let left = calls.left_share(cell).filter(|_| method::is_single(cell));
    let (segment, stance, share) = match left {
        _ if queued >= DOMINANT_RATIO => (Segment::ClientConnection, Stance::Limits, queued),
        Some(left) => (RULE.segment, time::stance_of_stage(left), left),
        None => (RULE.segment, Stance::Open, queued),
    };
    let verdict = SegmentVerdict::new(segment, &cell.id, stance, Basis::TimeShare, share)
        .with_confidence_max(ELIMINATED_CONFIDENCE)
        .with_evidence(calls_text(cell, &calls), "/proc/self/mountstats", "nfsiostat 1");
    Some(match view.export_refusal() {
        Some(reason) => {
            verdict.with_evidence(format!("the export was not measured by itself: {reason}"), "", "")
        }
        None => verdict,
    })
}

fn evaluate(cell: &CellSummary, load: &ExportLoad<'_>) -> SegmentVerdict {
    let share = load.client_share().clamp(0.0, 1.0);
    let calls = export::mount_calls(cell);
    let waits = |calls: &MountCalls| calls.queue_share().is_some_and(|share| share >= DOMINANT_RATIO);
    let is_queued = share >= DOMINANT_RATIO && calls.as_ref().is_some_and(waits);
    let segment = if is_queued { Segment::ClientConnection } else { RULE.segment };
    let verdict = time::stage(segment, cell, load.cell, share);
    let text = format!(
        "{}: a request takes {} over the mount, {} without the kernel's client: {} is that client's",
        cell.id,
        text::seconds(load.mount_s),
        text::seconds(load.export_s),
        text::percent(share),
    );
    let verdict =
        verdict.with_evidence(text, "time of the same requests by narrows's own client", "nfsiostat 1");
    match calls {
        Some(calls) => {
            verdict.with_evidence(calls_text(cell, &calls), "/proc/self/mountstats", "nfsiostat 1")
        }
        None => verdict,
    }
}

/// Where the calls of the mount spent their time.
fn calls_text(cell: &CellSummary, calls: &MountCalls) -> String {
    let mean = |sum: narrows_model::Nanos| text::seconds(sum.as_secs_f64() / calls.call_count as f64);
    format!(
        "{}: {} calls of the mount took {} each, {} of it in the client's queue and {} on the network and at the server",
        cell.id,
        calls.call_count,
        mean(calls.execute_ns),
        mean(calls.queue_ns),
        mean(calls.round_trip_ns),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::mounted::{Mounted, mounted};
    use crate::testing::named;
    use crate::thresholds::INFERRED_CONFIDENCE;
    use narrows_model::Summary;

    /// Whether the kernel's client is cleared under every load of the mount.
    fn is_cleared(summary: &Summary) -> bool {
        let cases = Cases::of_run(summary);
        let verdicts = run(&cases);
        verdicts.iter().all(|verdict| verdict.stance == Stance::Clears && verdict.segment == RULE.segment)
            && verdicts.len() == cases.view().unwrap().regimes().len()
    }

    #[test]
    fn a_mount_much_slower_than_its_export_names_the_kernels_client() {
        let slow = mounted(Mounted { slower: 5.0, ..Mounted::default() });
        let entry =
            slow.diagnosis.limiting.iter().find(|entry| entry.regime.starts_with("bulk read")).unwrap();
        assert_eq!(entry.segment, Segment::ClientFilesystem, "{:#?}", slow.diagnosis.limiting);
        assert!(entry.confidence <= INFERRED_CONFIDENCE && entry.codes.contains(&RULE.code.to_owned()));
        assert!(entry.evidence[0].text.contains("80 %"), "{:?}", entry.evidence);
    }

    #[test]
    fn calls_that_wait_in_the_clients_queue_name_its_connections() {
        let queued = mounted(Mounted { slower: 5.0, queue_share: 0.8, ..Mounted::default() });
        assert_eq!(named(&queued, "bulk read"), [Segment::ClientConnection]);
    }

    #[test]
    fn a_mount_as_fast_as_its_export_clears_the_client_and_has_the_exports_limit() {
        let full = mounted(Mounted { arrival: 1.05, ..Mounted::default() });
        assert_eq!(named(&full, "bulk read"), [Segment::NetworkBandwidth], "{:#?}", full.diagnosis.limiting);
        assert!(is_cleared(&full));
        let behind = mounted(Mounted { arrival: 4.0, hot: 5.0, ..Mounted::default() });
        assert_eq!(
            named(&behind, "bulk read and write"),
            [Segment::Device],
            "{:#?}",
            behind.diagnosis.limiting
        );
    }

    #[test]
    fn a_wire_that_is_full_without_the_kernels_client_limits_also_a_mount_that_does_not_quite_fill_it() {
        let of =
            |slower| named(&mounted(Mounted { slower, arrival: 1.05, ..Mounted::default() }), "bulk read");
        assert_eq!(of(1.18), [Segment::NetworkBandwidth], "the client takes 15 %");
        // What the full wire hides is not said of the mount either.
        assert!(
            !of(1.6).contains(&Segment::ServerCache) && !of(1.6).contains(&Segment::NetworkBandwidth),
            "{:?}",
            of(1.6)
        );
    }

    #[test]
    fn of_a_mount_that_is_faster_only_what_is_slower_still_is_named() {
        let device = |hot| mounted(Mounted { slower: 0.75, hot, ..Mounted::default() });
        let (slow, quick) = (device(5.0), device(2.1));
        assert_eq!(named(&slow, "bulk read and write"), [Segment::Device], "{:#?}", slow.diagnosis.limiting);
        assert!(
            !named(&quick, "bulk read").contains(&Segment::Device),
            "it takes less than half of the mount's time"
        );
        let wire = mounted(Mounted { slower: 0.75, arrival: 1.05, ..Mounted::default() });
        assert!(!named(&wire, "bulk read").contains(&Segment::NetworkBandwidth), "the mount moves more");
    }

    /// A mount whose export was refused, of whose calls' time this share was spent in the client's queue.
    fn refused(queue_share: f64) -> Summary {
        let mut summary = mounted(Mounted { queue_share, ..Mounted::default() });
        summary.cells.retain(|cell| !matches!(cell.target.form(), narrows_model::Target::Scheme { .. }));
        summary.skipped.push(narrows_model::plan::SkippedCell {
            cell: narrows_model::CellId("user-client/read/1MiB/qd16/c1".to_owned()),
            reason: "the mount is secured by Kerberos".to_owned(),
        });
        summary.diagnosis = crate::diagnose(&summary);
        summary
    }

    #[test]
    fn where_the_export_is_refused_the_kernels_counts_decide_and_the_reason_is_stated() {
        let queued = refused(0.8);
        let entry = queued.diagnosis.limiting.iter().find(|entry| entry.regime.starts_with("bulk read"));
        let entry = entry.unwrap();
        assert_eq!(entry.segment, Segment::ClientConnection, "{:#?}", queued.diagnosis.limiting);
        assert!(entry.confidence <= ELIMINATED_CONFIDENCE);
        assert!(entry.evidence.iter().any(|one| one.text.contains("Kerberos")), "{:?}", entry.evidence);
        assert!(!named(&refused(0.1), "bulk read").contains(&Segment::ClientConnection));
    }

    #[test]
    fn files_and_writes_of_another_durability_are_not_compared() {
        let mut summary = mounted(Mounted { slower: 5.0, ..Mounted::default() });
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == narrows_model::Cut::Path) {
            cell.requested.access = narrows_model::workload::Access::Direct;
            cell.nfs_mounts.clear();
        }
        let verdicts = run(&Cases::of_run(&summary));
        let is_write = |verdict: &&SegmentVerdict| verdict.cell.contains("/write/");
        let durable = verdicts.iter().filter(is_write).all(|verdict| verdict.cell.contains("/4KiB/qd1/"));
        assert!(durable && verdicts.iter().any(|verdict| !is_write(&verdict)), "{verdicts:#?}");
    }

    #[test]
    fn what_limits_an_export_that_is_much_faster_is_not_named_for_the_mount() {
        let slow = mounted(Mounted { slower: 5.0, arrival: 1.05, ..Mounted::default() });
        assert!(!named(&slow, "bulk read").contains(&Segment::NetworkBandwidth));
    }
}
