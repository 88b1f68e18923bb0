//! Study files: a text in TOML becomes a [`Study`], or the list of everything that is wrong with it.
//!
//! In the order of the steps: `settings` reads the keys of [`schema`], `whole` checks them together, `sweep` makes the
//! points of the cross product and asks `clash` and `idle` what does not go together. Deliberately absent: files (the
//! text is handed in), the machine, and the plan, which is `expand`'s.

mod choices;
mod clash;
mod fields;
mod idle;
mod keys;
mod load;
mod objects;
mod settings;
mod study;
mod sweep;
mod synonyms;
mod whole;

pub use crate::schema::{FileProblem as StudyProblem, FileProblems as StudyProblems};
pub use keys::schema;
pub use study::{CellOrder, Study};

pub(crate) use study::StudyPoint;

use crate::schema::{FileType, Findings, KeyMark, Span, ValueKind, parsed};
use fields::marks;
use narrows_model::Target;
use narrows_model::cell::FactorValue;
use narrows_model::factor::{Factor, FactorUnit};
use narrows_model::plan::StudySource;
use settings::{StudySettings, SweptKey};

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

/// As [`parse`], on a machine where `wrong` returns what is wrong with a target.
///
/// # Errors
/// As those of [`parse`], with the targets that are wrong among them.
pub fn parse_where(
    text: &str,
    name: &str,
    wrong: impl Fn(&Target) -> Option<TargetProblem>,
) -> Result<Study, StudyProblems> {
    let file = FileType { schema: schema(), name: "a study", bytes_max: TEXT_BYTES_MAX };
    parsed(text, name, &file, settings::settings, |mut settings, findings| {
        let study = checked(&mut settings, text, name, findings);
        whole::wrong_targets(&settings, &wrong, findings);
        study
    })
}

/// The study of settings; `None` where something is wrong with them.
fn checked(
    settings: &mut StudySettings,
    text: &str,
    name: &str,
    findings: &mut Findings<'_>,
) -> Option<Study> {
    whole::whole(settings, findings);
    let together = whole::loads_all_targets(settings, findings);
    if findings.has_syntax() || findings.is_full() {
        return None;
    }
    let points = sweep::points(settings, together, findings);
    findings.is_empty().then(|| study(settings, points, text, name, together))
}

fn study(settings: &StudySettings, points: Vec<StudyPoint>, text: &str, name: &str, together: bool) -> Study {
    let keys = &settings.fixed;
    let factors = factors(settings, together);
    let title = keys.head.title.value.clone();
    let position =
        |marks: &[&KeyMark]| -> Span { marks.iter().find_map(|mark| mark.at.clone()).unwrap_or(0..0) };
    Study {
        source: StudySource { name: name.to_owned(), title, text: text.to_owned(), factors },
        seconds: keys.head.seconds.value.unwrap_or(60.0),
        seed: keys.head.seed.value,
        cell_order: keys.head.cell_order.value.unwrap_or(CellOrder::Random),
        cuts: whole::cuts(settings),
        points,
        positions: study::StudyPositions {
            seconds: keys.position(&marks!(keys; head.seconds)),
            op: position(&marks!(keys; workload.op, workload.ops, head.target)),
            verify: position(&marks!(keys; workload.verify, head.target)),
            target: position(&marks!(keys; head.target)),
        },
    }
}

fn factors(settings: &StudySettings, together: bool) -> Vec<Factor> {
    let factor = |swept: &SweptKey| {
        let mut values: Vec<_> = swept.values.iter().map(|found| found.value.factor()).collect();
        if together && swept.key.kind == ValueKind::Target {
            values.push(FactorValue::Text(sweep::TOGETHER.to_owned()));
        }
        Factor { name: swept.key.factor().to_owned(), unit: unit(swept.key.kind), values }
    };
    settings.factors.iter().map(factor).collect()
}

fn unit(kind: ValueKind) -> FactorUnit {
    match kind {
        ValueKind::Size { .. } => FactorUnit::Bytes,
        ValueKind::Duration { .. } => FactorUnit::Seconds,
        ValueKind::ByteRate => FactorUnit::BytesPerSecond,
        ValueKind::OpRate => FactorUnit::OpsPerSecond,
        ValueKind::Count { .. } => FactorUnit::Count,
        _ => FactorUnit::None,
    }
}

#[cfg(test)]
mod tests;
