//! Old figures against new ones: observations of two sides, paired by their names, with their rates side by side.
//!
//! Not here: whether a difference is more than chance; a published figure is one run.

use crate::case::table::{bytes_per_s, ops_per_s};
use narrows_model::figures::{FigureComparison, FigureRow, FigureSide, SCHEMA};
use narrows_model::observation::Quality;
use narrows_model::quantity::amount;
use narrows_model::units::ratio;
use narrows_model::{Bytes, Observation, Observations};

/// Figures with what is known of them.
#[derive(Debug, Clone)]
pub struct NamedFigures {
    /// What they are of.
    pub side: FigureSide,
    /// The figures.
    pub observations: Observations,
}

/// The figures that `a` and `b` both have, those of the same name in one row. Where no name is in both, what all names of a
/// side begin with is left out: the name of a machine.
#[must_use]
pub fn compare_figures(a: &NamedFigures, b: &NamedFigures, narrows_version: &str) -> FigureComparison {
    let mut pairs = Pairs::new(a, b, "", "");
    if pairs.rows.is_empty() {
        pairs = Pairs::new(a, b, &common_start(&a.observations), &common_start(&b.observations));
    }
    FigureComparison {
        schema: SCHEMA.to_owned(),
        narrows_version: narrows_version.to_owned(),
        a: with_memory(a),
        b: with_memory(b),
        rows: pairs.rows,
        only_in_a: pairs.only_in_a,
        only_in_b: pairs.only_in_b,
        remarks: remarks(a, b),
    }
}

struct Pairs {
    rows: Vec<FigureRow>,
    only_in_a: Vec<String>,
    only_in_b: Vec<String>,
}

impl Pairs {
    fn new(a: &NamedFigures, b: &NamedFigures, start_a: &str, start_b: &str) -> Self {
        let key = |one: &Observation, start: &str| {
            one.id.strip_prefix(start).unwrap_or(&one.id).trim().to_ascii_lowercase()
        };
        let known: std::collections::BTreeMap<String, &Observation> =
            b.observations.observations.iter().map(|one| (key(one, start_b), one)).collect();
        let mut made = Self { rows: Vec::new(), only_in_a: Vec::new(), only_in_b: Vec::new() };
        let mut used = std::collections::BTreeSet::new();
        for one in &a.observations.observations {
            let found = known.get(&key(one, start_a)).and_then(|other| row(one, other));
            match found {
                Some(row) => {
                    used.insert(row.b.clone());
                    made.rows.push(row);
                }
                None => made.only_in_a.push(one.id.clone()),
            }
        }
        let others = b.observations.observations.iter().filter(|one| !used.contains(&one.id));
        made.only_in_b = others.map(|one| one.id.clone()).collect();
        made
    }
}

/// What all names begin with, up to a blank; nothing where there are fewer than two.
fn common_start(all: &Observations) -> String {
    let mut names = all.observations.iter().map(|one| one.id.as_str());
    let Some(first) = names.next().filter(|_| all.observations.len() > 1) else { return String::new() };
    let mut common = first;
    for name in names {
        let same = common.char_indices().zip(name.chars()).take_while(|((_, a), b)| a == b);
        let end = same.last().map_or(0, |((at, letter), _)| at + letter.len_utf8());
        common = common.get(..end).unwrap_or_default();
    }
    common.rfind(' ').and_then(|at| common.get(..=at)).unwrap_or_default().to_owned()
}

fn row(a: &Observation, b: &Observation) -> Option<FigureRow> {
    let in_bytes = |one: &Observation| bytes_per_s(one).map(|rate| rate.high);
    let bytes = in_bytes(a).zip(in_bytes(b));
    let (rate_a, rate_b) = bytes.or_else(|| ops_per_s(a).zip(ops_per_s(b)))?;
    Some(FigureRow {
        a: a.id.clone(),
        b: b.id.clone(),
        is_of_bytes: bytes.is_some(),
        rate_a,
        rate_b,
        ratio: ratio(rate_b, rate_a),
        differs: differences(a, b),
    })
}

/// Options in which two figures differ, or that only one of them has.
fn differences(a: &Observation, b: &Observation) -> Vec<String> {
    let size = |bytes: Option<Bytes>| bytes.map(amount);
    let count = |count: Option<f64>| count.map(|count| count.to_string());
    let whole = |count: Option<u64>| count.map(|count| count.to_string());
    let options = [
        ("block", size(a.block_bytes), size(b.block_bytes)),
        ("file", size(a.file_bytes), size(b.file_bytes)),
        ("clients", whole(a.clients), whole(b.clients)),
        ("in flight", count(a.in_flight_configured), count(b.in_flight_configured)),
        ("connections", whole(a.connections), whole(b.connections)),
    ];
    let mut all: Vec<String> = options
        .into_iter()
        .filter(|(_, a, b)| a != b)
        .map(|(name, a, b)| {
            let shown = |side: Option<String>| side.unwrap_or_else(|| "unknown".to_owned());
            format!("{name} {} and {}", shown(a), shown(b))
        })
        .collect();
    let bound = |one: &Observation| match one.quality {
        Quality::LowerBound => Some("a lower bound"),
        Quality::UpperBound => Some("an upper bound"),
        Quality::Approximate => Some("approximate"),
        Quality::Exact => None,
    };
    for (side, one) in [("A", a), ("B", b)] {
        all.extend(bound(one).map(|bound| format!("{side} is {bound}")));
    }
    all
}

/// The side with the memory that its observations name.
fn with_memory(figures: &NamedFigures) -> FigureSide {
    let mut side = figures.side.clone();
    let mut seen = std::collections::BTreeSet::new();
    for one in &figures.observations.observations {
        for (role, bytes) in &one.memory_bytes {
            let phrase = format!("{} of memory at the {}", amount(*bytes), role.name());
            if seen.insert(phrase.clone()) {
                side.known.push(phrase);
            }
        }
    }
    side
}

fn remarks(a: &NamedFigures, b: &NamedFigures) -> Vec<String> {
    let few = |figures: &NamedFigures| figures.side.run_count.is_none_or(|count| count < 2);
    let mut all = Vec::new();
    if few(a) || few(b) {
        let which = match (few(a), few(b)) {
            (true, true) => "Neither side has",
            (true, false) => "A does not have",
            (false, _) => "B does not have",
        };
        all.push(format!(
            "{which} more than one run that is known: how much runs differ is not known, and no ratio here is shown to be \
             more than chance."
        ));
    }
    for (name, figures) in [("A", a), ("B", b)] {
        if figures.side.known.is_empty() {
            all.push(format!("Nothing is known of the machine of {name}."));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::observed::read;

    fn named(name: &str, rows: &str) -> NamedFigures {
        let side = FigureSide { name: name.to_owned(), run_count: Some(1), ..FigureSide::default() };
        NamedFigures { side, observations: read(rows) }
    }

    fn rates(machine: &str, write: f64, read: f64, rest: &str) -> String {
        format!(
            "[[observation]]\nid = \"{machine} put_block\"\nop = \"write\"\nbytes_per_s = {write}\nblock_bytes = 8192\n{rest}\n\
             [[observation]]\nid = \"{machine} get_block\"\nop = \"read\"\nbytes_per_s = {read}\n"
        )
    }

    #[test]
    fn figures_are_paired_without_the_names_of_the_machines() {
        let (a, b) =
            (named("old", &rates("fs2", 50e6, 64e6, "")), named("new", &rates("vm", 100e6, 32e6, "")));
        let found = compare_figures(&a, &b, "test");
        let ratios: Vec<Option<f64>> = found.rows.iter().map(|row| row.ratio).collect();
        assert_eq!(ratios, [Some(2.0), Some(0.5)]);
        assert_eq!((found.rows[0].a.as_str(), found.rows[0].b.as_str()), ("fs2 put_block", "vm put_block"));
        assert!(found.remarks[0].contains("no ratio here is shown to be more than chance"), "{found:?}");
        assert!(found.only_in_a.is_empty() && found.only_in_b.is_empty());
    }

    #[test]
    fn options_that_differ_are_beside_the_rates_and_what_one_side_lacks_is_listed() {
        let a = named("old", &rates("m", 50e6, 64e6, "file_bytes = 1048576\nquality = \"lower-bound\""));
        let mut b = named(
            "new",
            &rates("m", 50e6, 64e6, "file_bytes = 2097152\nmemory_bytes = { client = 1073741824 }"),
        );
        b.observations.observations.pop();
        let found = compare_figures(&a, &b, "test");
        assert_eq!(found.rows[0].differs, ["file 1.00 MiB and 2.00 MiB", "A is a lower bound"]);
        assert_eq!((found.only_in_a, found.only_in_b.len()), (vec!["m get_block".to_owned()], 0));
        assert_eq!(found.b.known, ["1.00 GiB of memory at the client"]);
    }
}
