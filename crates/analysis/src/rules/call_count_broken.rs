//! Time that the number of calls does not explain: a break of the regime.

use super::{Rule, SegmentVerdict};
use crate::case::Cases;
use crate::method::calls::{self, BufferSweep, fixed, sweeps};
use crate::text;
use narrows_model::Segment;
use narrows_model::diagnosis::Severity;
use narrows_model::observation::PerCallBreak;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "call-count-broken",
    slug: "regime_break",
    segment: Segment::Unknown,
    title: "not explained by call count",
    definition: "An observation is off by a quarter from the line through all others, by more than the error of that \
                 line, their scatter and its own trials explain; or the observations with the most calls all took a \
                 tenth longer than predicted by the line through those with fewer calls, the last of them a quarter \
                 longer, each by as much more than the error; or the role whose CPU was full with fewer calls is no \
                 longer full; or the line predicts a negative time without calls, beyond its error: then no line \
                 fits, and its figures are not used. Something else limits there (small segments, acknowledgements, \
                 wake-ups, a disturbance), and its cost must not be attributed to calls. Such observations are left \
                 out of the line, at most a third of a sweep: too few points would remain to fit a line.",
    formula: "T / predicted >= 1.25 or <= 0.8 and abs(T - predicted) > sqrt(h^2 + g^2), the worst first: h the \
              half-width of the prediction interval of one observation at 1 - 0.01 / points, g that of T's own trials \
              at 95 %; with the most calls T >= 1.1 x the prediction from those with fewer, the last 1.25 x, by as \
              much more than the error, or CPU of the full role below 0.95 and a tenth lower; predictions by the line \
              of least relative error; or the 95 % interval of a in T = a + b x calls below 0",
    source: "docs/concepts/methodology.md, section 11: a residual above 25 % is unexplained; the published experiment at \
             buffers of 32 bytes",
    example: "32-byte buffers at both ends: 128 s where the line over calls predicts 58 s",
    how_to_measure: None,
    how_to_write: Some("count TCP segments too (tcp_segments, TCP_INFO) and repeat with TCP_NODELAY"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    let of_sweep = |sweep: &BufferSweep<'_>| {
        let each = sweep.cost.breaks.iter().map(|found| report_break(sweep, found));
        each.chain(below_nothing(sweep)).collect::<Vec<_>>()
    };
    sweeps(table).iter().flat_map(of_sweep).collect()
}

/// A line that cannot be a law, reported for the observation with the most calls.
fn below_nothing(sweep: &BufferSweep<'_>) -> Option<SegmentVerdict> {
    let last = sweep.points.iter().rev().find(|_| sweep.is_below_nothing())?;
    let [low, high] = sweep.cost.fixed_s_interval?;
    let text = format!(
        "a constant cost per call does not explain these {} observations: their line leaves {} to {} (95 %) for all \
         work without calls, a negative time; the cost of a call rises with the number of calls",
        sweep.cost.observations.len(),
        fixed(low),
        fixed(high)
    );
    let segment = segment(sweep);
    let verdict = SegmentVerdict::note(segment, &last.one.id, Severity::Warning);
    Some(verdict.with_evidence(text, "elapsed time and calls", ""))
}

fn segment(sweep: &BufferSweep<'_>) -> Segment {
    sweep.roles.first().map_or(Segment::Unknown, |role| calls::segment(*role))
}

fn report_break(sweep: &BufferSweep<'_>, found: &PerCallBreak) -> SegmentVerdict {
    let id = &found.observation;
    let longer = format!(
        "{id}: {:.2} times what the line through the others predicts: not explained by call count",
        found.elapsed_ratio
    );
    let text = match found.cpu_ratio {
        Some(cpu) => format!("{longer}; the CPU that was full before is at {}", text::percent(cpu)),
        None => longer,
    };
    SegmentVerdict::note(segment(sweep), id, Severity::Warning).with_evidence(
        text,
        "elapsed time and calls",
        "",
    )
}

#[cfg(test)]
mod tests {
    use crate::testing::observed::{finding_text, read, slugs};
    use std::fmt::Write as _;

    /// Five observations, of which one takes `factor` times what its calls do, with the proxy at `cpu` there.
    fn sweep(at: usize, factor: f64, cpu: f64) -> narrows_model::Observations {
        let mut rows = String::new();
        for (index, calls) in [1e4, 5e4, 1e5, 2e5, 4e5, 8e5].into_iter().enumerate() {
            let (factor, cpu) = if index == at { (factor, cpu) } else { (1.0, 0.99) };
            // A percent of noise, so that the line has an error.
            let noise = if index % 2 == 0 { 1.01 } else { 0.99 };
            let elapsed_s = (1.0 + 30e-6 * calls) * factor * noise;
            writeln!(rows, "[[observation]]\nid = \"{index}\"\nop = \"send\"\nelapsed_s = {elapsed_s}\ncalls = {{ proxy = {calls} }}\ncpu_ratio = {{ proxy = {cpu} }}").unwrap();
        }
        read(&rows)
    }

    fn is_reported(at: usize, factor: f64, cpu: f64) -> bool {
        slugs(&sweep(at, factor, cpu)).contains(&"regime_break".to_owned())
    }

    #[test]
    fn a_time_that_calls_do_not_explain_is_reported() {
        assert!(is_reported(5, 1.4, 0.99) && is_reported(5, 1.0, 0.85));
        assert!(!is_reported(5, 1.1, 0.97) && !is_reported(5, 1.0, 0.99));
    }

    #[test]
    fn one_in_the_middle_or_at_the_start_of_a_sweep_is_reported_too_and_left_out_of_the_line() {
        for at in 0..5 {
            for factor in [0.6, 1.6] {
                let all = sweep(at, factor, 0.99);
                let [cost] = crate::per_call(&all).try_into().unwrap();
                let broken: Vec<&str> = cost.breaks.iter().map(|found| found.observation.as_str()).collect();
                assert_eq!(broken, [at.to_string()], "{factor}: {cost:?}");
                assert!((cost.call_s / 30e-6 - 1.0).abs() < 0.05, "{at} {factor}: {cost:?}");
                assert!(
                    finding_text(&all, "regime_break")
                        .contains("times what the line through the others predicts")
                );
            }
        }
    }

    #[test]
    fn scatter_that_the_others_share_is_no_break() {
        let mut all = sweep(9, 1.0, 0.99);
        for (index, one) in all.observations.iter_mut().enumerate() {
            let factor = [1.3, 0.75, 1.25, 0.8, 1.3, 0.8][index];
            one.elapsed_s = one.elapsed_s.map(|elapsed_s| elapsed_s * factor);
        }
        let [cost] = crate::per_call(&all).try_into().unwrap();
        assert!(cost.breaks.iter().all(|found| found.observation == "5"), "{cost:?}");
    }
}
