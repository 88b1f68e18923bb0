//! A study: what a file asks for, with nothing wrong in it that can be seen without the machine.

use crate::cut::has_cut;
use crate::rings::RingDemand;
use crate::schema::{Findings, Span};
use narrows_model::cell::{FactorValue, Stop};
use narrows_model::factor::Factor;
use narrows_model::plan::StudySource;
use narrows_model::{Bytes, Cut, EngineId, Layer, Nanos, Repeat, Target, Workload};
use std::collections::BTreeMap;

/// The order of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellOrder {
    /// Shuffled by the seed.
    Random,
    /// That of the sweep.
    AsWritten,
}

/// A study.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    pub(crate) source: StudySource,
    pub(crate) seconds: f64,
    pub(crate) seed: Option<u64>,
    pub(crate) cell_order: CellOrder,
    pub(crate) cuts: Vec<Cut>,
    /// In the order of the sweep; at least one can be measured.
    pub(crate) points: Vec<StudyPoint>,
    pub(crate) positions: StudyPositions,
}

/// One point of the sweep.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StudyPoint {
    pub(crate) target: Target,
    /// Loaded together with it.
    pub(crate) more_targets: Vec<Target>,
    pub(crate) workload: Workload,
    /// Whether the file's size was given, or is the usual one.
    pub(crate) file_given: bool,
    /// Whether the number of clients was given, or is the usual one.
    pub(crate) clients_given: bool,
    /// Whether the warm-up was given, or is the usual one.
    pub(crate) warm_up_given: bool,
    pub(crate) stop: Stop,
    pub(crate) repeat: Repeat,
    pub(crate) trials: u32,
    pub(crate) factors: BTreeMap<String, FactorValue>,
    /// The factors in words, in the order of the sweep.
    pub(crate) words: Vec<(&'static str, String)>,
    /// Paths of the keys that mean nothing here.
    pub(crate) idle: Vec<&'static str>,
    /// Why it is left out; `None` when it can be measured.
    pub(crate) left_out: Option<String>,
}

/// Where the planner points for what it finds.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct StudyPositions {
    pub(crate) seconds: Span,
    pub(crate) op: Span,
    pub(crate) verify: Span,
    pub(crate) target: Span,
}

impl Study {
    /// Its title; `None` where it has none.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.source.title.as_deref()
    }

    /// Time for the whole command, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Gives it another time for the whole command, in seconds: what a command line asks for comes before the file.
    pub fn set_seconds(&mut self, seconds: f64) {
        self.seconds = seconds;
    }

    /// Repeats every cell so often instead: what a command line asks for comes before the file.
    pub fn set_trials(&mut self, trials: u32) {
        for point in &mut self.points {
            point.trials = trials.max(1);
        }
    }

    /// Loads with so many clients wherever the file does not say how many; a simulated machine has one.
    pub fn set_usual_clients(&mut self, clients: u32) {
        for point in &mut self.points {
            if !point.clients_given && !matches!(point.target.form(), Target::Sim { .. }) {
                point.workload.clients = point.workload.clients.saturating_mul(clients.max(1));
            }
        }
    }

    /// Measures every trial so long instead, in seconds: what a command line asks for comes before the file.
    pub fn set_cell_seconds(&mut self, seconds: f64) {
        for point in &mut self.points {
            point.stop.measure_ns = Nanos::from_secs_f64(seconds);
        }
    }

    /// Its seed; `None` where one is to be drawn.
    #[must_use]
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// What it varies, in the order of the sweep: the last one changes from each point to the next.
    #[must_use]
    pub fn factors(&self) -> &[Factor] {
        &self.source.factors
    }

    /// Every target that it loads, each once, cuts of the path included.
    #[must_use]
    pub fn targets(&self) -> Vec<Target> {
        let mut targets = Vec::new();
        for (target, _) in self.wanted() {
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        targets
    }

    /// What the planner has to know the capabilities of: targets with the engines that are asked for there (`None` is
    /// the target's default one), cuts of the path included; each pair once.
    #[must_use]
    pub fn wanted(&self) -> Vec<(Target, Option<EngineId>)> {
        let mut wanted = Vec::new();
        let mut add = |target: &Target, engine: Option<EngineId>| {
            let pair = (target.clone(), engine);
            if !wanted.contains(&pair) {
                wanted.push(pair);
            }
        };
        for point in self.points.iter().filter(|point| point.left_out.is_none()) {
            for target in std::iter::once(&point.target).chain(&point.more_targets) {
                add(target, point.workload.engine);
                for layer in self.cut_layers(target) {
                    add(&layer, None);
                }
            }
        }
        wanted
    }

    /// The rings that its cells need, each kind once.
    #[must_use]
    pub fn rings(&self) -> Vec<RingDemand> {
        let mut rings = Vec::new();
        for point in self.points.iter().filter(|point| point.left_out.is_none()) {
            let wanted = RingDemand::new(&point.workload, &point.target);
            rings.extend(wanted.filter(|wanted| !rings.contains(wanted)));
        }
        rings
    }

    /// The layers of an endpoint at which its path is cut.
    fn cut_layers(&self, target: &Target) -> Vec<Target> {
        let layers = self.cuts.iter().filter(|cut| has_cut(**cut, target)).flat_map(|cut| match cut {
            Cut::NetworkStream => &[Layer::Sink, Layer::Source][..],
            Cut::ServerMemory => &[Layer::Memory],
            Cut::ServerStorage => &[Layer::Disk],
            _ => &[],
        });
        // Of a stripe all members together, and each of them alone.
        let alone = target.members().iter().filter(|member| *member != target);
        let whole: Vec<&Target> = std::iter::once(target).chain(alone).collect();
        layers.flat_map(|layer| whole.iter().filter_map(|target| target.at_layer(*layer))).collect()
    }

    /// Points of the sweep that can be measured, before the machine has been asked.
    #[must_use]
    pub fn point_count(&self) -> usize {
        self.points.iter().filter(|point| point.left_out.is_none()).count()
    }

    /// Largest file that a cell asks for.
    #[must_use]
    pub fn file_bytes_max(&self) -> Bytes {
        self.points.iter().map(|point| point.workload.file_bytes).max().unwrap_or_default()
    }

    /// A collector of what the planner finds wrong with it.
    pub(crate) fn findings(&self) -> Findings<'_> {
        Findings::new(&self.source.name, &self.source.text)
    }
}
