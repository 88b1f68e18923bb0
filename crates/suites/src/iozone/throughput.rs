//! Throughput mode: what processes that start together and end at the first one's end saw, and what their parent did.

use super::columns::IozoneColumn;
use super::figures::{IozonePoint, ProcessFigures};
use super::request::{FigureUnit, Request};
use super::words::unit_line;
use narrows_analysis::{OVERLAP_RATIO, UNEQUAL_RATIO};
use narrows_model::units::ratio;
use std::fmt::Write;

/// The figures of one test of several processes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ThroughputFigures {
    pub(super) processes: usize,
    /// The sum of each process's own rate.
    pub(super) children: f64,
    /// All that they moved over the time until the last had synced, closed and ended.
    pub(super) parent: f64,
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) average: f64,
    /// The least that a process moved.
    pub(super) least_moved: f64,
    pub(super) wall_s: f64,
    pub(super) cpu_s: f64,
}

impl ThroughputFigures {
    /// The figures of `point`; `None` where a process has no rate.
    pub(super) fn from_point(point: &IozonePoint, unit: FigureUnit) -> Option<Self> {
        let children = &point.children;
        let rates: Vec<f64> = children.iter().map(|child| child.value(unit)).collect::<Option<_>>()?;
        let sum: f64 = rates.iter().sum();
        let moved = |child: &ProcessFigures| child.amount(unit);
        Some(Self {
            processes: children.len(),
            children: sum,
            parent: ratio(children.iter().map(moved).sum(), point.parent_s())?,
            least: rates.iter().copied().fold(f64::INFINITY, f64::min),
            most: rates.iter().copied().fold(0.0, f64::max),
            average: ratio(sum, rates.len() as f64)?,
            least_moved: children.iter().map(moved).fold(f64::INFINITY, f64::min),
            wall_s: point.wall_s(),
            cpu_s: children.iter().map(|child| child.cpu_s).sum(),
        })
    }
}

fn unit_word(unit: FigureUnit) -> (&'static str, &'static str) {
    if unit == FigureUnit::KbPerS { ("kB/sec", "kB") } else { ("ops/sec", "ops") }
}

/// All groups, for each number of processes a heading; then the report where it is asked for.
pub(super) fn text(points: &[IozonePoint], request: &Request) -> String {
    let mut out = String::new();
    let mut known = None;
    for point in points {
        let group = (point.children.len(), point.file_kb, point.record_kb);
        if known != Some(group) {
            if known.replace(group).is_some() {
                out += "\n\n";
            }
            let (processes, file_kb, record_kb) = group;
            let plural = if processes == 1 { "process" } else { "processes" };
            // Writing into a string cannot fail.
            let _ = writeln!(out, "\tThroughput test with {processes} {plural}");
            let _ =
                writeln!(out, "\tEach process writes a {file_kb} kByte file in {record_kb} kByte records");
        }
        if let Some(totals) = ThroughputFigures::from_point(point, request.unit()) {
            out += &group_text(point, &totals, request);
        }
    }
    out += if request.hosts.is_empty() { "\n\n" } else { "\n\tTest cleanup:\n\n" };
    if request.options().sheet {
        out += &report(points, request);
    }
    out
}

fn group_text(point: &IozonePoint, totals: &ThroughputFigures, request: &Request) -> String {
    let (rate, amount) = unit_word(request.unit());
    // Labels, tabs, spaces and capitals are the original's, uneven as they are.
    let name = point.column.name;
    let is_padded = ["write", "rewrite", "read", "fwrite", "fread"].contains(&name);
    let count = if is_padded { format!("{:>2}", totals.processes) } else { totals.processes.to_string() };
    let what = format!("{count} {}", point.column.processes);
    let tabs = |wide: &[&str]| if wide.contains(&name) { "\t\t" } else { "\t" };
    let (children, parent) = (tabs(&["read"]), tabs(&["read", "fwrite", "fread"]));
    // As the original over several hosts, which has no parent's rate there and says what it does.
    let over_hosts = !request.hosts.is_empty();
    let lines = [
        (format!("Children see throughput for {what} {children}"), totals.children, rate, ""),
        (format!("Parent sees throughput for {what} {parent}"), totals.parent, rate, ""),
        ("Min throughput per process \t\t\t".to_owned(), totals.least, rate, " "),
        ("Max throughput per process \t\t\t".to_owned(), totals.most, rate, ""),
        ("Avg throughput per process \t\t\t".to_owned(), totals.average, rate, ""),
        ("Min xfer \t\t\t\t\t".to_owned(), totals.least_moved, amount, ""),
    ];
    let start = if over_hosts { "\n\tTest running:\n" } else { "\n" };
    let mut out = start.to_owned();
    let is_printed = |line: &(String, f64, &str, &str)| !(over_hosts && line.0.starts_with("Parent"));
    for (label, value, unit, end) in lines.into_iter().filter(is_printed) {
        let _ = writeln!(out, "\t{label}= {value:>10.2} {unit}{end}");
    }
    if request.options().children {
        out += &children_text(point, request.unit());
    }
    if request.options().cpu {
        let percent = point.cpu_percent().unwrap_or(0.0);
        let title = if name == "write" { "CPU Utilization" } else { "CPU utilization" };
        let _ = writeln!(
            out,
            "\t{title}: Wall time {:>8.3}    CPU time {:>8.3}    CPU utilization {percent:>6.2} %\n",
            totals.wall_s, totals.cpu_s
        );
    }
    out
}

/// A line for each process.
fn children_text(point: &IozonePoint, unit: FigureUnit) -> String {
    let (rate, amount) = unit_word(unit);
    let mut out = String::new();
    for (index, child) in point.children.iter().enumerate() {
        let value = child.value(unit).unwrap_or(0.0);
        let moved = child.amount(unit);
        let _ = writeln!(
            out,
            "\tChild[{index}] xfer count = {moved:>10.2} {amount}, Throughput = {value:>10.2} {rate}"
        );
    }
    out
}

/// The report of the original: a line for each test, a figure for each number of processes.
fn report(points: &[IozonePoint], request: &Request) -> String {
    let record_kb = points.first().map_or(0, |point| point.record_kb);
    let mut out = "\n\"Throughput report Y-axis is type of test X-axis is number of processes\"\n".to_owned();
    let _ = writeln!(out, "\"Record size = {record_kb} kBytes \"");
    let _ = writeln!(out, "\"{}\"\n", unit_line(request.unit()));
    for column in request.columns() {
        let of_column = points.iter().filter(|point| point.column == column);
        let values = of_column
            .filter_map(|point| Some(ThroughputFigures::from_point(point, request.unit())?.children));
        let values: Vec<String> = values.map(|value| format!("{value:>10.2} ")).collect();
        if !values.is_empty() {
            let _ = writeln!(out, "\"{:>15} \" {}\n", title(column), values.concat());
        }
    }
    out
}

/// A test's name in the report.
fn title(column: &IozoneColumn) -> String {
    match column.name {
        "write" => "Initial write".to_owned(),
        "bkwd-read" => "Reverse Read".to_owned(),
        "mixed" => "Mixed workload".to_owned(),
        "reread" => "Re-read".to_owned(),
        other => {
            let first = other.chars().next().map(|letter| letter.to_ascii_uppercase());
            let rest = other.chars().skip(1).map(|letter| if letter == '-' { ' ' } else { letter });
            first.into_iter().chain(rest).collect()
        }
    }
}

/// A line for each test and number of processes.
pub(super) fn csv(points: &[IozonePoint], request: &Request) -> String {
    let (rate, amount) = match request.unit() {
        FigureUnit::KbPerS => ("kb_per_s", "kb"),
        _ => ("ops_per_s", "ops"),
    };
    let mut out = format!(
        "processes,file_kb,record_kb,test,children_{rate},parent_{rate},min_{rate},max_{rate},avg_{rate},min_{amount}\n"
    );
    for point in points {
        let Some(one) = ThroughputFigures::from_point(point, request.unit()) else { continue };
        let _ = write!(out, "{},{},{},{}", one.processes, point.file_kb, point.record_kb, point.column.name);
        for value in [one.children, one.parent, one.least, one.most, one.average, one.least_moved] {
            let _ = write!(out, ",{value:.2}");
        }
        out.push('\n');
    }
    out
}

/// What to note where processes did not share alike: `summed` has the sum of the children's rates and the rate that their
/// parent saw, `rates` the slowest and the fastest; `ends_apart` where the parent also waited for syncs and closings.
pub(super) fn shared_words(
    summed: (f64, Option<f64>),
    rates: (Option<f64>, Option<f64>),
    ends_apart: bool,
) -> Option<String> {
    let apart = summed.1.and_then(|parent| ratio(summed.0, parent)).filter(|apart| *apart > OVERLAP_RATIO);
    let unequal = rates.0.zip(rates.1).and_then(|(least, most)| ratio(most, least));
    let reason = if ends_apart {
        "its clock includes the syncing and closing of their files"
    } else {
        "they did not run together"
    };
    let mut parts = Vec::new();
    parts.extend(apart.map(|apart| {
        format!(
            "the children's sum is {apart:.1} times what the parent saw: {reason}, and the parent's value is used"
        )
    }));
    parts.extend(
        unequal
            .filter(|unequal| *unequal >= UNEQUAL_RATIO)
            .map(|unequal| format!("the fastest process had {unequal:.1} times the rate of the slowest")),
    );
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{point_of, request};
    use super::*;
    use crate::client_hosts::SuiteHosts;

    /// Four writers as in a published-form example: the first ends after 8 s, and the others with it.
    fn processes() -> Vec<IozonePoint> {
        let child = |bytes: f64, elapsed_s| ProcessFigures {
            bytes: bytes * 1024.0,
            ops: bytes / 64.0,
            elapsed_s,
            cpu_s: 0.5,
        };
        let children =
            vec![child(1_048_576.0, 8.0), child(524_288.0, 8.1), child(262_144.0, 8.0), child(65_536.0, 8.2)];
        let writers = IozonePoint { children, ..point_of("write", 1 << 20, 64, 1.0) };
        let mixed = IozonePoint {
            column: super::super::columns::IozoneColumn::named("mixed").unwrap(),
            ..writers.clone()
        };
        vec![writers, mixed]
    }

    #[test]
    fn a_parent_that_saw_less_than_its_children_is_explained() {
        let written = shared_words((6.5, Some(1.7)), (Some(3.0), Some(3.5)), true).unwrap();
        assert!(written.contains("3.8 times") && written.contains("syncing and closing"), "{written}");
        let read = shared_words((6.5, Some(1.7)), (Some(1.0), Some(5.5)), false).unwrap();
        assert!(read.contains("did not run together") && read.contains("5.5 times the rate"), "{read}");
        assert_eq!(shared_words((6.5, None), (None, None), true), None);
        assert_eq!(shared_words((6.5, Some(6.4)), (Some(3.2), Some(3.3)), true), None);
    }

    #[test]
    fn children_see_the_sum_of_their_rates_and_the_parent_all_over_the_longest_time() {
        let found = ThroughputFigures::from_point(&processes()[0], FigureUnit::KbPerS).unwrap();
        // By hand: 1048576/8, 524288/8.1, 262144/8 and 65536/8.2 kB/s.
        let rates = [131_072.0, 64_726.913_58, 32_768.0, 7_992.195_12];
        assert!((found.children - rates.iter().sum::<f64>()).abs() < 1e-3, "{found:?}");
        assert!((found.parent - 1_900_544.0 / 8.2).abs() < 1e-6, "{found:?}");
        // With the fsync of what they wrote, which the parent waits for.
        let synced = IozonePoint { ended_s: Some(28.5), ..processes()[0].clone() };
        let seen = ThroughputFigures::from_point(&synced, FigureUnit::KbPerS).unwrap();
        assert!((seen.parent - 1_900_544.0 / 28.5).abs() < 1e-6, "{seen:?}");
        assert_eq!((seen.children, seen.wall_s), (found.children, found.wall_s));
        assert!((found.least - rates[3]).abs() < 1e-3 && (found.most - rates[0]).abs() < 1e-9);
        assert_eq!((found.processes, found.least_moved), (4, 65_536.0));
    }

    #[test]
    fn each_test_has_the_originals_lines_and_the_report_behind_them() {
        insta::assert_snapshot!(
            "throughput",
            text(&processes(), &request("-t 4 -i 0 -i 8 -s 1g -r 64 -R -+u"))
        );
    }

    #[test]
    fn over_hosts_the_lines_are_those_of_the_originals_cluster_mode() {
        let mut asked = request("-t 4 -i 0 -i 8 -s 1g -r 64 -C");
        asked.set_hosts(&SuiteHosts::new(&["a".to_owned(), "b".to_owned()])).unwrap();
        insta::assert_snapshot!("throughput_hosts", text(&processes(), &asked));
        assert_eq!(
            asked.options().heading.last().map(String::as_str),
            Some("Network distribution mode enabled.")
        );
    }

    #[test]
    fn csv_has_a_line_for_each_test() {
        insta::assert_snapshot!(
            "throughput_csv",
            csv(&processes(), &request("-t 4 -i 0 -i 8 -s 1g -r 64 -O"))
        );
    }
}
