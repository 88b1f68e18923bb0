//! What an engine declares.

use super::{EngineId, OptionTable};
use crate::capabilities::{Capabilities, Completion, Support};
use crate::units::Bytes;
use crate::workload::{Op, Workload};

/// Everything about an engine that is known before it runs on a machine.
#[derive(Debug, Clone, Copy)]
pub struct EngineDeclaration {
    /// Which engine.
    pub id: EngineId,
    /// Texts for the reference.
    pub description: EngineDescription,
    /// Targets that it serves.
    pub serves: Serves,
    /// How it also serves stripes of these targets.
    pub in_stripes: StripeSupport,
    /// Operations that it can be asked for; a target may grant fewer.
    pub ops: &'static [Op],
    /// Most requests in flight of one worker; 1 for a synchronous engine.
    pub queue_depth_max: u32,
    /// Whether the page cache can be bypassed.
    pub direct: DirectAccess,
    /// Why writes cannot be made durable one by one; `None` where they can, or the target decides.
    pub no_durable_writes: Option<&'static str>,
    /// Whether a read returns what was written before; of an endpoint its layer decides. Of an engine with targets of its
    /// own it also decides whether a load on them is a path to storage, whose results have a verdict.
    pub stores_data: bool,
    /// What a completed write means by default.
    pub write_completion: Completion,
    /// Options that a study may set; `None` where there are none.
    pub options: Option<OptionTable>,
    /// The program that has it, where plain `narrows` does not; studies are read and planned by all.
    pub only_in: Option<&'static str>,
    /// How its protocol shows where a path narrows, with nothing of ours on the server; `None` where it does not.
    pub probe: Option<ProtocolProbe>,
    /// Settings that do not go together with this engine, beyond what follows from the fields above.
    pub clashes: &'static [EngineClash],
}

/// Texts for the reference and for messages.
#[derive(Debug, Clone, Copy)]
pub struct EngineDescription {
    /// What the engine does, in one line.
    pub title: &'static str,
    /// Targets that it serves.
    pub targets: &'static str,
    /// What "complete" means.
    pub completion: &'static str,
    /// What the engine advises the kernel about the order of accesses, which decides how far it reads ahead.
    pub advice: &'static str,
    /// System calls, protocols or papers that it rests on.
    pub source: &'static str,
    /// A target as it is typed.
    pub example: &'static str,
}

/// What a storage protocol has to show of the path to its server, in its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtocolProbe {
    /// Its cheapest round trip.
    pub round_trip: &'static str,
    /// What makes earlier writes durable; empty where writes are durable once they are answered.
    pub commit: &'static str,
    /// How a write that is durable once it is answered is named.
    pub durable: &'static str,
    /// How a write that need not be is named.
    pub early: &'static str,
    /// What shows the server's own view, on the server.
    pub server_command: &'static str,
    /// Whether a connection has one request in flight, so that more connections are more requests.
    pub connection_per_request: bool,
}

/// Targets that an engine serves.
#[derive(Debug, Clone, Copy)]
pub enum Serves {
    /// Files and folders of mounted file systems.
    Paths,
    /// The same, and block devices without a file system.
    PathsAndDevices,
    /// `narrows serve` endpoints.
    Endpoints,
    /// `null:`.
    Null,
    /// `sim:PROFILE`.
    Simulated,
    /// Targets of a scheme that no other engine serves.
    Scheme(Scheme),
}

/// What an engine distributes over the members of a stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StripeSupport {
    /// Nothing: it serves no stripes.
    None,
    /// Units of each object, which is cut into one part for each member.
    ByUnits,
    /// Whole objects, each of which is on one member: the engine itself chooses it.
    ByObjects,
}

/// A scheme of targets: `NAME:REST`.
#[derive(Debug, Clone, Copy)]
pub struct Scheme {
    /// The part before the colon.
    pub name: &'static str,
    /// The form for messages, such as `zero:`.
    pub form: &'static str,
    /// What is wrong with the part after the colon, as a phrase that follows the target; `Ok` where nothing is.
    pub check: fn(&str) -> Result<(), String>,
}

/// Whether the page cache can be bypassed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectAccess {
    /// Always.
    Yes,
    /// The target decides: its file system, or the layer of an endpoint.
    ByTarget,
    /// Never, for this reason: cells that ask for it are skipped.
    Skipped(&'static str),
    /// Never, for this reason: studies that ask for it are refused.
    Refused(&'static str),
}

/// A rule about settings that do not go together.
#[derive(Debug, Clone, Copy)]
pub struct EngineClash {
    /// Its name.
    pub code: &'static str,
    /// The settings it looks at, as keys below `workload`; the first is where a message points.
    pub keys: &'static [&'static str],
    /// What is wrong with a workload of this engine; `None` where nothing is.
    pub check: fn(&Workload) -> Option<ClashText>,
}

/// Why settings do not go together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClashText {
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
    /// What to do.
    pub hint: String,
}

impl ClashText {
    /// A text of these parts.
    pub fn new(found: impl Into<String>, allowed: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { found: found.into(), allowed: allowed.into(), hint: hint.into() }
    }
}

impl EngineDeclaration {
    /// The name, as in records and studies.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.id.name()
    }

    /// Why the page cache is never bypassed; empty where it can be.
    #[must_use]
    pub fn no_direct_reason(&self) -> &'static str {
        match self.direct {
            DirectAccess::Yes | DirectAccess::ByTarget => "",
            DirectAccess::Skipped(reason) | DirectAccess::Refused(reason) => reason,
        }
    }

    /// Whether each write of a whole object can be durable by itself, instead of the object being synced as a whole.
    #[must_use]
    pub fn has_durable_object_writes(&self) -> bool {
        self.stores_data && self.no_durable_writes.is_none() && self.ops.contains(&Op::Append)
    }

    /// What the engine can do as far as its declaration decides; what a target restricts, the engine changes.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        let unless = |reason: &str| match reason {
            "" => Support::Yes,
            reason => Support::No { reason: reason.to_owned() },
        };
        Capabilities {
            engine: self.name().to_owned(),
            ops: self.ops.to_vec(),
            queue_depth_max: self.queue_depth_max,
            direct: unless(self.no_direct_reason()),
            durable_writes: unless(self.no_durable_writes.unwrap_or_default()),
            completion_polling: Support::no_ring(self.name()),
            stores_data: self.stores_data,
            alignment_bytes: Bytes(1),
            write_completion: self.write_completion,
            lockstep: false,
        }
    }
}
