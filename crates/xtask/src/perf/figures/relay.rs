//! The buffer experiment over loopback, both ends with the same buffer: beside a bare pair of loops and iperf3.

use super::PerfFigure;
use crate::perf::bench::{Bench, MEASURE_S};
use crate::perf::contest::{Contender, run_rounds};
use crate::perf::endpoint::{bare_pair, endpoint, iperf3};
use crate::perf::estimate::ratios;
use crate::perf::finding::{PerfFinding, PerfFindings, PerfTarget};
use crate::perf::parse;
use std::fs;

pub(super) const FIGURE: PerfFigure = PerfFigure {
    name: "relay",
    what: "narrows relay, client to server with one buffer size: beside a bare read/write loop and iperf3 -l, ten sizes",
    measure,
};

/// The published sizes, and that of the figure `stream`.
const SIZES_BYTES: [u64; 10] = [32, 48, 64, 128, 256, 512, 1024, 2048, 4096, 131_072];

/// Up to here iperf3 is to be left behind clearly.
const SMALL_BYTES: u64 = 4096;

/// Bytes that a turn moves: so many calls, which take about a second, between the published total and 4 GiB.
fn total_bytes(buffer_bytes: u64) -> u64 {
    const CALLS: u64 = 1 << 18;
    (buffer_bytes * CALLS).clamp(48 << 20, 4 << 30) / buffer_bytes * buffer_bytes
}

fn measure(bench: &Bench) -> anyhow::Result<PerfFindings> {
    let mut all = PerfFindings::default();
    // The server of one command would be bound to its client's CPU; an endpoint plays it on that of servers.
    let (_server, address) = endpoint(bench)?;
    if let Err(why) = bench.tools.iperf3.command() {
        all.missing.push(why);
    }
    for buffer_bytes in SIZES_BYTES {
        let mut contenders = vec![
            Contender::new("narrows", || Ok(narrows(bench, &address, buffer_bytes)? / 1e6)),
            Contender::new("bare_relay", || Ok(bare(bench, buffer_bytes)? / 1e6)),
        ];
        if all.missing.is_empty() {
            let length = buffer_bytes.to_string();
            contenders
                .push(Contender::new("iperf3", move || Ok(iperf3(bench, &length, MEASURE_S, &[])? / 1e6)));
        }
        let rates = run_rounds(bench.rounds, &mut contenders)?;
        drop(contenders);
        all.findings.extend(findings(buffer_bytes, &rates)?);
    }
    Ok(all)
}

fn findings(buffer_bytes: u64, rates: &[Vec<f64>]) -> anyhow::Result<Vec<PerfFinding>> {
    let of = |what: &str, unit, values: Vec<f64>, target| {
        PerfFinding::from_values(format!("{what}, {buffer_bytes} bytes"), unit, values, target)
    };
    let over_iperf3 = PerfTarget::AtLeast(if buffer_bytes <= SMALL_BYTES { 1.5 } else { 1.0 });
    let mut findings = vec![
        of("narrows", "MB/s", rates[0].clone(), PerfTarget::None)?,
        of("bare loop", "MB/s", rates[1].clone(), PerfTarget::None)?,
        of("rate over the bare loop's", "x", ratios(&rates[0], &rates[1]), PerfTarget::AtLeast(0.9))?,
    ];
    if let Some(iperf3) = rates.get(2) {
        findings.push(of("iperf3", "MB/s", iperf3.clone(), PerfTarget::None)?);
        findings.push(of("rate over iperf3's", "x", ratios(&rates[0], iperf3), over_iperf3)?);
    }
    Ok(findings)
}

fn narrows(bench: &Bench, address: &str, buffer_bytes: u64) -> anyhow::Result<f64> {
    let record = bench.place("relay.narrows");
    if record.exists() {
        fs::remove_dir_all(&record)?;
    }
    let (size, total) = (buffer_bytes.to_string(), total_bytes(buffer_bytes).to_string());
    let mut command = bench.tools.narrows();
    command.args(["relay", "--sweep", "both", "--trials", "1", "--server", address]);
    command.args(["--sizes", &size, "--bytes", &total, "--json", "--quiet", "--yes", "--out"]).arg(record);
    let ended = bench.turn("narrows", &mut command)?;
    parse::relay_bytes_per_s(ended.printed(&[0])?)
}

fn bare(bench: &Bench, buffer_bytes: u64) -> anyhow::Result<f64> {
    let (size, total) = (buffer_bytes.to_string(), total_bytes(buffer_bytes).to_string());
    bare_pair(bench, "bare_relay", &["read", &size, &total], "write", &[&size, &total], "bytes_per_s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_total_is_a_multiple_of_its_buffer_and_moved_in_bounded_time() {
        for buffer_bytes in SIZES_BYTES {
            let total = total_bytes(buffer_bytes);
            assert!(total.is_multiple_of(buffer_bytes) && (48 << 20..=4 << 30).contains(&total), "{total}");
        }
        assert_eq!(total_bytes(48), 48 << 20);
    }
}
