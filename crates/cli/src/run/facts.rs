//! What the planner has to know of the machine: what each engine can do with each target, room, lengths.

use super::sites::Sites;
use crate::{measurement, registry};
use narrows_engines::EngineFactory;
use narrows_model::capabilities::{Capabilities, Support};
use narrows_model::inventory::PathKind;
use narrows_model::{EngineId, Target};
use narrows_study::{EngineAnswer, RingDemand, Study, StudyFacts, TargetFacts, TargetProblem};

/// The facts for the plan of `study`.
pub(crate) fn facts(study: &Study, sites: &Sites) -> StudyFacts {
    let mut facts = facts_of(&study.targets(), &study.wanted(), sites);
    facts.refused_rings = study.rings().into_iter().filter_map(refused_rings).collect();
    facts
}

/// The facts for a plan that loads `targets`, and asks for the engines of `wanted` there.
pub(crate) fn facts_of(
    targets: &[Target],
    wanted: &[(Target, Option<EngineId>)],
    sites: &Sites,
) -> StudyFacts {
    StudyFacts {
        targets: targets.iter().map(|target| target_facts(target, wanted, sites)).collect(),
        memory_bytes: sites.inventory().host.usable_memory(),
        refused_rings: Vec::new(),
    }
}

/// `wanted` with the reason why this machine does not grant it; `None` where it does.
fn refused_rings(wanted: RingDemand) -> Option<(RingDemand, String)> {
    let RingDemand { queue_depth, block_bytes, count, options } = wanted;
    let tried = narrows_engines::uring::try_rings(queue_depth, block_bytes, count, options);
    tried.err().map(|error| (wanted, error.to_string()))
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
        Target::Tcp { host, port, .. } => facts.free_bytes = sites.endpoint_free_bytes(host, *port),
        Target::Sim { profile } => facts.path_kind = networked(profile).then_some(PathKind::OtherNetwork),
        Target::Scheme { .. } | Target::Block(_) => {
            let unit = sites.unit(target);
            let inventory = unit.and_then(crate::measurement::units::UnitSite::inventory);
            facts.path_kind = inventory.and_then(|found| Some(found.path.as_ref()?.kind));
            facts.free_bytes = unit.map(crate::measurement::units::UnitSite::room);
            facts.existing_file = unit.and_then(crate::measurement::units::UnitSite::read_length);
            facts.read_only_reason = unit.and_then(crate::measurement::units::UnitSite::read_only_reason);
        }
        Target::Null { .. } => {}
        Target::Stripe(stripe) => {
            let of_member = |member: &Target| target_facts(member, &[], sites);
            facts.add_members(stripe, &stripe.members().iter().map(of_member).collect::<Vec<_>>());
        }
    }
    facts
}

/// What `engine` can do with `target`, or why it cannot be used.
fn capabilities(target: &Target, engine: Option<EngineId>, sites: &Sites) -> Result<Capabilities, String> {
    let elsewhere = |member: &Target| match member {
        Target::Tcp { host, port, via, .. } => !sites.is_endpoint(host, *port, via.as_ref()),
        _ => false,
    };
    if target.members().iter().any(elsewhere) {
        let reason = "a run has one endpoint, the study's first, or those of its first stripe; use a separate study \
                      for this one";
        return Err(reason.to_owned());
    }
    if let Some(refusal) = sites.refusal(target) {
        return Err(refusal);
    }
    if let Some(elsewhere) = engine.filter(|engine| registry::other_program(*engine).is_some()) {
        // Only a plan is made here: it is that of the other program, as far as the declaration decides.
        return Ok(elsewhere.declaration().capabilities());
    }
    let probed = sites.probed(target);
    let registry = registry::registry();
    let answer = registry
        .factory(&probed, engine)
        .and_then(|factory| EngineFactory::capabilities(factory.as_ref(), &probed));
    let mut found = answer.map_err(|error| sites.with_user_paths(&error.to_string()))?;
    for support in [&mut found.direct, &mut found.durable_writes, &mut found.completion_polling] {
        if let Support::No { reason } = support {
            *reason = sites.with_user_paths(reason);
        }
    }
    Ok(found)
}

/// What is wrong with `target` on this machine; `None` if nothing is, or if only a try shows it.
pub(super) fn target_problem(target: &Target) -> Option<TargetProblem> {
    match target {
        Target::File { path } => match measurement::look_at(path) {
            Err(measurement::PathProblem::Named { found, hint }) => Some(TargetProblem {
                found,
                allowed: measurement::PATHS_ALLOWED.to_owned(),
                hint: hint.to_owned(),
            }),
            _ => None,
        },
        Target::Sim { profile } => machine_problem(profile),
        _ => None,
    }
}

fn machine_problem(profile: &str) -> Option<TargetProblem> {
    let error = narrows_engines::sim::read_profile(profile).err()?;
    let meant = narrows_study::nearest(profile, narrows_engines::sim::builtin_names());
    let hint = meant.map(|name| format!("is sim:{name} meant?"));
    Some(TargetProblem {
        found: format!("sim:{profile}: {error}"),
        allowed: "a built-in machine, or the path of a profile in JSON".to_owned(),
        hint: hint
            .unwrap_or_else(|| "name a machine of this list, or give a profile that can be read".to_owned()),
    })
}

/// Whether a simulated machine has a network.
fn networked(profile: &str) -> bool {
    narrows_engines::sim::read_profile(profile).is_ok_and(|profile| profile.network.is_some())
}
