//! Stripes: several targets of one kind as one, each member served by its own engine, all of them by one worker.
//!
//! Unit i of an object is on member i modulo their number (`layout`). A request is split into one part for each member
//! that it touches and is complete when all of them are: it fails with the error of the failed part that comes first in
//! the object, and a short one has transferred what was moved without a gap from its start. A sync is sent to every
//! member. Each member counts for itself the writes after which it makes them durable. Deliberately absent: redundancy,
//! and continuing without a member that is gone.

mod flights;
mod issuer;
mod layout;
mod member;
#[cfg(test)]
mod tests;
mod wait;

use crate::contract::{Engine, EngineFactory, OpenSpec, WorkerContext};
use crate::error::{EngineError, ErrorKind};
use crate::slots::{SlotBuffers, checked_depth};
use issuer::StripeEngine;
use layout::StripeLayout;
use member::StripeMember;
use narrows_model::capabilities::{Capabilities, Support};
use narrows_model::engine::EngineDescription;
use narrows_model::target::Stripe;
use narrows_model::workload::{Access, CacheState};
use narrows_model::{Bytes, Effective, Target};
use narrows_sys::entropy::member_seed;
use std::sync::Arc;

/// The name that precedes that of the members' engine.
pub const NAME: &str = "stripe";
/// What the engine is; it is chosen by the form of a target alone.
pub const INFO: EngineDescription = EngineDescription {
    title: "stripes blocks over several targets of one kind, with the members' own engine",
    targets: "stripe:MEMBER,MEMBER?unit=SIZE&peer_depth=N",
    completion: "as the members' engine, when every part of the request is complete",
    advice: "as the members' engine",
    source: "Patterson, Gibson and Katz, SIGMOD 1988 (level 0); poll(2)",
    example: "stripe:tcp://a:7300/disk,tcp://b:7300/disk?unit=64KiB",
};

/// Why rings of several members are not polled.
const NOT_TOGETHER: &str = "polled completions cannot be waited for together";
/// Suffix of an object's name at a member that stores a part of it.
const PART: &str = "-part";

/// Most members, as many as a stripe's text may have.
const MEMBERS_MAX: usize = 64;

/// Makes engines of stripes whose members another factory serves.
pub(crate) struct StripeFactory {
    inner: Arc<dyn EngineFactory>,
}

impl StripeFactory {
    /// Stripes of members that `inner` serves.
    pub(crate) fn new(inner: Arc<dyn EngineFactory>) -> Self {
        Self { inner }
    }
}

impl EngineFactory for StripeFactory {
    /// What all members can do.
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        let stripe = stripe(target)?;
        let mut all: Option<Capabilities> = None;
        for member in stripe.members() {
            let one = self.inner.capabilities(member)?;
            all = Some(match all {
                None => Capabilities { engine: name(&one.engine), ..one },
                Some(all) => intersection(all, one),
            });
        }
        let mut all = all.ok_or_else(|| refused(target, "a stripe has at least one member"))?;
        if all.direct.is_yes() && !stripe.unit_bytes().0.is_multiple_of(all.alignment_bytes.0.max(1)) {
            let reason = format!(
                "its unit of {} is not a multiple of the {} that a member needs",
                stripe.unit_bytes(),
                all.alignment_bytes
            );
            all.direct = Support::No { reason };
        }
        Ok(all)
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let stripe = stripe(&spec.target)?;
        let capabilities = self.capabilities(&spec.target)?;
        let depth = checked_depth(spec, capabilities.queue_depth_max)?;
        check_waiting(spec)?;
        check_direct(spec, &capabilities)?;
        let layout = StripeLayout::new(stripe.unit_bytes().0, stripe.members().len());
        let mut members = Vec::with_capacity(stripe.members().len());
        for (index, target) in stripe.members().iter().enumerate() {
            // Blocks of one member are not those of another.
            let seed = member_seed(worker.seed, index as u64);
            let context = WorkerContext { seed, ..worker.clone() };
            let engine = self.inner.open(&member_spec(spec, layout, index, target), &context);
            let engine = engine.map_err(|error| with_stripe_hint(error, stripe))?;
            members.push(StripeMember::new(engine, stripe.peer_depth().unwrap_or(u32::MAX)));
        }
        let block_bytes = spec.workload.block_bytes.0;
        let slots = SlotBuffers::new(depth, block_bytes, worker.seed)?;
        let effective = effective(&members, depth, &spec.target)?;
        let clock = Arc::clone(&worker.clock);
        Ok(Box::new(StripeEngine::new(effective, layout, members, (slots, block_bytes), clock)))
    }

    fn files_stay_with_worker(&self) -> bool {
        self.inner.files_stay_with_worker()
    }

    /// The mean of the members' shares; `None` where one cannot be seen.
    fn bring_cache_to(&self, spec: &OpenSpec, state: CacheState) -> Result<Option<f64>, EngineError> {
        let shares = each_member(spec, |one| self.inner.bring_cache_to(one, state))?;
        let known: Option<Vec<f64>> = shares.into_iter().collect();
        let mean = |known: Vec<f64>| known.iter().sum::<f64>() / known.len() as f64;
        Ok(known.filter(|known| !known.is_empty()).map(mean))
    }

    /// Tried at every member; the first failure is returned.
    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        let outcomes = each_member(spec, |one| Ok(self.inner.remove(one)))?;
        outcomes.into_iter().collect()
    }
}

fn stripe(target: &Target) -> Result<&Stripe, EngineError> {
    match target {
        Target::Stripe(stripe) => Ok(stripe),
        other => Err(refused(other, "it is not a stripe")),
    }
}

fn refused(target: &Target, detail: impl Into<String>) -> EngineError {
    EngineError::new(ErrorKind::Unsupported, "open", target.to_string()).detail(detail)
}

/// The name of a stripe's engine, which includes the members'.
fn name(inner: &str) -> String {
    format!("{NAME} of {inner}")
}

/// What two members can do both.
fn intersection(all: Capabilities, one: Capabilities) -> Capabilities {
    let supported = |all: Support, one: Support| if all.is_yes() { one } else { all };
    Capabilities {
        ops: all.ops.into_iter().filter(|op| one.ops.contains(op)).collect(),
        queue_depth_max: all.queue_depth_max.min(one.queue_depth_max),
        direct: supported(all.direct, one.direct),
        durable_writes: supported(all.durable_writes, one.durable_writes),
        completion_polling: Support::No { reason: NOT_TOGETHER.to_owned() },
        stores_data: all.stores_data && one.stores_data,
        alignment_bytes: all.alignment_bytes.max(one.alignment_bytes),
        lockstep: all.lockstep || one.lockstep,
        ..all
    }
}

/// Refuses what cannot be waited for beside other members: a ring that is polled shows nothing by itself.
fn check_waiting(spec: &OpenSpec) -> Result<(), EngineError> {
    let several = spec.target.members().len() > 1;
    if several && spec.workload.ring.completion_polling {
        return Err(refused(&spec.target, NOT_TOGETHER).hint("do not use completion_polling"));
    }
    Ok(())
}

/// Refuses direct access that a member cannot have: its part of a block may be aligned where the block is not.
fn check_direct(spec: &OpenSpec, capabilities: &Capabilities) -> Result<(), EngineError> {
    if spec.workload.access != Access::Direct {
        return Ok(());
    }
    if let Support::No { reason } = &capabilities.direct {
        return Err(refused(&spec.target, format!("direct access was requested: {reason}")));
    }
    let (block, alignment) = (spec.workload.block_bytes, capabilities.alignment_bytes);
    if !block.0.is_multiple_of(alignment.0.max(1)) {
        let detail = format!("direct access needs blocks of a multiple of {alignment}, not of {block}");
        return Err(refused(&spec.target, detail));
    }
    Ok(())
}

/// What one member is opened for: its part of each block and of each object.
fn member_spec(spec: &OpenSpec, layout: StripeLayout, index: usize, target: &Target) -> OpenSpec {
    // A member that is also used alone has objects of its own; the empty name is the member itself.
    let objects = spec.objects.iter().map(|name| part_name(name)).collect();
    let mut one = OpenSpec { target: target.clone(), objects, ..spec.clone() };
    one.workload.block_bytes = Bytes(layout.share_bytes_max(spec.workload.block_bytes.0));
    one.workload.block_mix = Vec::new();
    one.workload.file_bytes = Bytes(layout.below(index, spec.workload.file_bytes.0).max(1));
    one.object_bytes = Bytes(layout.below(index, spec.object_bytes.0).max(1));
    one
}

/// The name of an object's part on a member; the empty name is the member itself.
#[must_use]
pub fn part_name(object: &str) -> String {
    if object.is_empty() { String::new() } else { format!("{object}{PART}") }
}

fn each_member<T>(
    spec: &OpenSpec,
    mut act: impl FnMut(&OpenSpec) -> Result<T, EngineError>,
) -> Result<Vec<T>, EngineError> {
    let stripe = stripe(&spec.target)?;
    let layout = StripeLayout::new(stripe.unit_bytes().0, stripe.members().len());
    let members = stripe.members().iter().enumerate();
    members.map(|(index, target)| act(&member_spec(spec, layout, index, target))).collect()
}

/// The same error with how a stripe asks less of a member.
fn with_stripe_hint(error: EngineError, stripe: &Stripe) -> EngineError {
    if error.kind != ErrorKind::Unsupported || !error.hint.is_empty() {
        return error;
    }
    error.hint(format!("each member gets its part of every block, in units of {}", stripe.unit_bytes()))
}

/// What was granted by all members. Their connections are alike; one that is no loopback represents them.
fn effective(members: &[StripeMember], depth: u32, target: &Target) -> Result<Effective, EngineError> {
    let granted = || members.iter().map(|member| member.engine().effective());
    let first = granted().next().ok_or_else(|| refused(target, "a stripe has at least one member"))?;
    let connections = || granted().filter_map(|one| one.connection.as_ref());
    let connection = connections().find(|connection| !connection.loopback).or(connections().next());
    Ok(Effective {
        engine: name(&first.engine),
        queue_depth: depth,
        alignment_bytes: granted().map(|one| one.alignment_bytes).max().unwrap_or(first.alignment_bytes),
        connection: connection.cloned(),
        ..first.clone()
    })
}
