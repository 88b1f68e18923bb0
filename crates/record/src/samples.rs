//! Small values of every kind for tests.

use narrows_model::counters::{
    BlockTimes, BlockTrace, CounterOrigin, CounterSample, DaemonCounters, ForeignCpu, ForeignDeviceProgram,
    ForeignMemoryProgram, ForeignProgram, PressureTimes, RequestTimes, ThreadTimes,
};
use narrows_model::event::{EndReason, Phase};
use narrows_model::inventory::{HostFacts, Inventory};
use narrows_model::nfs_mount::{MountProcedure, NfsMountCounters};
use narrows_model::plan::{LoadStatement, PLAN_SCHEMA, SkippedCell, Topology};
use narrows_model::trial::{ClientTotals, IntervalSample};
use narrows_model::{
    Bytes, Cell, CellId, Cut, Event, Histogram, Nanos, Plan, Role, Segment, Stop, Target, TrialOutput,
    Workload,
};

use crate::manifest::Manifest;

pub(crate) fn manifest() -> Manifest {
    Manifest::new("0.1.0", "2026-01-02T03:04:05Z", vec!["narrows".into(), "check".into()], 7, "0123abcd")
}

pub(crate) fn id(index: u32) -> CellId {
    CellId(format!("path/read/{index}"))
}

pub(crate) fn cell(index: u32) -> Cell {
    Cell {
        id: id(index),
        ..Cell::new(
            Cut::Path,
            Target::Null { copy: false },
            Workload::default(),
            Stop { warm_up_ns: Nanos(1), measure_ns: Nanos(2), bytes_max: None, ops_max: Some(3) },
        )
    }
}

pub(crate) fn plan(cells: u32) -> Plan {
    Plan {
        schema: PLAN_SCHEMA.to_owned(),
        seed: 7,
        target: Target::Null { copy: false },
        topology: Topology::Local,
        segments: vec![Segment::Generator],
        cells: (0..cells).map(cell).collect(),
        skipped: vec![],
        load: LoadStatement {
            planned_ns: Nanos(3),
            prefill_bytes: Bytes(0),
            prefill_ns_max: Nanos(0),
            file_bytes_max: Bytes(0),
            write_bytes_max: None,
            touches: vec![],
            in_flight_max: 1,
            max_bytes_per_s: None,
        },
        budget_ns: Nanos(60),
        interval_ns: Nanos(100),
        study: None,
        relay: None,
        suite: None,
        fail_if: Vec::new(),
    }
}

pub(crate) fn inventory() -> Inventory {
    let host = HostFacts {
        hostname: "here".into(),
        boot_id: None,
        kernel_release: Some("6.1".into()),
        cpu_model: None,
        online_cpus: 2,
        affinity_cpus: vec![0, 1],
        quota_cpus: Some(1.5),
        governor: None,
        steal_ratio: Some(0.01),
        virtual_machine: None,
        memory_bytes: Some(Bytes(1 << 30)),
        memory_available_bytes: None,
        memory_limit_bytes: None,
        cgroup_version: Some(2),
        clock_resolution_ns: Some(Nanos(1)),
        nics: vec![],
    };
    Inventory::new(host, None, vec!["the governor".into()])
}

pub(crate) fn response(count: u32) -> Histogram {
    let mut histogram = Histogram::new();
    for step in 0..count {
        histogram.record(20_000 + u64::from(step) * 37);
    }
    histogram
}

pub(crate) fn interval(index: u32, part: u32) -> Event {
    Event::Interval(Box::new(IntervalSample {
        cell: id(index),
        trial: 0,
        measured: true,
        client_index: 0,
        worker_index: part,
        start_ns: Nanos(1),
        end_ns: Nanos(2),
        op_count: 3,
        bytes: Bytes(4),
        error_count: 0,
        response: response(3),
    }))
}

pub(crate) fn counters() -> CounterSample {
    CounterSample {
        role: Role::Client,
        origin: CounterOrigin::Narrows,
        at_ns: Nanos(5),
        host_cpu: None,
        ring_cpu: None,
        process_cpu: None,
        cgroup_cpu: None,
        disks: vec![],
        block_trace: Some(block_trace()),
        nics: vec![],
        tcp: None,
        memory: None,
        workers: None,
        threads: Some(ThreadTimes { waiting_ns: Nanos(7), ..ThreadTimes::default() }),
        foreign_cpu: Some(ForeignCpu {
            used_ns: Nanos(9),
            programs: vec![ForeignProgram { name: "a\u{1b}[2J\n".into(), pid: 4711, used_ns: Nanos(8) }],
            device_programs: vec![ForeignDeviceProgram {
                name: "a\u{1b}[2J\n".into(),
                pid: 4711,
                device_bytes: Bytes(4096),
            }],
            memory_programs: vec![ForeignMemoryProgram {
                name: "a\u{1b}[2J\n".into(),
                pid: 4711,
                resident_bytes: Bytes(4096),
            }],
        }),
        nfs_mounts: vec![NfsMountCounters {
            mount_point: "/mnt/a\u{1b}[2J\n".into(),
            read_bytes: Bytes(1),
            write_bytes: Bytes(2),
            procedures: vec![MountProcedure {
                procedure: "READ\u{1b}[2J\n".into(),
                call_count: 3,
                ..MountProcedure::default()
            }],
        }],
        memory_pressure: Some(PressureTimes { some_ns: Nanos(3), full_ns: Nanos(2) }),
        group_memory_pressure: Some(PressureTimes { some_ns: Nanos(1), full_ns: Nanos(0) }),
        daemon: Some(DaemonCounters {
            name: "a\u{1b}[2J\n".into(),
            pid: 12,
            threads: ThreadTimes { running_ns: Nanos(3), ..ThreadTimes::default() },
            throttled_ns: Nanos(1),
        }),
    }
}

/// Requests of a device, and a reason why others were not traced.
fn block_trace() -> BlockTrace {
    let read = RequestTimes { served_count: 2, device_ns: Nanos(9), queued_count: 1, queue_ns: Nanos(4) };
    BlockTrace {
        devices: vec![BlockTimes { read, ..BlockTimes::of_device("sda\u{1b}[2J\n") }],
        lost_count: 3,
        missing_reason: Some("a\u{1b}[2J\n".into()),
    }
}

#[test]
fn what_earlier_versions_did_not_count_is_unknown_in_their_records() {
    let mut sample = serde_json::to_value(counters()).unwrap();
    let keys = [
        "block_trace",
        "threads",
        "foreign_cpu",
        "nfs_mounts",
        "memory_pressure",
        "group_memory_pressure",
        "daemon",
    ];
    for key in keys {
        sample.as_object_mut().unwrap().remove(key).unwrap();
    }
    let earlier: CounterSample = serde_json::from_value(sample).unwrap();
    let expected = CounterSample {
        block_trace: None,
        threads: None,
        foreign_cpu: None,
        nfs_mounts: vec![],
        memory_pressure: None,
        group_memory_pressure: None,
        daemon: None,
        ..counters()
    };
    assert_eq!(earlier, expected);
}

pub(crate) fn trial(index: u32, ops: u32) -> Event {
    Event::TrialFinished(Box::new(TrialOutput {
        cell: id(index),
        trial: 0,
        complete: true,
        start_ns: Nanos(1),
        first_done_ns: Nanos(2),
        last_done_ns: Nanos(3),
        ended_ns: None,
        op_count: u64::from(ops),
        bytes: Bytes(4096),
        response: response(ops),
        response_sum_ns: 5,
        by_kind: Vec::new(),
        open_loop: None,
        in_flight_at_end: None,
        effective: None,
        clients: vec![ClientTotals {
            client_index: 0,
            host: "here".into(),
            op_count: u64::from(ops),
            bytes: Bytes(4096),
            elapsed_ns: Nanos(3),
            user_ns: Nanos(1),
            system_ns: Nanos(2),
            waiting_ns: Some(Nanos(5)),
        }],
        errors: vec![],
        counters: vec![narrows_model::trial::CounterPair { before: counters(), after: counters() }],
        file_bytes: Bytes(1 << 20),
        resident_ratio: Some(0.5),
        verification: None,
        rpc: None,
        syncs: None,
    }))
}

pub(crate) fn skipped(index: u32) -> SkippedCell {
    SkippedCell { cell: id(index), reason: "past the budget".into() }
}

pub(crate) fn one_of_each() -> Vec<Event> {
    vec![
        Event::RunStarted { at_ns: Nanos(1) },
        Event::PhaseStarted { cell: id(0), trial: 0, phase: Phase::Measure, at_ns: Nanos(2) },
        interval(0, 0),
        Event::Counters(Box::new(counters())),
        trial(0, 3),
        Event::PlanExtended { cells: vec![cell(90)], skipped: vec![skipped(91)] },
        interval(90, 0),
        Event::CellSkipped(skipped(1)),
        Event::CellFailed { cell: id(90), message: "the server disconnected".into() },
        Event::RunFinished {
            at_ns: Nanos(9),
            reason: EndReason::Failed,
            detail: Some("a server was lost".into()),
        },
    ]
}
