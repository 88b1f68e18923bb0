//! Old figures against new ones: observations of two sides, paired by their names, with their rates side by side.
//!
//! Not here: whether a difference is more than chance; a published figure is one run.

use crate::case::table::{bytes_per_s, ops_per_s};
use narrows_model::figures::{FigureComparison, FigureRow, FigureSide, SCHEMA};
use narrows_model::observation::Quality;
use narrows_model::quantity::amount;
use narrows_model::units::ratio;
use narrows_model::{Bytes, BytesPerSec, Observation, Observations, OpsPerSec};

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

/// The figures of several runs of the same suite as one side: means of those that all runs have, with what is known of
/// all machines.
///
/// # Errors
/// Runs of different suites or titles, or without a common figure.
pub fn mean_figures(name: &str, mut runs: Vec<NamedFigures>) -> Result<NamedFigures, String> {
    if runs.len() == 1 {
        return Ok(runs.remove(0));
    }
    let Some((first, others)) = runs.split_first() else { return Err(format!("{name} has no record")) };
    if let Some(other) = others.iter().find(|other| other.side.kind != first.side.kind) {
        return Err(format!(
            "{name} has records of different suites: {} is a {}, {} a {}; give a folder with records of one",
            first.side.name, first.side.kind, other.side.name, other.side.kind
        ));
    }
    let mut made = first.clone();
    made.observations.observations = Vec::new();
    for one in &first.observations.observations {
        let same = |other: &NamedFigures| {
            other.observations.observations.iter().find(|other| has_options_of(one, other)).cloned()
        };
        let all: Option<Vec<Observation>> = others.iter().map(same).collect();
        made.observations.observations.extend(all.and_then(|all| mean(one, &all)));
    }
    if made.observations.observations.is_empty() {
        return Err(format!(
            "the {} records in {name} have no figure in common that has the same options; give a folder with records of one \
             command",
            runs.len()
        ));
    }
    let left_out = runs.iter().map(|run| run.observations.observations.len()).max().unwrap_or(0)
        - made.observations.observations.len();
    made.side.kind = format!("{} records, each a {}", runs.len(), first.side.kind);
    name.clone_into(&mut made.side.name);
    made.side.known = known_of(&runs);
    if left_out > 0 {
        made.side.known.push(format!(
            "{left_out} figures are not in all of its records with the same options, and are left out"
        ));
    }
    made.side.run_count = u64::try_from(runs.len()).ok();
    Ok(made)
}

/// Whether two runs have the same figure: its name, and the options beside it.
fn has_options_of(a: &Observation, b: &Observation) -> bool {
    a.id == b.id && option_differences(a, b).is_empty()
}

/// What is known of any of `runs`, each phrase once.
fn known_of(runs: &[NamedFigures]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for phrase in runs.iter().flat_map(|run| &run.side.known) {
        if !all.contains(phrase) {
            all.push(phrase.clone());
        }
    }
    all
}

/// The figure `first` with the mean rate of it and `others`, and how far they are apart; `None` without a rate of all.
fn mean(first: &Observation, others: &[Observation]) -> Option<Observation> {
    let all = || std::iter::once(first).chain(others);
    let of = |rate: fn(&Observation) -> Option<f64>| all().map(rate).collect::<Option<Vec<f64>>>();
    let in_bytes = of(|one| bytes_per_s(one).map(|rate| rate.high));
    let in_ops = of(ops_per_s);
    let average = |rates: &[f64]| ratio(rates.iter().sum::<f64>(), rates.len() as f64);
    let mut made = first.clone();
    made.bytes_per_s = in_bytes.as_deref().and_then(average).map(BytesPerSec);
    made.ops_per_s = in_ops.as_deref().and_then(average).map(OpsPerSec);
    // The rate is said by the means alone.
    (made.bytes_per_s_per_client_mean, made.per_client_bytes_per_s) = (None, Vec::new());
    let rates = in_bytes.or(in_ops)?;
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rates.iter().copied().fold(0.0, f64::max);
    let apart = ratio(most - least, average(&rates)?)?;
    made.note = Some(format!("the mean of {} runs, {:.0} % of it apart", rates.len(), apart * 100.0));
    Some(made)
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
            let found = known.get(&key(one, start_a)).and_then(|other| Some((row(one, other)?, *other)));
            match found {
                Some((mut row, other)) => {
                    row.differs.extend(spreads(a, b, (one, other)));
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

/// In what two figures differ beside their rates.
fn differences(a: &Observation, b: &Observation) -> Vec<String> {
    let mut all = option_differences(a, b);
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

/// Options in which two figures differ, or that only one of them has.
fn option_differences(a: &Observation, b: &Observation) -> Vec<String> {
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
    options
        .into_iter()
        .filter(|(_, a, b)| a != b)
        .map(|(name, a, b)| {
            let shown = |side: Option<String>| side.unwrap_or_else(|| "unknown".to_owned());
            format!("{name} {} and {}", shown(a), shown(b))
        })
        .collect()
}

/// How far the runs of each side are apart, where it is a mean of several.
fn spreads(a: &NamedFigures, b: &NamedFigures, pair: (&Observation, &Observation)) -> Vec<String> {
    let of = |letter: &str, side: &NamedFigures, one: &Observation| {
        let is_mean = side.side.run_count.is_some_and(|count| count > 1);
        one.note.as_ref().filter(|_| is_mean).map(|note| format!("{letter} is {note}"))
    };
    of("A", a, pair.0).into_iter().chain(of("B", b, pair.1)).collect()
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
    fn runs_of_a_side_are_their_means_with_how_far_they_are_apart() {
        let run = |write: f64, file: &str| {
            let mut made = named("run", &rates("vm", write, 50e6, file));
            made.side.known = vec!["host vm".to_owned()];
            made
        };
        let b = mean_figures("runs", vec![run(90e6, ""), run(110e6, ""), run(100e6, "")]).unwrap();
        assert_eq!((b.side.run_count, b.side.known.as_slice()), (Some(3), ["host vm".to_owned()].as_slice()));
        let found = compare_figures(&named("old", &rates("fs2", 50e6, 50e6, "")), &b, "test");
        assert_eq!((found.rows[0].rate_b, found.rows[0].ratio), (100e6, Some(2.0)));
        assert_eq!(found.rows[0].differs, ["B is the mean of 3 runs, 20 % of it apart"]);
        assert!(found.remarks[0].starts_with("A does not have more than one run"), "{:?}", found.remarks);
        // A figure with other options in one run has no mean.
        let mixed = mean_figures("runs", vec![run(1e6, ""), run(1e6, "file_bytes = 7")]).unwrap();
        assert_eq!(mixed.observations.observations.len(), 1);
        assert!(mixed.side.known.iter().any(|phrase| phrase.starts_with("1 figures are not")), "{mixed:?}");
        let mut other = run(1e6, "");
        other.side.kind = "record of the suite iozone".to_owned();
        assert!(mean_figures("runs", vec![run(1e6, ""), other]).unwrap_err().contains("different suites"));
        assert!(mean_figures("runs", Vec::new()).is_err());
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
