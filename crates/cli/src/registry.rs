//! The engines of this process: those of `engines`, those of crates above it that this build has, and those that a binary
//! brings along.
//!
//! The environment of the engine `s3` is read here, and nowhere else.

use crate::Setup;
use crate::exit::CommandFailure;
use narrows_engines::EngineRegistry;
use narrows_model::EngineId;
use std::sync::OnceLock;

static REGISTRY: OnceLock<EngineRegistry> = OnceLock::new();

/// The engines of this process.
pub(crate) fn registry() -> EngineRegistry {
    REGISTRY.get_or_init(|| with_remote(EngineRegistry::for_user())).clone()
}

/// Adds what `setup` brings along; once, before any command.
pub(crate) fn prepare(setup: &Setup) {
    let all = with_remote(EngineRegistry::for_user());
    let all = setup
        .engines
        .iter()
        .fold(all, |all, (engine, factory)| all.with_factory(*engine, std::sync::Arc::clone(factory)));
    // A process has one command, which comes after this.
    drop(REGISTRY.set(all));
}

/// The program that has `engine`, where this one has not.
pub(crate) fn other_program(engine: EngineId) -> Option<&'static str> {
    engine.declaration().only_in.filter(|_| !registry().has(engine))
}

/// Why a study that asks for one of these engines cannot be run by this program.
pub(crate) fn refusal(mut engines: impl Iterator<Item = EngineId>) -> Option<CommandFailure> {
    let missing = |engine: EngineId| Some((engine, other_program(engine)?));
    let (engine, program) = engines.find_map(missing)?;
    Some(CommandFailure::bad_input(format!(
        "this study asks for the engine {engine}, which is in {program} alone: start `mpirun -np N {program} run STUDY` \
         (docs/guide/mpi.md), or name another engine"
    )))
}

#[cfg(not(feature = "s3"))]
fn with_remote(registry: EngineRegistry) -> EngineRegistry {
    registry
}

#[cfg(feature = "s3")]
fn with_remote(registry: EngineRegistry) -> EngineRegistry {
    use narrows_remote::s3::S3Factory;
    let clock = std::sync::Arc::new(narrows_engines::MonotonicClock::new());
    let factory = S3Factory::new(s3_environment(), epoch_seconds, clock);
    registry.with_factory(EngineId::S3, std::sync::Arc::new(factory))
}

#[cfg(feature = "s3")]
fn epoch_seconds() -> i64 {
    let elapsed = narrows_sys::clock::wall_time().duration_since(std::time::UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX))
}

/// Who signs requests to buckets, and where they go unless a target says so.
#[cfg(feature = "s3")]
fn s3_environment() -> narrows_remote::s3::S3Environment {
    use narrows_remote::s3::{S3Environment, S3Sources};
    #[allow(clippy::disallowed_methods, reason = "the environment is read in this crate")]
    let variable = |name: &str| std::env::var(name).ok();
    let home = variable("HOME").unwrap_or_default();
    let read = |name: &str, usual: &str| {
        let path = variable(name).unwrap_or_else(|| format!("{home}/.aws/{usual}"));
        // One that is not there, or may not be read, says nothing: an error about missing credentials names both.
        read_bounded(std::path::Path::new(&path))
    };
    S3Environment::read(&S3Sources {
        variable: &variable,
        credentials_file: read("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
        config_file: read("AWS_CONFIG_FILE", "config"),
    })
}

/// The text of a file of at most a MiB.
#[cfg(feature = "s3")]
fn read_bounded(path: &std::path::Path) -> Option<String> {
    use std::io::Read;
    let is_file = std::fs::metadata(path).is_ok_and(|facts| facts.is_file());
    let file = if is_file { std::fs::File::open(path).ok()? } else { return None };
    let mut text = String::new();
    file.take(1 << 20).read_to_string(&mut text).ok()?;
    Some(text)
}
