//! Time that the number of calls does not explain: a break of the regime.

use super::super::fit::{Sweep, sweeps};
use super::super::table::Table;
use super::{ObservationRule, per_call};
use crate::rules::Verdict;
use crate::text;
use narrows_model::Segment;
use narrows_model::diagnosis::Severity;
use narrows_model::observation::PerCallBreak;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "call-count-broken",
    slug: "regime_break",
    segment: Segment::Unknown,
    title: "not explained by call count",
    definition: "With the most calls an observation took a quarter longer than the line through those with fewer calls \
                 promises, or the role whose CPU was full with fewer calls is not full any more: something else limits \
                 there (small segments, acknowledgements, wake-ups), and its cost must not be read as that of calls. Such \
                 observations are left out of the line.",
    formula: "T > 1.25 x promise of the line (least relative error) through the observations with fewer calls, or CPU of \
              the full role below 0.95 and a tenth lower",
    source: "DESIGN of narrows: a residual above 25 % is unexplained; the published experiment at buffers of 32 bytes",
    example: "32-byte buffers at both ends: 128 s where calls promise 58 s",
    how_to_measure: "count TCP segments too (tcp_segments, TCP_INFO) and repeat with TCP_NODELAY",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    sweeps(table).iter().flat_map(|sweep| sweep.cost.breaks.iter().map(|found| told(sweep, found))).collect()
}

fn told(sweep: &Sweep<'_>, found: &PerCallBreak) -> Verdict {
    let id = &found.observation;
    let longer = format!(
        "{id}: {:.2} times what fewer calls promise: not explained by call count",
        found.elapsed_ratio
    );
    let text = match found.cpu_ratio {
        Some(cpu) => format!("{longer}; the CPU that was full before is at {}", text::percent(cpu)),
        None => longer,
    };
    let segment = sweep.roles.first().map_or(Segment::Unknown, |role| per_call::segment(*role));
    Verdict::note(segment, id, Severity::Warning).because(text, "elapsed time and calls", "")
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{read, slugs};
    use std::fmt::Write as _;

    fn sweep(last_factor: f64, last_cpu: f64) -> narrows_model::Observations {
        let mut rows = String::new();
        for (index, calls) in [1e4, 5e4, 2e5, 4e5, 8e5].into_iter().enumerate() {
            let (factor, cpu) = if index == 4 { (last_factor, last_cpu) } else { (1.0, 0.99) };
            let elapsed_s = (1.0 + 30e-6 * calls) * factor;
            writeln!(rows, "[[observation]]\nid = \"{index}\"\nop = \"send\"\nelapsed_s = {elapsed_s}\ncalls = {{ proxy = {calls} }}\ncpu_ratio = {{ proxy = {cpu} }}").unwrap();
        }
        read(&rows)
    }

    #[test]
    fn a_time_that_calls_do_not_explain_is_told() {
        assert!(slugs(&sweep(1.4, 0.99)).contains(&"regime_break".to_owned()));
        assert!(slugs(&sweep(1.0, 0.85)).contains(&"regime_break".to_owned()));
        assert!(!slugs(&sweep(1.1, 0.97)).contains(&"regime_break".to_owned()));
    }
}
