//! Which observations of a sweep the count of calls does not explain.
//!
//! Not here: the line through the others, which is reported as the cost of a call.

use super::{BufferSweepPoint, POINTS_MIN, weight};
use crate::case::table;
use crate::thresholds::{CPU_FULL_RATIO, GAIN_RATIO, STRONG_GAIN_RATIO};
use narrows_model::Observation;
use narrows_model::counters::Role;
use narrows_model::observation::PerCallBreak;
use narrows_stats::interval::Level;
use narrows_stats::regression::{DataPoint, FittedLine, fit_weighted_line};

/// A role that was full and falls by this much is full no more.
const CPU_FALL: f64 = 0.1;
/// How many sweeps without any break each look at all of their points may call broken: divided by the points, since
/// each of them has its chance (Bonferroni).
const FALSE_ALARMS: f64 = 0.01;
/// At most one of this many points may be left out: a line through fewer of them is no law that the others break.
const POINTS_OF_ONE_BREAK: usize = 3;

/// A point against what others promise for it.
#[derive(Debug, Clone, Copy)]
struct LineDeviation {
    /// The time over the promise.
    elapsed_ratio: f64,
    /// How many half-widths of the joint interval are between the two.
    off: f64,
}

/// Observations that the others do not explain, by rising calls: those with the most calls as one, then any, wherever
/// it is in the sweep, the worst one first, and once more those with the most calls.
pub(super) fn breaks(points: &[BufferSweepPoint<'_>], roles: &[Role]) -> Vec<PerCallBreak> {
    let count_max = points.len() / POINTS_OF_ONE_BREAK;
    let Ok(level) = Level::new(1.0 - FALSE_ALARMS / points.len().max(1) as f64) else { return Vec::new() };
    let mut left = points.to_vec();
    let mut found = end(&mut left, roles, level, count_max);
    while let Some((index, deviation)) = outlier(&left, level).filter(|_| found.len() < count_max) {
        let point = left.remove(index);
        found.push((point.calls, broken(&point, deviation, None)));
    }
    found.extend(end(&mut left, roles, level, count_max.saturating_sub(found.len())));
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.into_iter().map(|(_, entry)| entry).collect()
}

/// The most points at the end of a sweep, up to `count_max`, none of which is explained by those with fewer calls;
/// taken out of `left`. They are assessed together, since the others of them bend the line and so hide each one alone:
/// all are above the line of those with fewer calls, beyond the joint interval, and the one with the most calls by a
/// quarter.
fn end(
    left: &mut Vec<BufferSweepPoint<'_>>,
    roles: &[Role],
    level: Level,
    count_max: usize,
) -> Vec<(f64, PerCallBreak)> {
    for count in (1..=count_max).rev() {
        let Some(at) = left.len().checked_sub(count).filter(|at| *at >= POINTS_MIN) else { continue };
        let (before, after) = left.split_at(at);
        let each = after.iter().enumerate().map(|(index, point)| {
            let deviation = deviation(point, before, level)?;
            let cpu_ratio = if count == 1 { fallen(before, point, roles) } else { None };
            let ratio_min = if index + 1 == count { STRONG_GAIN_RATIO } else { GAIN_RATIO };
            let is_off = deviation.elapsed_ratio >= ratio_min && deviation.off > 1.0;
            (is_off || cpu_ratio.is_some()).then(|| (point.calls, broken(point, deviation, cpu_ratio)))
        });
        if let Some(found) = each.collect::<Option<Vec<_>>>() {
            left.truncate(at);
            return found;
        }
    }
    Vec::new()
}

fn broken(point: &BufferSweepPoint<'_>, deviation: LineDeviation, cpu_ratio: Option<f64>) -> PerCallBreak {
    PerCallBreak { observation: point.one.id.clone(), elapsed_ratio: deviation.elapsed_ratio, cpu_ratio }
}

/// The line with the least relative error: noise is a share of the time, so the small times count as much as the large.
fn line_of(points: &[BufferSweepPoint<'_>]) -> Option<FittedLine> {
    let points: Vec<DataPoint> = points.iter().map(BufferSweepPoint::point).collect();
    fit_weighted_line(&points, weight).ok()
}

/// `point` against the line through `others`; `None` where that line promises no time.
///
/// The joint interval is that of one more observation, from the error of the line and the scatter of the others, widened
/// by what the trials of the point itself leave open.
fn deviation(
    point: &BufferSweepPoint<'_>,
    others: &[BufferSweepPoint<'_>],
    level: Level,
) -> Option<LineDeviation> {
    let line = line_of(others)?;
    let promised = Some(line.at(point.calls)).filter(|promised| *promised > 0.0)?;
    let within = line.prediction_interval(point.calls, 1.0 / (promised * promised), level)?.half_width();
    let own = point.one.elapsed_half_width_ratio.unwrap_or_default() * point.elapsed_s;
    let off = (point.elapsed_s - promised).abs() / within.hypot(own);
    Some(LineDeviation { elapsed_ratio: point.elapsed_s / promised, off })
}

/// The observation that the line through all others explains least, by its index; `None` where it explains each.
///
/// One is not explained where it is a quarter off and outside of the joint interval. The worst one is taken first,
/// since the others may be compared with it.
fn outlier(points: &[BufferSweepPoint<'_>], level: Level) -> Option<(usize, LineDeviation)> {
    if points.len() <= POINTS_MIN {
        return None;
    }
    let each = points.iter().enumerate().filter_map(|(index, point)| {
        let others = [points.get(..index)?, points.get(index + 1..)?].concat();
        Some((index, deviation(point, &others, level)?))
    });
    let is_off = |deviation: &LineDeviation| {
        let quarter = deviation.elapsed_ratio >= STRONG_GAIN_RATIO
            || deviation.elapsed_ratio <= 1.0 / STRONG_GAIN_RATIO;
        quarter && deviation.off > 1.0
    };
    each.filter(|(_, deviation)| is_off(deviation)).max_by(|a, b| a.1.off.total_cmp(&b.1.off))
}

/// The busy share of a role that was full with fewer calls and is not any more.
fn fallen(before: &[BufferSweepPoint<'_>], point: &BufferSweepPoint<'_>, roles: &[Role]) -> Option<f64> {
    let share = |one: &Observation, role: Role| table::cpu(one, role).map(|cpu| cpu.ratio);
    roles.iter().find_map(|role| {
        let last = before.iter().rev().find_map(|point| share(point.one, *role))?;
        let now = share(point.one, *role)?;
        (last >= CPU_FULL_RATIO && now < CPU_FULL_RATIO && now <= last - CPU_FALL).then_some(now)
    })
}

#[cfg(test)]
mod tests {
    use super::super::per_call;
    use narrows_model::cell::FactorValue;
    use narrows_model::counters::Role;
    use narrows_model::observation::PerCall;
    use narrows_model::relay::PUBLISHED_SIZES;
    use narrows_model::{Observation, Observations};
    use narrows_stats::resample::Resampler;
    use std::sync::OnceLock;

    /// Enough for a share of 5 % to be known to 0.3 %.
    const MANY: u32 = 4000;
    const SOME: u32 = 300;
    const CALL_S: f64 = 28.8e-6;

    /// A sweep of the published sizes whose times have relative noise, and `factor` at its point `index`.
    fn sweep(random: &mut Resampler, noise: f64, disturbed: Option<(usize, f64)>) -> Observations {
        let mut observation = |(index, size): (usize, &narrows_model::Bytes)| {
            let calls = 50_331_648 / size.0;
            let factor = disturbed.filter(|(at, _)| *at == index).map_or(1.0, |(_, factor)| factor);
            let elapsed_s =
                (1.6 + CALL_S * calls as f64) * factor * (1.0 + noise * random.normal()).max(0.05);
            Observation {
                id: size.0.to_string(),
                elapsed_s: Some(elapsed_s),
                calls: [(Role::Client, calls)].into(),
                factors: [("client_buffer_bytes".to_owned(), FactorValue::Number(size.as_f64()))].into(),
                ..Observation::default()
            }
        };
        let observations = PUBLISHED_SIZES.iter().enumerate().map(&mut observation).collect();
        Observations { observations, ..Observations::default() }
    }

    /// The noise of [`MANY`] sweeps that nothing disturbs, and their lines.
    type NoisySweeps = (f64, Vec<PerCall>);

    /// Sweeps at three levels of noise; once for all tests.
    fn undisturbed() -> &'static [NoisySweeps] {
        static SWEEPS: OnceLock<[NoisySweeps; 3]> = OnceLock::new();
        SWEEPS.get_or_init(|| [0.02, 0.1, 0.15].map(|noise| (noise, lines(MANY, noise, None))))
    }

    fn lines(count: u32, noise: f64, disturbed: Option<(usize, f64)>) -> Vec<PerCall> {
        let mut random = Resampler::new(17);
        (0..count).filter_map(|_| per_call(&sweep(&mut random, noise, disturbed)).pop()).collect()
    }

    /// The share of sweeps for which `is` is true.
    fn share(lines: &[PerCall], is: impl Fn(&PerCall) -> bool) -> f64 {
        lines.iter().filter(|line| is(line)).count() as f64 / lines.len() as f64
    }

    #[test]
    fn noise_alone_is_called_a_break_in_few_sweeps() {
        for ((noise, lines), share_max) in undisturbed().iter().zip([0.001, 0.013, 0.016]) {
            let alarms = share(lines, |line| !line.breaks.is_empty());
            assert!(alarms <= share_max, "{alarms} of the sweeps at {noise}");
        }
    }

    #[test]
    fn a_point_that_takes_twice_the_time_is_found_through_noise() {
        for index in [0, 4, 8] {
            let id = PUBLISHED_SIZES[index].0.to_string();
            let lines = lines(SOME, 0.05, Some((index, 2.0)));
            let found = share(&lines, |line| line.breaks.iter().any(|found| found.observation == id));
            assert!(found >= 0.9, "{id}: {found} of the sweeps");
        }
    }

    #[test]
    fn what_a_points_own_trials_leave_open_is_no_break() {
        let mut random = Resampler::new(17);
        let mut all = sweep(&mut random, 0.02, Some((4, 2.0)));
        assert_eq!(per_call(&all)[0].breaks.len(), 1);
        all.observations[4].elapsed_half_width_ratio = Some(0.1);
        assert_eq!(per_call(&all)[0].breaks.len(), 1);
        all.observations[4].elapsed_half_width_ratio = Some(0.6);
        assert!(per_call(&all)[0].breaks.is_empty());
    }

    #[test]
    fn a_third_of_the_points_is_left_out_at_most() {
        for noise in [0.02, 0.5, 1.0] {
            assert!(lines(SOME, noise, Some((8, 9.0))).iter().all(|line| line.breaks.len() <= 3));
        }
    }

    #[test]
    fn the_interval_of_a_calls_cost_covers_it_as_often_as_it_says() {
        for (noise, lines) in undisturbed() {
            let covered = share(lines, |line| {
                line.call_s_interval.is_some_and(|[low, high]| (low..=high).contains(&CALL_S))
            });
            assert!((0.93..=0.98).contains(&covered), "{covered} of the sweeps at {noise}");
        }
    }
}
