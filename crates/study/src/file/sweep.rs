//! The points of a study's sweep: the cross product of its factors, and what is wrong with which of their values.
//!
//! A combination that never works is a problem; one that works for other values of the sweep is left out of it, with
//! its reason. Not here: the rules of what goes together.

use super::clash::{self, Clash};
use super::idle;
use super::point::View;
use super::settings::{Settings, Swept};
use super::study::Point;
use crate::located::{Complaint, Findings};
use narrows_model::Target;
use narrows_model::cell::FactorValue;
use std::collections::{BTreeMap, BTreeSet};

/// Most points of a sweep: a plan of more cells cannot be read, and would run for hours even with windows of a second.
pub(crate) const POINTS_MAX: usize = 10_000;
/// What the factor `target` has where all targets are loaded together.
pub(crate) const TOGETHER: &str = "all together";

/// The points; empty when something is wrong with all of them.
pub(crate) fn points(settings: &Settings, together: bool, findings: &mut Findings<'_>) -> Vec<Point> {
    let Some(indices) = indices(settings, findings) else { return Vec::new() };
    let mut ledger = Ledger::default();
    let mut points = Vec::new();
    for chosen in &indices {
        let view = View::new(settings, chosen);
        let Some(target) = view.target() else { continue };
        let mut clashes = clash::clashes(view, target);
        clashes.extend(repeated(settings, chosen, view, target));
        ledger.add(chosen, &clashes);
        points.push(point(view, target, clashes.first()));
    }
    ledger.tell(settings, &indices, findings);
    idle_everywhere(settings, &indices, findings);
    if together {
        points.extend(all_together(settings, &points));
    }
    points
}

/// For every point the index of each factor's value, the last factor's changing fastest.
fn indices(settings: &Settings, findings: &mut Findings<'_>) -> Option<Vec<Vec<usize>>> {
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

fn point(view: View<'_>, target: &Target, clash: Option<&Clash>) -> Point {
    Point {
        target: target.clone(),
        more_targets: Vec::new(),
        workload: view.workload(),
        file_given: view.size("workload.file").is_some(),
        warm_up_given: view.duration("stop.warm_up").is_some(),
        stop: view.stop(),
        repeat: view.repeat(),
        trials: view.trials(),
        factors: view.factors(),
        words: view.words(),
        idle: idle::idle(view, target).map(|need| need.path).collect(),
        left_out: clash.map(|clash| clash.complaint.found.clone()),
    }
}

/// A factor that means nothing at this point: the same load would be measured once for each of its values.
fn repeated(settings: &Settings, chosen: &[usize], view: View<'_>, target: &Target) -> Option<Clash> {
    let idle: Vec<&idle::Need> = idle::idle(view, target).collect();
    let later = settings.factors.iter().zip(chosen).find_map(|(factor, index)| {
        let need = idle.iter().find(|need| need.path == factor.key.path)?;
        (*index > 0).then_some((factor, need))
    });
    let (factor, need) = later?;
    let found = format!("{} without {}, the same load as another point", factor.key.factor(), need.words);
    let complaint = Complaint::new(view.path(factor.key.path), found, need.words, "see the other point");
    Some(Clash { code: "repeated", at: factor.at.clone(), complaint })
}

/// How many points of each value fail, and by which rule.
#[derive(Default)]
struct Ledger {
    point_count: usize,
    failed: usize,
    values: BTreeMap<(usize, usize), Tally>,
    /// Every clash once, with the points' values that it was found at.
    clashes: Vec<(Vec<usize>, Clash)>,
}

#[derive(Default)]
struct Tally {
    points: usize,
    failed: usize,
    by_code: BTreeMap<&'static str, usize>,
}

impl Ledger {
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
    fn tell(&self, settings: &Settings, indices: &[Vec<usize>], findings: &mut Findings<'_>) {
        let hopeless = self.failed == self.point_count && !indices.is_empty();
        let mut told = BTreeSet::new();
        for (chosen, clash) in &self.clashes {
            if clash.code == "repeated" {
                continue;
            }
            let by_value = chosen.iter().copied().enumerate().any(|value| self.breaks(value, clash.code));
            if (hopeless || by_value) && told.insert((clash.code, clash.at.start, clash.at.end)) {
                findings.add(&clash.at, clash.complaint.clone());
            }
        }
        debug_assert!(settings.factors.len() <= 64, "a study has few keys");
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

/// Complains about keys that mean nothing at any point.
fn idle_everywhere(settings: &Settings, indices: &[Vec<usize>], findings: &mut Findings<'_>) {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut looked_at = 0;
    for chosen in indices {
        let view = View::new(settings, chosen);
        let Some(target) = view.target() else { continue };
        looked_at += 1;
        for need in idle::idle(view, target) {
            *counts.entry(need.path).or_default() += 1;
        }
    }
    for need in idle::NEEDS.iter().filter(|need| looked_at > 0 && counts.get(need.path) == Some(&looked_at)) {
        let Some(chosen) = indices.first() else { continue };
        let view = View::new(settings, chosen);
        let key = view.path(need.path);
        let name = need.path.rsplit_once('.').map_or(need.path, |(_, name)| name);
        let found = format!("{name} without {}", need.words);
        let hint = format!("leave {name} out, or write {}", need.words);
        findings.add(&view.at(&[need.path]), Complaint::new(key, found, need.words, hint));
    }
}

/// The points with all targets at once, each with the clients of a point at each of them.
fn all_together(settings: &Settings, points: &[Point]) -> Vec<Point> {
    let Some(factor) = settings.factors.iter().find(|factor| factor.key.path == "target") else {
        return Vec::new();
    };
    let count = narrows_model::units::saturate_u32(factor.values.len() as u64);
    let of_first = first_target(factor);
    let of_others: Vec<Target> = other_targets(factor);
    let alone = |point: &&Point| Some(&point.target) == of_first.as_ref();
    points.iter().filter(alone).map(|point| together(point, points, &of_others, count)).collect()
}

fn together(point: &Point, points: &[Point], others: &[Target], count: u32) -> Point {
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

fn same_but_target(point: &Point, sibling: &Point) -> bool {
    point.words.iter().zip(&sibling.words).all(|(own, other)| own == other || own.0 == "target")
}

fn targets(factor: &Swept) -> impl Iterator<Item = Target> {
    factor.values.iter().filter_map(|entry| match &entry.value {
        super::value::Value::Target(target) => Some(target.clone()),
        _ => None,
    })
}

fn first_target(factor: &Swept) -> Option<Target> {
    targets(factor).next()
}

fn other_targets(factor: &Swept) -> Vec<Target> {
    targets(factor).skip(1).collect()
}
