//! What holds for a study as a whole: a target, each key once, trials enough, cuts that its paths have.
//!
//! Not here: what goes together at one point of the sweep, which is `clash`'s.

use super::TargetProblem;
use super::point::View;
use super::settings::Settings;
use super::value::{Entry, Value};
use crate::located::{Complaint, Findings};
use narrows_model::{Cut, Layer, Repeat, Target};

/// What holds for the study as a whole.
pub(super) fn whole(settings: &Settings, findings: &mut Findings<'_>) {
    let is_given = |path: &str| {
        settings.fixed.contains_key(path) || settings.factors.iter().any(|factor| factor.key.path == path)
    };
    if !is_given("target") && !findings.mention("target") {
        let complaint = Complaint::new(
            "target",
            "no target",
            "a target, or a list of them",
            "write target = \"null:\", target = \"/folder\" or target = \"tcp://HOST:7300/disk\" in the first line",
        );
        findings.add(&(0..0), complaint);
    }
    twice(settings, findings);
    for (one, other) in [
        ("workload.op", "workload.ops"),
        ("workload.block", "workload.blocks"),
        ("workload.op", "workload.transactions.count"),
        ("workload.ops", "workload.transactions.count"),
    ] {
        either(settings, (one, other), findings);
    }
    repetition(settings, findings);
    cuts_of_targets(settings, findings);
}

/// Keys that are fixed and swept.
fn twice(settings: &Settings, findings: &mut Findings<'_>) {
    for (index, factor) in settings.factors.iter().enumerate() {
        let path = factor.key.path;
        let earlier = settings.factors[..index].iter().any(|earlier| earlier.key.path == path);
        if settings.fixed.contains_key(path) || earlier {
            let found = format!("{} swept, and given outside of [sweep] too", factor.key.factor());
            let complaint = Complaint::new(
                format!("sweep.{}", factor.key.factor()),
                found,
                "each key once",
                format!("leave {path} out, or the list"),
            );
            findings.add(&factor.at, complaint);
        }
    }
}

/// Two keys of which one at most may be given.
fn either(settings: &Settings, (one, other): (&str, &str), findings: &mut Findings<'_>) {
    let place = |path: &str| {
        let swept =
            settings.factors.iter().find(|factor| factor.key.path == path).map(|factor| factor.at.clone());
        let read = swept.or_else(|| settings.fixed.get(path).map(|entry| entry.at.clone()));
        read.or_else(|| settings.given.get(path).cloned())
    };
    if let (Some(_), Some(at)) = (place(one), place(other)) {
        let name = |path: &str| path.rsplit_once('.').map_or(path.to_owned(), |(_, name)| name.to_owned());
        let found = format!("{} beside {}", name(other), name(one));
        let allowed = format!("{} or {}", name(one), name(other));
        let hint = format!("leave {} out: the mix says it all", name(one));
        findings.add(&at, Complaint::new(other, found, allowed, hint));
    }
}

/// More trials needed than there may be.
fn repetition(settings: &Settings, findings: &mut Findings<'_>) {
    let view = View::new(settings, &[]);
    let least = match view.repeat() {
        Repeat::Fixed => return,
        Repeat::UntilInterval { trials_min, .. } => trials_min,
        Repeat::UntilSteady { window_trials } => window_trials,
    };
    if least > view.trials() {
        let at = ["stop.trials", "repeat.trials_min", "repeat.window"];
        let given = at.iter().find(|path| view.entry(path).is_some()).unwrap_or(&at[0]);
        let complaint = Complaint::new(
            *given,
            format!("{} trials at most, and {least} at least", view.trials()),
            "stop.trials as many as repeat.trials_min or repeat.window, or more",
            format!("write trials = {least} or more in [stop]"),
        );
        findings.add(&view.at(&at), complaint);
    }
}

/// Targets that are not to be had on this machine.
pub(super) fn wrong_targets(
    settings: &Settings,
    wrong: &dyn Fn(&Target) -> Option<TargetProblem>,
    findings: &mut Findings<'_>,
) {
    for entry in targets(settings) {
        let Value::Target(target) = &entry.value else { continue };
        for member in target.members() {
            if let Some(TargetProblem { found, allowed, hint }) = wrong(member) {
                findings.add(&entry.at, Complaint::new("target", found, allowed, hint));
            }
        }
    }
}

/// Every target that could be read.
fn targets(settings: &Settings) -> impl Iterator<Item = &Entry> {
    let swept = settings.factors.iter().filter(|factor| factor.key.path == "target");
    settings.fixed.get("target").into_iter().chain(swept.flat_map(|factor| &factor.values))
}

/// Cuts that no target's path has.
fn cuts_of_targets(settings: &Settings, findings: &mut Findings<'_>) {
    let view = View::new(settings, &[]);
    let targets: Vec<&Target> = targets(settings)
        .filter_map(|entry| match &entry.value {
            Value::Target(target) => Some(target),
            _ => None,
        })
        .collect();
    for which in cuts(view) {
        if !targets.is_empty() && !targets.iter().any(|target| has_cut(which, target)) {
            let name = which.name().replace('-', "_");
            let complaint = Complaint::new(
                "cuts",
                format!("\"{name}\", which the path to {} does not have", targets[0]),
                "page_cache and local_device for paths, network_stream, server_memory and server_storage for tcp://HOST:PORT/memory or disk, generator and memory_copy for all",
                format!("leave \"{name}\" out"),
            );
            findings.add(&view.at(&["cuts"]), complaint);
        }
    }
}

/// Whether the path to a target can be cut so.
pub(crate) fn has_cut(which: Cut, target: &Target) -> bool {
    let target = target.form();
    match which {
        Cut::Generator | Cut::MemoryCopy => true,
        Cut::PageCache | Cut::LocalDevice => matches!(target, Target::File { .. }),
        Cut::NetworkStream => matches!(target, Target::Tcp { layer: Layer::Memory | Layer::Disk, .. }),
        Cut::ServerMemory | Cut::ServerStorage | Cut::EarlyPath => {
            matches!(target, Target::Tcp { layer: Layer::Disk, .. })
        }
        Cut::Path | Cut::DirectStream | Cut::DirectPath => false,
    }
}

/// Whether targets are loaded together too.
pub(super) fn together(settings: &Settings, findings: &mut Findings<'_>) -> bool {
    let view = View::new(settings, &[]);
    let asked = view.flag("together");
    let several =
        settings.factors.iter().any(|factor| factor.key.path == "target" && factor.values.len() > 1);
    if asked && !several {
        let complaint = Complaint::new(
            "together",
            "one target, together",
            "together = true with several targets",
            "write target = [\"/mnt/a\", \"/mnt/b\"], or leave together out",
        );
        findings.add(&view.at(&["together"]), complaint);
    }
    asked && several
}

/// The cuts that are asked for, each once.
pub(super) fn cuts(view: View<'_>) -> Vec<Cut> {
    let Some(Value::Names(names)) = view.entry("cuts").map(|entry| &entry.value) else {
        return vec![Cut::Generator];
    };
    let mut cuts: Vec<Cut> = Vec::new();
    for cut in names.iter().filter_map(|name| cut(name)) {
        if !cuts.contains(&cut) {
            cuts.push(cut);
        }
    }
    cuts
}

/// The cut of this name; records and cell ids write its words with other marks between them.
fn cut(name: &str) -> Option<Cut> {
    const CUTS: [Cut; 8] = [
        Cut::Generator,
        Cut::MemoryCopy,
        Cut::PageCache,
        Cut::LocalDevice,
        Cut::NetworkStream,
        Cut::ServerMemory,
        Cut::ServerStorage,
        Cut::EarlyPath,
    ];
    CUTS.into_iter().find(|cut| cut.name().replace('-', "_") == name)
}
