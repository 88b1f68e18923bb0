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
mod place;
mod point;
mod problems;
mod quantity;
mod settings;
mod study;
mod sweep;
mod syntax;
mod value;

pub use keys::{KEYS, Key, TABLES};
pub use kind::Kind;
pub use problems::{StudyProblem, StudyProblems};
pub use study::{CellOrder, Study};

pub(crate) use problems::{Complaint, Findings};
pub(crate) use study::Point;

use narrows_model::Cut;
use narrows_model::factor::{Factor, FactorUnit};
use narrows_model::plan::StudySource;
use point::View;
use settings::Settings;
use value::Value;

/// A study has a few dozen lines; more is some other file.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// The study that `text` asks for; `name` is what its file was called, for messages and the record.
///
/// # Errors
/// Everything that is wrong with it and can be seen without the machine, at once and located: what is no TOML, keys
/// that do not exist, values of a wrong type, unit or range, and settings that do not go together.
pub fn parse(text: &str, name: &str) -> Result<Study, StudyProblems> {
    let mut findings = Findings::new(name, text);
    let study = checked(text, name, &mut findings);
    match (findings.into_result(), study) {
        (Ok(()), Some(study)) => Ok(study),
        (Ok(()), None) => Err(StudyProblems { name: name.to_owned(), list: Vec::new() }),
        (Err(problems), _) => Err(problems),
    }
}

fn checked(text: &str, name: &str, findings: &mut Findings<'_>) -> Option<Study> {
    if text.len() > TEXT_BYTES_MAX {
        let found = format!("{} bytes", text.len());
        let allowed = format!("a study of {TEXT_BYTES_MAX} bytes or fewer");
        findings.add(&(0..0), Complaint::new("", found, allowed, "is this the right file?"));
        return None;
    }
    let settings = syntax::settings(text, findings)?;
    whole(&settings, findings);
    let together = together(&settings, findings);
    // Points of settings that could not be read would be complained about for what they do not say.
    if !findings.is_empty() {
        return None;
    }
    let points = sweep::points(&settings, together, findings);
    findings.is_empty().then(|| study(&settings, points, text, name, together))
}

/// What holds for the study as a whole.
fn whole(settings: &Settings, findings: &mut Findings<'_>) {
    let is_given = |path: &str| {
        settings.fixed.contains_key(path) || settings.factors.iter().any(|factor| factor.key.path == path)
    };
    if !is_given("target") && !findings.mention("target") {
        let complaint = Complaint::new(
            "target",
            "no target",
            "a target, or a list of them",
            "write target = \"null:\", target = \"/folder\" or target = \"tcp://HOST:7300/disk\" in the first line",
        );
        findings.add(&(0..0), complaint);
    }
    twice(settings, findings);
    for (one, other) in [("workload.op", "workload.ops"), ("workload.block", "workload.blocks")] {
        either(settings, (one, other), findings);
    }
    repetition(settings, findings);
}

/// Keys that are fixed and swept.
fn twice(settings: &Settings, findings: &mut Findings<'_>) {
    for (index, factor) in settings.factors.iter().enumerate() {
        let path = factor.key.path;
        let earlier = settings.factors[..index].iter().any(|earlier| earlier.key.path == path);
        if settings.fixed.contains_key(path) || earlier {
            let found = format!("{} swept, and given outside of [sweep] too", factor.key.factor());
            let complaint = Complaint::new(
                format!("sweep.{}", factor.key.factor()),
                found,
                "each key once",
                format!("leave {path} out, or the list"),
            );
            findings.add(&factor.at, complaint);
        }
    }
}

/// Two keys of which one at most may be given.
fn either(settings: &Settings, (one, other): (&str, &str), findings: &mut Findings<'_>) {
    let place = |path: &str| {
        let swept =
            settings.factors.iter().find(|factor| factor.key.path == path).map(|factor| factor.at.clone());
        swept.or_else(|| settings.fixed.get(path).map(|entry| entry.at.clone()))
    };
    if let (Some(_), Some(at)) = (place(one), place(other)) {
        let name = |path: &str| path.rsplit_once('.').map_or(path.to_owned(), |(_, name)| name.to_owned());
        let found = format!("{} beside {}", name(other), name(one));
        let allowed = format!("{} or {}", name(one), name(other));
        let hint = format!("leave {} out: the mix says it all", name(one));
        findings.add(&at, Complaint::new(other, found, allowed, hint));
    }
}

/// Fewest trials above the most.
fn repetition(settings: &Settings, findings: &mut Findings<'_>) {
    let view = View::new(settings, &[]);
    let most = u64::from(view.trials());
    for path in ["repeat.trials_min", "repeat.window"] {
        let least = view.count(path).filter(|least| *least > most);
        if let Some(least) = least {
            let complaint = Complaint::new(
                path,
                format!("{least} trials, and stop.trials is {most}"),
                format!("a whole number up to {most}"),
                format!("write trials = {least} or more in [stop]"),
            );
            findings.add(&view.at(&[path]), complaint);
        }
    }
}

/// Whether targets are loaded together too.
fn together(settings: &Settings, findings: &mut Findings<'_>) -> bool {
    let view = View::new(settings, &[]);
    let asked = view.flag("together");
    let several =
        settings.factors.iter().any(|factor| factor.key.path == "target" && factor.values.len() > 1);
    if asked && !several {
        let complaint = Complaint::new(
            "together",
            "one target, together",
            "together = true with several targets",
            "write target = [\"/mnt/a\", \"/mnt/b\"], or leave together out",
        );
        findings.add(&view.at(&["together"]), complaint);
    }
    asked && several
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
        cuts: cuts(view),
        points,
        places: study::Places {
            seconds: view.at(&["seconds"]),
            op: place_of(settings, &["workload.op", "workload.ops", "target"]),
            target: place_of(settings, &["target"]),
        },
    }
}

fn place_of(settings: &Settings, paths: &[&str]) -> place::Span {
    let fixed = paths.iter().find_map(|path| {
        let swept =
            settings.factors.iter().find(|factor| factor.key.path == *path).map(|factor| factor.at.clone());
        swept.or_else(|| settings.fixed.get(path).map(|entry| entry.at.clone()))
    });
    fixed.unwrap_or(0..0)
}

fn cuts(view: View<'_>) -> Vec<Cut> {
    let Some(Value::Names(names)) = view.entry("cuts").map(|entry| &entry.value) else {
        return vec![Cut::Generator];
    };
    let mut cuts: Vec<Cut> = Vec::new();
    for cut in names.iter().filter_map(|name| cut(name)) {
        if !cuts.contains(&cut) {
            cuts.push(cut);
        }
    }
    cuts
}

/// The cut of this name; records and cell ids write its words with other marks between them.
fn cut(name: &str) -> Option<Cut> {
    const CUTS: [Cut; 7] = [
        Cut::Generator,
        Cut::MemoryCopy,
        Cut::PageCache,
        Cut::LocalDevice,
        Cut::NetworkStream,
        Cut::ServerMemory,
        Cut::ServerStorage,
    ];
    CUTS.into_iter().find(|cut| cut.name().replace('-', "_") == name)
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
