//! What a record says of its run and its machine, as lines of a list.

use crate::rows::Row;
use narrows_model::inventory::HostFacts;
use narrows_model::relay::PUBLISHED_SIZES;
use narrows_model::{Bytes, Inventory, Summary};

const GIB: f64 = (1_u64 << 30) as f64;

/// The lines; without names of hosts.
pub(crate) fn told(summary: &Summary, inventory: &Inventory, rows: &[Row]) -> String {
    let trials = rows.iter().filter_map(|row| Some(row.own.as_ref()?.trial_count)).min().unwrap_or_default();
    let lines = [
        format!(
            "narrows {}, started {}, seed {} of the order of points",
            summary.narrows_version, summary.started_at, summary.seed
        ),
        format!(
            "{} points, at least {trials} whole trials each, all roles on one machine over loopback TCP",
            rows.len()
        ),
        machine(&inventory.host),
        format!("Linux {}", inventory.host.kernel_release.clone().unwrap_or_else(unknown)),
        spread(rows),
        format!(
            "the point with 4096 bytes at every role belongs to each sweep: the rates of the three that two nodes have \
             span a factor of {}, those of the seven that three nodes have {}; less tells nothing between sweeps",
            span(rows, false),
            span(rows, true)
        ),
    ];
    lines.map(|line| format!("* {line}\n")).concat()
}

fn unknown() -> String {
    "not told".to_owned()
}

fn machine(host: &HostFacts) -> String {
    let gib = |bytes: Bytes| format!("{:.1} GiB", bytes.as_f64() / GIB);
    let kind = match host.virtual_machine {
        Some(true) => "a virtual machine",
        Some(false) => "a physical machine",
        None => "whether virtual is not told",
    };
    let stolen = |ratio: f64| format!("{:.2} % stolen by others since boot", ratio * 100.0);
    format!(
        "{} CPUs ({}), {} of memory, {kind}; CPU time: {}",
        host.online_cpus,
        host.cpu_model.clone().unwrap_or_else(unknown),
        host.memory_bytes.map_or_else(unknown, gib),
        host.steal_ratio.map_or_else(unknown, stolen)
    )
}

/// How sure the rates are.
fn spread(rows: &[Row]) -> String {
    let mut half_widths: Vec<f64> =
        rows.iter().filter_map(|row| row.own.as_ref()?.half_width_ratio).collect();
    half_widths.sort_by(f64::total_cmp);
    let at = |numerator: usize, denominator: usize| {
        let index = half_widths.len().saturating_sub(1) * numerator / denominator;
        half_widths.get(index).map_or_else(unknown, |ratio| format!("{:.0} %", ratio * 100.0))
    };
    format!(
        "half-width of the 95 % interval of a rate: median {}, nine of ten points within {}, the widest {}",
        at(1, 2),
        at(9, 10),
        at(1, 1)
    )
}

/// The largest over the smallest rate of the points that have the largest buffers everywhere.
fn span(rows: &[Row], has_proxy: bool) -> String {
    let is_largest =
        |row: &&Row| row.shrunk_bytes() == PUBLISHED_SIZES[0].0 && row.sweep.has_proxy() == has_proxy;
    let rates: Vec<f64> = rows.iter().filter(is_largest).map(|row| row.rate_kib_per_s).collect();
    let (least, most) =
        (rates.iter().copied().fold(f64::INFINITY, f64::min), rates.iter().copied().fold(0.0, f64::max));
    format!("{:.2}", most / least)
}
