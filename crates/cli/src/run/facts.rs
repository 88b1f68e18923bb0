//! What the planner has to know of the machine: what each engine can do with each target, room, lengths.

use super::sites::Sites;
use narrows_engines::{EngineFactory, EngineRegistry};
use narrows_model::capabilities::Capabilities;
use narrows_model::inventory::PathKind;
use narrows_model::{EngineId, Target};
use narrows_study::{EngineAnswer, Study, StudyFacts, TargetFacts};

/// The facts for the plan of `study`.
pub(super) fn facts(study: &Study, sites: &Sites) -> StudyFacts {
    let host = &sites.inventory().host;
    let wanted = study.wanted();
    let targets = study.targets();
    StudyFacts {
        targets: targets.iter().map(|target| target_facts(target, &wanted, sites)).collect(),
        memory_bytes: host.memory_limit_bytes.or(host.memory_bytes),
    }
}

fn target_facts(target: &Target, wanted: &[(Target, Option<EngineId>)], sites: &Sites) -> TargetFacts {
    let asked = wanted.iter().filter(|(known, _)| known == target).map(|(_, engine)| *engine);
    let engines =
        asked.map(|engine| EngineAnswer { engine, capabilities: capabilities(target, engine, sites) });
    let mut facts = TargetFacts { engines: engines.collect(), ..TargetFacts::unknown(target.clone()) };
    match target {
        Target::File { path } => {
            let site = sites.path(path);
            let found = site.and_then(|site| site.inventory().path.as_ref());
            facts.free_bytes = found.and_then(|found| found.free_bytes);
            facts.path_kind = found.map(|found| found.kind);
            facts.existing_file = site.and_then(super::sites::PathSite::file_length);
        }
        Target::Tcp { .. } => facts.free_bytes = sites.endpoint_free_bytes(),
        Target::Sim { profile } => facts.path_kind = networked(profile).then_some(PathKind::OtherNetwork),
        Target::Null { .. } => {}
    }
    facts
}

/// What `engine` can do with `target`, or why it cannot be used.
fn capabilities(target: &Target, engine: Option<EngineId>, sites: &Sites) -> Result<Capabilities, String> {
    let probed = match target {
        Target::File { path } => sites.path(path).map(super::sites::PathSite::probed),
        Target::Tcp { host, port, .. } if sites.is_endpoint(host, *port) == Some(false) => {
            return Err(
                "a run has one endpoint, the study's first; run a study of its own for this one".to_owned()
            );
        }
        _ => None,
    };
    let probed = probed.unwrap_or_else(|| target.clone());
    let registry = EngineRegistry::for_user();
    let answer = registry
        .factory(&probed, engine)
        .and_then(|factory| EngineFactory::capabilities(factory.as_ref(), &probed));
    answer.map_err(|error| error.to_string())
}

/// What is wrong with the simulated machines of `study`, a line for each that is not there or cannot be read.
pub(super) fn machine_problems(study: &Study) -> Vec<String> {
    let profiles = study.targets().into_iter().filter_map(|target| match target {
        Target::Sim { profile } => Some(profile),
        _ => None,
    });
    profiles.filter_map(|profile| machine_problem(&profile)).collect()
}

fn machine_problem(profile: &str) -> Option<String> {
    let error = narrows_engines::sim::read_profile(profile).err()?;
    let built_in = narrows_engines::sim::builtin_names();
    let meant = narrows_study::nearest(profile, built_in).map(|name| format!("; is sim:{name} meant?"));
    Some(format!("target sim:{profile}: {error}{}", meant.unwrap_or_default()))
}

/// Whether a simulated machine has a network.
fn networked(profile: &str) -> bool {
    narrows_engines::sim::read_profile(profile).is_ok_and(|profile| profile.network.is_some())
}
