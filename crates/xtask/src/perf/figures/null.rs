//! What an operation costs narrows itself: the engine `null`, beside fio's.

use super::Figure;
use crate::perf::bench::Bench;
use crate::perf::contest::{Contender, hold};
use crate::perf::estimate::ratios;
use crate::perf::finding::{Finding, Findings, Target};
use crate::perf::fio::Fio;
use crate::perf::study::Load;

pub(super) const FIGURE: Figure = Figure {
    name: "null",
    what: "the engine null with all histograms and interval series: ns an operation, and beside fio's null",
    measure,
};

fn measure(bench: &Bench) -> anyhow::Result<Findings> {
    let deep = Load { file: Some("1GiB"), depth: 32, batch: 16, ..Load::random_reads("null:") };
    let single = Load { depth: 1, batch: 1, ..deep.clone() };
    let fio = Fio { engine: "null", file: None, depth: 32, batch: 16, registered: false };
    let mut missing = Vec::new();
    let mut contenders = vec![
        Contender::new("narrows", || bench.narrows_ops_per_s(&deep)),
        Contender::new("narrows at depth 1", || bench.narrows_ops_per_s(&single)),
    ];
    match fio.command(&bench.tools.fio) {
        Ok(_) => contenders.push(Contender::new("fio", || fio.reads_per_s(bench))),
        Err(why) => missing.push(why),
    }
    let rates = hold(bench.rounds, &mut contenders)?;
    drop(contenders);
    let cost_ns = |rates: &[f64]| rates.iter().map(|rate| 1e9 / rate).collect();
    let mut findings = vec![
        Finding::of("narrows, depth 32, batch 16", "ns/op", cost_ns(&rates[0]), Target::AtMost(40.0))?,
        Finding::of("narrows, depth 1", "ns/op", cost_ns(&rates[1]), Target::None)?,
    ];
    if let Some(fio) = rates.get(2) {
        findings.push(Finding::of("fio, depth 32, batch 16", "ns/op", cost_ns(fio), Target::None)?);
        let over = ratios(&rates[0], fio);
        findings.push(Finding::of("rate over fio's", "x", over, Target::AtLeast(3.0))?);
    }
    Ok(Findings { findings, missing })
}
