//! The device's bandwidth is full.

use super::{Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::facts::reads;
use crate::method::device::{self, Bound};
use crate::method::{self, EvidenceSource, SegmentRate, commit, given, group_limit};
use crate::text;
use crate::thresholds::{DOMINANT_RATIO, GAIN_RATIO, RAISED_RATIO};
use crate::view::{CutCeiling, SummaryView};
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::workload::Access;
use narrows_model::{Bytes, Cut, Segment};

/// From this share on two counts are printed as the same, or nearly so, and need no explanation.
const SHOWN_AS_EQUAL: f64 = 0.99;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "device-bandwidth-full",
    slug: "device_bandwidth",
    segment: Segment::DeviceBandwidth,
    title: "the device's bandwidth is full",
    definition: "The path moves nearly what the device alone moved past the page cache at the same operation and \
                 block, and the device's own counters count the same bytes. Where operations per second (see \
                 device-iops-full) or the commit of writes (commit-bound) are the limit, these are named instead; \
                 where the two cannot be told apart, the whole device. The two counts of bytes may differ by what is in \
                 flight at once. A limit in bytes that the control group of the load, or of the endpoint, sets for the device is named where \
                 the load reaches it. What it moved under another load of the path it can move as well. What a page cache reads ahead counts as the device's. A virtual disk is the \
                 device as this guest sees it. In an observation file the rate of all clients, without what a cache served, \
                 is compared with count x value of a [[ceiling]] of the device.",
    formula: "rate x share of the bytes that reached the device >= 0.9 x rate of the device alone, or 0.9 to 1.15 x the limit of the control group (O_DIRECT; through a page cache at its best block \
              and depth, as requests are merged); at one \
              request in flight: (block / best device rate) >= half of the time of one request",
    source: "Asymptotic bounds, Denning and Buzen (1978); /proc/diskstats, kernel documentation admin-guide/iostats",
    example: "1 MiB writes at 19.8 MiB/s where the device alone wrote 20.1 MiB/s (99 %), 29.7 MiB of 29.7 MiB on the device",
    how_to_measure: Some(
        "give a folder on the device, or run the endpoint with --root on it; past the page cache (O_DIRECT)",
    ),
    how_to_write: Some("write the bandwidth of the device as a [[ceiling]] of device.bandwidth"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let mut verdicts = cases.evaluate_cells(evaluate);
    let given = cases.table().map(|table| given::reached(table, |segment| segment == RULE.segment));
    verdicts.extend(given.unwrap_or_default());
    verdicts
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    if let Some(limited) = group_limit::reached(view, cell) {
        return Some(limited).filter(|verdict| verdict.segment == RULE.segment);
    }
    let ceiling = device::ceiling(view, cell)?;
    let command = device::command(view);
    let shown =
        EvidenceSource { counter: "bytes and busy time of the device (/proc/diskstats)", command: &command };
    let share = method::device_share(cell);
    let verdict = if method::is_single(cell) {
        let best = device::streaming(view, ceiling.cell)?;
        let part_s = cell.block_bytes.as_f64() / best * share;
        let what = "moving the block at the device's best rate";
        method::unless_cut_was_limited(method::time_share(RULE.segment, cell, part_s, what, shown)?, ceiling)?
    } else {
        let rate = cell.rate_bytes_per_s?.0 * read_ahead_ratio(cell).unwrap_or(share);
        let segment_rate = SegmentRate { segment: RULE.segment, cell, rate };
        let verdict = method::evaluate_segment_rate(
            segment_rate,
            byte_ceiling(view, cell, ceiling)?,
            text::storage_rate,
            shown,
        )?;
        let verdict = narrow_verdict(view, cell, ceiling, verdict)?;
        let gain = method::relief(view, cell, &[Cut::NetworkStream, Cut::ServerMemory, Cut::MemoryCopy]);
        verdict.with_relief_gain(gain).with_evidence(agreement(cell), shown.counter, shown.command)
    };
    // What a cache kept from the device does not clear it: it was not measured.
    (verdict.stance == Stance::Limits || share >= DOMINANT_RATIO).then_some(verdict)
}

/// The ceiling of bytes: where operations are what the device runs out of, the best that it moved at any block; of bulk data no less
/// than it moved under another load of the path.
fn byte_ceiling<'v>(
    view: &SummaryView<'v>,
    cell: &CellSummary,
    ceiling: CutCeiling<'v>,
) -> Option<CutCeiling<'v>> {
    let found = ceiling_alone(view, ceiling)?;
    let seen = device::best_on_path(view, cell).filter(|_| !cell.is_small_block());
    Some(match seen.filter(|seen| *seen > found.bytes_per_s * GAIN_RATIO) {
        Some(bytes_per_s) => CutCeiling { bytes_per_s, raised: true, ..found },
        None => found,
    })
}

fn ceiling_alone<'v>(view: &SummaryView<'v>, ceiling: CutCeiling<'v>) -> Option<CutCeiling<'v>> {
    if ceiling.raised || device::bound(view, ceiling.cell) != Some(Bound::Operations) {
        return Some(ceiling);
    }
    let bytes_per_s = view.best_of(ceiling.cell.cut, ceiling.cell)?;
    Some(CutCeiling { bytes_per_s, raised: true, ..ceiling })
}

/// A verdict that blames the device, narrowed to what the evidence shows: not its bandwidth where the commit of writes
/// or its operations limit the rate, and the whole device where operations and bytes
/// cannot be separated.
fn narrow_verdict(
    view: &SummaryView<'_>,
    cell: &CellSummary,
    ceiling: CutCeiling<'_>,
    verdict: SegmentVerdict,
) -> Option<SegmentVerdict> {
    if verdict.stance != Stance::Limits {
        return Some(verdict);
    }
    let bound = device::bound(view, ceiling.cell);
    match bound {
        _ if commit::is_limiting(view, cell) => None,
        Some(Bound::Operations) if !ceiling.raised => None,
        Some(Bound::Either) if !ceiling.raised => {
            Some(SegmentVerdict { segment: Segment::Device, ..verdict })
        }
        None if !ceiling.raised && cell.is_small_block() => {
            Some(SegmentVerdict { segment: Segment::Device, ..verdict })
        }
        _ => {
            let fixed = device::fixed_time_ratio(view, ceiling.cell).filter(|_| !ceiling.raised);
            Some(verdict.unsure_if(fixed >= Some(DOMINANT_RATIO)))
        }
    }
}

/// How many times the application's bytes the device read, where it is a page cache's read-ahead that reads more than was
/// asked for; `None` for other loads, and where others used the device too.
fn read_ahead_ratio(cell: &CellSummary) -> Option<f64> {
    let is_cached =
        reads(cell.op) && cell.requested.access == Access::Buffered && device::has_device_alone(cell);
    method::device_ratio(cell).filter(|share| is_cached && *share > RAISED_RATIO)
}

fn agreement(cell: &CellSummary) -> String {
    let busy =
        cell.device_busy_ratio.map(|busy| format!(", busy {} of the time", text::percent(busy.min(1.0))));
    match cell.bytes.device {
        Some(device) if read_ahead_ratio(cell).is_some() => format!(
            "the device read {} for the application's {}, with what was read ahead{}",
            text::amount(device),
            text::amount(cell.bytes.application),
            busy.unwrap_or_default(),
        ),
        Some(device) => format!(
            "{} of the application's {} reached the device{}{}",
            text::amount(device),
            text::amount(cell.bytes.application),
            if is_in_flight(cell, device) { " (the difference is what was in flight)" } else { "" },
            busy.unwrap_or_default(),
        ),
        None => "the device's bytes are not counted here".to_owned(),
    }
}

/// Whether bytes that the device's count lacks are those in flight at the window's ends.
fn is_in_flight(cell: &CellSummary, device: Bytes) -> bool {
    let counted = ratio(device.as_f64(), cell.bytes.application.as_f64());
    counted.is_some_and(|share| share < SHOWN_AS_EQUAL) && method::device_ratio(cell) == Some(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found, named};
    use narrows_model::summary::ForeignResource;

    #[test]
    fn a_slow_disk_behind_a_server_is_named_first() {
        assert_eq!(named(&builtin("slow-disk"), "bulk")[0], Segment::DeviceBandwidth);
    }

    #[test]
    fn a_local_device_is_named_first() {
        assert_eq!(named(&builtin("local-ssd"), "bulk"), [Segment::DeviceBandwidth]);
    }

    /// Small buffered requests that read-ahead merges, at `share` of the device's best rate at any block.
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
            // Those of another rate.
            cell.time_shares = None;
            // The device sees few large requests instead.
            for metric in cell.metrics.iter_mut().filter(|metric| metric.id == "device_op_count") {
                metric.value /= 32.0;
            }
        }
        summary
    }

    #[test]
    fn small_buffered_requests_are_compared_with_what_the_device_can_stream() {
        let full = crate::diagnose(&merged(0.95));
        assert_eq!(full.limiting[0].segment, Segment::DeviceBandwidth);
        assert!(full.limiting[0].evidence[0].text.contains("at its best"), "{:?}", full.limiting[0]);
        let idle = crate::diagnose(&merged(0.5));
        assert!(!idle.limiting.iter().any(|entry| entry.segment == Segment::DeviceBandwidth));
        assert!(idle.exonerated.iter().any(|entry| entry.segment == Segment::DeviceBandwidth));
    }

    /// Bulk reads through the page cache at half of the device's rate, for which it read this percentage of what was asked for.
    fn read_ahead(percent: u64, others: &[narrows_model::summary::ForeignTransfer]) -> Vec<Segment> {
        let mut summary = builtin("local-ssd");
        let id = "path/read/1MiB/qd1/w16/c1";
        summary.cells.retain(|cell| cell.cut != Cut::Path || cell.id == id);
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
            cell.requested.access = Access::Buffered;
            cell.rate_bytes_per_s =
                cell.rate_bytes_per_s.map(|rate| narrows_model::BytesPerSec(rate.0 / 2.0));
            cell.bytes.device = Some(narrows_model::Bytes(cell.bytes.application.0 * percent / 100));
            cell.time_shares = None;
            cell.foreign_transfers = others.to_vec();
        }
        summary.diagnosis = crate::diagnose(&summary);
        named(&summary, "bulk read")
    }

    /// Bulk writes at the rate of the device alone, this many requests of 256 KiB and 8 at a time, of which the device's count has
    /// all but `missing`.
    fn throttled(requests: u64, missing: u64) -> Vec<Segment> {
        let mut summary = builtin("slow-disk");
        let id = "path/write/1MiB/qd16/c1";
        summary.cells.retain(|cell| cell.cut != Cut::Path || cell.id == id);
        let cell = summary.cells.iter_mut().find(|cell| cell.id == id).unwrap();
        cell.trials.truncate(1);
        let queue = cell.in_flight.configured / 8;
        cell.bytes.application = Bytes((requests * queue) << 20);
        cell.bytes.device = Some(Bytes(((requests - missing) * queue) << 20));
        cell.time_shares = None;
        summary.diagnosis = crate::diagnose(&summary);
        named(&summary, "bulk write")
    }

    #[test]
    fn a_queue_that_a_throttle_lets_pass_at_once_may_be_in_one_count_only() {
        assert_eq!(throttled(88, 8), [Segment::DeviceBandwidth]);
        assert!(!throttled(88, 16).contains(&Segment::DeviceBandwidth), "more than what is in flight");
        assert!(!throttled(20, 8).contains(&Segment::DeviceBandwidth), "two fifths are no share to excuse");
    }

    #[test]
    fn what_is_read_ahead_fills_the_device_as_well() {
        assert_eq!(read_ahead(195, &[]), [Segment::DeviceBandwidth]);
        assert!(!read_ahead(100, &[]).contains(&Segment::DeviceBandwidth));
        let rate = narrows_model::BytesPerSec(1e8);
        let others = narrows_model::summary::ForeignTransfer {
            role: narrows_model::Role::Client,
            resource: ForeignResource::Disk,
            name: "vdb".to_owned(),
            total_bytes_per_s: rate,
            foreign_bytes_per_s: rate,
            programs: Vec::new(),
        };
        assert!(!read_ahead(195, &[others]).contains(&Segment::DeviceBandwidth));
    }

    #[test]
    fn a_fast_device_is_cleared() {
        let summary = builtin("fast-disk");
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::DeviceBandwidth));
    }
}
