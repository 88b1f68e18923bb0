//! What applies to a study as a whole: a target, each key once, trials enough, cuts that its paths have.
//!
//! Not here: what goes together at one point of the sweep, which is `clash`'s.

use super::TargetProblem;
use super::fields::marks;
use super::keys::schema;
use super::settings::StudySettings;
use crate::cut::has_cut;
use crate::schema::{Complaint, FileValue, Findings, KeyFields, KeyMark, Span, missing};
use narrows_model::{Cut, Repeat, Target};

/// What applies to the study as a whole; marks what cannot be relied on.
pub(super) fn whole(settings: &mut StudySettings, findings: &mut Findings<'_>) {
    for complaint in missing(&schema().keys, &settings.fixed, None) {
        findings.add(&(0..0), complaint);
    }
    twice(settings, findings);
    let keys = &mut settings.fixed;
    let count = keys.transactions.count.mark.clone();
    let (op, ops) = (keys.workload.op.mark.clone(), keys.workload.ops.mark.clone());
    let both = [
        either(&op, &ops, findings),
        either(&keys.workload.block.mark, &keys.workload.blocks.mark, findings),
        either(&op, &count, findings),
        either(&ops, &count, findings),
    ];
    for path in both.into_iter().flatten() {
        keys.doubt(path);
    }
    repetition(settings, findings);
    cuts_of_targets(settings, findings);
}

/// Keys that are fixed and swept.
fn twice(settings: &mut StudySettings, findings: &mut Findings<'_>) {
    for (index, factor) in settings.factors.iter().enumerate() {
        let path = factor.key.path;
        let Some(fixed) = settings.fixed.field_mut(path) else { continue };
        let is_earlier = settings.factors[..index].iter().any(|earlier| earlier.key.path == path);
        if fixed.is_set() || is_earlier {
            fixed.mark_mut().in_doubt = true;
            let complaint = Complaint::new(
                format!("sweep.{}", factor.key.factor()),
                format!("{} swept, and also given outside of [sweep]", factor.key.factor()),
                "each key once",
                format!("omit {path}, or the list"),
            );
            findings.add(&factor.at, complaint);
        }
    }
}

/// Two keys of which one at most may be given: the path of the other where both are.
fn either(one: &KeyMark, other: &KeyMark, findings: &mut Findings<'_>) -> Option<&'static str> {
    let (Some(_), Some(at)) = (&one.at, &other.at) else { return None };
    let (one, name) = (one.name(), other.name());
    let hint = format!("omit {one}: the mix replaces it");
    let complaint =
        Complaint::new(other.path, format!("{name} with {one}"), format!("{one} or {name}"), hint);
    findings.add(at, complaint);
    Some(other.path)
}

/// More trials needed than there may be.
fn repetition(settings: &StudySettings, findings: &mut Findings<'_>) {
    let keys = &settings.fixed;
    let least = match keys.repetition() {
        Repeat::Fixed => return,
        Repeat::UntilInterval { trials_min, .. } => trials_min,
        Repeat::UntilSteady { window_trials } => window_trials,
    };
    if least > keys.trials() {
        let marks = marks!(keys; stop.trials, repeat.trials_min, repeat.window);
        let given = marks.iter().find(|mark| mark.at.is_some()).unwrap_or(&marks[0]);
        let complaint = Complaint::new(
            given.path,
            format!("{} trials at most, and {least} at least", keys.trials()),
            "stop.trials equal to repeat.trials_min or repeat.window, or more",
            format!("write trials = {least} or more in [stop]"),
        );
        findings.add(&keys.position(&marks), complaint);
    }
}

/// Targets that are not to be had on this machine.
pub(super) fn wrong_targets(
    settings: &StudySettings,
    wrong: &dyn Fn(&Target) -> Option<TargetProblem>,
    findings: &mut Findings<'_>,
) {
    for (target, at) in targets(settings) {
        for member in target.members() {
            if let Some(TargetProblem { found, allowed, hint }) = wrong(member) {
                findings.add(at, Complaint::new("target", found, allowed, hint));
            }
        }
    }
}

/// Every target that could be read, with its position.
fn targets(settings: &StudySettings) -> impl Iterator<Item = (&Target, &Span)> {
    let fixed = &settings.fixed.head.target;
    let swept = settings.targets().into_iter().flat_map(|factor| &factor.values);
    let swept = swept.filter_map(|found| match &found.value {
        FileValue::Target(target) => Some((target, &found.at)),
        _ => None,
    });
    fixed.value.iter().zip(&fixed.mark.at).chain(swept)
}

/// Cuts that no target's path has.
fn cuts_of_targets(settings: &StudySettings, findings: &mut Findings<'_>) {
    let targets: Vec<&Target> = targets(settings).map(|(target, _)| target).collect();
    let Some(first) = targets.first() else { return };
    for which in cuts(settings) {
        if !targets.iter().any(|target| has_cut(which, target)) {
            let name = which.name().replace('-', "_");
            let complaint = Complaint::new(
                "cuts",
                format!("\"{name}\", which the path to {first} does not have"),
                "page_cache and local_device for paths, network_stream, server_memory and server_storage for tcp://HOST:PORT/memory or disk, generator and memory_copy for all",
                format!("leave \"{name}\" out"),
            );
            findings.add(&settings.fixed.position(&marks!(settings.fixed; head.cuts)), complaint);
        }
    }
}

/// Whether targets are loaded together too.
pub(super) fn loads_all_targets(settings: &StudySettings, findings: &mut Findings<'_>) -> bool {
    let is_asked = settings.fixed.head.together.value == Some(true);
    let has_several = settings.targets().is_some_and(|factor| factor.values.len() > 1);
    if is_asked && !has_several {
        let complaint = Complaint::new(
            "together",
            "one target, together",
            "together = true with several targets",
            "write target = [\"/mnt/a\", \"/mnt/b\"], or omit together",
        );
        findings.add(&settings.fixed.position(&marks!(settings.fixed; head.together)), complaint);
    }
    is_asked && has_several
}

/// The cuts that are asked for, each once.
pub(super) fn cuts(settings: &StudySettings) -> Vec<Cut> {
    let Some(asked) = &settings.fixed.head.cuts.value else { return vec![Cut::Generator] };
    let mut cuts: Vec<Cut> = Vec::new();
    for cut in asked {
        if !cuts.contains(cut) {
            cuts.push(*cut);
        }
    }
    cuts
}
