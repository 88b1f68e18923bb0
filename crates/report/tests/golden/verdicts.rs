//! What a verdict reads as.

use crate::fixtures::builders::path_facts;
use crate::fixtures::{cases, suites};
use crate::{Case, compare};
use narrows_model::diagnosis::Relation;
use narrows_model::plan::SkippedCell;
use narrows_model::summary::{
    CommitCall, CommitLatency, CurvePoint, ForeignResource, ForeignTransfer, ForeignTransferProgram,
    LatencySummary, SegmentUse, UsedOf,
};
use narrows_model::{Bytes, BytesPerSec, CellId, Limiting, Op, Role, Segment};
use narrows_report::text::{self, Style};
use narrows_testkit::verdict_text;

pub(crate) const CASES: &[Case] = &[
    ("network", cases::network),
    ("latency", cases::latency),
    ("server_cpu", cases::server_cpu),
    ("device", cases::device),
    ("cached", cases::cached),
    ("shared_machine", cases::shared_machine),
    ("incomplete", cases::incomplete),
    ("generator_limited", cases::generator_limited),
    ("nothing_measured", cases::nothing_measured),
    ("suite_files", suites::files),
    ("suite_records", suites::records),
];

#[test]
fn a_run_without_a_study_shows_its_verdict_whole_where_detail_is_asked_for() {
    let (summary, style) = (cases::network(), Style { detail: true, ..Style::default() });
    assert_eq!(text::results(&summary, &style), text::verdict(&summary, &style));
}

#[test]
fn first_screens_read_as_kept() {
    let style = Style { width: 80, ..Style::default() };
    for (name, case) in CASES {
        compare(&format!("first_{name}"), &text::results(&case(), &style));
    }
}

#[test]
fn the_first_screen_has_at_most_24_lines_of_80_columns_and_breaks_no_word_at_60() {
    for (name, case) in CASES {
        let rendered = text::results(&case(), &Style { width: 80, ..Style::default() });
        assert!(rendered.lines().count() <= 24, "{name}: {} lines\n{rendered}", rendered.lines().count());
        let narrow = text::results(&case(), &Style { width: 60, ..Style::default() });
        let is_command = |line: &str| line.starts_with("  narrows ");
        let wide = narrow.lines().find(|line| line.chars().count() > 60 && !is_command(line));
        assert_eq!(wide, None, "{name}\n{narrow}");
    }
}

#[test]
fn a_p99_of_requests_that_were_given_up_is_at_least_what_they_took() {
    let mut summary = cases::latency();
    let one = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let headline = |summary: &narrows_model::Summary| one(text::results(summary, &Style::default()));
    assert!(headline(&summary).contains("(10.3 ms each, p99 12.8 ms)"), "{}", headline(&summary));
    for cell in &mut summary.cells {
        cell.open_loop = Some(narrows_model::summary::OpenLoopSummary {
            scheduled_count: 1000,
            unstarted_count: 20,
            held_up_count: 0,
            censored_count: 20,
            censored_from_ns: Some(12_000_000),
            achieved_ratio: Some(0.98),
        });
    }
    assert!(headline(&summary).contains("(10.3 ms each, p99 >= 12.8 ms)"), "{}", headline(&summary));
}

/// What is advised to speed the path up.
fn next(summary: &narrows_model::Summary) -> String {
    let text = text::results(summary, &Style { width: 300, ..Style::default() });
    text.lines().find(|line| line.contains("to speed up")).unwrap_or_default().to_owned()
}

#[test]
fn of_a_cpu_with_a_quota_the_quota_is_what_to_raise() {
    let mut summary = cases::device();
    summary.diagnosis.limiting.truncate(1);
    summary.diagnosis.limiting[0].segment = Segment::ServerCpu;
    summary.cells[0].limiting = Some(Segment::ServerCpu);
    assert!(next(&summary).contains("look at the server's own CPU"), "{}", next(&summary));
    assert!(
        next(&summary).contains("a faster CPU") || !next(&summary).contains("quota"),
        "{}",
        next(&summary)
    );
    for throttled_s in [0.0, 1e3] {
        let cpu = narrows_model::summary::RoleCpu {
            throttled_s: Some(throttled_s),
            capacity_cpus: 0.2,
            ..summary.cells[0].cpu.values().next().unwrap().clone()
        };
        summary.cells[0].cpu.insert(Role::Server, cpu);
        assert_eq!(next(&summary).contains("quota"), throttled_s > 0.0, "{}", next(&summary));
    }
    let quota = next(&summary);
    assert!(quota.contains("raise the quota of the server's control group (0.20 CPUs)"), "{quota}");
}

#[test]
fn of_a_device_that_others_use_or_a_control_group_limits_that_is_what_to_change() {
    let mut summary = cases::device();
    assert!(next(&summary).contains("a faster device"), "{}", next(&summary));
    let rsync = ForeignTransferProgram {
        name: "rsync\u{1b}[2J".to_owned(),
        pid: 99,
        bytes_per_s: BytesPerSec(60.0e6),
    };
    let others = |foreign_bytes_per_s| ForeignTransfer {
        role: Role::Client,
        resource: ForeignResource::Disk,
        name: "sda".to_owned(),
        total_bytes_per_s: BytesPerSec(100.0e6),
        foreign_bytes_per_s: BytesPerSec(foreign_bytes_per_s),
        programs: vec![rsync.clone()],
    };
    let path = summary.cells.iter().position(|cell| cell.limiting == Some(Segment::DeviceBandwidth)).unwrap();
    summary.cells[path].foreign_transfers = vec![others(49.0e6)];
    assert!(next(&summary).contains("a faster device"), "less than half of what it moves");
    summary.cells[path].foreign_transfers = vec![others(60.0e6)];
    let neighbour = next(&summary);
    assert!(
        neighbour.contains("stop or move the programs that use sda (the busiest: `rsync\\u001b[2J`)"),
        "{neighbour}"
    );
    // What its control group allows comes first: the load had as much, whoever else uses the device. Its partition has no
    // limits of its own.
    summary.hosts[0].inventory.path = Some(path_facts(false));
    let limits = &mut summary.diagnosis.limiting;
    for entry in limits.iter_mut() {
        entry.scope = Some(narrows_analysis::GROUP_LIMIT.to_owned());
    }
    let group = next(&summary);
    assert!(group.contains("raise the limit that the control group sets for sda"), "{group}");
    for entry in &mut summary.diagnosis.limiting {
        entry.scope = None;
    }
    summary.cells[path].foreign_transfers[0].programs.clear();
    assert!(next(&summary).contains("a faster device"), "nobody is known to use it: {}", next(&summary));
}

#[test]
fn a_run_that_was_stopped_is_repeated_as_it_was_and_one_that_lacks_time_with_what_it_needs() {
    let next = |reasons: &[&str]| {
        let mut summary = cases::network();
        summary.command = ["narrows", "check", "/srv/data", "--seconds", "15"].map(str::to_owned).to_vec();
        (summary.complete, summary.ended_by) = (false, None);
        let skip = |reason: &&str| SkippedCell {
            cell: CellId("path/read/1MiB/qd1/c1".to_owned()),
            reason: (*reason).to_owned(),
        };
        summary.skipped = reasons.iter().map(skip).collect();
        let detail = text::results(&summary, &Style { detail: true, ..Style::default() });
        detail.split("\nNEXT").nth(1).unwrap().to_owned()
    };
    let stopped = next(&[SkippedCell::NOT_REACHED]);
    assert!(
        stopped.contains("the run was stopped") && stopped.contains("check /srv/data --seconds 15"),
        "{stopped}"
    );
    let known =
        next(&[SkippedCell::NOT_REACHED, "past the budget of 15 s; --seconds 66 measures everything"]);
    assert!(known.contains("--seconds 66"), "{known}");
    let unknown = next(&["it takes 2 s or more, and 1.0 s of the time are left; give more with --seconds"]);
    assert!(unknown.contains("--seconds 30"), "{unknown}");
}

#[test]
fn loads_without_room_for_their_files_are_named_on_the_first_screen() {
    let shown = |skips: &[(&str, &str)]| {
        let mut summary = cases::network();
        let skip = |(cell, reason): &(&str, &str)| SkippedCell {
            cell: CellId((*cell).to_owned()),
            reason: (*reason).into(),
        };
        summary.skipped = skips.iter().map(skip).collect();
        text::results(&summary, &Style { width: 80, ..Style::default() })
    };
    let lack = "needs 32MiB (16 blocks for each of 1 requests in flight) and a quarter of the free space is 6MiB, the most \
                that files take";
    let found = shown(&[("path/read/16MiB/qd16/c1", lack), ("path/read/2MiB/qd1/c1", lack)]);
    assert!(found.contains("Not measured: loads of 2MiB, 16MiB (too little space is free)."), "{found}");
    let small = shown(&[("path/read/2MiB/qd1/c1", "needs 32MiB and the file has 20MiB; name a larger file")]);
    assert!(small.contains("loads of 2MiB (the file is too small"), "{small}");
    // A part of the path, another reason, a block that has a load.
    let none = [
        ("local-device/read/2MiB/qd1/c1", lack),
        ("path/read/2MiB/qd1/c1", "past the budget of 10 s"),
        ("path/read/1MiB/qd64/c1", lack),
    ];
    assert!(!shown(&none).contains("Not measured: loads"), "{}", shown(&none));
}

#[test]
fn six_loads_with_limits_of_their_own_are_said_in_short_on_the_first_screen() {
    let mut summary = cases::network();
    let first = summary.diagnosis.limiting[0].clone();
    let limits = [
        (Segment::Device, None),
        (Segment::NetworkBandwidth, None),
        (Segment::HostCpu, None),
        (Segment::Device, Some(Segment::HostCpu)),
        (Segment::ServerCommit, Some(Segment::Device)),
        (Segment::ClientCpu, None),
    ];
    let entry = |index: usize, segment, relation| Limiting {
        // As long as a name with its rates.
        regime: format!(
            "one-at-a-time read {index} (4KiB, 1 in flight), read 9.60 thousand op/s (p99 1.33 ms)"
        ),
        segment,
        relation,
        relief_gain_ratio: Some(2.1),
        ..first.clone()
    };
    let of_load = |(index, (segment, other)): (usize, &(Segment, Option<Segment>))| {
        let relation = if other.is_some() { Relation::Joint } else { Relation::Sole };
        let both = std::iter::once(*segment).chain(*other);
        both.map(|segment| entry(index, segment, relation)).collect::<Vec<_>>()
    };
    summary.diagnosis.limiting = limits.iter().enumerate().flat_map(of_load).collect();
    let rendered = text::results(&summary, &Style { width: 80, ..Style::default() });
    assert!(rendered.lines().count() <= 24, "{} lines\n{rendered}", rendered.lines().count());
    assert!(rendered.contains("Limited by synchronous writes at the server"), "{rendered}");
    assert!(!rendered.contains("times as fast") && rendered.contains("% sure)."), "{rendered}");
    // The device limits three loads and is last in the path's order, the host's CPUs limit two.
    let table = |rendered: &str| {
        let table = rendered.split("\nPATH").nth(1).unwrap().split("\n\n").next().unwrap();
        let (heading, rows) = table.split_once('\n').unwrap();
        let segments = rows.lines().map(|row| row.split_whitespace().next().unwrap().to_owned());
        (heading.to_owned(), segments.collect::<Vec<_>>())
    };
    let (heading, segments) = table(&rendered);
    let expected = format!("  ({} of 5 segments that limit)", segments.len());
    assert!(segments.len() < 5 && heading.ends_with(&expected), "{heading}");
    assert!(segments.len() >= 2 && segments.last().unwrap() == "device", "{segments:?}");
    assert!(segments.iter().any(|segment| segment == "host.cpu"), "{segments:?}");
    // A target too long for the same line.
    summary.target = format!("tcp://{}:7300/disk", "a".repeat(60)).parse().unwrap();
    let (heading, _) = table(&text::results(&summary, &Style { width: 80, ..Style::default() }));
    assert_eq!(heading.trim(), expected.trim().trim_matches(['(', ')']));
}

#[test]
fn verdicts_read_as_kept() {
    for (name, case) in CASES {
        compare(name, &text::verdict(&case(), &Style::default()));
    }
}

#[test]
fn the_time_until_data_is_durable_has_a_table_of_its_own_where_a_load_waits_for_it() {
    let mut summary = cases::network();
    assert!(!text::verdict(&summary, &Style::default()).contains("\nCOMMIT"));
    let latency_ns =
        LatencySummary { p50: Some(1_500_000), p99: Some(9_000_000), ..LatencySummary::default() };
    for (cell, call) in summary.cells.iter_mut().zip([CommitCall::Write, CommitCall::Sync]) {
        cell.commit = Some(CommitLatency { call, count: 100, latency_ns });
    }
    let rendered = text::verdict(&summary, &Style::default());
    let table = rendered.split("\nCOMMIT").nth(1).unwrap().split("\n\n").next().unwrap();
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(table.contains("  write  1.50 ms") && table.contains("  sync   1.50 ms"), "{table}");
}

#[test]
fn a_rate_above_the_prediction_is_a_caches_only_where_the_bytes_show_it() {
    let mut summary = cases::cached();
    let said = |summary: &narrows_model::Summary| {
        text::verdict(summary, &Style::default()).contains("a cache served the path")
    };
    assert!(said(&summary));
    for served in [Some(0.0), None] {
        summary.cells.iter_mut().for_each(|cell| cell.cache_served_ratio = served);
        assert!(!said(&summary), "{served:?}");
    }
}

#[test]
fn a_bar_stands_beside_the_ceiling_of_its_own_direction() {
    let summary = cases::device();
    let cell = |op: Op| summary.cells.iter().find(|cell| cell.op == op).unwrap().clone();
    let point = |op: Op, mib_per_s: f64| CurvePoint {
        op,
        block_bytes: Bytes(1 << 20),
        queue_depth: 16,
        clients: 1,
        value: BytesPerSec(mib_per_s * 1_048_576.0),
        interval: None,
    };
    let shown = |op: Op| {
        let mut summary = summary.clone();
        let device = summary.segments.iter_mut().find(|known| known.id == Segment::DeviceBandwidth).unwrap();
        device.ceiling_bytes_per_s = Some(BytesPerSec(500.0 * 1_048_576.0));
        device.curve = vec![point(Op::Read, 500.0), point(Op::Write, 100.0)];
        device.uses = vec![SegmentUse { cell: cell(op).id, used_ratio: 0.97, of: UsedOf::Time }];
        text::verdict(&summary, &Style::default())
    };
    let row = |text: &str| {
        text.lines().find(|line| line.trim().starts_with("device.bandwidth ")).unwrap().to_owned()
    };
    let (read, write) = (row(&shown(Op::Read)), row(&shown(Op::Write)));
    assert!(read.contains("500 MiB/s") && read.contains("97 % of the time"), "{read}");
    assert!(write.contains("100 MiB/s"), "{write}");
}

#[test]
fn no_verdict_contradicts_its_own_bars() {
    let mut bars = 0;
    for (name, case) in CASES {
        let rendered = text::verdict(&case(), &Style::default());
        let found = verdict_text::contradictions(&rendered);
        assert!(found.is_empty(), "{name}: {}", found.join("\n"));
        bars += verdict_text::decided_bars(&rendered);
    }
    assert!(bars > 20, "{bars} bars were compared");
}

#[test]
fn a_verdict_with_detail_reads_as_kept() {
    let style = Style { detail: true, unicode: true, ..Style::default() };
    compare("network_detail", &text::verdict(&cases::network(), &style));
}

#[test]
fn figures_from_a_cache_are_said_not_to_be_storage_before_any_table() {
    let rendered = text::verdict(&cases::cached(), &Style::default());
    let headline = rendered.split("\nPATH").next().unwrap();
    assert!(headline.contains("Served by the client's cache, storage not measured."), "{headline}");
}

#[test]
fn no_segment_is_fuller_than_full_and_a_raised_ceiling_is_said() {
    let mut summary = cases::device();
    let exceeded =
        summary.segments.iter_mut().find(|segment| segment.id == Segment::DeviceBandwidth).unwrap();
    exceeded.utilisation_ratio = Some(1.31);
    let rendered = text::verdict(&summary, &Style::default());
    assert!(rendered.contains("100 % raised") && !rendered.contains("131 %"), "{rendered}");
    assert!(rendered.contains("raised: the path was faster"), "{rendered}");
    assert!(!text::verdict(&cases::network(), &Style::default()).contains("raised"));
}

#[test]
fn requests_of_one_queue_and_of_two_workers_are_distinguished() {
    let mut summary = cases::network();
    let mut two = summary.cells.last().unwrap().clone();
    two.id = "path/write/1MiB/qd16/w2/c1".to_owned();
    (two.requested.workers, two.queue_depth, two.in_flight.configured) = (2, 32, 32);
    let mut one = two.clone();
    one.id = "path/write/1MiB/qd32/c1".to_owned();
    (one.requested.workers, one.requested.queue_depth) = (1, 32);
    summary.cells.extend([two, one]);
    let rendered = text::verdict(&summary, &Style::default());
    assert!(rendered.contains(" w2 x16 ") && rendered.contains("    x32 "), "{rendered}");
    assert!(rendered.contains("w2: each of two workers"), "{rendered}");
}

#[test]
fn lost_data_is_the_first_line() {
    let rendered = text::verdict(&cases::incomplete(), &Style::default());
    assert!(rendered.starts_with("DATA LOST: 33 requests failed in 3 cells"), "{rendered}");
}
