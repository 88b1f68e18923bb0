//! Requests end in the client's cache: the storage behind it was not measured.

use super::judge;
use super::{Basis, Rule, Stance, Tier, Verdict};
use crate::text;
use crate::view::{View, path_to, reads};
use narrows_model::counters::Role;
use narrows_model::diagnosis::Severity;
use narrows_model::inventory::PathKind;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Bytes, Segment, Target};

/// A rate this much above a declared link cannot have crossed it: clocks and rounding stay below.
const ABOVE_LINK_RATIO: f64 = 1.03;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "client-cache-served",
    slug: "cache_served",
    segment: Segment::ClientCache,
    title: "served by the client's cache",
    definition: "Less than half of the application's bytes reached the wire (or, on a local path, the device) in the \
                 same interval, or the rate is above what the link is declared to carry. The figure is memory's; the \
                 storage behind it was not measured. Writes end in the cache until it must be written back.",
    formula: "bytes on the wire (local: at the device) < 0.5 x bytes of the application, or rate > 1.03 x link speed",
    source: "Byte triangulation; Traeger et al., ACM Transactions on Storage 4 (2008), on cached benchmarks",
    example: "a read of 412 MiB/s over a link of 100 Mbit/s; 3 MiB of 618 MiB were on the wire",
    how_to_measure: "compare the application's bytes with `ss -ti` (network; on a mount /proc/net/dev) or /proc/diskstats (local) over the same time",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    view.regimes().iter().filter_map(|regime| judge(view, regime.cell)).collect()
}

fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    if let Some(verdict) = above_link(view, cell) {
        return Some(verdict);
    }
    let (below, place, command) = if view.server().is_some() && !lies_here(view, cell) {
        let (place, command) = wire(view, cell);
        (cell.bytes.wire?, place, command)
    } else {
        (cell.bytes.device?, "at the device", super::device_bandwidth::command(view))
    };
    served(RULE.segment, cell, below, place, &command)
}

/// Whether the cell's files lie on devices of the machine that loads them: a server that was asked for serves the same
/// folder, and nothing of the load goes to it over a wire.
fn lies_here(view: &View<'_>, cell: &CellSummary) -> bool {
    let client = view.summary.hosts.iter().find(|host| host.roles.contains(&Role::Client));
    let Some(inventory) = client.map(|client| &client.inventory) else { return false };
    let targets = std::iter::once(&cell.target).chain(&cell.more_targets).flat_map(Target::members);
    // The one path that is known is that of a folder given from where the command ran, whose target is no whole path.
    let only = inventory.path.as_ref().filter(|_| inventory.more_paths.is_empty());
    let mut kinds = targets.map(|target| {
        let Target::File { .. } = target else { return None };
        path_to(inventory, target).or(only).map(|path| path.kind)
    });
    cell.bytes.wire.is_none() && kinds.all(|kind| kind == Some(PathKind::LocalDevice))
}

/// Where the wire's bytes were counted, and a command that shows them.
fn wire(view: &View<'_>, cell: &CellSummary) -> (&'static str, String) {
    if by_interfaces(cell) {
        ("on the interfaces (headers and other traffic included)", "cat /proc/net/dev".to_owned())
    } else {
        ("on the wire", format!("ss -ti dst {}", judge::server_host(view)))
    }
}

/// Whether the wire's bytes of a cell are those of the machines' interfaces.
fn by_interfaces(cell: &CellSummary) -> bool {
    cell.flags.iter().any(|flag| flag == crate::summary::WIRE_BY_INTERFACES)
}

/// Judges by the bytes that went on below a cache.
pub(super) fn served(
    segment: Segment,
    cell: &CellSummary,
    below: Bytes,
    place: &str,
    command: &str,
) -> Option<Verdict> {
    let carried = ratio(below.as_f64(), cell.bytes.application.as_f64())?;
    let cached = carried < judge::DOMINANT_RATIO;
    let stance = if cached { Stance::Limits } else { Stance::Clears };
    let verb = if reads(cell.op) { "read" } else { "wrote" };
    let text = format!(
        "{}: the application {verb} {}, {} of it {place} ({})",
        cell.id,
        text::amount(cell.bytes.application),
        text::amount(below),
        text::percent(carried),
    );
    let verdict = Verdict::on(segment, &cell.id, stance, Basis::State, (1.0 - carried).clamp(0.0, 1.0));
    let severity = if cached { Severity::Warning } else { Severity::Info };
    let counter = if by_interfaces(cell) {
        "bytes at application, interfaces (/proc/net/dev) and device"
    } else {
        "bytes at application, wire and device"
    };
    Some(Verdict { severity, ..verdict }.in_tier(Tier::Voids).because(text, counter, command))
}

/// A rate that the declared link cannot have carried.
fn above_link(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let rate = cell.rate_bytes_per_s.filter(|_| view.has_network())?.0;
    let client = view.summary.hosts.iter().find(|host| host.roles.contains(&Role::Client))?;
    let links = client.inventory.host.nics.iter().filter(|nic| !nic.is_virtual && nic.operstate == "up");
    let fastest = links.filter_map(|nic| nic.link_bits_per_s).max()?;
    let link = fastest as f64 / 8.0;
    (rate > link * ABOVE_LINK_RATIO).then(|| {
        let text = format!(
            "{} moves {}, more than the fastest link of {} can carry",
            cell.id,
            text::network_rate(rate),
            text::network_rate(link),
        );
        let verdict = Verdict::on(RULE.segment, &cell.id, Stance::Limits, Basis::State, 1.0);
        let command = "cat /sys/class/net/*/speed";
        Verdict { severity: Severity::Warning, ..verdict }.in_tier(Tier::Voids).because(
            text,
            "declared link speed",
            command,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Grid, cleared, found, machine, measured, mounted, named};
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
    }

    #[test]
    fn a_folder_of_this_machines_own_disk_is_judged_by_the_disk_though_a_server_serves_it_too() {
        let mut summary = mounted("cached-client");
        let told = |summary: &Summary| {
            let diagnosis = crate::diagnose(summary);
            diagnosis.findings.iter().any(|finding| finding.code == RULE.code)
        };
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == narrows_model::Cut::Path) {
            (cell.bytes.wire, cell.bytes.device) = (None, Some(Bytes(0)));
        }
        assert!(!told(&summary), "a mount whose wire nobody saw");
        let client = summary.hosts.iter_mut().find(|host| host.roles.contains(&Role::Client)).unwrap();
        client.inventory.path.as_mut().unwrap().path = "/mnt".to_owned();
        client.inventory.path.as_mut().unwrap().kind = PathKind::LocalDevice;
        assert!(told(&summary));
        for cell in &mut summary.cells {
            cell.target = Target::File { path: "from/here".into() };
        }
        assert!(told(&summary), "a path from where the command ran");
        for cell in &mut summary.cells {
            cell.bytes.device = Some(cell.bytes.application);
        }
        assert!(!told(&summary), "all of it was at the device");
    }

    #[test]
    fn nothing_cached_is_not_called_cached() {
        let summary =
            measured(&machine("uncached-client"), Grid { access: Access::Buffered, ..Grid::default() });
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::ClientCache));
    }
}
