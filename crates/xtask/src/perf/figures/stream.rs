//! One stream of 128 KiB blocks over loopback: an endpoint's sink and source beside iperf3 and a bare loop.

use super::PerfFigure;
use crate::perf::bench::{Bench, MEASURE_S};
use crate::perf::contest::{Contender, run_rounds};
use crate::perf::endpoint::{bare_pair, endpoint, iperf3};
use crate::perf::estimate::ratios;
use crate::perf::finding::{PerfFinding, PerfFindings, PerfTarget};
use crate::perf::study::PerfLoad;

pub(super) const FIGURE: PerfFigure = PerfFigure {
    name: "stream",
    what: "one stream of 128 KiB blocks over loopback, both ways: beside iperf3 -l 128K and a bare read/write loop",
    measure,
};

const BLOCK_BYTES: &str = "131072";

/// One direction, as each program names it.
struct StreamDirection {
    name: &'static str,
    op: &'static str,
    layer: &'static str,
    bare: [&'static str; 2],
    iperf3: &'static [&'static str],
}

const DIRECTIONS: [StreamDirection; 2] = [
    StreamDirection { name: "to the server", op: "send", layer: "sink", bare: ["sink", "send"], iperf3: &[] },
    StreamDirection {
        name: "from the server",
        op: "receive",
        layer: "source",
        bare: ["source", "receive"],
        iperf3: &["-R"],
    },
];

fn measure(bench: &Bench) -> anyhow::Result<PerfFindings> {
    let mut all = PerfFindings::default();
    let (_server, address) = endpoint(bench)?;
    if let Err(why) = bench.tools.iperf3.command() {
        all.missing.push(why);
    }
    for direction in &DIRECTIONS {
        let load = PerfLoad {
            op: direction.op,
            block: "128KiB",
            order: "sequential",
            ..PerfLoad::random_reads(format!("tcp://{address}/{}", direction.layer))
        };
        let mut contenders = vec![
            Contender::new(
                "narrows",
                || Ok(bench.narrows_ops_per_s(&load)? * f64::from(128_u32 << 10) / 1e9),
            ),
            Contender::new("bare_stream", || Ok(bare(bench, direction)? / 1e9)),
        ];
        if all.missing.is_empty() {
            contenders.push(Contender::new("iperf3", || {
                Ok(iperf3(bench, "128K", MEASURE_S, direction.iperf3)? / 1e9)
            }));
        }
        let rates = run_rounds(bench.rounds, &mut contenders)?;
        drop(contenders);
        all.findings.extend(findings(direction.name, &rates)?);
    }
    Ok(all)
}

fn findings(direction: &str, rates: &[Vec<f64>]) -> anyhow::Result<Vec<PerfFinding>> {
    let of = |what: &str, unit, values: Vec<f64>, target| {
        PerfFinding::from_values(format!("{what}, {direction}"), unit, values, target)
    };
    let mut findings = vec![
        of("narrows", "GB/s", rates[0].clone(), PerfTarget::None)?,
        of("bare loop", "GB/s", rates[1].clone(), PerfTarget::None)?,
        of("rate over the bare loop's", "x", ratios(&rates[0], &rates[1]), PerfTarget::AtLeast(0.9))?,
    ];
    if let Some(iperf3) = rates.get(2) {
        findings.push(of("iperf3", "GB/s", iperf3.clone(), PerfTarget::None)?);
        findings.push(of("rate over iperf3's", "x", ratios(&rates[0], iperf3), PerfTarget::AtLeast(1.0))?);
    }
    Ok(findings)
}

fn bare(bench: &Bench, direction: &StreamDirection) -> anyhow::Result<f64> {
    let seconds = MEASURE_S.to_string();
    let [serves, asks] = direction.bare;
    bare_pair(bench, "bare_stream", &[serves, BLOCK_BYTES], asks, &[&seconds, BLOCK_BYTES], "bytes_per_s")
}
