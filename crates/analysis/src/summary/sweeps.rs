//! The figures along each factor of a study, all other factors fixed.

use super::laws::{fit, in_flight, is_unbounded, saturation};
use narrows_model::Plan;
use narrows_model::cell::FactorValue;
use narrows_model::plan::SkippedCell;
use narrows_model::summary::{CellSummary, Sweep, SweepPoint};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Every line of the sweep: for each factor, one for each setting of the others at which it takes several values. A cell
/// that `failed` is no point of one: its figures are of a part of it.
///
/// # Cost
/// Linear in cells times factors, but for the fits.
pub(super) fn sweeps(cells: &[CellSummary], failed: &[SkippedCell], plan: &Plan) -> Vec<Sweep> {
    let failed: BTreeSet<&str> = failed.iter().map(|failure| failure.cell.0.as_str()).collect();
    let whole: Vec<&CellSummary> = cells.iter().filter(|cell| !failed.contains(cell.id.as_str())).collect();
    factors(&whole, plan).iter().flat_map(|factor| along(factor, &whole, plan.seed)).collect()
}

/// The factors in the order of the study, then those that only cells know.
fn factors(cells: &[&CellSummary], plan: &Plan) -> Vec<String> {
    let named = plan.study.iter().flat_map(|study| study.factors.iter().map(|factor| factor.name.clone()));
    let mut factors: Vec<String> = named.collect();
    let used: BTreeSet<&String> = cells.iter().flat_map(|cell| cell.factors.keys()).collect();
    factors.retain(|factor| used.contains(factor));
    let missing: Vec<String> = used.into_iter().filter(|factor| !factors.contains(factor)).cloned().collect();
    factors.extend(missing);
    factors
}

fn along(factor: &str, cells: &[&CellSummary], seed: u64) -> Vec<Sweep> {
    let mut order: Vec<String> = Vec::new();
    let mut lines: HashMap<String, Vec<&CellSummary>> = HashMap::new();
    for &cell in cells.iter().filter(|cell| cell.factors.contains_key(factor)) {
        let key = format!("{} {:?}", cell.cut.name(), fixed_factors(factor, cell));
        let line = lines.entry(key.clone()).or_default();
        if line.is_empty() {
            order.push(key);
        }
        line.push(cell);
    }
    let lines = order.iter().filter_map(|key| lines.remove(key));
    lines.filter_map(|line| sweep(factor, line, seed)).collect()
}

fn fixed_factors(factor: &str, cell: &CellSummary) -> BTreeMap<String, FactorValue> {
    let others = cell.factors.iter().filter(|(name, _)| name.as_str() != factor);
    others.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn value<'c>(factor: &str, cell: &'c CellSummary) -> Option<&'c FactorValue> {
    cell.factors.get(factor)
}

/// `None` for a line of a single value.
fn sweep(factor: &str, mut line: Vec<&CellSummary>, seed: u64) -> Option<Sweep> {
    let first = *line.first()?;
    line.iter().find(|cell| value(factor, cell) != value(factor, first))?;
    // The sort is stable: names and equal numbers stay in the order of the run.
    line.sort_by(|a, b| match (value(factor, a), value(factor, b)) {
        (Some(FactorValue::Number(a)), Some(FactorValue::Number(b))) => a.total_cmp(b),
        _ => std::cmp::Ordering::Equal,
    });
    let grows =
        |setting: fn(&CellSummary) -> f64| line.windows(2).all(|pair| setting(pair[0]) < setting(pair[1]));
    let serial = line.iter().all(|cell| cell.in_flight.configured == 1 && !cell.requested.is_mixed());
    let unbounded = line.iter().all(|cell| is_unbounded(cell));
    Some(Sweep {
        factor: factor.to_owned(),
        fixed: fixed_factors(factor, first),
        fit: (serial && unbounded && grows(|cell| cell.block_bytes.as_f64())).then(|| fit(&line)).flatten(),
        saturation: (unbounded && grows(in_flight)).then(|| saturation(&line, in_flight, seed)).flatten(),
        points: line.iter().filter_map(|cell| point(factor, cell)).collect(),
    })
}

fn point(factor: &str, cell: &CellSummary) -> Option<SweepPoint> {
    Some(SweepPoint {
        value: value(factor, cell)?.clone(),
        cell: cell.id.clone(),
        rate_bytes_per_s: cell.rate_bytes_per_s,
        interval: cell.interval.clone(),
        ops_per_s: cell.ops_per_s,
        latency_ns_p50: cell.latency_ns.p50,
        latency_ns_p99: cell.latency_ns.p99,
        flags: cell.flags.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Input, RunFacts};
    use crate::summary::summarize;
    use crate::testing::{Grid, machine, plan};
    use narrows_model::summary::SaturationState;
    use narrows_model::{Cut, Summary};

    /// A study of the path over blocks and depths: the grid of the machine with its settings as factors.
    fn study(name: &str) -> Summary {
        let profile = machine(name);
        let mut plan = plan(&profile, Grid::default());
        plan.cells.retain(|cell| cell.cut == Cut::Path && cell.workload.op == narrows_model::Op::Read);
        for cell in &mut plan.cells {
            let block = FactorValue::Number(cell.workload.block_bytes.as_f64());
            let depth = FactorValue::Number(f64::from(cell.workload.queue_depth));
            cell.factors = BTreeMap::from([("block_size".to_owned(), block), ("depth".to_owned(), depth)]);
        }
        plan.cells.reverse();
        let events = narrows_sim::simulate(&profile, &plan).unwrap();
        let inventory = narrows_sim::inventory(&profile);
        let manifest = RunFacts::default();
        summarize(&Input { manifest, plan: &plan, inventory: &inventory, events: &events })
    }

    #[test]
    fn every_factor_has_a_line_for_each_setting_of_the_others_in_rising_order() {
        let summary = study("gigabit-nfs");
        let lines = |factor: &str| summary.sweeps.iter().filter(|sweep| sweep.factor == factor).count();
        assert_eq!((lines("block_size"), lines("depth"), summary.sweeps.len()), (2, 3, 5));
        for sweep in &summary.sweeps {
            let number = |point: &SweepPoint| match point.value {
                FactorValue::Number(number) => number,
                FactorValue::Text(_) => unreachable!("these factors are numbers"),
            };
            assert!(sweep.points.windows(2).all(|pair| number(&pair[0]) < number(&pair[1])));
            assert_eq!(sweep.fixed.len(), 1);
            assert!(sweep.points.iter().all(|point| point.rate_bytes_per_s.is_some()));
        }
    }

    #[test]
    fn a_cell_that_failed_is_no_point() {
        let profile = machine("gigabit-nfs");
        let plan = plan(&profile, Grid::default());
        let whole = study("gigabit-nfs");
        let gone = whole.sweeps[0].points[0].cell.clone();
        let failure = SkippedCell { cell: narrows_model::CellId(gone.clone()), reason: "gone".to_owned() };
        let found = sweeps(&whole.cells, &[failure], &plan);
        let points = |sweeps: &[Sweep]| sweeps.iter().map(|sweep| sweep.points.len()).sum::<usize>();
        assert!(found.iter().flat_map(|sweep| &sweep.points).all(|point| point.cell != gone));
        assert!(points(&found) < points(&sweeps(&whole.cells, &[], &plan)));
    }

    #[test]
    fn blocks_at_one_in_flight_have_a_law_and_depths_a_knee_or_a_reason() {
        let summary = study("gigabit-nfs");
        for sweep in &summary.sweeps {
            let one_in_flight = sweep.fixed.get("depth") == Some(&FactorValue::Number(1.0));
            assert_eq!(sweep.fit.is_some(), one_in_flight, "{} {:?}", sweep.factor, sweep.fixed);
            assert_eq!(sweep.saturation.is_some(), sweep.factor == "depth");
        }
        let law = summary.sweeps.iter().find_map(|sweep| sweep.fit.as_ref()).unwrap();
        let profile = machine("gigabit-nfs");
        let rtt_s = profile.network.as_ref().unwrap().rtt_ns.as_secs_f64();
        assert!(law.a_s > rtt_s && law.a_s_interval.is_some() && law.b_bytes_per_s < 1.3e8, "{law:?}");
        let small = summary.sweeps.iter().find(|sweep| {
            sweep.factor == "depth" && sweep.fixed.get("block_size") == Some(&FactorValue::Number(4096.0))
        });
        let state = small.and_then(|sweep| sweep.saturation.as_ref()).unwrap().state;
        // From 1 to 16 the rate grows, and so large a step does not show where it stopped.
        assert_eq!(state, SaturationState::Undecided);
    }

    #[test]
    fn a_run_without_factors_has_no_sweeps() {
        assert!(crate::testing::builtin("local-ssd").sweeps.is_empty());
    }
}
