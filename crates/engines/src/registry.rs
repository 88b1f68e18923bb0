//! The list of engines, and which serves which target.

use crate::contract::EngineFactory;
use crate::error::{EngineError, ErrorKind};
use crate::{endpoint, null, psync, sim};
use narrows_model::{EngineId, Target};
use std::fs::File;
use std::sync::Arc;

/// What an engine is, for the reference and for messages.
#[derive(Debug, Clone, Copy)]
pub struct EngineFacts {
    /// Name, as in records.
    pub id: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Targets that it serves.
    pub targets: &'static str,
    /// What "complete" means.
    pub completion: &'static str,
    /// What it rests on.
    pub source: &'static str,
    /// A target as it is typed.
    pub example: &'static str,
}

/// Every engine of this build.
pub const ENGINES: &[&EngineFacts] = &[&null::INFO, &sim::INFO, &psync::INFO, &endpoint::INFO];

/// Engines that serve a target, the default one first.
#[must_use]
pub fn engines_of(target: &Target) -> &'static [EngineId] {
    match target {
        Target::Null { .. } => &[EngineId::Null],
        Target::Sim { .. } => &[EngineId::Sim],
        Target::File { .. } => &[EngineId::Psync],
        Target::Tcp { .. } => &[EngineId::Endpoint],
    }
}

/// Finds the factory that serves a target.
#[derive(Clone)]
pub struct EngineRegistry {
    null: Arc<null::NullFactory>,
    sim: Arc<sim::SimFactory>,
    psync: Option<Arc<psync::PsyncFactory>>,
    endpoint: Option<Arc<endpoint::EndpointFactory>>,
}

impl std::fmt::Debug for EngineRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineRegistry").field("network", &self.endpoint.is_some()).finish_non_exhaustive()
    }
}

impl EngineRegistry {
    /// All engines, for the user herself.
    #[must_use]
    pub fn for_user() -> Self {
        Self {
            null: Arc::new(null::NullFactory),
            sim: Arc::new(sim::SimFactory::default()),
            psync: Some(Arc::new(psync::PsyncFactory::unconfined())),
            endpoint: Some(Arc::new(endpoint::EndpointFactory)),
        }
    }

    /// The engines that a server runs for a client: no network, and files only beneath the open `folder`, none
    /// without it.
    #[must_use]
    pub fn confined(folder: Option<File>) -> Self {
        Self {
            null: Arc::new(null::NullFactory),
            sim: Arc::new(sim::SimFactory::default()),
            psync: folder.map(|folder| Arc::new(psync::PsyncFactory::confined(folder))),
            endpoint: None,
        }
    }

    /// The factory that serves `target`: of the asked `engine`, or of the target's default one.
    ///
    /// # Errors
    /// When no engine of this registry does, or the asked one does not.
    pub fn factory(
        &self,
        target: &Target,
        engine: Option<EngineId>,
    ) -> Result<Arc<dyn EngineFactory>, EngineError> {
        let serving = engines_of(target);
        match engine {
            Some(asked) if !serving.contains(&asked) => {
                let names: Vec<&str> = serving.iter().map(|engine| engine.name()).collect();
                Err(EngineError::new(ErrorKind::Unsupported, "open", target.to_string())
                    .detail(format!("the engine {asked} does not serve it; {} does", names.join(" or "))))
            }
            _ => self.default_factory(target),
        }
    }

    fn default_factory(&self, target: &Target) -> Result<Arc<dyn EngineFactory>, EngineError> {
        match target {
            Target::Null { .. } => Ok(Arc::clone(&self.null) as Arc<dyn EngineFactory>),
            Target::Sim { .. } => Ok(Arc::clone(&self.sim) as Arc<dyn EngineFactory>),
            Target::File { .. } => match &self.psync {
                Some(factory) => Ok(Arc::clone(factory) as Arc<dyn EngineFactory>),
                None => Err(EngineError::new(ErrorKind::Unsupported, "open", target.to_string())
                    .detail("a server without a store has no files")),
            },
            Target::Tcp { .. } => match &self.endpoint {
                Some(factory) => Ok(Arc::clone(factory) as Arc<dyn EngineFactory>),
                None => Err(EngineError::new(ErrorKind::Unsupported, "open", target.to_string())
                    .detail("a server does not connect to other servers on request")),
            },
        }
    }
}
