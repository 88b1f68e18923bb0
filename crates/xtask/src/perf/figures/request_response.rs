//! 4 KiB requests to an endpoint's memory over loopback: beside a bare ping-pong, and deep beside one at a time.

use super::PerfFigure;
use crate::perf::bench::{Bench, MEASURE_S};
use crate::perf::contest::{Contender, run_rounds};
use crate::perf::endpoint::{bare_pair, endpoint};
use crate::perf::estimate::ratios;
use crate::perf::finding::{PerfFinding, PerfFindings, PerfTarget};
use crate::perf::study::PerfLoad;

pub(super) const FIGURE: PerfFigure = PerfFigure {
    name: "request-response",
    what: "4 KiB reads and writes of an endpoint's memory over loopback: beside a bare ping-pong, and depth 32 beside 1",
    measure,
};

/// An operation, with as many bytes a message as narrows' protocol takes for it: headers of 24 and 16 bytes.
const OPS: [(&str, [&str; 2]); 2] = [("read", ["24", "4112"]), ("write", ["4120", "16"])];

fn measure(bench: &Bench) -> anyhow::Result<PerfFindings> {
    let mut all = PerfFindings::default();
    let (_server, address) = endpoint(bench)?;
    let deep_target = if bench.machine.cpus.len() > 1 {
        PerfTarget::AtLeast(5.0)
    } else {
        all.missing.push("one CPU: depth 32 is shown beside depth 1 without a target".to_owned());
        PerfTarget::None
    };
    for (op, [request, reply]) in OPS {
        let single =
            PerfLoad { op, file: Some("64MiB"), ..PerfLoad::random_reads(format!("tcp://{address}/memory")) };
        let deep = PerfLoad { depth: 32, ..single.clone() };
        let seconds = MEASURE_S.to_string();
        let mut contenders = [
            Contender::new("narrows at depth 1", || bench.narrows_ops_per_s(&single)),
            Contender::new("bare_pingpong", || {
                let (serves, words) = (["serve", request, reply], [seconds.as_str(), request, reply]);
                bare_pair(bench, "bare_pingpong", &serves, "ask", &words, "ops_per_s")
            }),
            Contender::new("narrows at depth 32", || bench.narrows_ops_per_s(&deep)),
        ];
        let rates = run_rounds(bench.rounds, &mut contenders)?;
        let of = |what: &str, unit, values: Vec<f64>, target| {
            PerfFinding::from_values(format!("{op}: {what}"), unit, values, target)
        };
        all.findings.extend([
            of("narrows, depth 1", "op/s", rates[0].clone(), PerfTarget::None)?,
            of("bare ping-pong", "op/s", rates[1].clone(), PerfTarget::None)?,
            of("narrows, depth 32", "op/s", rates[2].clone(), PerfTarget::None)?,
            of("time over the bare ping-pong's", "x", ratios(&rates[1], &rates[0]), PerfTarget::AtMost(1.3))?,
            of("rate at depth 32 over depth 1", "x", ratios(&rates[2], &rates[0]), deep_target)?,
        ]);
    }
    Ok(all)
}
