//! The points of a study's sweep: the cross product of its factors, and what is wrong with which of their values.
//!
//! A combination that never works is a problem; one that works for other values of the sweep is left out of it, with
//! its reason. Not here: the rules of what goes together.

use super::clash::{self, Clash, Subject};
use super::fields::StudyKeys;
use super::idle::{self, Idle};
use super::settings::StudySettings;
use super::study::StudyPoint;
use crate::schema::{Complaint, FileValue, Findings, Span};
use narrows_model::Target;
use narrows_model::cell::FactorValue;
use std::collections::{BTreeMap, BTreeSet};

/// Most points of a sweep: a plan of more cells cannot be read, and would run for hours even with windows of a second.
pub(crate) const POINTS_MAX: usize = 10_000;
/// What the factor `target` has where all targets are loaded together.
pub(crate) const TOGETHER: &str = "all together";

/// The points; empty when something is wrong with all of them.
pub(crate) fn points(
    settings: &StudySettings,
    together: bool,
    findings: &mut Findings<'_>,
) -> Vec<StudyPoint> {
    let Some(indices) = indices(settings, findings) else { return Vec::new() };
    let mut counts = ClashCounts::default();
    let mut idle_counts = IdleCounts::default();
    let mut points = Vec::new();
    for chosen in &indices {
        let keys = settings.at_point(chosen);
        let Some(subject) = Subject::new(&keys) else { continue };
        let idle = idle::idle(&subject);
        let mut clashes = clash::clashes(&subject);
        clashes.extend(repeated(settings, chosen, &idle));
        counts.add(chosen, &clashes);
        idle_counts.add(&keys, &idle);
        points.push(point(settings, chosen, &subject, &idle, clashes.first()));
    }
    counts.complain(findings);
    idle_counts.complain(findings);
    if together {
        points.extend(all_together(settings, &points));
    }
    points
}

/// For every point the index of each factor's value, the last factor's changing fastest.
fn indices(settings: &StudySettings, findings: &mut Findings<'_>) -> Option<Vec<Vec<usize>>> {
    let count =
        settings.factors.iter().try_fold(1_usize, |product, factor| product.checked_mul(factor.values.len()));
    if count.is_none_or(|count| count > POINTS_MAX) {
        let at =
            settings.sweep_at.clone().or_else(|| settings.factors.first().map(|factor| factor.at.clone()));
        let sizes: Vec<String> = settings
            .factors
            .iter()
            .map(|factor| format!("{} {}", factor.values.len(), factor.key.factor()))
            .collect();
        let found = format!(
            "{} points ({})",
            count.map_or_else(|| "too many".to_owned(), |count| count.to_string()),
            sizes.join(" x ")
        );
        let complaint = Complaint::new(
            "sweep",
            found,
            format!("{POINTS_MAX} points or fewer"),
            "sweep fewer keys or values at once",
        );
        findings.add(&at.unwrap_or(0..0), complaint);
        return None;
    }
    let mut all = vec![Vec::new()];
    for factor in &settings.factors {
        all = all
            .into_iter()
            .flat_map(|chosen: Vec<usize>| {
                (0..factor.values.len()).map(move |index| chosen.iter().copied().chain([index]).collect())
            })
            .collect();
    }
    Some(all)
}

fn point(
    settings: &StudySettings,
    chosen: &[usize],
    subject: &Subject<'_>,
    idle: &[Idle<'_>],
    clash: Option<&Clash>,
) -> StudyPoint {
    let keys = subject.keys;
    StudyPoint {
        target: subject.target.clone(),
        more_targets: Vec::new(),
        workload: subject.load.clone(),
        file_given: keys.workload.file.value.is_some(),
        clients_given: keys.workload.clients.value.is_some(),
        warm_up_given: keys.stop.warm_up.value.is_some(),
        stop: keys.trial_stop(),
        repeat: keys.repetition(),
        trials: keys.trials(),
        factors: settings.factor_values(chosen),
        words: settings.factor_words(chosen),
        idle: idle.iter().map(|idle| idle.mark.path).collect(),
        left_out: clash.map(|clash| clash.complaint.found.clone()),
    }
}

/// A factor that means nothing at this point: the same load would be measured once for each of its values.
fn repeated(settings: &StudySettings, chosen: &[usize], idle: &[Idle<'_>]) -> Option<Clash> {
    let (factor, idle) = settings.factors.iter().zip(chosen).find_map(|(factor, index)| {
        let idle = idle.iter().find(|idle| idle.mark.path == factor.key.path)?;
        (*index > 0).then_some((factor, idle))
    })?;
    let found = format!("{} without {}, the same load as another point", factor.key.factor(), idle.needs);
    let complaint = Complaint::new(idle.mark.path_as_given(), found, &*idle.needs, "see the other point");
    Some(Clash { code: "repeated", at: factor.at.clone(), complaint })
}

/// How many points of each value fail, and by which rule.
#[derive(Default)]
struct ClashCounts {
    point_count: usize,
    failed: usize,
    values: BTreeMap<(usize, usize), ValueCounts>,
    /// Every clash once, with the points' values that it was found at.
    clashes: Vec<(Vec<usize>, Clash)>,
}

#[derive(Default)]
struct ValueCounts {
    points: usize,
    failed: usize,
    by_code: BTreeMap<&'static str, usize>,
}

impl ClashCounts {
    fn add(&mut self, chosen: &[usize], clashes: &[Clash]) {
        self.point_count += 1;
        self.failed += usize::from(!clashes.is_empty());
        for value in chosen.iter().copied().enumerate() {
            let tally = self.values.entry(value).or_default();
            tally.points += 1;
            tally.failed += usize::from(!clashes.is_empty());
            for clash in clashes {
                *tally.by_code.entry(clash.code).or_default() += 1;
            }
        }
        self.clashes.extend(clashes.iter().map(|clash| (chosen.to_vec(), clash.clone())));
    }

    /// Complains about what never works: any rule that every point of a value breaks.
    fn complain(&self, findings: &mut Findings<'_>) {
        let is_hopeless = self.failed == self.point_count;
        let mut known = BTreeSet::new();
        for (chosen, clash) in &self.clashes {
            let by_value = || chosen.iter().copied().enumerate().any(|value| self.breaks(value, clash.code));
            let never_works = clash.code != "repeated" && (is_hopeless || by_value());
            if never_works && known.insert((clash.code, clash.at.start, clash.at.end)) {
                findings.add(&clash.at, clash.complaint.clone());
            }
        }
    }

    /// Whether every point of a value fails, and all by this rule or each by one of several.
    fn breaks(&self, value: (usize, usize), code: &str) -> bool {
        let Some(tally) = self.values.get(&value) else { return false };
        let alone = |count: &usize| *count == tally.points;
        match tally.by_code.get(code) {
            Some(count) if tally.failed == tally.points => alone(count) || !tally.by_code.values().any(alone),
            _ => false,
        }
    }
}

/// How many points each key means nothing at, with what to say about it.
#[derive(Default)]
struct IdleCounts {
    point_count: usize,
    by_path: BTreeMap<&'static str, (usize, Span, Complaint)>,
}

impl IdleCounts {
    fn add(&mut self, keys: &StudyKeys, idle: &[Idle<'_>]) {
        self.point_count += 1;
        for Idle { mark, needs } in idle {
            let complaint = || {
                let name = mark.name();
                let found = format!("{name} without {needs}");
                let hint = format!("omit {name}, or write {needs}");
                Complaint::new(mark.path_as_given(), found, &**needs, hint)
            };
            let entry = self.by_path.entry(mark.path);
            entry.or_insert_with(|| (0, keys.position(&[mark]), complaint())).0 += 1;
        }
    }

    /// Complains about keys that mean nothing at any point.
    fn complain(self, findings: &mut Findings<'_>) {
        for (count, at, complaint) in self.by_path.into_values() {
            if count == self.point_count {
                findings.add(&at, complaint);
            }
        }
    }
}

/// The points with all targets at once, each with the clients of a point at each of them.
fn all_together(settings: &StudySettings, points: &[StudyPoint]) -> Vec<StudyPoint> {
    let Some(factor) = settings.targets() else { return Vec::new() };
    let count = narrows_model::units::saturate_u32(factor.values.len() as u64);
    let mut targets = factor.values.iter().filter_map(|found| match &found.value {
        FileValue::Target(target) => Some(target.clone()),
        _ => None,
    });
    let first = targets.next();
    let others: Vec<Target> = targets.collect();
    let alone = points.iter().filter(|point| Some(&point.target) == first.as_ref());
    alone.map(|point| load_all_targets(point, points, &others, count)).collect()
}

fn load_all_targets(point: &StudyPoint, points: &[StudyPoint], others: &[Target], count: u32) -> StudyPoint {
    let mut all = point.clone();
    all.more_targets = others.to_vec();
    all.workload.clients = all.workload.clients.saturating_mul(count);
    all.factors.insert("target".to_owned(), FactorValue::Text(TOGETHER.to_owned()));
    for (factor, words) in &mut all.words {
        if *factor == "target" {
            TOGETHER.clone_into(words);
        }
    }
    // What one of the targets cannot do, all of them together cannot.
    let mut siblings = points.iter().filter(|sibling| same_but_target(point, sibling));
    all.left_out = siblings.find_map(|sibling| sibling.left_out.clone());
    all
}

fn same_but_target(point: &StudyPoint, sibling: &StudyPoint) -> bool {
    point.words.iter().zip(&sibling.words).all(|(own, other)| own == other || own.0 == "target")
}
