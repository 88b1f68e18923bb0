//! Whether memory grows with the number of operations: ten million and a thousand million of the engine `null`.

use super::PerfFigure;
use crate::perf::bench::Bench;
use crate::perf::finding::{PerfFinding, PerfFindings, PerfTarget};
use crate::perf::memory::PeakMemory;
use crate::perf::study::PerfLoad;

pub(super) const FIGURE: PerfFigure = PerfFigure {
    name: "memory",
    what: "peak memory after 1e9 operations of the engine null beside that after 1e7",
    measure,
};

/// Longest time that is waited: a thousand million operations of 200 ns.
const WAIT_S: u64 = 240;
const MEASURED: [i32; 2] = [0, 4];
/// What may be added by 9.9e8 operations: a byte for every 250 of them, which is the noise of an allocator.
const GROWTH_MIB_MAX: f64 = 4.0;

fn measure(bench: &Bench) -> anyhow::Result<PerfFindings> {
    let (few_mib, many_mib) = (peak_mib(bench, 10_000_000)?, peak_mib(bench, 1_000_000_000)?);
    let findings = vec![
        PerfFinding::from_values("peak after 1e7 operations", "MiB", vec![few_mib], PerfTarget::None)?,
        PerfFinding::from_values(
            "peak after 1e9 operations",
            "MiB",
            vec![many_mib],
            PerfTarget::AtMost(200.0),
        )?,
        PerfFinding::from_values(
            "growth",
            "MiB",
            vec![many_mib - few_mib],
            PerfTarget::AtMost(GROWTH_MIB_MAX),
        )?,
    ];
    Ok(PerfFindings { findings, missing: Vec::new() })
}

fn peak_mib(bench: &Bench, ops_max: u64) -> anyhow::Result<f64> {
    let load = PerfLoad {
        file: Some("1GiB"),
        depth: 32,
        batch: 16,
        ops_max: Some(ops_max),
        ..PerfLoad::random_reads("null:")
    };
    let mut peak = PeakMemory::default();
    let mut command = bench.study_command("memory", &load)?;
    let running = bench.start_unbound("memory", &mut command)?;
    let ended = running.finish(WAIT_S, |pid, _| peak.look(pid))?;
    ended.printed(&MEASURED)?;
    Ok(peak.bytes() as f64 / f64::from(1_u32 << 20))
}
