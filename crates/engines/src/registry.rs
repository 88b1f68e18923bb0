//! The factories of this build, one line an engine, and which serves which target.
//!
//! Not here: what an engine declares, which is in `narrows_model::engine`.

use crate::contract::EngineFactory;
use crate::error::{EngineError, ErrorKind};
use crate::files::{ConfinedFolder, Files};
use crate::stripe::{self, StripeFactory};
use crate::{endpoint, iscsi, mmap, nfs, null, objects, psync, sim, stdio, uring};
use narrows_model::engine::{EngineDescription, StripeSupport};
use narrows_model::{EngineId, Target};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How the factory of an engine is made, and for whom.
#[derive(Clone, Copy)]
enum FactoryMaker {
    /// For everybody: it opens no files and no connections.
    Harmless(fn() -> Arc<dyn EngineFactory>),
    /// Over the files that the registry may use.
    OverFiles(fn(Files) -> Arc<dyn EngineFactory>),
    /// For the user alone: it connects to other machines.
    Connecting(fn() -> Arc<dyn EngineFactory>),
    /// Added by a crate above this one ([`EngineRegistry::with_factory`]), for the user alone.
    Added,
}

/// The factory of every engine.
const FACTORIES: &[(EngineId, FactoryMaker)] = &[
    (EngineId::Null, FactoryMaker::Harmless(|| Arc::new(null::NullFactory))),
    (EngineId::Sim, FactoryMaker::Harmless(|| Arc::new(sim::SimFactory::default()))),
    (EngineId::Psync, FactoryMaker::OverFiles(|files| Arc::new(psync::PsyncFactory::with_files(files)))),
    (EngineId::Uring, FactoryMaker::OverFiles(|files| Arc::new(uring::UringFactory::with_files(files)))),
    (EngineId::Mmap, FactoryMaker::OverFiles(|files| Arc::new(mmap::MmapFactory::with_files(files)))),
    (EngineId::Stdio, FactoryMaker::OverFiles(|files| Arc::new(stdio::StdioFactory::with_files(files)))),
    (
        EngineId::Objects,
        FactoryMaker::OverFiles(|files| Arc::new(objects::ObjectsFactory::with_files(files))),
    ),
    (EngineId::Endpoint, FactoryMaker::Connecting(|| Arc::new(endpoint::EndpointFactory))),
    (EngineId::Nfs, FactoryMaker::Connecting(|| Arc::new(nfs::NfsFactory))),
    (EngineId::Iscsi, FactoryMaker::Connecting(|| Arc::new(iscsi::IscsiFactory))),
    (EngineId::S3, FactoryMaker::Added),
    (EngineId::Mpiio, FactoryMaker::Added),
    // new engine: factory
];

/// Names and descriptions for the reference: every engine, then the form of a target that is over the others.
pub fn descriptions() -> impl Iterator<Item = (&'static str, &'static EngineDescription)> {
    let engines = EngineId::ALL.iter().map(|engine| (engine.name(), &engine.declaration().description));
    engines.chain([(stripe::NAME, &stripe::INFO)])
}

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
        Self::with_factories(|make| match make {
            FactoryMaker::Harmless(make) | FactoryMaker::Connecting(make) => Some(make()),
            FactoryMaker::OverFiles(make) => Some(make(Files::unconfined())),
            FactoryMaker::Added => None,
        })
    }

    /// The engines that a server runs for a client: no network, and files only beneath `folder`, none
    /// without it.
    #[must_use]
    pub fn confined(folder: Option<ConfinedFolder>) -> Self {
        let files = folder.map(Files::confined);
        Self::with_factories(|make| match make {
            FactoryMaker::Harmless(make) => Some(make()),
            FactoryMaker::OverFiles(make) => files.clone().map(make),
            FactoryMaker::Connecting(_) | FactoryMaker::Added => None,
        })
    }

    /// The same with the factory of an engine that a crate above this one makes.
    #[must_use]
    pub fn with_factory(mut self, engine: EngineId, factory: Arc<dyn EngineFactory>) -> Self {
        self.factories.insert(engine, factory);
        self
    }

    /// Whether it has a factory of `engine`.
    #[must_use]
    pub fn has(&self, engine: EngineId) -> bool {
        self.factories.contains_key(&engine)
    }

    fn with_factories(factory: impl Fn(FactoryMaker) -> Option<Arc<dyn EngineFactory>>) -> Self {
        let made = FACTORIES.iter().filter_map(|(engine, make)| Some((*engine, factory(*make)?)));
        Self { factories: made.collect() }
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
                return refused(format!(
                    "the engine {asked} does not support it; {} does",
                    names.join(" or ")
                ));
            }
        };
        match self.factories.get(&engine) {
            Some(factory) if is_cut_into_units(target, engine) => {
                Ok(Arc::new(StripeFactory::new(Arc::clone(factory))))
            }
            Some(factory) => Ok(Arc::clone(factory)),
            None => refused(match engine.declaration().only_in {
                Some(program) => format!("the engine {engine} is in {program} alone"),
                None => absent(target).to_owned(),
            }),
        }
    }
}

/// Whether requests for `target` are cut into the parts of its members before `engine` gets them.
fn is_cut_into_units(target: &Target, engine: EngineId) -> bool {
    matches!(target, Target::Stripe(_)) && engine.declaration().in_stripes == StripeSupport::ByUnits
}

/// Why a registry lacks the engines of `target`.
fn absent(target: &Target) -> &'static str {
    match target.form() {
        Target::File { .. } => "a server without a store has no files",
        Target::Block(_) => "a server does not open its machine's block devices for clients",
        Target::Tcp { .. } => "a server does not connect to other servers on request",
        Target::Scheme { .. } => {
            "this program was built without its engine, or is a server, which does not run it for clients"
        }
        Target::Null { .. } | Target::Sim { .. } | Target::Stripe(_) => "this registry has no such engine",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn target(text: &str) -> Target {
        text.parse().unwrap()
    }

    #[test]
    fn every_engine_that_serves_a_target_is_there_for_the_user() {
        let registry = EngineRegistry::for_user();
        for text in ["null:", "sim:disk", "/tmp", "tcp://h:7300/disk"] {
            for engine in target(text).engines() {
                let found = registry.factory(&target(text), Some(engine));
                assert_eq!(found.is_ok(), engine.declaration().only_in.is_none(), "{engine} of {text}");
            }
        }
    }

    #[test]
    fn every_declared_engine_has_a_factory() {
        let made: Vec<EngineId> = FACTORIES.iter().map(|(engine, _)| *engine).collect();
        assert_eq!(made, EngineId::ALL);
        for engine in EngineId::ALL {
            let example = target(engine.declaration().description.example);
            let is_added =
                FACTORIES.iter().any(|(known, make)| known == engine && matches!(make, FactoryMaker::Added));
            let registry = EngineRegistry::for_user();
            assert_eq!(registry.factory(&example, Some(*engine)).is_err(), is_added, "{engine}");
            let registry = registry.with_factory(*engine, Arc::new(null::NullFactory));
            assert!(registry.factory(&example, Some(*engine)).is_ok(), "{engine}");
        }
    }

    #[test]
    fn an_engine_that_does_not_serve_the_target_is_refused_by_those_that_do() {
        let error =
            EngineRegistry::for_user().factory(&target("null:"), Some(EngineId::Uring)).err().unwrap();
        assert!(error.to_string().contains("the engine uring does not support it; null does"), "{error}");
    }

    #[test]
    fn an_engine_of_another_program_is_refused_by_the_name_of_that_program() {
        let error = EngineRegistry::for_user().factory(&target("/tmp"), Some(EngineId::Mpiio)).err().unwrap();
        assert!(error.to_string().contains("the engine mpiio is in narrows-mpi alone"), "{error}");
    }

    #[test]
    fn a_server_has_files_only_with_a_store_and_no_network() {
        let bare = EngineRegistry::confined(None);
        let error = bare.factory(&target("/tmp"), Some(EngineId::Uring)).err().unwrap();
        assert!(error.to_string().contains("without a store"), "{error}");
        assert!(bare.factory(&target("tcp://h:7300/disk"), None).is_err());
        let folder = tempfile::tempdir().unwrap();
        let stored = EngineRegistry::confined(Some(File::open(folder.path()).unwrap().into()));
        let here = |engine: &EngineId| engine.declaration().only_in.is_none();
        for engine in target("file:x").engines().into_iter().filter(here) {
            let factory = stored.factory(&target("file:x"), Some(engine)).unwrap();
            assert!(factory.capabilities(&target("/etc/passwd")).is_err(), "{engine} leaves its folder");
        }
    }
}
