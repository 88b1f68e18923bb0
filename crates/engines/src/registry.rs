//! The list of engines, and which serves which target.

use crate::contract::EngineFactory;
use crate::error::{EngineError, ErrorKind};
use crate::files::Files;
use crate::stripe::{self, StripeFactory};
use crate::{endpoint, mmap, null, objects, psync, sim, stdio, uring};
use narrows_model::{EngineId, Target};
use std::collections::BTreeMap;
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
    /// What the kernel is told of the order of accesses, which decides how far it reads ahead.
    pub advice: &'static str,
    /// What it rests on.
    pub source: &'static str,
    /// A target as it is typed.
    pub example: &'static str,
}

/// Every engine of this build.
pub const ENGINES: &[&EngineFacts] = &[
    &null::INFO,
    &sim::INFO,
    &psync::INFO,
    &uring::INFO,
    &mmap::INFO,
    &stdio::INFO,
    &objects::INFO,
    &endpoint::INFO,
    &stripe::INFO,
];

/// Finds the factory that serves a target.
#[derive(Clone)]
pub struct EngineRegistry {
    factories: BTreeMap<EngineId, Arc<dyn EngineFactory>>,
}

impl std::fmt::Debug for EngineRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.factories.keys()).finish()
    }
}

impl EngineRegistry {
    /// All engines, for the user herself.
    #[must_use]
    pub fn for_user() -> Self {
        let mut registry = Self::of_no_files();
        registry.add_files(&Files::unconfined());
        registry.factories.insert(EngineId::Endpoint, Arc::new(endpoint::EndpointFactory));
        registry
    }

    /// The engines that a server runs for a client: no network, and files only beneath the open `folder`, none
    /// without it.
    #[must_use]
    pub fn confined(folder: Option<File>) -> Self {
        let mut registry = Self::of_no_files();
        if let Some(folder) = folder {
            registry.add_files(&Files::confined(folder));
        }
        registry
    }

    fn of_no_files() -> Self {
        let mut factories: BTreeMap<EngineId, Arc<dyn EngineFactory>> = BTreeMap::new();
        factories.insert(EngineId::Null, Arc::new(null::NullFactory));
        factories.insert(EngineId::Sim, Arc::new(sim::SimFactory::default()));
        Self { factories }
    }

    fn add_files(&mut self, files: &Files) {
        self.factories.insert(EngineId::Psync, Arc::new(psync::PsyncFactory::of(files.clone())));
        self.factories.insert(EngineId::Uring, Arc::new(uring::UringFactory::of(files.clone())));
        self.factories.insert(EngineId::Mmap, Arc::new(mmap::MmapFactory::of(files.clone())));
        self.factories.insert(EngineId::Stdio, Arc::new(stdio::StdioFactory::of(files.clone())));
        self.factories.insert(EngineId::Objects, Arc::new(objects::ObjectsFactory::of(files.clone())));
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
        let refused = |why: String| {
            Err(EngineError::new(ErrorKind::Unsupported, "open", target.to_string()).detail(why))
        };
        let serving = target.engines();
        let engine = match (engine, serving.first()) {
            (None, Some(default)) => *default,
            (Some(asked), _) if serving.contains(&asked) => asked,
            (asked, _) => {
                let asked = asked.map_or("no engine", EngineId::name);
                let names: Vec<&str> = serving.iter().map(|engine| engine.name()).collect();
                return refused(format!("the engine {asked} does not serve it; {} does", names.join(" or ")));
            }
        };
        match self.factories.get(&engine) {
            Some(factory) if matches!(target, Target::Stripe(_)) => {
                Ok(Arc::new(StripeFactory::of(Arc::clone(factory))))
            }
            Some(factory) => Ok(Arc::clone(factory)),
            None => refused(absent(target).to_owned()),
        }
    }
}

/// Why a registry lacks the engines of `target`.
fn absent(target: &Target) -> &'static str {
    match target.form() {
        Target::File { .. } => "a server without a store has no files",
        Target::Tcp { .. } => "a server does not connect to other servers on request",
        Target::Null { .. } | Target::Sim { .. } | Target::Stripe(_) => "this registry has no such engine",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        text.parse().unwrap()
    }

    #[test]
    fn every_engine_that_serves_a_target_is_there_for_the_user() {
        let registry = EngineRegistry::for_user();
        for text in ["null:", "sim:disk", "/tmp", "tcp://h:7300/disk"] {
            for engine in target(text).engines() {
                assert!(registry.factory(&target(text), Some(*engine)).is_ok(), "{engine} of {text}");
                assert!(ENGINES.iter().any(|facts| facts.id == engine.name()), "{engine}");
            }
        }
    }

    #[test]
    fn an_engine_that_does_not_serve_the_target_is_refused_by_those_that_do() {
        let error =
            EngineRegistry::for_user().factory(&target("null:"), Some(EngineId::Uring)).err().unwrap();
        assert!(error.to_string().contains("the engine uring does not serve it; null does"), "{error}");
    }

    #[test]
    fn a_server_has_files_only_with_a_store_and_no_network() {
        let bare = EngineRegistry::confined(None);
        let error = bare.factory(&target("/tmp"), Some(EngineId::Uring)).err().unwrap();
        assert!(error.to_string().contains("without a store"), "{error}");
        assert!(bare.factory(&target("tcp://h:7300/disk"), None).is_err());
        let folder = tempfile::tempdir().unwrap();
        let stored = EngineRegistry::confined(Some(File::open(folder.path()).unwrap()));
        for engine in target("file:x").engines() {
            let factory = stored.factory(&target("file:x"), Some(*engine)).unwrap();
            assert!(factory.capabilities(&target("/etc/passwd")).is_err(), "{engine} leaves its folder");
        }
    }
}
