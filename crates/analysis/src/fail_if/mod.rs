//! Conditions under which a run fails, as a build server asks for them: `random read 4KiB iops < 20000`.
//!
//! Texts become conditions, and conditions with the figures of a run become outcomes. Not here: what a command ends with then.

mod condition;
mod evaluate;
mod selection;

pub(crate) use evaluate::outcomes;

use condition::FailCondition;
use narrows_model::{Cell, Cut, Plan};

/// What a condition looks like, for help and refusals.
pub const FAIL_IF_FORM: &str = "LOAD METRIC < VALUE (or <=, >, >=), such as 'random read 4KiB iops < 20000', \
                                'bulk write rate < 100MiB/s' or 'synchronous write commit p99 > 20ms'";

/// All that is wrong with conditions for `plan`, each with what is allowed instead; empty where they can be compared.
#[must_use]
pub fn fail_if_problems(texts: &[String], plan: &Plan) -> Vec<String> {
    texts.iter().flat_map(|text| problems_of(text, plan)).collect()
}

fn problems_of(text: &str, plan: &Plan) -> Vec<String> {
    match FailCondition::parse(text) {
        Err(problems) => problems.iter().map(|problem| format!("`{text}`: {problem}")).collect(),
        Ok(condition) if path_cells(plan).any(|cell| condition.selects(cell)) => Vec::new(),
        Ok(_) => {
            let mut loads: Vec<String> = Vec::new();
            for cell in path_cells(plan) {
                let load = selection::words(&cell.workload);
                if !loads.contains(&load) {
                    loads.push(load);
                }
            }
            vec![format!("`{text}`: no load of this run is meant; its loads are: {}", loads.join(", "))]
        }
    }
}

/// The cells of `plan` that its conditions need and that `opening` has none of: without them nothing could be compared.
///
/// # Shape
/// In the order of the plan, each once.
#[must_use]
pub fn fail_if_cells(plan: &Plan, opening: &[Cell]) -> Vec<Cell> {
    let conditions: Vec<FailCondition> =
        plan.fail_if.iter().filter_map(|text| FailCondition::parse(text).ok()).collect();
    let is_open = |condition: &&FailCondition| {
        !opening.iter().any(|cell| cell.cut == Cut::Path && condition.selects(cell))
    };
    let open: Vec<&FailCondition> = conditions.iter().filter(is_open).collect();
    path_cells(plan).filter(|cell| open.iter().any(|condition| condition.selects(cell))).cloned().collect()
}

fn path_cells(plan: &Plan) -> impl Iterator<Item = &Cell> {
    plan.cells.iter().filter(|cell| cell.cut == Cut::Path)
}

#[cfg(test)]
mod tests;
