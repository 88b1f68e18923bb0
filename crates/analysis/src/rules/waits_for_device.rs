//! A local load of more data than memory that leaves the CPU idle: it waits for its device.

use super::{Basis, Rule, SegmentVerdict, Stance, Tier};
use crate::case::Cases;
use crate::case::table;
use crate::text;
use crate::thresholds::{DOMINANT_RATIO, ELIMINATED_CONFIDENCE};
use narrows_model::counters::Role;
use narrows_model::observation::{ObservedOp, Quality};
use narrows_model::{Observation, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "waits-for-device",
    slug: "waits_for_device",
    segment: Segment::Device,
    title: "a local load waits for its device",
    definition: "A load of reads or writes without a network moves more data than there is memory and leaves half of \
                 a core idle or more: neither the CPU nor a cache limits it, and the remaining segment of a local \
                 path is the device. Reported only where no more specific rule names a limit, with a confidence of \
                 0.6 at most: the file system is not distinguished from the device.",
    formula: "no network; bytes > memory of the client; CPU of the load < 0.5 of one core",
    source: "bonnie++'s documentation: files of twice the memory, %CP beside each rate",
    example: "blocks written at 49354 KiB/s with 14 % CPU, 10 GiB through 5 GiB of memory",
    how_to_measure: None,
    how_to_write: Some("give memory_bytes, file_bytes and the CPU of the load, or the device's busy_ratio"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    if table.has_network() {
        return Vec::new();
    }
    table.observations().iter().filter_map(evaluate).collect()
}

fn evaluate(one: &Observation) -> Option<SegmentVerdict> {
    let moves_data = matches!(one.op, ObservedOp::Read | ObservedOp::Write | ObservedOp::Mixed);
    let (bytes, memory) = (one.file_bytes?, *one.memory_bytes.get(&Role::Client)?);
    let cpu = table::cpu(one, Role::Client)?;
    let known = one.quality != Quality::LowerBound && table::bytes_per_s(one).is_some();
    if !moves_data || !known || bytes <= memory || cpu.ratio >= DOMINANT_RATIO {
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
    let verdict =
        SegmentVerdict::new(Segment::Device, &one.id, Stance::Limits, Basis::State, 1.0 - cpu.ratio);
    let verdict = verdict.with_tier(Tier::Fallback).with_confidence_max(ELIMINATED_CONFIDENCE);
    Some(verdict.with_evidence(text, "bytes, memory and CPU time", ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::observed::{first, read};

    fn observations(rest: &str) -> narrows_model::Observations {
        let fixed = "op = \"write\"\nbytes_per_s = 5e7\nmemory_bytes = { client = 5368709120 }";
        read(&format!("[[observation]]\nid = \"a\"\n{fixed}\n{rest}\n"))
    }

    #[test]
    fn more_data_than_memory_with_an_idle_cpu_waits_for_the_device() {
        let all = observations("file_bytes = 10737418240\ncpu_cores = { client = 0.14 }");
        assert_eq!(first(&all), Segment::Device);
    }

    #[test]
    fn less_data_a_busy_cpu_or_a_network_say_nothing_of_it() {
        for rest in [
            "file_bytes = 1073741824\ncpu_cores = { client = 0.14 }",
            "file_bytes = 10737418240\ncpu_cores = { client = 0.8 }",
            "file_bytes = 10737418240\ncpu_cores = { client = 0.14 }\nrtt_s = 0.001",
        ] {
            assert_eq!(first(&observations(rest)), Segment::Unknown, "{rest}");
        }
    }
}
