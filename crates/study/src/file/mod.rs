//! Study files: a text in TOML becomes a [`Study`], or the list of everything that is wrong with it.
//!
//! In the order of the steps: `settings` reads keys and values by the registry [`KEYS`], `sweep` makes the points of
//! the cross product and asks `clash` and `idle` what does not go together. Deliberately absent: files (the text is
//! handed in), the machine, and the plan, which is `expand`'s.

mod clash;
mod hint;
mod idle;
mod keys;
mod kind;
mod objects;
mod point;
pub(crate) mod quantity;
mod settings;
mod shares;
mod study;
mod suggest;
mod sweep;
mod syntax;
mod value;
mod whole;

pub use crate::located::{FileProblem as StudyProblem, FileProblems as StudyProblems};
pub use keys::{KEYS, Key, TABLES};
pub use kind::Kind;
pub use study::{CellOrder, Study};

pub(crate) use crate::located::{Complaint, Findings};
pub(crate) use study::Point;
pub(crate) use whole::has_cut;

use narrows_model::Target;
use narrows_model::factor::{Factor, FactorUnit};
use narrows_model::plan::StudySource;
use point::View;
use settings::Settings;
use std::collections::BTreeSet;
use value::Value;

/// A study has a few dozen lines; more is some other file.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// The study that `text` asks for; `name` is what its file was called, for messages and the record.
///
/// # Errors
/// Everything that is wrong with it and can be seen without the machine, at once and located: what is no TOML, keys
/// that do not exist, values of a wrong type, unit or range, and settings that do not go together.
pub fn parse(text: &str, name: &str) -> Result<Study, StudyProblems> {
    parse_where(text, name, |_| None)
}

/// What is wrong with a target where a study is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetProblem {
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
    /// What to do.
    pub hint: String,
}

/// As [`parse`], on a machine that tells what is `wrong` with a target.
///
/// # Errors
/// As those of [`parse`], with the targets that are wrong among them.
pub fn parse_where(
    text: &str,
    name: &str,
    wrong: impl Fn(&Target) -> Option<TargetProblem>,
) -> Result<Study, StudyProblems> {
    let mut findings = Findings::new(name, text);
    let study = checked(text, name, &wrong, &mut findings);
    match (findings.into_result(), study) {
        (Ok(()), Some(study)) => Ok(study),
        (Ok(()), None) => Err(StudyProblems { name: name.to_owned(), list: Vec::new(), more_count: 0 }),
        (Err(problems), _) => Err(problems),
    }
}

fn checked(
    text: &str,
    name: &str,
    wrong: &dyn Fn(&Target) -> Option<TargetProblem>,
    findings: &mut Findings<'_>,
) -> Option<Study> {
    if text.len() > TEXT_BYTES_MAX {
        let found = format!("{} bytes", text.len());
        let allowed = format!("a study of {TEXT_BYTES_MAX} bytes or fewer");
        findings.add(&(0..0), Complaint::new("", found, allowed, "is this the right file?"));
        return None;
    }
    let mut settings = syntax::settings(text, findings)?;
    let study = understood(&mut settings, text, name, findings);
    whole::wrong_targets(&settings, wrong, findings);
    study
}

/// The study of settings; `None` where something is wrong with them.
fn understood(settings: &mut Settings, text: &str, name: &str, findings: &mut Findings<'_>) -> Option<Study> {
    whole::whole(settings, findings);
    let together = whole::together(settings, findings);
    if findings.has_syntax() || findings.is_full() {
        return None;
    }
    settings.in_doubt = in_doubt(findings);
    let points = sweep::points(settings, together, findings);
    findings.is_empty().then(|| study(settings, points, text, name, together))
}

/// Keys of which something was said: what does not go together with them is not known before they are mended.
fn in_doubt(findings: &Findings<'_>) -> BTreeSet<&'static str> {
    let said = |key: &&Key| {
        let swept = format!("sweep.{}", key.factor());
        let of_table = !key.table().is_empty() && findings.mention(key.table());
        of_table || [key.path, key.name(), &swept].into_iter().any(|name| findings.mention(name))
    };
    if findings.is_empty() { BTreeSet::new() } else { KEYS.iter().filter(said).map(|key| key.path).collect() }
}

fn study(settings: &Settings, points: Vec<Point>, text: &str, name: &str, together: bool) -> Study {
    let view = View::new(settings, &[]);
    let title = match view.entry("title").map(|entry| &entry.value) {
        Some(Value::Text(title)) => Some(title.clone()),
        _ => None,
    };
    let factors = factors(settings, together);
    Study {
        source: StudySource { name: name.to_owned(), title, text: text.to_owned(), factors },
        seconds: view.number("seconds").unwrap_or(60.0),
        seed: view.count("seed"),
        cell_order: if view.name("cell_order") == Some("as_written") {
            CellOrder::AsWritten
        } else {
            CellOrder::Random
        },
        cuts: whole::cuts(view),
        points,
        places: study::Places {
            seconds: view.at(&["seconds"]),
            op: place_of(settings, &["workload.op", "workload.ops", "target"]),
            verify: place_of(settings, &["workload.verify", "target"]),
            target: place_of(settings, &["target"]),
        },
    }
}

fn place_of(settings: &Settings, paths: &[&str]) -> crate::located::Span {
    let fixed = paths.iter().find_map(|path| {
        let swept =
            settings.factors.iter().find(|factor| factor.key.path == *path).map(|factor| factor.at.clone());
        swept.or_else(|| settings.fixed.get(path).map(|entry| entry.at.clone()))
    });
    fixed.unwrap_or(0..0)
}

fn factors(settings: &Settings, together: bool) -> Vec<Factor> {
    let factor = |swept: &settings::Swept| {
        let mut values: Vec<_> = swept.values.iter().map(|entry| entry.value.factor()).collect();
        if together && swept.key.path == "target" {
            values.push(narrows_model::cell::FactorValue::Text(sweep::TOGETHER.to_owned()));
        }
        Factor { name: swept.key.factor().to_owned(), unit: unit(swept.key.kind), values }
    };
    settings.factors.iter().map(factor).collect()
}

fn unit(kind: Kind) -> FactorUnit {
    match kind {
        Kind::Size { .. } => FactorUnit::Bytes,
        Kind::Duration { .. } => FactorUnit::Seconds,
        Kind::ByteRate => FactorUnit::BytesPerSecond,
        Kind::OpRate => FactorUnit::OpsPerSecond,
        Kind::Count { .. } => FactorUnit::Count,
        _ => FactorUnit::None,
    }
}

#[cfg(test)]
mod tests;
