//! The engine `mpiio`: files by MPI-IO, which the ranks of a job access independently or in collective calls.
//!
//! A rank has one client, and that has one worker, which makes the rank's calls on its file. "Complete" means: the call has
//! returned on this rank; with a sync, that `MPI_File_sync` has. Files are made, cached and removed by rank 0 as those of
//! all engines of paths; here a file is opened that is there, and that is the one which this run has made. Not here: what
//! the engine declares, which every program knows (`narrows_model::engine::mpiio`).

mod group;
mod issuer;
mod layout;
mod lockstep;
mod opening;
#[cfg(test)]
mod tests;

pub(crate) use group::IoRanks;
use narrows_engines::psync::PsyncFactory;
use narrows_engines::{Engine, EngineError, EngineFactory, OpenSpec, WorkerContext};
use narrows_model::Target;
use narrows_model::capabilities::Capabilities;
use narrows_model::engine::mpiio::{self, MpiioOptions};
use narrows_model::workload::{Access, CacheState, SyncPolicy};
use opening::{Opening, unsupported};

/// Makes `mpiio` engines.
pub(crate) struct MpiioFactory {
    ranks: IoRanks,
    /// Makes, caches and removes what the ranks access.
    files: PsyncFactory,
}

impl MpiioFactory {
    /// Engines of `ranks`.
    pub(crate) fn new(ranks: IoRanks) -> Self {
        Self { ranks, files: PsyncFactory::unconfined() }
    }
}

impl EngineFactory for MpiioFactory {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        match self.ranks.problem() {
            Some(problem) => Err(unsupported(target, problem)),
            None => Ok(Capabilities { lockstep: true, ..mpiio::DECLARATION.capabilities() }),
        }
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let options = self.checked(spec)?;
        let opening = Opening { ranks: &self.ranks, files: &self.files, spec, worker, options };
        Ok(Box::new(opening.open()?))
    }

    fn bring_cache_to(&self, spec: &OpenSpec, state: CacheState) -> Result<Option<f64>, EngineError> {
        self.files.bring_cache_to(spec, state)
    }

    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        self.files.remove(spec)
    }
}

impl MpiioFactory {
    /// The options of `spec`, which is refused where this engine or this job cannot do what it asks for: all ranks find the
    /// same.
    fn checked(&self, spec: &OpenSpec) -> Result<MpiioOptions, EngineError> {
        let (target, load) = (&spec.target, &spec.workload);
        let problem = self.ranks.problem().or_else(|| {
            mpiio::problem(load).map(|clash| format!("{}; possible is {}", clash.found, clash.allowed))
        });
        if let Some(problem) = problem {
            return Err(unsupported(target, problem));
        }
        if load.access == Access::Direct || load.sync == SyncPolicy::Dsync || load.queue_depth > 1 {
            return Err(unsupported(
                target,
                "direct access, O_DSYNC and several requests in flight are not of MPI-IO",
            ));
        }
        let (clients, count) = (load.clients.max(1), self.ranks.count());
        if clients > count {
            return Err(unsupported(
                target,
                format!("the load has {clients} clients, and the job {count} ranks"),
            )
            .hint(format!("start it with mpirun -np {clients}, or lower `clients`")));
        }
        spec.engine_options()
    }
}
