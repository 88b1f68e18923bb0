//! Several devices together move less than each alone: they share a bus.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::facts::reads;
use crate::method;
use crate::text;
use crate::thresholds::{CPU_FULL_RATIO, FULL_RATIO};
use crate::view::SummaryView;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment, Target};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "device-bus-shared",
    slug: "device_bus",
    segment: Segment::DeviceBus,
    title: "several devices together move less than each alone",
    definition: "Targets on different devices were loaded each alone and then together with the same load on each. \
                 Together they move clearly less than the sum, and neither a CPU nor the network is full: what they \
                 share is the limit. Evaluated only where both were measured and no two of the targets are on one \
                 device.",
    formula: "rate together < 0.9 x sum of the rates alone, CPUs under 0.95, network under 0.9 of the raw stream",
    source: "Asymptotic bounds: independent stations add up, a shared one does not (Denning and Buzen 1978)",
    example: "two disks at 250 MiB/s each alone move 300 MiB/s together: 60 % of the sum",
    how_to_measure: Some("load each device alone, then all together, with a study of several targets"),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_cells(evaluate)
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    if cell.more_targets.is_empty() {
        return None;
    }
    let targets = || std::iter::once(&cell.target).chain(&cell.more_targets);
    let alone: Vec<f64> = targets().map(|target| alone(view, cell, target)).collect::<Option<_>>()?;
    let sum: f64 = alone.iter().sum();
    let rate = cell.rate_bytes_per_s?.0;
    let load = ratio(rate, sum)?;
    let shared = load < FULL_RATIO;
    if shared && (method::is_cached(cell) || is_explained(view, cell)) {
        return None;
    }
    if let Some(device) = view.common_device(cell) {
        return Some(method::one_device(cell, &device));
    }
    let stance = if shared { Stance::Limits } else { Stance::Clears };
    let text = format!(
        "{}: {} targets move {} together, {} of the {} that they move each alone, summed",
        cell.id,
        alone.len(),
        text::storage_rate(rate),
        text::percent(load),
        text::storage_rate(sum),
    );
    let verdict = SegmentVerdict::new(
        RULE.segment,
        &cell.id,
        stance,
        Basis::Utilisation,
        if shared { 1.0 } else { 0.0 },
    );
    let gain = ratio(sum, rate).filter(|gain| *gain > 1.0);
    let verdict = verdict.without_used().with_load_error(method::error_ratio(cell));
    Some(verdict.with_relief_gain(gain).with_evidence(
        text,
        "rates of each alone and together",
        "iostat -x 1",
    ))
}

/// The rate of one target alone under its share of the load.
fn alone(view: &SummaryView<'_>, cell: &CellSummary, target: &Target) -> Option<f64> {
    let count = u32::try_from(cell.more_targets.len()).ok()? + 1;
    let same = |other: &&CellSummary| {
        other.cut == cell.cut
            && other.more_targets.is_empty()
            && other.target == *target
            && reads(other.op) == reads(cell.op)
            && (other.block_bytes, other.queue_depth) == (cell.block_bytes, cell.queue_depth)
            && other.clients.saturating_mul(count) == cell.clients
    };
    Some(view.summary.cells.iter().find(same)?.rate_bytes_per_s?.0)
}

/// Whether a CPU or the network is full while all targets are loaded.
fn is_explained(view: &SummaryView<'_>, cell: &CellSummary) -> bool {
    let cpu = cell.cpu.values().any(|cpu| cpu.busy_ratio >= CPU_FULL_RATIO);
    let rate = cell.rate_bytes_per_s.unwrap_or_default().0;
    let wire = view.ceiling(Cut::NetworkStream, cell);
    cpu || wire.is_some_and(|wire| rate >= wire.bytes_per_s * FULL_RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cleared, found, machine, named, two_devices};
    use narrows_model::counters::Role;
    use narrows_model::inventory::PathFacts;

    #[test]
    fn two_devices_on_one_bus_are_reported_by_what_they_move_together() {
        let summary = two_devices(&machine("shared-bus"));
        assert_eq!(
            named(&summary, "several targets together"),
            [Segment::DeviceBus],
            "{:#?}",
            summary.diagnosis
        );
    }

    /// `summary` with its targets as folders whose devices have these names.
    fn on_devices(summary: &narrows_model::Summary, names: [&str; 2]) -> narrows_model::Summary {
        let mut summary = summary.clone();
        let folder = |index: usize| Target::File { path: format!("/mnt/{index}/own").into() };
        let client = summary.hosts.iter_mut().find(|host| host.roles.contains(&Role::Client)).unwrap();
        let mut device = client.inventory.path.iter().flat_map(|path| &path.devices).next().cloned();
        let known = client.inventory.path.clone().unwrap();
        client.inventory.more_paths = names
            .iter()
            .enumerate()
            .map(|(index, name)| {
                let devices = device.iter_mut().map(|device| {
                    (*name).clone_into(&mut device.name);
                    device.clone()
                });
                let mut facts =
                    PathFacts { path: format!("/mnt/{index}"), devices: devices.collect(), ..known.clone() };
                facts.mount.device = format!("7:{index}");
                facts
            })
            .collect();
        let both = summary.cells.iter().find(|cell| !cell.more_targets.is_empty()).unwrap().clone();
        let all = [both.target.clone(), both.more_targets[0].clone()];
        for cell in &mut summary.cells {
            for target in std::iter::once(&mut cell.target).chain(&mut cell.more_targets) {
                if let Some(index) = all.iter().position(|known| known == target) {
                    *target = folder(index);
                }
            }
        }
        summary.diagnosis = crate::diagnose::diagnose(&summary);
        summary
    }

    #[test]
    fn two_folders_on_one_device_are_no_two_devices() {
        let summary = two_devices(&machine("shared-bus"));
        assert!(found(&on_devices(&summary, ["sda", "sdb"]), RULE.code));
        let one = on_devices(&summary, ["sda", "sda"]);
        assert!(!named(&one, "several targets together").contains(&Segment::DeviceBus));
        assert!(!cleared(&one, Segment::DeviceBus));
        let entry = one.diagnosis.findings.iter().find(|finding| finding.code == RULE.code).unwrap();
        assert!(entry.evidence[0].text.contains("same device (sda)"), "{entry:?}");
    }

    #[test]
    fn two_devices_that_add_up_clear_the_bus() {
        let summary = two_devices(&machine("two-buses"));
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::DeviceBus));
    }
}
