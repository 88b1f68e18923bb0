//! The table of proofs names a real test for each rule on runs, ill and healthy, or says why there is none.

use std::fs;
use std::path::Path;

/// A row of the table: the rule, the proof on an ill machine, the one on a healthy machine.
type Row = [String; 3];

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cells of the first table of a page, without its head.
fn rows(page: &str) -> Vec<Vec<String>> {
    let lines =
        page.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        let inner = line.trim_matches('|').split('|');
        inner.map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    lines.skip(2).map(cells).collect()
}

fn proofs() -> Vec<Row> {
    let to_row = |row: Vec<String>| Row::try_from(row).unwrap_or_else(|row| panic!("three columns: {row:?}"));
    rows(&text("docs/design/0010-lab-proofs.md")).into_iter().map(to_row).collect()
}

/// Which tests of the lab a proof may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProofKind {
    /// One that every run of the tests makes.
    Regular,
    /// One of those, or a campaign.
    Any,
}

/// Whether `FILE::TEST` is such a test of the lab.
fn is_test(name: &str, kind: ProofKind) -> bool {
    let Some((file, test)) = name.split_once("::") else { return false };
    let source = text(&format!("crates/lab/tests/it/{file}.rs"));
    let Some((before, _)) = source.split_once(&format!("\nfn {test}()")) else { return false };
    before.rsplit("\n\n").next().is_some_and(|attributes| {
        let is_regular = !attributes.contains("#[ignore");
        attributes.contains("#[test]") && (is_regular || kind == ProofKind::Any)
    })
}

#[test]
fn every_rule_on_runs_has_a_row_and_no_other_has() {
    // The page is written from the registry; the last column of its first table states what a rule evaluates.
    let on_runs = |row: &Vec<String>| row.last().is_some_and(|evaluated| evaluated.starts_with("runs"));
    let rules: Vec<String> = rows(&text("docs/reference/rules.md"))
        .into_iter()
        .filter(on_runs)
        .map(|mut row| row.remove(0))
        .collect();
    let proved: Vec<String> = proofs().into_iter().map(|[rule, ..]| rule).collect();
    assert!(rules.len() > 20, "{rules:?}");
    assert_eq!(rules, proved);
}

#[test]
fn every_proof_named_is_a_test_and_every_gap_has_a_reason() {
    for [rule, ill, healthy] in proofs() {
        if let Some(reason) = ill.strip_prefix("none: ") {
            assert!(reason.len() > 40 && healthy.is_empty(), "{rule}: {reason}");
        } else {
            assert!(is_test(&ill, ProofKind::Regular), "{rule}: {ill} is no test of the lab");
            assert!(is_test(&healthy, ProofKind::Any), "{rule}: {healthy} is no test of the lab");
        }
    }
}
