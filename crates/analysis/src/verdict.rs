//! What a rule says of one segment in one regime.

use crate::thresholds::BARELY_CONFIDENCE;
use narrows_model::Segment;
use narrows_model::diagnosis::{Evidence, Severity};
use narrows_model::summary::UsedOf;

/// The scope of a device that makes durable what was written.
pub const FLUSHES: &str = "its flushes";
/// The scope of a device that is held by what a control group allows for it.
pub const GROUP_LIMIT: &str = "the limit of its control group";
/// The scope of a network's round trips where a server closes each connection.
pub const OWN_CONNECTIONS: &str = "each request makes a connection of its own";

/// Whether a rule blames its segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stance {
    /// The segment limits.
    Limits,
    /// It does not.
    Clears,
    /// Neither, for it is nearly full: it ranks among the candidates, and nothing clears it by this.
    Open,
    /// Neither: something that must be known.
    Notes,
}

/// On what a load rests, which decides how verdicts compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Share of what the segment can sustain.
    Utilisation,
    /// Share of the time of one request.
    TimeShare,
    /// Neither: a state that was seen.
    State,
}

/// Precedence when several segments limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Said only when nothing else limits.
    Fallback,
    /// What the time was spent on, said where no resource is full.
    Spent,
    /// Served before the load reached the device, but after it passed the network and the server.
    Served,
    /// What the users ask for, said where no resource is full.
    Offered,
    /// A resource of the path.
    Resource,
    /// Makes every resource verdict of its regime void, because the load never reached the resource.
    Voids,
}

/// How far a load used a segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsedShare {
    /// The share.
    pub ratio: f64,
    /// What it is a share of.
    pub of: UsedOf,
}

impl UsedShare {
    fn new(basis: Basis, ratio: f64) -> Option<Self> {
        let of = match basis {
            Basis::Utilisation => UsedOf::Capacity,
            Basis::TimeShare => UsedOf::Time,
            Basis::State => return None,
        };
        Some(Self { ratio, of })
    }
}

/// What a rule says of one segment in one regime.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentVerdict {
    /// The segment.
    pub segment: Segment,
    /// The cell of the path that the verdict is about; empty for the whole run.
    pub cell: String,
    /// Whether it limits.
    pub stance: Stance,
    /// On what `load_ratio` rests.
    pub basis: Basis,
    /// Its precedence.
    pub tier: Tier,
    /// How grave it is.
    pub severity: Severity,
    /// How full the segment was, or its share of the time; 1.0 is all.
    pub load_ratio: f64,
    /// How far the load used the segment, which its statement says; `None` where that is no share.
    pub used: Option<UsedShare>,
    /// Relative standard error of `load_ratio`; `None` where it is not known.
    pub load_error_ratio: Option<f64>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// How many times faster the path gets at most when the segment is relieved.
    pub relief_gain_ratio: Option<f64>,
    /// How sure the verdict can be at most, for what its evidence leaves open; 1 where nothing does.
    pub confidence_max: f64,
    /// Which link, node or share, or which part of the segment; `None` where there is one alone, or none is known.
    pub scope: Option<&'static str>,
}

impl SegmentVerdict {
    /// A verdict on a resource of the path.
    #[must_use]
    pub fn new(segment: Segment, cell: &str, stance: Stance, basis: Basis, load_ratio: f64) -> Self {
        Self {
            segment,
            cell: cell.to_owned(),
            stance,
            basis,
            tier: Tier::Resource,
            severity: Severity::Info,
            load_ratio,
            used: UsedShare::new(basis, load_ratio),
            load_error_ratio: None,
            evidence: Vec::new(),
            relief_gain_ratio: None,
            confidence_max: 1.0,
            scope: None,
        }
    }

    /// With another share than the one it ranks by: the one that its statement says.
    #[must_use]
    pub(crate) fn with_used(self, used_ratio: f64) -> Self {
        Self { used: UsedShare::new(self.basis, used_ratio), ..self }
    }

    /// Without a share: what it ranks by is none, or its statement says another figure.
    #[must_use]
    pub(crate) fn without_used(self) -> Self {
        Self { used: None, ..self }
    }

    /// Something that must be known about a cell, or about the run when `cell` is empty.
    #[must_use]
    pub fn note(segment: Segment, cell: &str, severity: Severity) -> Self {
        Self { severity, ..Self::new(segment, cell, Stance::Notes, Basis::State, 0.0) }
    }

    /// With a statement, the counter it rests on, and a command that shows it.
    #[must_use]
    pub fn with_evidence(mut self, text: String, counter: &str, command: &str) -> Self {
        self.evidence.push(Evidence { text, counter: counter.to_owned(), command: command.to_owned() });
        self
    }

    /// No surer than this.
    #[must_use]
    pub fn with_confidence_max(mut self, confidence_max: f64) -> Self {
        self.confidence_max = self.confidence_max.min(confidence_max);
        self
    }

    /// Less sure where it `is_barely` so: the next segment is nearly as right.
    #[must_use]
    pub(crate) fn unsure_if(self, is_barely: bool) -> Self {
        if is_barely { self.with_confidence_max(BARELY_CONFIDENCE) } else { self }
    }

    /// With another place among several limits.
    #[must_use]
    pub fn with_tier(mut self, tier: Tier) -> Self {
        self.tier = tier;
        self
    }

    /// With the error of its load.
    #[must_use]
    pub fn with_load_error(mut self, load_error_ratio: Option<f64>) -> Self {
        self.load_error_ratio = load_error_ratio;
        self
    }

    /// With the most that relieving the segment gains.
    #[must_use]
    pub fn with_relief_gain(mut self, relief_gain_ratio: Option<f64>) -> Self {
        self.relief_gain_ratio = relief_gain_ratio;
        self
    }
}
