//! What each of several processes would reach if they shared what one reaches alone, and if they shared the full link: the
//! columns `expected` and `network-saturated` beside what was measured.
//!
//! A figure that does not follow from the measured ones is not printed, and the lines below the table say why.

use super::TESTS;
use super::figures::{IoperfFigure, IoperfMeasurement, IoperfRow};
use super::native::{MISSING, format_figure, row_name};
use super::request::{Request, RowKind};
use crate::host_rates::LinkCeiling;
use narrows_analysis::BUSY_RATIO;
use narrows_model::units::ratio;
use narrows_model::workload::Order;
use std::fmt::Write;

/// A rate of one process above the link by more than this was served by a cache.
const ABOVE_RATIO: f64 = 1.02;
/// The columns.
const HEADS: [&str; 3] = ["measured", "expected", "network-saturated"];

/// Why one process shows nothing of what is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AloneProblem {
    /// It was not measured.
    Unmeasured,
    /// It is limited by its own CPU.
    Busy,
    /// It is faster than the link that all share.
    Cached,
}

/// One test of the table, in KB/sec of a process.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ExpectedLine {
    title: &'static str,
    measured: Option<f64>,
    expected: Result<f64, AloneProblem>,
    saturated: Option<f64>,
}

/// The table below that of the rows; empty where no several processes were measured.
pub(super) fn table(rows: &[IoperfRow], request: &Request, link: Option<LinkCeiling>) -> String {
    let Some(lines) = lines(rows, link) else { return String::new() };
    let count = processes(rows);
    let width = lines.iter().map(|line| line.title.len()).max().unwrap_or(0);
    let place = if request.hosts.is_empty() { "process" } else { "host's process" };
    let mut out = format!("\nKB/sec of each {place}\n{:width$}", "");
    // Writing into a string cannot fail.
    for head in HEADS {
        let _ = write!(out, "  {head:>12}");
    }
    out.push('\n');
    for line in &lines {
        let figures = [line.measured, line.expected.ok(), line.saturated].map(format_figure);
        let _ = write!(out, "{:width$}", line.title);
        for (figure, head) in figures.iter().zip(HEADS) {
            let _ = write!(out, "  {figure:>0$}", head.len().max(12));
        }
        out.push('\n');
    }
    out + &basis(rows, request, link, count) + &reasons(&lines, request)
}

fn processes(rows: &[IoperfRow]) -> usize {
    let many = rows.iter().find(|row| row.kind == RowKind::Processes);
    many.and_then(|many| many.tests.iter().flatten().map(|test| test.each.len()).max()).unwrap_or(0)
}

fn lines(rows: &[IoperfRow], link: Option<LinkCeiling>) -> Option<Vec<ExpectedLine>> {
    let find = |kind| rows.iter().find(|row: &&IoperfRow| row.kind == kind);
    let many = find(RowKind::Processes)?;
    let one = find(RowKind::OneProcess).or_else(|| find(RowKind::Run));
    let count = processes(rows) as f64;
    let line = |(index, test): (usize, &super::IoperfTest)| {
        let measured = many.tests[index].as_ref()?.figure().kb_per_s;
        let alone = one.and_then(|one| one.tests[index].as_ref()).map(IoperfMeasurement::figure);
        let rate_and_cpu = |alone: IoperfFigure| Some((alone.kb_per_s?, alone.cpu_percent.unwrap_or(0.0)));
        let expected = match alone.and_then(rate_and_cpu) {
            None => Err(AloneProblem::Unmeasured),
            Some((_, cpu)) if cpu >= 100.0 * BUSY_RATIO => Err(AloneProblem::Busy),
            Some((rate, _)) if link.is_some_and(|link| rate > ABOVE_RATIO * link.kb_per_s) => {
                Err(AloneProblem::Cached)
            }
            Some((rate, _)) => ratio(rate, count).ok_or(AloneProblem::Unmeasured),
        };
        // A seek counts 20 bytes, of which the link transfers more or nothing.
        let counts = test.order == Order::Sequential;
        let saturated = link.filter(|_| counts).and_then(|link| ratio(link.kb_per_s, count));
        Some(ExpectedLine { title: test.title, measured, expected, saturated })
    };
    Some(TESTS.iter().enumerate().filter_map(line).collect())
}

/// What the columns are made of.
fn basis(rows: &[IoperfRow], request: &Request, link: Option<LinkCeiling>, count: usize) -> String {
    let is_one = |row: &&IoperfRow| row.kind != RowKind::Processes;
    let alone = rows.iter().rfind(is_one).map(|row| {
        let place = request.hosts.first().map_or_else(String::new, |host| format!(" on {host}"));
        format!("expected: what {}{place} reaches alone, divided by {count}\n", row_name(row.kind, request))
    });
    let alone =
        alone.unwrap_or_else(|| "expected: no process was measured alone: add 1PV to --rows\n".to_owned());
    let link = match link {
        Some(link) => format!("network-saturated: {}, divided by {count}\n", link.words()),
        None => "network-saturated: the link's ceiling is not known: give it with --link, or --server HOST:PORT, which \
                 measures it\n"
            .to_owned(),
    };
    alone + &link
}

/// Why figures are missing.
fn reasons(lines: &[ExpectedLine], request: &Request) -> String {
    let named = |problem| {
        let all = lines.iter().filter(|line| line.expected == Err(problem)).map(|line| line.title);
        all.collect::<Vec<_>>().join(", ")
    };
    let mut out = String::new();
    let one = row_name(RowKind::OneProcess, request);
    let busy = named(AloneProblem::Busy);
    if !busy.is_empty() {
        let _ = writeln!(
            out,
            "{MISSING} for {busy}: {one} is limited by its own CPU, which it does not share with processes of other hosts"
        );
    }
    let cached = named(AloneProblem::Cached);
    if !cached.is_empty() {
        let _ = writeln!(out, "{MISSING} for {cached}: {one} is above the link, so that a cache served it");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::testing::{published, request};
    use super::*;
    use crate::client_hosts::SuiteHosts;

    fn row_of(kind: RowKind, each: &[[IoperfFigure; TESTS.len()]]) -> IoperfRow {
        IoperfRow {
            kind,
            tests: [0, 1, 2, 3, 4].map(|test| {
                let each = each.iter().map(|figures| figures[test]).collect();
                Some(IoperfMeasurement { each, shortest_s: Some(4.0), cut_short: false })
            }),
        }
    }

    /// The published client alone, and the 47 hosts.
    fn rows() -> Vec<IoperfRow> {
        let all = published();
        let one = all.iter().rfind(|row| row.row == "1PV_ibmtest_test").unwrap().figures;
        let hosts: Vec<_> =
            all.iter().filter(|row| row.row.starts_with("rcas6")).map(|row| row.figures).collect();
        assert_eq!(hosts.len(), 47);
        vec![row_of(RowKind::OneProcess, &[one]), row_of(RowKind::Processes, &hosts)]
    }

    fn on_hosts() -> Request {
        let hosts: Vec<String> = (6001..6048).map(|number| format!("rcas{number}")).collect();
        Request { hosts: SuiteHosts::new(&hosts), ..request() }
    }

    #[test]
    fn the_published_hosts_are_compared_with_their_share_of_one_client_and_of_the_link() {
        // 12 MB/s, as the publication gives its wire.
        let link = LinkCeiling { kb_per_s: 12.0 * 1024.0, is_given: true };
        insta::assert_snapshot!("expected", table(&rows(), &on_hosts(), Some(link)));
    }

    #[test]
    fn a_figure_that_does_not_follow_is_not_printed_and_the_basis_of_the_others_is() {
        let all = lines(&rows(), None).unwrap();
        // 10126.58 / 47; the page's own expectation of 9 MB/s is another one.
        assert!((all[0].expected.unwrap() - 215.459).abs() < 1e-3, "{all:?}");
        assert_eq!(all[1].expected, Err(AloneProblem::Busy), "fread took all of a CPU");
        assert!(all.iter().all(|line| line.saturated.is_none()));
        let text = table(&rows()[1..], &on_hosts(), None);
        assert!(text.contains("expected: no process was measured alone: add 1PV to --rows"), "{text}");
        assert!(
            text.contains("network-saturated: the link's ceiling is not known: give it with --link"),
            "{text}"
        );
        assert_eq!(table(&rows()[..1], &on_hosts(), None), "");
    }

    #[test]
    fn one_process_above_the_link_was_served_by_a_cache() {
        let figure = IoperfFigure::from_times(40_000.0, 2.0, 0.1);
        let rows =
            [row_of(RowKind::OneProcess, &[[figure; 5]]), row_of(RowKind::Processes, &[[figure; 5]; 2])];
        let link = |kb_per_s| Some(LinkCeiling { kb_per_s, is_given: false });
        assert_eq!(lines(&rows, link(19_000.0)).unwrap()[1].expected, Err(AloneProblem::Cached));
        let beside = lines(&rows, link(24_000.0)).unwrap();
        assert_eq!((beside[1].expected, beside[1].saturated), (Ok(10_000.0), Some(12_000.0)));
        assert_eq!(beside[4].saturated, None, "a seek counts 20 bytes");
    }
}
