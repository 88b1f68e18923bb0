//! What narrows says beside a suite's own output.

use crate::fixtures::{cases, suites};
use narrows_model::Cut;
use narrows_model::plan::SuiteSource;
use narrows_report::text::{self, Style};

#[test]
fn with_detail_a_suite_reports_every_latency_of_every_test() {
    let style = Style { detail: true, ..Style::default() };
    let rendered = text::verdict(&suites::files(), &style);
    let section = rendered.split("\nLATENCY").nth(1).unwrap().split("\n\n").next().unwrap();
    let line = |word: &str| section.lines().find(|line| line.contains(word)).unwrap();
    let heads: Vec<&str> = line("p99.9").split_whitespace().collect();
    assert_eq!(heads, ["test", "block", "p50", "p90", "p99", "p99.9", "max"]);
    assert!(line("putc").ends_with("795 ns   894 ns   993 ns  1.19 us  1.59 us"), "{section}");
    assert!(["put_block", "rewrite", "seq_create", "ran_create"].iter().all(|test| section.contains(test)));
    assert!(!text::verdict(&suites::files(), &Style::default()).contains("LATENCY"));
}

/// What the report of nothing measured says to do next, where it is of a suite with cuts or without them.
fn next_of_suite(has_cuts: bool, command: &str) -> String {
    let mut summary = cases::nothing_measured();
    (summary.complete, summary.study) = (true, None);
    summary.diagnosis.limiting.clear();
    summary.command = command.split(' ').map(str::to_owned).collect();
    summary.suite = Some(SuiteSource::new("ioperf", has_cuts, serde_json::Value::Null));
    let rendered = text::results(&summary, &Style::default());
    rendered.split_once("NEXT").map(|(_, next)| next.to_owned()).unwrap()
}

#[test]
fn what_to_do_next_after_a_suite_is_a_command_that_the_suite_takes() {
    let next = next_of_suite(true, "narrows suite ioperf /data --cell-seconds 3 --out r");
    assert!(next.contains("narrows suite ioperf /data --cell-seconds 6"), "{next}");
    let next = next_of_suite(true, "narrows suite iozone -a /data");
    assert!(next.contains("narrows suite iozone -a /data --cell-seconds 2"), "{next}");
    let next = next_of_suite(false, "narrows suite ioperf /data --no-verdict");
    assert!(next.contains("narrows suite ioperf /data\n") && !next.contains("--no-verdict"), "{next}");
    assert!(!next.contains(" --seconds"), "{next}");
}

#[test]
fn transactions_are_called_so_and_not_by_one_of_their_operations() {
    let mut summary = cases::network();
    let cell = summary.cells.iter_mut().find(|cell| cell.cut == Cut::Path).unwrap();
    let transactions =
        narrows_model::workload::Transactions { count: 9, read_bias: Some(5), create_bias: Some(5) };
    let set = narrows_model::workload::ObjectSet { transactions: Some(transactions), ..Default::default() };
    cell.requested.objects = Some(set);
    let rendered = text::verdict(&summary, &Style::default());
    assert!(rendered.contains("\n  transactions  "), "{rendered}");
}
