//! The device's bandwidth is full.

use super::device_iops::{self, Bound};
use super::judge::{self, Carried, Shown};
use super::{Rule, Stance, Verdict};
use crate::text;
use crate::view::{Ceiling, View, is_small_block};
use narrows_model::counters::Role;
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Segment};

/// From this share of its bytes at the device a cut measured the device: below, a cache or a buffer stood between.
const AGREE_RATIO: f64 = 0.75;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "device-bandwidth-full",
    slug: "device_bandwidth",
    segment: Segment::DeviceBandwidth,
    title: "the device's bandwidth is full",
    definition: "The path moves nearly what the device alone moved past the page cache at the same operation and \
                 block, and the device's own counters carry the same bytes. Where operations are what it runs out of (see \
                 device-iops-full) or the commit of writes (commit-bound), these are named instead; where one block of \
                 64 KiB or less alone was measured, the whole device. A virtual disk is the device as this \
                 guest sees it.",
    formula: "rate x share of the bytes that reached the device >= 0.9 x rate of the device alone (O_DIRECT; through a page cache at its best block \
              and depth, as requests are merged); at one \
              request in flight: (block / best device rate) >= half of the time of one request",
    source: "Asymptotic bounds, Denning and Buzen (1978); /proc/diskstats, kernel documentation admin-guide/iostats",
    example: "1 MiB writes at 19.8 MiB/s where the device alone wrote 20.1 MiB/s (99 %), 29.7 MiB of 29.7 MiB on the device",
    how_to_measure: "give a folder on the device, or run the endpoint with --root on it; past the page cache (O_DIRECT)",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    view.regimes().iter().filter_map(|regime| judge(view, regime.cell)).collect()
}

/// The rate of the device alone, where its own counters agree that it was the device.
pub(super) fn ceiling<'v>(view: &View<'v>, cell: &CellSummary) -> Option<Ceiling<'v>> {
    view.device_ceiling(cell).filter(|found| judge::device_share(found.cell) >= AGREE_RATIO)
}

fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let ceiling = ceiling(view, cell)?;
    let command = command(view);
    let shown = Shown { counter: "bytes and busy time of the device (/proc/diskstats)", command: &command };
    let share = judge::device_share(cell);
    let verdict = if judge::is_single(cell) {
        let best = super::device_latency::streaming(view, ceiling.cell)?;
        let part_s = cell.block_bytes.as_f64() / best * share;
        let what = "moving the block at the device's best rate";
        judge::convicting(judge::time_share(RULE.segment, cell, part_s, what, shown)?, ceiling)?
    } else {
        let rate = cell.rate_bytes_per_s?.0 * share;
        let carried = Carried { segment: RULE.segment, cell, rate };
        let verdict = judge::carried_against(carried, apart(view, ceiling)?, text::storage_rate, shown)?;
        let verdict = told_apart(view, cell, ceiling, verdict)?;
        let gain = judge::relief(view, cell, &[Cut::NetworkStream, Cut::ServerMemory, Cut::MemoryCopy]);
        verdict.gains(gain).because(agreement(cell), shown.counter, shown.command)
    };
    // What a cache kept from the device does not clear it: it was not measured.
    (verdict.stance == Stance::Limits || share >= judge::DOMINANT_RATIO).then_some(verdict)
}

/// The ceiling of bytes: where operations are what the device runs out of, the best that it moved at any block.
fn apart<'v>(view: &View<'v>, ceiling: Ceiling<'v>) -> Option<Ceiling<'v>> {
    if ceiling.raised || device_iops::bound(view, ceiling.cell) != Some(Bound::Operations) {
        return Some(ceiling);
    }
    let bytes_per_s = view.best_of(ceiling.cell.cut, ceiling.cell)?;
    Some(Ceiling { bytes_per_s, raised: true, ..ceiling })
}

/// A verdict that blames the device, for what the evidence tells: not its bandwidth where the commit of writes or its
/// operations hold the rate, and the whole device where one small block alone does not tell operations from bytes.
fn told_apart(
    view: &View<'_>,
    cell: &CellSummary,
    ceiling: Ceiling<'_>,
    verdict: Verdict,
) -> Option<Verdict> {
    if verdict.stance != Stance::Limits {
        return Some(verdict);
    }
    let bound = device_iops::bound(view, ceiling.cell);
    match bound {
        _ if super::server_commit::holds(view, cell) => None,
        Some(Bound::Operations) if !ceiling.raised => None,
        None if !ceiling.raised && is_small_block(cell) => {
            Some(Verdict { segment: Segment::Device, ..verdict })
        }
        _ => Some(verdict),
    }
}

fn agreement(cell: &CellSummary) -> String {
    let busy =
        cell.device_busy_ratio.map(|busy| format!(", busy {} of the time", text::percent(busy.min(1.0))));
    match cell.bytes.device {
        Some(device) => format!(
            "{} of the application's {} reached the device{}",
            text::amount(device),
            text::amount(cell.bytes.application),
            busy.unwrap_or_default(),
        ),
        None => "the device's bytes are not counted here".to_owned(),
    }
}

/// The command that shows the device's counters, with its name where it is known.
pub(super) fn command(view: &View<'_>) -> String {
    let owner = if view.server().is_some() { Role::Server } else { Role::Client };
    let host = view.summary.hosts.iter().find(|host| host.roles.contains(&owner));
    let name = host.and_then(|host| host.inventory.path.as_ref()).and_then(|path| path.devices.first());
    match name {
        Some(device) => format!("grep '{} ' /proc/diskstats; iostat -x 1 {}", device.name, device.name),
        None => "cat /proc/diskstats; iostat -x 1".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found, named};

    #[test]
    fn a_slow_disk_behind_a_server_is_named_first() {
        assert_eq!(named(&builtin("slow-disk"), "bulk")[0], Segment::DeviceBandwidth);
    }

    #[test]
    fn a_local_device_is_named_first() {
        assert_eq!(named(&builtin("local-ssd"), "bulk"), [Segment::DeviceBandwidth]);
    }

    /// Small buffered requests that read-ahead merges, at `share` of the best that the device carried at any block.
    fn merged(share: f64) -> narrows_model::Summary {
        let mut summary = builtin("local-ssd");
        summary.cells.retain(|cell| {
            cell.cut != Cut::Path || (cell.block_bytes.0 == 4096 && cell.in_flight.configured == 16)
        });
        let best = |cell: &CellSummary| {
            let of_device = |other: &&CellSummary| other.cut == Cut::LocalDevice && other.op == cell.op;
            let rates = summary.cells.iter().filter(of_device).filter_map(|other| other.rate_bytes_per_s);
            rates.map(|rate| rate.0).fold(0.0, f64::max)
        };
        let rates: Vec<f64> = summary.cells.iter().map(best).collect();
        for (cell, best) in summary.cells.iter_mut().zip(rates).filter(|(cell, _)| cell.cut == Cut::Path) {
            cell.requested.access = narrows_model::workload::Access::Buffered;
            cell.rate_bytes_per_s = Some(narrows_model::BytesPerSec(best * share));
            // The device sees few large requests instead.
            for metric in cell.metrics.iter_mut().filter(|metric| metric.id == "device_op_count") {
                metric.value /= 32.0;
            }
        }
        summary
    }

    #[test]
    fn small_buffered_requests_are_held_against_what_the_device_can_stream() {
        let full = crate::diagnose(&merged(0.95));
        assert_eq!(full.limiting[0].segment, Segment::DeviceBandwidth);
        assert!(full.limiting[0].evidence[0].text.contains("at its best"), "{:?}", full.limiting[0]);
        let idle = crate::diagnose(&merged(0.5));
        assert!(!idle.limiting.iter().any(|entry| entry.segment == Segment::DeviceBandwidth));
        assert!(idle.exonerated.iter().any(|entry| entry.segment == Segment::DeviceBandwidth));
    }

    #[test]
    fn a_fast_device_is_cleared() {
        let summary = builtin("fast-disk");
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::DeviceBandwidth));
    }
}
