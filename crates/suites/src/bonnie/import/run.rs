//! One run of bonnie++: its figures by name, and what observations and ceilings they make.
//!
//! Not here: where each format has a figure.

use crate::bonnie::{BonniePhase, DATA_PHASES, KIB, PHASES, PhaseAction, SHORT_S};
use narrows_model::counters::Role;
use narrows_model::observation::{Capacity, Ceiling, CeilingBasis, ObservedOp, Quality, Scope};
use narrows_model::units::{BytesPerSec, OpsPerSec};
use narrows_model::{Bytes, Observation, Op, Segment};

/// Bytes of an I/O where the format has no place for them but the size, and none are printed: its own default.
const CHUNK_BYTES: u64 = 8192;
/// Seeks and their processes where none are printed: the constants of 1.03.
const SEEKS: (f64, f64) = (8192.0, 3.0);
/// More requests at once than this an observation does not take.
const IN_FLIGHT_MAX: f64 = 1e9;
/// Files are counted by 1024.
const FILES: f64 = 1024.0;

/// The name of a phase in observations.
fn name_of(phase: &BonniePhase) -> &'static str {
    match phase.name {
        "seq_del" => "seq_delete",
        "ran_del" => "ran_delete",
        name => name,
    }
}

/// What a phase does.
fn op_of(phase: &BonniePhase) -> ObservedOp {
    match phase.action {
        PhaseAction::Characters(Op::Write) | PhaseAction::Blocks(Op::Write) => ObservedOp::Write,
        PhaseAction::Characters(_) | PhaseAction::Blocks(_) => ObservedOp::Read,
        PhaseAction::Rewrite | PhaseAction::Seeks => ObservedOp::Mixed,
        PhaseAction::Files(..) => ObservedOp::Metadata,
    }
}

/// What is printed for a test.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum BonnieFigure {
    /// Blank: not run.
    #[default]
    NotRun,
    /// `+++++`: under half a second.
    TooFast,
    /// A rate, with the CPU share where it is printed.
    Rate(f64, Option<f64>),
}

/// A kind of link that is created in the place of files (`-n N:-1`, `-n N:-2`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkKind {
    Hard,
    Symbolic,
}

impl LinkKind {
    /// The one that is printed as the size of files: `link`, or `16:symlink` behind their number.
    pub(super) fn named(text: &str) -> Option<Self> {
        match text.rsplit(':').next()? {
            "link" => Some(Self::Hard),
            "symlink" => Some(Self::Symbolic),
            _ => None,
        }
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct BonnieRun {
    /// The machine.
    pub name: String,
    pub file_bytes: Option<u64>,
    pub chunk_bytes: Option<u64>,
    /// The format has a field for the bytes of an I/O: where it is blank they are unknown.
    pub has_chunk_field: bool,
    /// What is created in the place of files.
    pub links: Option<LinkKind>,
    /// In thousands of 1024.
    pub files: Option<f64>,
    pub seeks: Option<f64>,
    pub seek_processes: Option<f64>,
    pub concurrency: Option<f64>,
    /// Since 1.93 single characters have a file size of their own, which is not printed.
    pub own_char_size: bool,
    pub figures: [BonnieFigure; PHASES.len()],
    /// The longest time of an operation, as printed.
    pub latencies: [Option<String>; PHASES.len()],
}

impl BonnieRun {
    /// The rate of a test, where it has one.
    pub(super) fn rate(&self, test: &str) -> Option<f64> {
        let index = PHASES.iter().position(|phase| phase.name == test)?;
        match self.figures.get(index) {
            Some(BonnieFigure::Rate(rate, _)) if *rate > 0.0 => Some(*rate),
            _ => None,
        }
    }

    /// The CPU share of a test in percent, where it is printed.
    pub(super) fn cpu_percent(&self, test: &str) -> Option<f64> {
        let index = PHASES.iter().position(|phase| phase.name == test)?;
        match self.figures.get(index) {
            Some(BonnieFigure::Rate(_, cpu_percent)) => *cpu_percent,
            _ => None,
        }
    }

    /// Tests that ended before they could be timed.
    pub(super) fn too_fast(&self) -> Vec<&'static str> {
        let all = PHASES.iter().zip(&self.figures);
        all.filter(|(_, figure)| **figure == BonnieFigure::TooFast).map(|(phase, _)| name_of(phase)).collect()
    }

    /// An observation of each test that was run and says something.
    pub(super) fn observations(&self) -> Vec<Observation> {
        (0..PHASES.len()).filter_map(|index| self.observation(index)).collect()
    }

    fn observation(&self, index: usize) -> Option<Observation> {
        let phase = PHASES.get(index)?;
        let mut one = Observation {
            id: format!("{} {}{}", self.name, name_of(phase), self.links_of(index)),
            op: op_of(phase),
            block_bytes: self.block_bytes(index).map(Bytes),
            file_bytes: self.moved_bytes(index).map(Bytes),
            in_flight_configured: self.in_flight(index),
            ..Observation::default()
        };
        let latency = self.latencies.get(index).and_then(Option::as_ref);
        let longest = latency.map(|latency| format!("longest operation {latency}"));
        let rate = match *self.figures.get(index)? {
            BonnieFigure::NotRun => return None,
            BonnieFigure::Rate(rate, cpu_percent) => {
                one.cpu_cores.extend(cpu_percent.map(|cpu| (Role::Client, cpu / 100.0)));
                one.note = longest;
                rate
            }
            BonnieFigure::TooFast => {
                one.quality = Quality::LowerBound;
                let note = "+++++: over in less than 0.5 s".to_owned();
                one.note = Some(longest.map_or(note.clone(), |longest| format!("{note}; {longest}")));
                self.amount(index)? / SHORT_S
            }
        };
        if phase.action.moves_data() {
            one.bytes_per_s = Some(BytesPerSec(rate * KIB));
        } else {
            one.ops_per_s = Some(OpsPerSec(rate));
        }
        Some(one)
    }

    /// What a test of names is about, where that is not files.
    fn links_of(&self, index: usize) -> &'static str {
        match self.links.filter(|_| index >= DATA_PHASES) {
            None => "",
            Some(LinkKind::Hard) => " of hard links",
            Some(LinkKind::Symbolic) => " of symbolic links",
        }
    }

    /// Bytes of a request; none of operations on names.
    fn block_bytes(&self, index: usize) -> Option<u64> {
        match index {
            0 | 3 => Some(1),
            index if index < DATA_PHASES => {
                self.chunk_bytes.or((!self.has_chunk_field).then_some(CHUNK_BYTES))
            }
            _ => None,
        }
    }

    /// Bytes that a test of data moves; the seeks move few of the file's.
    fn moved_bytes(&self, index: usize) -> Option<u64> {
        let of_chars = matches!(index, 0 | 3);
        let whole = index < DATA_PHASES - 1 && !(of_chars && self.own_char_size);
        self.file_bytes.filter(|_| whole)
    }

    /// Requests at once; 1 is not worth saying.
    fn in_flight(&self, index: usize) -> Option<f64> {
        let copies = self.concurrency.unwrap_or(1.0);
        let of_seeks = self.seek_processes.unwrap_or(SEEKS.1) * copies;
        let count = if index == DATA_PHASES - 1 { of_seeks } else { copies };
        (count > 1.0 && count <= IN_FLIGHT_MAX).then_some(count)
    }

    /// What a test does in all, in the unit of its rate.
    fn amount(&self, index: usize) -> Option<f64> {
        match index {
            5 => Some(self.seeks.unwrap_or(SEEKS.0)),
            index if index < DATA_PHASES => self.moved_bytes(index).map(|bytes| Bytes(bytes).as_f64() / KIB),
            _ => self.files.map(|files| files * FILES),
        }
    }

    /// The block figures as what one device of `count` sustains.
    pub(super) fn ceilings(&self, count: u64) -> Vec<Ceiling> {
        let of = |(test, op): (&str, ObservedOp)| {
            let rate = self.rate(test)?;
            Some(Ceiling {
                segment: Segment::Device,
                capacity: Capacity::BytesPerS(BytesPerSec(rate * KIB)),
                scope: Scope::Device,
                count: (count > 1).then_some(count),
                op: Some(op),
                basis: CeilingBasis::Measured,
                note: Some(format!("bonnie++ {test} on {}", self.name)),
            })
        };
        [("put_block", ObservedOp::Write), ("get_block", ObservedOp::Read)]
            .into_iter()
            .filter_map(of)
            .collect()
    }
}
