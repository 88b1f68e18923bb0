//! The limit that a control group sets for the device of a load, where the load reaches it.

use super::{device, device_share, error_ratio};
use crate::facts::{is_behind_daemon, path_or_only};
use crate::text;
use crate::thresholds::FULL_RATIO;
use crate::verdict::{Basis, GROUP_LIMIT, SegmentVerdict, Stance};
use crate::view::SummaryView;
use narrows_model::counters::Role;
use narrows_model::inventory::{DeviceFacts, PathFacts};
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::workload::Access;
use narrows_model::{Op, Segment, Target};

/// Rates, as shares of a limit, at which it is what holds them. In a short window the kernel lets through a little more than the
/// limit; what is beyond that a cache served, or the kernel wrote it on its own account.
const REACHED_RATIOS: std::ops::Range<f64> = FULL_RATIO..1.15;

const COUNTER: &str = "limits of the control group (io.max, blkio.throttle.*_device)";
const COMMAND: &str = "grep -r . --include=io.max --include='blkio.throttle.*_device' /sys/fs/cgroup";

/// The verdict that a limit in bytes or in operations is what limits `cell`; `None` where none is set or reached, or where it is not
/// known to be the load's.
pub(crate) fn reached(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    // Without the device's own count it is not known that the requests came so far.
    let path =
        path_of_requests(view, cell).filter(|_| has_one_direction(cell) && cell.bytes.device.is_some())?;
    path.devices.iter().find_map(|device| bytes_reached(cell, device).or_else(|| ops_reached(cell, device)))
}

/// Whether the cell's rate is that of blocks that are read, or of blocks that are written.
fn has_one_direction(cell: &CellSummary) -> bool {
    let load = &cell.requested;
    matches!(cell.op, Op::Read | Op::Write) && load.op_mix.is_empty() && load.objects.is_none()
}

/// The path whose devices the processes of this run load themselves, in the control group that the inventory is of; `None` for
/// what other processes serve, for several paths and for clients on several hosts, each of which have limits of their own,
/// and for devices that share what a path moves.
fn path_of_requests<'v>(view: &'v SummaryView<'_>, cell: &CellSummary) -> Option<&'v PathFacts> {
    let role = match &cell.target {
        Target::Tcp { .. } => Role::Server,
        Target::Sim { .. } if view.server().is_some() => Role::Server,
        Target::File { .. } | Target::Block(_) | Target::Sim { .. } => Role::Client,
        _ => return None,
    };
    let is_one_path = cell.more_targets.is_empty()
        && (role == Role::Server || view.hosts_of_clients(cell.clients).len() <= 1)
        && !is_behind_daemon(&view.summary.hosts, cell);
    let path = path_or_only(view.inventory(role)?, &cell.target).filter(|_| is_one_path)?;
    path.devices.iter().all(|device| device.parents.len() <= 1).then_some(path)
}

/// What the application had of a device: of requests past the page cache. What a cache merges, reads ahead and writes back is the
/// device's to count.
fn of_application(cell: &CellSummary, rate: Option<f64>) -> Option<f64> {
    (cell.requested.access == Access::Direct).then_some(rate? * device_share(cell))
}

fn bytes_reached(cell: &CellSummary, device: &DeviceFacts) -> Option<SegmentVerdict> {
    let limit = device.limit_bytes_per_s(cell.op)?.0;
    let application = of_application(cell, cell.rate_bytes_per_s.map(|rate| rate.0));
    let at_device = device::moved_bytes_per_s(cell).filter(|_| device::has_device_alone(cell));
    let (rate, load) = held_rate([application, at_device], limit)?;
    let text = text_of(cell, device, text::storage_rate, [rate, limit]);
    Some(verdict(Segment::DeviceBandwidth, cell, load, text))
}

fn ops_reached(cell: &CellSummary, device: &DeviceFacts) -> Option<SegmentVerdict> {
    let limit = device.limit_ops_per_s(cell.op)?.0;
    // The kernel counts a request before it merges and after it splits: that may be either.
    let application = of_application(cell, cell.ops_per_s.map(|rate| rate.0));
    let at_device = device::ops_per_s(cell).filter(|_| device::has_device_alone(cell));
    let (rate, load) = held_rate([application, at_device], limit)?;
    Some(verdict(Segment::DeviceIops, cell, load, text_of(cell, device, text::op_rate, [rate, limit])))
}

/// Whether a verdict is that a limit which is set was reached as good as wholly: no other measurement refutes that. Somewhat
/// below the limit something else may be what holds the load.
pub(crate) fn is_certain(verdict: &SegmentVerdict) -> bool {
    /// Windows and clocks that are read apart differ by as much.
    const WHOLLY_RATIO: f64 = 0.97;
    verdict.scope == Some(GROUP_LIMIT) && verdict.load_ratio >= WHOLLY_RATIO
}

/// The first of `rates` that the limit holds, with the share of the limit that it is.
fn held_rate(rates: [Option<f64>; 2], limit: f64) -> Option<(f64, f64)> {
    let loads = rates.into_iter().flatten().filter_map(|rate| Some((rate, ratio(rate, limit)?)));
    loads.into_iter().find(|(_, load)| REACHED_RATIOS.contains(load))
}

fn text_of(
    cell: &CellSummary,
    device: &DeviceFacts,
    shown: fn(f64) -> String,
    [rate, limit]: [f64; 2],
) -> String {
    format!(
        "{} moves {}, {} of the {} that its control group allows for {}",
        cell.id,
        shown(rate),
        text::percent(rate / limit),
        shown(limit),
        device.name,
    )
}

fn verdict(segment: Segment, cell: &CellSummary, load: f64, text: String) -> SegmentVerdict {
    let new = SegmentVerdict::new(segment, &cell.id, Stance::Limits, Basis::Utilisation, load);
    let verdict = SegmentVerdict { scope: Some(GROUP_LIMIT), ..new };
    verdict.with_load_error(error_ratio(cell)).with_evidence(text, COUNTER, COMMAND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;
    use narrows_model::{BytesPerSec, IoLimits, OpsPerSec, Relation, Summary};

    const READ: &str = "path/read/1MiB/qd1/w16/c1";

    /// Bulk reads and writes, of which the reads reach these shares of limits in bytes and operations.
    fn limited(of_bytes: Option<f64>, of_ops: Option<f64>) -> Summary {
        let mut summary = builtin("local-ssd");
        let cell = at_load(&mut summary).clone();
        let limits = IoLimits {
            read_bytes_per_s: of_bytes.map(|share| BytesPerSec(cell.rate_bytes_per_s.unwrap().0 / share)),
            read_ops_per_s: of_ops.map(|share| OpsPerSec(cell.ops_per_s.unwrap().0 / share)),
            ..IoLimits::default()
        };
        for host in &mut summary.hosts {
            host.inventory.path.as_mut().unwrap().devices[0].group_limits = limits;
        }
        // No other limit is near.
        for alone in summary.cells.iter_mut().filter(|cell| cell.cut != narrows_model::Cut::Path) {
            alone.rate_bytes_per_s = alone.rate_bytes_per_s.map(|rate| BytesPerSec(rate.0 * 2.0));
            alone.ops_per_s = alone.ops_per_s.map(|rate| OpsPerSec(rate.0 * 2.0));
        }
        summary.diagnosis = crate::diagnose(&summary);
        summary
    }

    /// The same reads by twice as many workers, at this factor of their rate.
    fn add_deeper(summary: &mut Summary, factor: f64) {
        let mut more = at_load(summary).clone();
        (more.id, more.refines) = ("path/read/1MiB/qd1/w32/c1".to_owned(), true);
        (more.requested.workers, more.queue_depth, more.in_flight.configured) = (32, 32, 32);
        more.in_flight.measured = Some(32.0);
        for rate in [&mut more.rate_bytes_per_s.as_mut().unwrap().0, &mut more.ops_per_s.as_mut().unwrap().0]
        {
            *rate *= factor;
        }
        summary.cells.push(more);
        summary.diagnosis = crate::diagnose(summary);
    }

    /// The segment, part and relation that are named for the bulk loads of `op`.
    fn named(summary: &Summary, op: Op) -> Vec<(Segment, Option<String>, Relation)> {
        let of_load = summary.diagnosis.limiting.iter().filter(|entry| {
            entry.regime.contains("bulk")
                && (entry.regime.contains(op.name()) || entry.regime.contains("and"))
        });
        of_load.map(|entry| (entry.segment, entry.scope.clone(), entry.relation)).collect()
    }

    fn group_limit(segment: Segment) -> Vec<(Segment, Option<String>, Relation)> {
        vec![(segment, Some(GROUP_LIMIT.to_owned()), Relation::Sole)]
    }

    #[test]
    fn a_limit_of_bytes_or_operations_that_a_load_reaches_is_named_alone() {
        for share in [0.92, 1.0, 1.1] {
            let bytes = limited(Some(share), None);
            assert_eq!(named(&bytes, Op::Read), group_limit(Segment::DeviceBandwidth), "{share}");
            let ops = limited(None, Some(share));
            assert_eq!(named(&ops, Op::Read), group_limit(Segment::DeviceIops), "{share}");
        }
    }

    #[test]
    fn more_than_the_limit_in_a_short_window_with_more_in_flight_does_not_refute_it() {
        let mut summary = limited(Some(0.98), None);
        let mut more =
            summary.cells.iter().find(|cell| cell.id == "path/read/1MiB/qd1/w16/c1").unwrap().clone();
        (more.id, more.refines) = ("path/read/1MiB/qd1/w32/c1".to_owned(), true);
        (more.requested.workers, more.queue_depth, more.in_flight.configured) = (32, 32, 32);
        more.in_flight.measured = Some(32.0);
        for rate in [&mut more.rate_bytes_per_s.as_mut().unwrap().0, &mut more.ops_per_s.as_mut().unwrap().0]
        {
            *rate *= 1.17;
        }
        summary.cells.push(more);
        summary.diagnosis = crate::diagnose(&summary);
        assert_eq!(named(&summary, Op::Read), group_limit(Segment::DeviceBandwidth));
        assert!(
            summary.diagnosis.limiting.iter().any(|entry| entry.confidence >= 0.8),
            "{:?}",
            summary.diagnosis.limiting
        );
    }

    #[test]
    fn what_more_in_flight_gains_below_the_limit_refutes_it() {
        let mut summary = limited(Some(0.9), None);
        add_deeper(&mut summary, 1.11);
        assert_ne!(named(&summary, Op::Read), group_limit(Segment::DeviceBandwidth));
    }

    /// Whether the verdict on bulk reads at their limit is that limit's, once `change` was made.
    fn is_named_after(change: impl Fn(&mut Summary)) -> bool {
        let mut summary = limited(Some(1.0), Some(1.0));
        change(&mut summary);
        let view = SummaryView::new(&summary);
        let cell = summary.cells.iter().find(|cell| cell.id == READ).unwrap();
        reached(&view, cell).is_some()
    }

    fn at_load(summary: &mut Summary) -> &mut CellSummary {
        summary.cells.iter_mut().find(|cell| cell.id == READ).unwrap()
    }

    #[test]
    fn the_limit_of_other_processes_or_of_a_part_of_the_path_is_not_the_loads() {
        assert!(is_named_after(|_| ()));
        let path = |summary: &mut Summary| summary.hosts[0].inventory.path.clone().unwrap();
        assert!(!is_named_after(|summary| {
            let mut raid = path(summary);
            raid.devices[0].parents = vec!["sda".to_owned(), "sdb".to_owned()];
            summary.hosts[0].inventory.path = Some(raid);
        }));
        assert!(!is_named_after(|summary| at_load(summary).target = "nfs://nas/export/f".parse().unwrap()));
        assert!(!is_named_after(|summary| {
            let target = at_load(summary).target.clone();
            at_load(summary).more_targets.push(target);
        }));
    }

    #[test]
    fn operations_that_are_no_blocks_in_one_direction_do_not_reach_a_limit() {
        use narrows_model::workload::{ObjectSet, OpShare};
        assert!(!is_named_after(|summary| at_load(summary).op = Op::Stat));
        assert!(!is_named_after(|summary| at_load(summary).requested.objects = Some(ObjectSet::default())));
        let both = [Op::Read, Op::Write].map(|op| OpShare { op, weight: 1.0 });
        assert!(!is_named_after(|summary| at_load(summary).requested.op_mix = both.to_vec()));
        assert!(!is_named_after(|summary| at_load(summary).bytes.device = None));
    }

    #[test]
    fn a_limit_that_is_not_reached_or_was_passed_or_is_of_the_other_direction_is_not_named() {
        let names_it = |summary: &Summary, op| {
            named(summary, op).iter().any(|(_, scope, _)| scope.as_deref() == Some(GROUP_LIMIT))
        };
        for share in [0.5, 0.85, 1.3] {
            assert!(!names_it(&limited(Some(share), None), Op::Read), "{share}");
        }
        assert!(!names_it(&limited(Some(1.0), None), Op::Write));
    }
}
