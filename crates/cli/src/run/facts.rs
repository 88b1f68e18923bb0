//! What the planner has to know of the machine: what each engine can do with each target, room, lengths.

use super::sites::Sites;
use crate::measurement;
use narrows_engines::{EngineFactory, EngineRegistry};
use narrows_model::capabilities::{Capabilities, Support};
use narrows_model::inventory::PathKind;
use narrows_model::target::Stripe;
use narrows_model::{Bytes, EngineId, Target};
use narrows_study::{EngineAnswer, RingsWanted, Study, StudyFacts, TargetFacts, TargetProblem};

/// The facts for the plan of `study`.
pub(super) fn facts(study: &Study, sites: &Sites) -> StudyFacts {
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
    let host = &sites.inventory().host;
    StudyFacts {
        targets: targets.iter().map(|target| target_facts(target, wanted, sites)).collect(),
        memory_bytes: host.memory_limit_bytes.or(host.memory_bytes),
        refused_rings: Vec::new(),
    }
}

/// `wanted` with the reason why this machine does not grant it; `None` where it does.
fn refused_rings(wanted: RingsWanted) -> Option<(RingsWanted, String)> {
    let RingsWanted { queue_depth, block_bytes, count, wishes } = wanted;
    let tried = narrows_engines::uring::try_rings(queue_depth, block_bytes, count, wishes);
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
        Target::Null { .. } => {}
        Target::Stripe(stripe) => of_members(&mut facts, stripe, sites),
    }
    facts
}

/// What is known of a stripe from its members: each takes the same share, so that the smallest one bounds them all.
fn of_members(facts: &mut TargetFacts, stripe: &Stripe, sites: &Sites) {
    let members: Vec<TargetFacts> =
        stripe.members().iter().map(|member| target_facts(member, &[], sites)).collect();
    let count = u64::try_from(members.len()).unwrap_or(u64::MAX);
    let unit = stripe.unit_bytes().0;
    let least = |known: fn(&TargetFacts) -> Option<Bytes>| {
        let all: Option<Vec<Bytes>> = members.iter().map(known).collect();
        all.and_then(|all| all.into_iter().min())
    };
    facts.free_bytes = least(|member| member.free_bytes).map(|free| Bytes(free.0.saturating_mul(count)));
    // Of files that exist whole units are read.
    let rows = least(|member| member.existing_file).map(|length| length.0 / unit * unit);
    facts.existing_file = rows.map(|bytes| Bytes(bytes.saturating_mul(count)));
    facts.path_kind = members.first().and_then(|member| member.path_kind);
}

/// What `engine` can do with `target`, or why it cannot be used.
fn capabilities(target: &Target, engine: Option<EngineId>, sites: &Sites) -> Result<Capabilities, String> {
    let elsewhere = |member: &Target| match member {
        Target::Tcp { host, port, via, .. } => !sites.is_endpoint(host, *port, via.as_ref()),
        _ => false,
    };
    if target.members().iter().any(elsewhere) {
        let reason = "a run has one endpoint, the study's first, or those of its first stripe; run a study of its own \
                      for this one";
        return Err(reason.to_owned());
    }
    if let Some(refusal) = sites.refusal(target) {
        return Err(refusal);
    }
    let probed = sites.probed(target);
    let registry = EngineRegistry::for_user();
    let answer = registry
        .factory(&probed, engine)
        .and_then(|factory| EngineFactory::capabilities(factory.as_ref(), &probed));
    let mut found = answer.map_err(|error| sites.in_words_of_user(&error.to_string()))?;
    for support in [&mut found.direct, &mut found.durable_writes, &mut found.completion_polling] {
        if let Support::No { reason } = support {
            *reason = sites.in_words_of_user(reason);
        }
    }
    Ok(found)
}

/// What is wrong with `target` on this machine; `None` where nothing is, or only a try tells.
pub(super) fn wrong(target: &Target) -> Option<TargetProblem> {
    match target {
        Target::File { path } => match measurement::look_at(path) {
            Err(measurement::WrongPath::Named { found, hint }) => Some(TargetProblem {
                found,
                allowed: measurement::PATHS_ALLOWED.to_owned(),
                hint: hint.to_owned(),
            }),
            _ => None,
        },
        Target::Sim { profile } => wrong_machine(profile),
        _ => None,
    }
}

fn wrong_machine(profile: &str) -> Option<TargetProblem> {
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
