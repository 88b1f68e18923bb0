//! A local load of more data than memory that leaves the CPU idle: it waits for its device.

use super::super::table::{self, Table};
use super::ObservationRule;
use crate::rules::{Basis, Stance, Tier, Verdict};
use crate::text;
use narrows_model::counters::Role;
use narrows_model::observation::{ObservedOp, Quality};
use narrows_model::{Observation, Segment};

/// Below this share of a core the load's process waits for something else.
const IDLE_RATIO: f64 = 0.5;
/// An elimination, of stages that nobody looked at.
const CONFIDENCE_MAX: f64 = 0.6;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "waits-for-device",
    slug: "waits_for_device",
    segment: Segment::Device,
    title: "a local load waits for its device",
    definition: "A load of reads or writes without a network moves more data than there is memory and leaves half of a core \
                 idle or more: neither the CPU nor a cache holds it, and what is left of a local path is the device. Said \
                 only where nothing more exact limits, and no surer than 0.6: the file system is not told apart from it.",
    formula: "no network; bytes > memory of the client; CPU of the load < 0.5 of one core",
    source: "bonnie++'s documentation: files of twice the memory, %CP beside each rate",
    example: "blocks written at 49354 KiB/s with 14 % CPU, 10 GiB through 5 GiB of memory",
    how_to_measure: "give memory_bytes, file_bytes and the CPU of the load, or the device's busy_ratio",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    if table.has_network() {
        return Vec::new();
    }
    table.observations().iter().filter_map(judge).collect()
}

fn judge(one: &Observation) -> Option<Verdict> {
    let moves_data = matches!(one.op, ObservedOp::Read | ObservedOp::Write | ObservedOp::Mixed);
    let (bytes, memory) = (one.file_bytes?, *one.memory_bytes.get(&Role::Client)?);
    let cpu = table::cpu(one, Role::Client)?;
    let known = one.quality != Quality::LowerBound && table::bytes_per_s(one).is_some();
    if !moves_data || !known || bytes <= memory || cpu.ratio >= IDLE_RATIO {
        return None;
    }
    let text = format!(
        "{}: {} through {} of memory with {} {} used: it waits for the device",
        one.id,
        text::amount(bytes),
        text::amount(memory),
        text::percent(cpu.ratio),
        cpu.of
    );
    let verdict = Verdict::on(Segment::Device, &one.id, Stance::Limits, Basis::State, 1.0 - cpu.ratio);
    let verdict = verdict.in_tier(Tier::Fallback).at_most(CONFIDENCE_MAX);
    Some(verdict.because(text, "bytes, memory and CPU time", ""))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{first, read};
    use super::*;

    fn of(rest: &str) -> narrows_model::Observations {
        let fixed = "op = \"write\"\nbytes_per_s = 5e7\nmemory_bytes = { client = 5368709120 }";
        read(&format!("[[observation]]\nid = \"a\"\n{fixed}\n{rest}\n"))
    }

    #[test]
    fn more_data_than_memory_with_an_idle_cpu_waits_for_the_device() {
        let all = of("file_bytes = 10737418240\ncpu_cores = { client = 0.14 }");
        assert_eq!(first(&all), Segment::Device);
    }

    #[test]
    fn less_data_a_busy_cpu_or_a_network_say_nothing_of_it() {
        for rest in [
            "file_bytes = 1073741824\ncpu_cores = { client = 0.14 }",
            "file_bytes = 10737418240\ncpu_cores = { client = 0.8 }",
            "file_bytes = 10737418240\ncpu_cores = { client = 0.14 }\nrtt_s = 0.001",
        ] {
            assert_eq!(first(&of(rest)), Segment::Unknown, "{rest}");
        }
    }
}
