//! Whole texts, kept beside this: read one before accepting a change of it.
#![allow(clippy::unwrap_used, reason = "fixtures are test code outside of test functions")]

mod explained;
mod fixtures;
mod live;
mod plans;
mod studies;
mod suites;
mod verdicts;

use fixtures::{builders, cases, comparisons};
use narrows_model::{Inventory, Summary};
use narrows_report::text::{self, Style};
use studies::STUDIES;
use verdicts::CASES;

type Case = (&'static str, fn() -> Summary);

fn compare(name: &str, rendered: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("kept");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, rendered));
}

#[test]
fn comparisons_read_as_kept() {
    let cases = vec![
        ("compare_worse", comparisons::worse()),
        ("compare_same", comparisons::same()),
        ("compare_mixed", comparisons::mixed()),
        ("compare_undecided", comparisons::undecided()),
        ("compare_single", comparisons::single()),
    ];
    for (name, (found, a, b)) in cases {
        compare(name, &text::comparison(&found, &a, &b, &Style::default()));
    }
    let (found, a, b) = comparisons::worse();
    let detail = Style { detail: true, ..Style::default() };
    compare("compare_worse_detail", &text::comparison(&found, &a, &b, &detail));
}

#[test]
fn noise_reads_as_kept() {
    let (found, first) = comparisons::noise();
    compare("noise", &text::noise(&found, &first, &Style::default()));
}

#[test]
fn inventories_read_as_kept() {
    let on = |nfs| {
        Inventory::new(
            builders::host("alpha"),
            Some(builders::path_facts(nfs)),
            vec!["/sys/block/sda/queue/wbt_lat_usec: no permission".to_owned()],
        )
    };
    compare("inventory_local", &text::inventory(&on(false), &Style::default()));
    compare("inventory_nfs", &text::inventory(&on(true), &Style { detail: true, ..Style::default() }));
}

#[test]
fn an_explanation_has_a_title_and_named_paragraphs() {
    let page = narrows_analysis::explain("network.bandwidth").unwrap();
    let rendered = text::explanation(&page, &Style::default());
    assert!(
        rendered.starts_with("network.bandwidth: the network's bandwidth\n\nPart of\n  network"),
        "{rendered}"
    );
    assert!(rendered.contains("\nHow to measure\n  "), "{rendered}");
}

#[test]
fn lines_stay_within_the_width_unless_a_command_is_longer() {
    for (name, case) in CASES.iter().chain(STUDIES) {
        let rendered = text::results(&case(), &Style::default());
        for line in rendered.lines().filter(|line| !line.contains('`') && !line.contains("narrows ")) {
            assert!(line.chars().count() <= 92, "{name}: {line}");
        }
    }
}

#[test]
fn colour_only_adds_to_the_text() {
    for (name, case) in CASES.iter().chain(STUDIES) {
        let coloured = text::results(&case(), &Style { colour: true, ..Style::default() });
        assert!(coloured.contains('\u{1b}'), "{name}");
        let plain = coloured.split('\u{1b}').map(|part| match part.strip_prefix('[') {
            Some(rest) => rest.split_once('m').map_or("", |(_, text)| text),
            None => part,
        });
        assert_eq!(plain.collect::<String>(), text::results(&case(), &Style::default()), "{name}");
    }
}

#[test]
fn json_reads_back_as_the_same_summary() {
    let summary = cases::incomplete();
    let rendered = narrows_report::json::summary(&summary);
    assert!(rendered.ends_with("}\n"));
    let back: Summary = serde_json::from_str(&rendered).unwrap();
    assert_eq!(back, summary);
    assert!(rendered.starts_with("{\n  \"schema\": \"narrows.summary/1\",\n  \"narrows_version\""));
}
