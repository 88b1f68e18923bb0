//! What an operation costs narrows itself: the engine `null`, beside fio's.

use super::PerfFigure;
use crate::perf::bench::Bench;
use crate::perf::contest::{Contender, run_rounds};
use crate::perf::estimate::ratios;
use crate::perf::finding::{PerfFinding, PerfFindings, PerfTarget};
use crate::perf::fio::Fio;
use crate::perf::study::PerfLoad;

pub(super) const FIGURE: PerfFigure = PerfFigure {
    name: "null",
    what: "the engine null with all histograms and interval series: ns an operation, and beside fio's null",
    measure,
};

fn measure(bench: &Bench) -> anyhow::Result<PerfFindings> {
    let deep = PerfLoad { file: Some("1GiB"), depth: 32, batch: 16, ..PerfLoad::random_reads("null:") };
    let single = PerfLoad { depth: 1, batch: 1, ..deep.clone() };
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
    let rates = run_rounds(bench.rounds, &mut contenders)?;
    drop(contenders);
    let cost_ns = |rates: &[f64]| rates.iter().map(|rate| 1e9 / rate).collect();
    let mut findings = vec![
        PerfFinding::from_values(
            "narrows, depth 32, batch 16",
            "ns/op",
            cost_ns(&rates[0]),
            PerfTarget::AtMost(40.0),
        )?,
        PerfFinding::from_values("narrows, depth 1", "ns/op", cost_ns(&rates[1]), PerfTarget::None)?,
    ];
    if let Some(fio) = rates.get(2) {
        findings.push(PerfFinding::from_values(
            "fio, depth 32, batch 16",
            "ns/op",
            cost_ns(fio),
            PerfTarget::None,
        )?);
        let over = ratios(&rates[0], fio);
        findings.push(PerfFinding::from_values("rate over fio's", "x", over, PerfTarget::AtLeast(3.0))?);
    }
    Ok(PerfFindings { findings, missing })
}
