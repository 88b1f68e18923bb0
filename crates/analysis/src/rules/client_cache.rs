//! Requests end in the client's cache: the storage behind it was not measured.

use super::{Basis, Rule, SegmentVerdict, Stance, Tier};
use crate::case::Cases;
use crate::case::table::ObservationTable;
use crate::facts::{is_behind_daemon, path_or_only};
use crate::method::cache::{self, CacheBytes, CountingPoint};
use crate::method::{self, EvidenceSource, device, given, past_cache};
use crate::text;
use crate::thresholds::RAISED_RATIO;
use crate::view::SummaryView;
use narrows_model::counters::Role;
use narrows_model::diagnosis::Severity;
use narrows_model::inventory::PathKind;
use narrows_model::observation::ObservedOp;
use narrows_model::summary::CellSummary;
use narrows_model::{Observation, Segment, Target};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "client-cache-served",
    slug: "cache_served",
    segment: Segment::ClientCache,
    title: "served by the client's cache",
    definition: "Less than half of the application's bytes reached the wire (or, on a local path, the device) in the \
                 same interval, or the rate is above the declared speed of the link. The figure shows memory, and not the \
                 storage behind it; of a folder here the verdict says what the device alone moves past the page cache (O_DIRECT), where \
                 that was measured. Writes stay in the cache until it must be written back. In an \
                 observation file a rate above a declared ceiling makes this certain, above a measured one probable, \
                 because a measured ceiling is a lower bound; writes that were not at a local device are acknowledged \
                 early (early-acknowledgement).",
    formula: "bytes on the wire (local: at the device) < 0.5 x bytes of the application, or rate > 1.03 x link speed; in a \
              file also rate > 1.03 x count x ceiling of a segment behind it, or hit ratio >= 0.9",
    source: "Byte triangulation; Traeger et al., ACM Transactions on Storage 4 (2008), on cached benchmarks",
    example: "a read of 412 MiB/s over a link of 100 Mbit/s; 3 MiB of 618 MiB were on the wire",
    how_to_measure: Some(
        "compare the application's bytes with `ss -ti` (network; on a mount /proc/net/dev) or /proc/diskstats (local) over the same time",
    ),
    how_to_write: Some(
        "count the bytes at the application, on the wire and at the device over the same time (bytes = { .. }), \
         and write the link's speed as a declared [[ceiling]]",
    ),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let mut verdicts = cases.evaluate_cells(evaluate);
    let above = cases.table().map(given::impossible).unwrap_or_default();
    verdicts.extend(above.into_iter().filter(|found| found.segment == RULE.segment));
    verdicts.extend(cases.evaluate_observations(observed));
    verdicts
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    if let Some(verdict) = above_link(view, cell) {
        return Some(verdict);
    }
    let (below, place, command) = if view.server().is_some() && !has_local_files(view, cell) {
        let (place, command) = wire(view, cell);
        (cell.bytes.wire?, place, command)
    } else {
        // Requests that a daemon serves from a cache of its own still wait for the daemon.
        let device = cell.bytes.device.filter(|_| !is_behind_daemon(&view.summary.hosts, cell))?;
        (device, "at the device", device::command(view))
    };
    let counted = CacheBytes { above: cell.bytes.application, said: cache::application(cell), below, place };
    let shown = EvidenceSource { counter: cache::counter(cell), command: &command };
    let verdict = cache::served(RULE.segment, &cell.id, &counted, shown)?;
    Some(if verdict.stance == Stance::Limits {
        past_cache::with_device(view, cell, verdict)
    } else {
        verdict
    })
}

/// Bytes counted below the cache, or its hits. Writes that were not at a local device have a rule for themselves.
fn observed(table: &ObservationTable<'_>, one: &Observation) -> Option<SegmentVerdict> {
    let remote = table.is_remote(one);
    let at_device = Some(CountingPoint::Device).filter(|_| one.op != ObservedOp::Write);
    let at = if remote { Some(CountingPoint::Wire) } else { at_device };
    let of_bytes = at.and_then(|at| cache::of_observation(one, RULE.segment, at));
    of_bytes.or_else(|| cache::of_hits(one, RULE.segment).filter(|_| !remote))
}

/// Whether the cell's files are on devices of the machine that loads them: a server that was asked for serves the same
/// folder, and none of the load is sent to it over a wire.
fn has_local_files(view: &SummaryView<'_>, cell: &CellSummary) -> bool {
    let client = view.summary.hosts.iter().find(|host| host.roles.contains(&Role::Client));
    let Some(inventory) = client.map(|client| &client.inventory) else { return false };
    let targets = std::iter::once(&cell.target).chain(&cell.more_targets).flat_map(Target::members);
    let mut kinds = targets.map(|target| {
        target.local_path()?;
        path_or_only(inventory, target).map(|path| path.kind)
    });
    cell.bytes.wire.is_none()
        && kinds.all(|kind| matches!(kind, Some(PathKind::LocalDevice | PathKind::BlockDevice)))
}

/// Where the wire's bytes were counted, and a command that shows them.
fn wire(view: &SummaryView<'_>, cell: &CellSummary) -> (&'static str, String) {
    if cache::by_interfaces(cell) {
        ("on the interfaces (headers and other traffic included)", "cat /proc/net/dev".to_owned())
    } else {
        ("on the wire", format!("ss -ti dst {}", method::server_host(view)))
    }
}

/// A rate that the declared link cannot have transferred.
fn above_link(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let rate = cell.rate_bytes_per_s.filter(|_| view.has_network())?.0;
    let client = view.summary.hosts.iter().find(|host| host.roles.contains(&Role::Client))?;
    // Clients on several machines have several links.
    if client.inventory.has_clients_elsewhere() {
        return None;
    }
    let links = client.inventory.host.nics.iter().filter(|nic| !nic.is_virtual && nic.operstate == "up");
    let fastest = links.filter_map(|nic| nic.link_bits_per_s).max()?;
    let link = fastest as f64 / 8.0;
    (rate > link * RAISED_RATIO).then(|| {
        let text = format!(
            "{} moves {}, more than the fastest link of {} can transfer",
            cell.id,
            text::network_rate(rate),
            text::network_rate(link),
        );
        let verdict = SegmentVerdict::new(RULE.segment, &cell.id, Stance::Limits, Basis::State, 1.0);
        let command = "cat /sys/class/net/*/speed";
        SegmentVerdict { severity: Severity::Warning, ..verdict }.with_tier(Tier::Voids).with_evidence(
            text,
            "declared link speed",
            command,
        )
    })
}

#[cfg(test)]
mod tests {
    mod of_runs {
        use super::super::*;
        use crate::testing::{Grid, cleared, found, machine, measured, mounted, named};
        use narrows_model::Bytes;
        use narrows_model::Summary;
        use narrows_model::sim_profile::{CacheLaw, SimProfile};
        use narrows_model::workload::Access;

        #[test]
        fn reads_faster_than_the_wire_are_named_served_by_the_client() {
            let summary =
                measured(&machine("cached-client"), Grid { access: Access::Buffered, ..Grid::default() });
            assert_eq!(named(&summary, "bulk read")[0], Segment::ClientCache);
            assert_eq!(named(&summary, "bulk write")[0], Segment::NetworkBandwidth);
        }

        #[test]
        fn local_reads_that_the_device_never_saw_are_named_served_by_the_client() {
            let cache = CacheLaw { client_hit_ratio: 0.99, server_hit_ratio: 0.0 };
            let profile = SimProfile { cache, ..machine("local-disk") };
            let summary = measured(&profile, Grid { access: Access::Buffered, ..Grid::default() });
            assert_eq!(named(&summary, "bulk read")[0], Segment::ClientCache);
            assert_eq!(named(&summary, "bulk write")[0], Segment::DeviceBandwidth);
            let read = summary.diagnosis.limiting.iter().find(|entry| entry.regime.starts_with("bulk read"));
            let says_device = |evidence: &&narrows_model::diagnosis::Evidence| {
                evidence.text.contains("through the page cache; past it (O_DIRECT) the device alone moves ")
            };
            assert!(read.unwrap().evidence.iter().any(|one| says_device(&one)), "{read:#?}");
            // Of the device alone nothing is said where it was not measured.
            let mut unmeasured = summary.clone();
            unmeasured.cells.retain(|cell| cell.cut != narrows_model::Cut::LocalDevice);
            let diagnosis = crate::diagnose(&unmeasured);
            assert_eq!(diagnosis.limiting[0].segment, Segment::ClientCache);
            assert!(!diagnosis.limiting[0].evidence.iter().any(|one| says_device(&one)));
        }

        #[test]
        fn a_folder_of_this_machines_own_disk_is_evaluated_by_the_disk_though_a_server_serves_it_too() {
            let mut summary = mounted("cached-client");
            let is_reported = |summary: &Summary| {
                let diagnosis = crate::diagnose(summary);
                diagnosis.findings.iter().any(|finding| finding.code == RULE.code)
            };
            for cell in summary.cells.iter_mut().filter(|cell| cell.cut == narrows_model::Cut::Path) {
                (cell.bytes.wire, cell.bytes.device) = (None, Some(Bytes(0)));
            }
            assert!(!is_reported(&summary), "a mount whose wire nobody saw");
            let client = summary.hosts.iter_mut().find(|host| host.roles.contains(&Role::Client)).unwrap();
            client.inventory.path.as_mut().unwrap().path = "/mnt".to_owned();
            client.inventory.path.as_mut().unwrap().kind = PathKind::LocalDevice;
            assert!(is_reported(&summary));
            for cell in &mut summary.cells {
                cell.target = Target::File { path: "from/here".into() };
            }
            assert!(is_reported(&summary), "a path from where the command ran");
            for cell in &mut summary.cells {
                cell.bytes.device = Some(cell.bytes.application);
            }
            assert!(!is_reported(&summary), "all of it was at the device");
        }

        #[test]
        fn nothing_cached_is_not_called_cached() {
            let summary =
                measured(&machine("uncached-client"), Grid { access: Access::Buffered, ..Grid::default() });
            assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::ClientCache));
        }
    }

    mod of_files {
        use super::super::*;
        use crate::testing::observed::{cleared, first, read};

        #[test]
        fn bytes_that_never_were_on_the_wire_are_the_clients() {
            let of = |wire: &str| {
                read(&format!(
                    "[[observation]]\nid = \"a\"\nop = \"read\"\nbytes = {{ application = 1e9, wire = {wire} }}\n"
                ))
            };
            assert_eq!(first(&of("3e6")), Segment::ClientCache);
            assert!(cleared(&of("1.05e9"), Segment::ClientCache));
        }

        #[test]
        fn bytes_that_came_over_the_wire_and_never_were_at_the_device_are_the_servers() {
            let of = |device: &str| {
                let bytes = format!("{{ application = 1e9, wire = 1.02e9, device = {device} }}");
                read(&format!("[[observation]]\nid = \"a\"\nop = \"read\"\nbytes = {bytes}\n"))
            };
            assert_eq!(first(&of("0")), Segment::ServerCache);
            assert!(cleared(&of("1e9"), Segment::ServerCache));
        }

        #[test]
        fn a_hit_ratio_of_nearly_all_is_the_caches_rate() {
            let of = |hits: &str| {
                read(&format!("[[observation]]\nid = \"a\"\nop = \"read\"\nhit_ratio = {hits}\n"))
            };
            assert_eq!(first(&of("0.97")), Segment::ClientCache);
            assert_eq!(first(&of("0.53")), Segment::Unknown);
        }
    }
}
