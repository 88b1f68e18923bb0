//! Every term of the first screens has a page.

use crate::verdicts::CASES;
use narrows_analysis::explain;
use narrows_model::Segment;
use narrows_report::text::{self, Style, screen_figures, word_page};

/// Units and words that are terms wherever they occur in a first screen.
const TERMS: &[&str] = &[
    "op/s",
    "KiB/s",
    "MiB/s",
    "GiB/s",
    "Mbit/s",
    "Gbit/s",
    "ns",
    "us",
    "ms",
    "p99",
    "each",
    "sure",
    "bulk",
    "random",
    "one-at-a-time",
    "synchronous",
    "sync",
    "cleared",
    "undecided",
    "skipped",
    "CPUs",
    "round",
    "KiB",
    "MiB",
];

fn is_explained(word: &str) -> bool {
    explain(word).is_some() || word_page(word, &Style::default()).is_some()
}

/// The terms in a line of a first screen: ids of segments, codes after `narrows explain`, words in capitals, units.
fn terms(line: &str) -> Vec<String> {
    let trim = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '?').to_owned();
    let words: Vec<String> = line.split_whitespace().map(trim).collect();
    let mut found: Vec<String> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let lower = word.to_lowercase();
        let is_capital = word.len() > 3 && word.chars().all(|c| c.is_ascii_uppercase() || c == '?');
        let after_explain = index > 1 && words[index - 1] == "explain" && words[index - 2] == "narrows";
        let is_block = lower.ends_with("kib") || lower.ends_with("mib");
        if Segment::from_id(word).is_some() || is_capital || after_explain {
            found.push(word.clone());
        } else if is_block {
            found.push(word.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned());
        } else if TERMS.contains(&word.as_str()) || TERMS.contains(&lower.as_str()) {
            found.push(if lower == "round" { "round trip".to_owned() } else { word.clone() });
        }
    }
    found
}

#[test]
fn every_term_of_the_first_screens_is_explained() {
    let mut seen: Vec<String> = Vec::new();
    for (name, case) in CASES {
        for line in text::results(&case(), &Style { width: 80, ..Style::default() }).lines() {
            for term in terms(line).into_iter().filter(|term| term != "RECORD") {
                assert!(is_explained(&term), "{name}: `{term}` has no page, in: {line}");
                if !seen.contains(&term) {
                    seen.push(term);
                }
            }
        }
    }
    for term in ["LIMIT", "bulk", "Bulk", "network.bandwidth", "NEXT", "PATH", "op/s", "p99"] {
        assert!(seen.iter().any(|known| known == term), "`{term}` was not looked for: {seen:?}");
    }
}

#[test]
fn every_load_by_its_name_is_explained() {
    for (name, case) in CASES {
        for entry in &case().diagnosis.limiting {
            let load = entry.regime.split(" (").next().unwrap_or_default();
            let both = [" read and durable write", " read and write", " read", " write"];
            let load =
                both.iter().find_map(|both| load.strip_suffix(both)).unwrap_or(load).trim_end_matches(',');
            assert!(is_explained(load), "{name}: `{load}` has no page");
        }
    }
}

#[test]
fn every_note_of_a_cell_in_a_first_screen_is_explained() {
    for (name, case) in CASES {
        for flag in case().cells.iter().flat_map(|cell| cell.flags.clone()) {
            assert!(is_explained(&flag), "{name}: `{flag}`");
        }
    }
}

/// Figures with their unit in a line: `11.2 MiB/s`, `90 %`.
fn figures(line: &str) -> Vec<String> {
    const UNITS: [&str; 10] =
        ["MiB/s", "GiB/s", "KiB/s", "Mbit/s", "op/s", "ns", "us", "ms", "s", "thousand"];
    let words: Vec<&str> =
        line.split_whitespace().map(|word| word.trim_matches(['(', ')', ',', '.', ';', ':'])).collect();
    let pairs = words.windows(2).filter(|pair| pair[0].parse::<f64>().is_ok() && UNITS.contains(&pair[1]));
    pairs.map(|pair| format!("{} {}", pair[0], pair[1])).collect()
}

#[test]
fn every_figure_of_a_first_screen_is_among_those_explained() {
    let style = Style { width: 80, ..Style::default() };
    for (name, case) in CASES {
        let summary = case();
        let explained =
            screen_figures(&summary, "record", &style).split_whitespace().collect::<Vec<_>>().join(" ");
        // A suite's own figures are its native output's.
        for figure in text::results(&summary, &style).lines().flat_map(figures) {
            assert!(explained.contains(&figure), "{name}: {figure} is not explained in\n{explained}");
        }
    }
}

#[test]
fn the_explanation_of_a_screen_reads_as_kept() {
    let (_, network) = CASES.iter().find(|(name, _)| *name == "network").unwrap();
    let style = Style { width: 80, ..Style::default() };
    crate::compare("screen_figures", &screen_figures(&network(), "narrows-record-20260301T120000Z", &style));
}
