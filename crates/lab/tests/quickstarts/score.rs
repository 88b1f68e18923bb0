//! What the checks of one kind of folder came to.

use crate::folders::{BehindFolder, FolderKind};
use crate::loads::{Windows, cells_of, read_loads};
use crate::readings::Reading;
use crate::truth::{ReadLoad, limiting};
use narrows_model::{Segment, Summary};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A check, and what was read beside it.
#[derive(Debug)]
pub(crate) struct ReadCheck {
    pub summary: Summary,
    pub windows: Windows,
    pub readings: Vec<Reading>,
}

/// What the checks of one kind of folder came to.
#[derive(Debug, Default)]
pub(crate) struct FolderScore {
    /// Checks that were asked for, those that failed included.
    pub tries: u32,
    /// Those in which every load had a right segment.
    pub right: u32,
    /// How often a load was said to be limited by a segment, with the least and the most of its confidence.
    named: BTreeMap<(String, String), (u32, f64, f64)>,
    /// What was not right, and why.
    mistakes: Vec<String>,
}

impl FolderScore {
    /// Adds a check that came to no verdict: a wrong one.
    pub(crate) fn add_failed(&mut self, reason: &str) {
        self.tries += 1;
        self.mistakes.push(format!("no verdict: {reason}"));
    }

    /// Adds what a check said of each load.
    pub(crate) fn add(&mut self, kind: &FolderKind, check: &ReadCheck, cpu_count: f64) {
        self.tries += 1;
        let loads = read_loads(&check.summary, &check.windows, &check.readings);
        let mut firsts: BTreeMap<&str, (Segment, f64)> = BTreeMap::new();
        for entry in &check.summary.diagnosis.limiting {
            firsts.entry(&entry.regime).or_insert((entry.segment, entry.confidence));
        }
        let mistakes_before = self.mistakes.len();
        for (regime, (segment, sure)) in &firsts {
            let load = ((*regime).to_owned(), segment.to_string());
            let count = self.named.entry(load).or_insert((0, *sure, *sure));
            *count = (count.0 + 1, count.1.min(*sure), count.2.max(*sure));
            let mistake = mistake(kind.behind, &check.summary, &loads, (regime, *segment), cpu_count);
            self.mistakes.extend(mistake);
        }
        if firsts.is_empty() {
            self.mistakes.push("no load has a verdict".to_owned());
        }
        self.right += u32::from(self.mistakes.len() == mistakes_before);
    }

    /// The counts, what was named, and each mistake.
    pub(crate) fn table(&self, kind: &FolderKind) -> String {
        let mut out = format!(
            "{}: {} of {} checks have a right segment for every load",
            kind.name, self.right, self.tries
        );
        for ((load, segment), (count, least, most)) in &self.named {
            let sure = format!("{:.0} to {:.0} % sure", least * 100.0, most * 100.0);
            let _ = write!(out, "\n{count:6}  {load} -> {segment} ({sure})");
        }
        for mistake in &self.mistakes {
            let _ = write!(out, "\n  wrong: {mistake}");
        }
        out
    }
}

/// Why the first segment that was named for a load is not right; `None` where it is, for each direction that the load has.
fn mistake(
    behind: BehindFolder,
    summary: &Summary,
    loads: &[(String, ReadLoad)],
    (regime, named): (&str, Segment),
    cpu_count: f64,
) -> Option<String> {
    let all: Vec<ReadLoad> = loads.iter().map(|(_, load)| *load).collect();
    let cells = cells_of(summary, regime);
    let of_regime = || loads.iter().filter(|(id, _)| cells.iter().any(|cell| cell.id == *id));
    if of_regime().next().is_none() {
        return Some(format!("{regime} -> {named}: nothing was read beside it"));
    }
    let wrong = of_regime().find_map(|(id, load)| {
        let right = limiting(behind, load, &all, cpu_count);
        (!right.contains(&named)).then_some((id, load, right))
    });
    wrong.map(|(id, load, right)| {
        let right: Vec<String> = right.iter().map(Segment::to_string).collect();
        format!(
            "{regime} -> {named}, right: [{}]; {id}: device busy {:.0} %, the check used {:.2} CPUs, all {:.2} of {cpu_count}",
            right.join(", "),
            load.used.device_ratio.unwrap_or(0.0) * 100.0,
            load.used.process_cpus,
            load.used.machine_cpus,
        )
    })
}
