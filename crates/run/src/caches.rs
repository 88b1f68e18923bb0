//! Caches brought to a cell's state before a trial: those of this machine by the target's own engines, those of
//! endpoints by the endpoints, those of other machines by the clients there.

use crate::assignment::Assignment;
use crate::link::{OptionalServer, StoredObjects};
use narrows_engines::stripe::part_name;
use narrows_engines::{EngineError, EngineFactory};
use narrows_model::workload::{CacheState, Prefill, Workload};
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
    let state = state_for(&assignment.cell.workload);
    let stored = stored(assignment);
    let empties = matches!(state, CacheState::Cold | CacheState::Displaced { .. });
    match server {
        Some(server) if empties && !stored.is_empty() => server.bring_cache_to(&stored, state),
        _ => factory.bring_cache_to(&assignment.open_spec(), state),
    }
}

/// Brings the cache of a client's machine to the state in which its cell reads the client's own object, where that is for the
/// client to do.
///
/// No dummy file is read: only the command's machine makes files.
pub(crate) fn bring_own(assignment: &Assignment, factory: &dyn EngineFactory) -> Result<(), EngineError> {
    let state = state_for(&assignment.cell.workload);
    let is_one_files = matches!(state, CacheState::Cold | CacheState::Warm);
    if !assignment.brings_cache || !is_one_files || assignment.cell.workload.objects.is_some() {
        return Ok(());
    }
    let mut spec = assignment.open_spec();
    spec.objects = spec.objects.get(assignment.object_index() as usize).cloned().into_iter().collect();
    factory.bring_cache_to(&spec, state).map(drop)
}

/// The state in which a load finds what it reads.
fn state_for(workload: &Workload) -> CacheState {
    // A write over what an earlier load left depends on the state of the cache, too.
    let finds = workload.prefill == Prefill::Kept || workload.ops().iter().any(|share| share.op == Op::Read);
    if finds { workload.cache } else { CacheState::AsFound }
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

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_engines::null::NullFactory;
    use narrows_engines::{Engine, OpenSpec, WorkerContext};
    use narrows_model::capabilities::Capabilities;
    use narrows_model::{Bytes, Cell, Cut, Nanos, Stop};
    use std::sync::Mutex;

    /// Notes which objects are brought to which state.
    #[derive(Default)]
    struct Noting(Mutex<Vec<(Vec<String>, CacheState)>>);

    impl EngineFactory for Noting {
        fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
            NullFactory.capabilities(target)
        }

        fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
            NullFactory.open(spec, worker)
        }

        fn bring_cache_to(&self, spec: &OpenSpec, state: CacheState) -> Result<Option<f64>, EngineError> {
            self.0.lock().unwrap().push((spec.objects.clone(), state));
            Ok(None)
        }

        fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
            NullFactory.remove(spec)
        }
    }

    /// What client 1 of 3 brings to which state.
    fn brought(op: Op, cache: CacheState, brings_cache: bool) -> Vec<(Vec<String>, CacheState)> {
        let workload = Workload { op, cache, clients: 3, ..Workload::default() };
        let stop = Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(1), bytes_max: None, ops_max: None };
        let cell = Cell::new(Cut::Path, "/srv/data".parse().unwrap(), workload, stop);
        let assignment = Assignment { brings_cache, ..Assignment::plain(cell, 1) };
        let factory = Noting::default();
        bring_own(&assignment, &factory).unwrap();
        factory.0.into_inner().unwrap()
    }

    #[test]
    fn a_client_elsewhere_brings_the_cache_of_its_own_object_and_of_no_other() {
        for state in [CacheState::Cold, CacheState::Warm] {
            assert_eq!(brought(Op::Read, state, true), [(vec!["data-1".to_owned()], state)]);
            assert!(brought(Op::Read, state, false).is_empty());
            assert!(brought(Op::Write, state, true).is_empty());
        }
        assert!(brought(Op::Read, CacheState::AsFound, true).is_empty());
        assert!(brought(Op::Read, CacheState::Displaced { scan_bytes: Bytes(1) }, true).is_empty());
    }
}
