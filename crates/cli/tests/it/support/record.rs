//! A small record as a run leaves it, made without running one.

use narrows_model::cell::CellId;
use narrows_model::event::EndReason;
use narrows_model::inventory::{HostFacts, Inventory};
use narrows_model::plan::{LoadStatement, PLAN_SCHEMA, Topology};
use narrows_model::trial::{IntervalSample, TrialOutput};
use narrows_model::{Bytes, Cell, Cut, Event, Histogram, Nanos, Plan, Segment, Sink, Stop, Target, Workload};
use narrows_record::{Manifest, Writer};
use std::path::Path;

const SECOND: u64 = 1_000_000_000;

fn cell(index: u32) -> Cell {
    Cell {
        id: CellId(format!("path/read/{index}")),
        ..Cell::new(
            Cut::Path,
            Target::File { path: "/srv".into() },
            Workload::default(),
            Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(SECOND), bytes_max: None, ops_max: None },
        )
    }
}

fn plan(cells: u32) -> Plan {
    Plan {
        schema: PLAN_SCHEMA.to_owned(),
        seed: 7,
        target: Target::File { path: "/srv".into() },
        topology: Topology::Local,
        segments: vec![Segment::Generator],
        cells: (0..cells).map(cell).collect(),
        skipped: vec![],
        load: LoadStatement {
            planned_ns: Nanos(SECOND),
            prefill_bytes: Bytes(0),
            prefill_ns_max: Nanos(0),
            file_bytes_max: Bytes(1 << 20),
            write_bytes_max: None,
            touches: vec![],
            in_flight_max: 1,
            max_bytes_per_s: None,
        },
        budget_ns: Nanos(60 * SECOND),
        interval_ns: Nanos(SECOND / 10),
        study: None,
        relay: None,
        suite: None,
        fail_if: Vec::new(),
    }
}

fn inventory() -> Inventory {
    let host = HostFacts {
        hostname: "here".into(),
        boot_id: None,
        kernel_release: None,
        cpu_model: None,
        online_cpus: 2,
        affinity_cpus: vec![0, 1],
        quota_cpus: None,
        governor: None,
        steal_ratio: None,
        virtual_machine: None,
        memory_bytes: None,
        memory_available_bytes: None,
        memory_limit_bytes: None,
        cgroup_version: None,
        clock_resolution_ns: Some(Nanos(1)),
        nics: vec![],
    };
    Inventory::new(host, None, vec![])
}

fn response() -> Histogram {
    let mut histogram = Histogram::new();
    (0..1000).for_each(|step| histogram.record(900_000 + step * 200));
    histogram
}

fn interval(index: u32) -> Event {
    Event::Interval(Box::new(IntervalSample {
        cell: cell(index).id,
        trial: 0,
        measured: true,
        client_index: 0,
        worker_index: 0,
        start_ns: Nanos(1),
        end_ns: Nanos(SECOND),
        op_count: 1000,
        bytes: Bytes(4_096_000),
        error_count: 0,
        response: response(),
    }))
}

fn trial(index: u32) -> Event {
    Event::TrialFinished(Box::new(TrialOutput {
        cell: cell(index).id,
        trial: 0,
        complete: true,
        start_ns: Nanos(1),
        first_done_ns: Nanos(SECOND),
        last_done_ns: Nanos(SECOND),
        ended_ns: None,
        op_count: 1000,
        bytes: Bytes(4_096_000),
        response: response(),
        response_sum_ns: SECOND,
        by_kind: Vec::new(),
        open_loop: None,
        in_flight_at_end: None,
        effective: None,
        clients: vec![],
        errors: vec![],
        counters: vec![],
        file_bytes: Bytes(1 << 20),
        resident_ratio: None,
        verification: None,
        rpc: None,
        syncs: None,
    }))
}

/// Writes a whole record of a few cells to `dir`.
pub(crate) fn write(dir: &Path) {
    let manifest = Manifest::new("0.1.0", "2026-01-02T03:04:05Z", vec!["narrows".into()], 7, "0123abcd");
    let mut writer = Writer::create(dir, manifest, &plan(3), &inventory()).unwrap();
    writer.event(&Event::RunStarted { at_ns: Nanos(0) }).unwrap();
    for index in 0..3 {
        writer.event(&interval(index)).unwrap();
        writer.event(&trial(index)).unwrap();
    }
    let end = Event::RunFinished { at_ns: Nanos(9 * SECOND), reason: EndReason::Finished, detail: None };
    writer.event(&end).unwrap();
    writer.finish(EndReason::Finished).unwrap();
}

/// Writes a whole record of the run `record_id` to `dir`: the cells of [`write`], of which trial t completes `ops[t]`
/// operations in its second.
pub(crate) fn write_repeated(dir: &Path, record_id: &str, ops: &[u64]) {
    write_at(dir, record_id, "2026-01-02T03:04:05Z", ops);
}

/// Writes a folder of records to `dir`, one for each of `ops`: its only trial completes so many operations. Run n starts in
/// minute `first_minute` + 2n.
pub(crate) fn write_runs(dir: &Path, first_minute: u32, ops: &[u64]) {
    for (number, ops) in ops.iter().enumerate() {
        let minute = first_minute + 2 * u32::try_from(number).unwrap();
        let id = format!("{}{minute:02}", dir.file_name().unwrap().to_string_lossy());
        write_at(&dir.join(format!("run-{number}")), &id, &format!("2026-01-02T03:{minute:02}:05Z"), &[*ops]);
    }
}

fn write_at(dir: &Path, record_id: &str, started_at: &str, ops: &[u64]) {
    let manifest = Manifest::new("0.1.0", started_at, vec!["narrows".into()], 7, record_id);
    let mut plan = plan(3);
    plan.cells.iter_mut().for_each(|cell| cell.trials = u32::try_from(ops.len()).unwrap());
    let mut writer = Writer::create(dir, manifest, &plan, &inventory()).unwrap();
    writer.event(&Event::RunStarted { at_ns: Nanos(0) }).unwrap();
    for index in 0..3 {
        for (number, op_count) in ops.iter().enumerate() {
            let Event::TrialFinished(mut output) = trial(index) else { unreachable!() };
            output.trial = u32::try_from(number).unwrap();
            (output.op_count, output.bytes) = (*op_count, Bytes(op_count * 4096));
            writer.event(&Event::TrialFinished(output)).unwrap();
        }
    }
    let end = Event::RunFinished { at_ns: Nanos(9 * SECOND), reason: EndReason::Finished, detail: None };
    writer.event(&end).unwrap();
    writer.finish(EndReason::Finished).unwrap();
}
