//! The study that `narrows scale` runs: one load of one target, by more and more clients, with the cuts of its path.
//!
//! It is a study like any other, so that `narrows run` repeats it and `narrows diagnose` shows it. Not here: what the
//! figures mean, which is `analysis`'.

use crate::cut;
use crate::expand::StudyFacts;
use crate::file::{Study, parse};
use crate::problem::Problem;
use crate::quoted::quoted;
use narrows_model::plan::StudySource;
use narrows_model::{Bytes, Layer, Op, Target};
use std::collections::BTreeSet;

/// Most clients, as in every study.
const CLIENTS_MAX: u32 = 256;
/// The name of the study in its record.
const NAME: &str = StudySource::OF_SCALE;

/// What is asked of `narrows scale`.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaleRequest {
    /// What is loaded.
    pub target: Target,
    /// Numbers of clients, in any order; one that is named twice counts once.
    pub clients: Vec<u32>,
    /// Operations, each a curve of its own.
    pub ops: Vec<Op>,
    /// Bytes of a request.
    pub block: Bytes,
    /// Requests in flight of each client.
    pub depth: u32,
    /// Bytes of each client's file; `None` is the usual size, or the whole of a file that exists.
    pub file: Option<Bytes>,
    /// A cap on the bytes a second of all clients together.
    pub max_bytes_per_s: Option<u64>,
    /// Whether requests go past the page cache; `None` where that is possible.
    pub direct: Option<bool>,
    /// Time for the whole command.
    pub seconds: f64,
    /// Length of a trial's measured window.
    pub cell_seconds: f64,
    /// Repetitions of every cell.
    pub trials: u32,
}

/// What a scale study has to know of its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TargetSettings {
    /// Whether requests go past the page cache.
    direct: bool,
    /// Requests that one worker can have in flight.
    queue_depth_max: u32,
}

impl ScaleRequest {
    /// What is wrong with it, all at once.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let counts: BTreeSet<u32> = self.clients.iter().copied().collect();
        if let Some(wrong) = counts.iter().find(|count| !(1..=CLIENTS_MAX).contains(*count)) {
            problems.push(Problem::new(
                "--clients",
                wrong.to_string(),
                format!("1 to {CLIENTS_MAX} clients"),
                "more load comes from a larger --depth",
            ));
        }
        if counts.len() < 2 {
            problems.push(Problem::new(
                "--clients",
                "one number of clients",
                "two or more; five for a law, six or more for the universal one",
                "write --clients 1,2,4,8,16,32",
            ));
        }
        if matches!(self.target.form(), Target::Sim { .. }) {
            problems.push(Problem::new(
                "TARGET",
                format!("{}, of which every client process has a machine of its own", self.target),
                "a real target",
                "sweep `workers` in a study, which share the simulated machine",
            ));
        }
        if self.ops.is_empty() {
            problems.push(Problem::new("--op", "nothing", "read, write", "leave --op out for read"));
        }
        problems
    }

    /// The study before anything is known of its target: it names what has to be examined.
    ///
    /// # Errors
    /// All that is wrong with the request.
    pub fn first_study(&self) -> Result<Study, Vec<Problem>> {
        self.made(TargetSettings { direct: false, queue_depth_max: u32::MAX })
    }

    /// The study of a target of which `facts` are known.
    ///
    /// # Errors
    /// All that is wrong with the request; direct access that is asked for and cannot be had.
    pub fn study(&self, facts: &StudyFacts) -> Result<Study, Vec<Problem>> {
        let capabilities = facts.answer(&self.target, None).and_then(|answer| answer.as_ref().ok());
        let queue_depth_max = capabilities.map_or(u32::MAX, |known| known.queue_depth_max);
        let possible = match capabilities {
            _ if !has_page_cache(&self.target) => {
                Err(format!("{} has no page cache on the way", self.target))
            }
            // A file that exists is read as any application would read it.
            _ if self.is_existing(facts) && self.direct.is_none() => Err("it exists".to_owned()),
            known => cut::direct(known, self.block),
        };
        let direct = match (self.direct, possible) {
            (Some(false), _) | (None, Err(_)) => false,
            (Some(true), Err(reason)) => {
                let hint = "leave --access out, or write --access buffered";
                return Err(vec![Problem::new(
                    "--access",
                    format!("direct: {reason}"),
                    "buffered here",
                    hint,
                )]);
            }
            (_, Ok(())) => true,
        };
        self.made(TargetSettings { direct, queue_depth_max })
    }

    fn is_existing(&self, facts: &StudyFacts) -> bool {
        facts.target_facts(&self.target).is_some_and(|known| known.existing_file.is_some())
    }

    fn made(&self, settings: TargetSettings) -> Result<Study, Vec<Problem>> {
        let problems = self.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        parse(&self.text(settings), NAME).map_err(|problems| {
            vec![Problem::new("scale", self.target.to_string(), "what a study can load", problems.render())]
        })
    }

    /// The text of the study, which the record keeps.
    fn text(&self, settings: TargetSettings) -> String {
        let clients: BTreeSet<u32> = self.clients.iter().copied().collect();
        let clients: Vec<String> = clients.iter().map(ToString::to_string).collect();
        let mut ops: Vec<String> = Vec::new();
        for op in self.ops.iter().map(|op| format!("\"{op}\"")) {
            if !ops.contains(&op) {
                ops.push(op);
            }
        }
        let mut lines = vec![
            format!("title = {}", quoted(&format!("how {} scales with its clients", self.target))),
            format!("target = {}", quoted(&self.target.to_string())),
            format!("seconds = {}", self.seconds),
            format!("cuts = [{}]", cuts(&self.target, settings.direct).join(", ")),
            String::new(),
            "[workload]".to_owned(),
            format!("block = {}", self.block.0),
        ];
        lines.extend(self.load(settings));
        if let [only] = ops.as_slice() {
            lines.push(format!("op = {only}"));
        }
        lines.extend([String::new(), "[sweep]".to_owned()]);
        if ops.len() > 1 {
            lines.push(format!("op = [{}]", ops.join(", ")));
        }
        lines.extend([
            format!("clients = [{}]", clients.join(", ")),
            String::new(),
            "[stop]".to_owned(),
            format!("measure = \"{}s\"", self.cell_seconds),
            format!("trials = {}", self.trials),
        ]);
        lines.join("\n") + "\n"
    }

    /// How much is in flight, where the data is, and what a write waits for.
    fn load(&self, settings: TargetSettings) -> Vec<String> {
        let mut lines = Vec::new();
        // A synchronous engine has a worker for each request in flight, another one a queue.
        let key = if self.depth > settings.queue_depth_max { "workers" } else { "depth" };
        lines.push(format!("{key} = {}", self.depth));
        lines.extend(self.file.map(|file| format!("file = {}", file.0)));
        lines.extend(self.max_bytes_per_s.map(|rate| format!("max_rate = \"{rate}B/s\"")));
        let (reads, writes) = (self.ops.contains(&Op::Read), self.ops.contains(&Op::Write));
        let is_path = is_path(&self.target);
        if settings.direct {
            lines.push("access = \"direct\"".to_owned());
        } else if is_path && reads {
            lines.push("cache = \"cold\"".to_owned());
        }
        if is_path && writes {
            lines.push("sync = \"at_end\"".to_owned());
        } else if is_disk(&self.target) && writes {
            lines.push("acknowledgement = \"late\"".to_owned());
        }
        lines
    }
}

fn is_path(target: &Target) -> bool {
    target.form().local_path().is_some()
}

fn is_disk(target: &Target) -> bool {
    matches!(target.form(), Target::Tcp { layer: Layer::Disk, .. })
}

fn has_page_cache(target: &Target) -> bool {
    is_path(target) || is_disk(target)
}

/// The cuts with which the path's clients are compared, as a study names them: what all of them share, each by itself.
fn cuts(target: &Target, direct: bool) -> Vec<&'static str> {
    let mut cuts = vec!["\"generator\""];
    match target.form() {
        // Past the page cache the path is the device's own cut.
        Target::File { .. } | Target::Block(_) if !direct => cuts.push("\"local_device\""),
        Target::Tcp { layer: Layer::Disk, .. } => {
            cuts.extend(["\"network_stream\"", "\"server_memory\"", "\"server_storage\""]);
        }
        Target::Tcp { layer: Layer::Memory, .. } => cuts.push("\"network_stream\""),
        _ => {}
    }
    cuts
}

#[cfg(test)]
mod tests;
