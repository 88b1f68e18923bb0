//! Caches brought to a cell's state before a trial: those of this machine by the target's own engines, those of
//! endpoints by the endpoints.

use crate::assignment::Assignment;
use crate::link::{OptionalServer, StoredObjects};
use narrows_engines::stripe::part_name;
use narrows_engines::{EngineError, EngineFactory};
use narrows_model::workload::{CacheState, Prefill};
use narrows_model::{Layer, Op, Target};

/// Brings the caches of one target's objects to the state in which its cell reads them; returns the share that is then
/// cached, where it is known.
///
/// Endpoints are only asked to empty their caches: the load itself reads there what is to be warm.
pub(crate) fn bring(
    assignment: &Assignment,
    factory: &dyn EngineFactory,
    server: &mut OptionalServer<'_>,
) -> Result<Option<f64>, EngineError> {
    let workload = &assignment.cell.workload;
    // A write over what an earlier load left depends on the state of the cache, too.
    let finds = workload.prefill == Prefill::Kept || workload.ops().iter().any(|share| share.op == Op::Read);
    let state = if finds { workload.cache } else { CacheState::AsFound };
    let stored = stored(assignment);
    let empties = matches!(state, CacheState::Cold | CacheState::Displaced { .. });
    match server {
        Some(server) if empties && !stored.is_empty() => server.bring_cache_to(&stored, state),
        _ => factory.bring_cache_to(&assignment.open_spec(), state),
    }
}

/// The files at endpoints that the assignment's objects are made of.
fn stored(assignment: &Assignment) -> Vec<StoredObjects> {
    let target = assignment.target();
    let is_stripe = matches!(target, Target::Stripe(_));
    let name = |object: &String| if is_stripe { part_name(object) } else { object.clone() };
    let at = |member: &Target| match member {
        Target::Tcp { host, port, layer: Layer::Disk, .. } => Some(StoredObjects {
            host: host.clone(),
            port: *port,
            names: assignment.objects.iter().map(name).collect(),
        }),
        _ => None,
    };
    target.members().iter().filter_map(at).collect()
}
