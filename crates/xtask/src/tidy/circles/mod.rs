//! Circles of modules: modules of a crate that need each other, directly or through others.
//!
//! The rule, at each level of a crate: modules that one parent declares are siblings. A sibling needs another where a
//! file of it, or of a module below it, names something of the other, or of a module below that. Siblings and their needs
//! must have an order: whoever reads or changes one of them reads only what comes before it.
//!
//! A name is followed through re-exports to the module that declares it. A parent and its children are one unit: a parent
//! may name its children, to declare, re-export, list or call them, and children may name what the parent's own file
//! declares. Test code is exempt. Methods are not seen, since there is no type inference here; their types are, where
//! they are named.

mod graph;
mod references;

use std::collections::BTreeMap;

use super::limits::{CIRCLES_FILE, CircleExemption};
use super::problem::TidyProblem;
use super::source::SourceFile;
use graph::{Circle, circles};

/// Every circle that no exemption allows, and every exemption that is not exactly a circle.
pub(crate) fn check(sources: &[SourceFile], exemptions: &[CircleExemption]) -> Vec<TidyProblem> {
    let mut by_crate: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test) {
        if let Some(name) = source.crate_name() {
            by_crate.entry(name).or_default().push(source);
        }
    }
    let found: Vec<(&str, Circle)> = by_crate
        .into_iter()
        .flat_map(|(name, sources)| circles(&sources).into_iter().map(move |circle| (name, circle)))
        .collect();
    let is_exempt =
        |name: &str, circle: &Circle| exemptions.iter().any(|entry| is_exempted_by(entry, name, circle));
    let problems =
        found.iter().filter(|(name, circle)| !is_exempt(name, circle)).map(|(_, circle)| problem(circle));
    let stale = exemptions
        .iter()
        .filter(|entry| !found.iter().any(|(name, circle)| is_exempted_by(entry, name, circle)));
    problems.chain(stale.map(stale_exemption)).collect()
}

fn is_exempted_by(entry: &CircleExemption, name: &str, circle: &Circle) -> bool {
    entry.crate_name == name && entry.parent == circle.parent && entry.modules == circle.modules
}

fn problem(circle: &Circle) -> TidyProblem {
    let parent = if circle.parent.is_empty() { "the crate" } else { circle.parent.as_str() };
    let steps: Vec<String> = circle
        .steps
        .iter()
        .map(|step| {
            format!("{} needs {} ({}:{}, `{}`)", step.from, step.to, step.file, step.line, step.written)
        })
        .collect();
    let (file, line) = circle.steps.first().map_or(("", 1), |step| (step.file.as_str(), step.line));
    TidyProblem {
        file: file.to_owned(),
        line,
        found: format!(
            "a circle among the modules of {parent}: {}; all of it: {}",
            steps.join(", "),
            circle.modules.join(", ")
        ),
        allowed: "modules of one parent need each other in one direction".to_owned(),
        hint: "move what both need into a module that comes before both".to_owned(),
    }
}

fn stale_exemption(entry: &CircleExemption) -> TidyProblem {
    TidyProblem {
        file: format!("crates/{}/src/lib.rs", entry.crate_name),
        line: 1,
        found: format!(
            "an exemption for a circle that is not there: {} in `{}`",
            entry.modules.join(", "),
            entry.parent
        ),
        allowed: format!("exemptions name exactly the circles that are left ({})", entry.reason),
        hint: format!("take the entry out, or the modules that are mended ({CIRCLES_FILE})"),
    }
}

#[cfg(test)]
mod tests;
