//! Too short for its figure.

use super::super::table::{self, Table};
use super::ObservationRule;
use crate::rules::Verdict;
use crate::text;
use narrows_model::diagnosis::Severity;
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};

/// Shorter runs are within the error of clocks and start-up.
const SECONDS_MIN: f64 = 0.5;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "short-run",
    slug: "short_run",
    segment: Segment::Unknown,
    title: "a run was too short",
    definition: "A run under half a second: its rate is a sample of start-up and of the clock's ticks, not a figure. The time \
                 is bytes over rate where it is not given.",
    formula: "elapsed < 0.5 s",
    source: "bonnie++ prints `+++++` below half a second; Jain, The Art of Computer Systems Performance Analysis (1991)",
    example: "40 MB at 444 MB/s: 0.09 s, nine ticks of a clock of 10 ms",
    how_to_measure: "move more data",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    table.observations().iter().filter_map(judge).collect()
}

fn judge(one: &Observation) -> Option<Verdict> {
    let of_bytes =
        || ratio(one.file_bytes?.as_f64() * one.clients.unwrap_or(1) as f64, table::bytes_per_s(one)?.high);
    let elapsed_s = one.elapsed_s.or_else(of_bytes).filter(|elapsed| *elapsed < SECONDS_MIN)?;
    let text = format!(
        "{}: {}, below {}: start-up and the clock's ticks are part of it; move more data",
        one.id,
        text::seconds(elapsed_s),
        text::seconds(SECONDS_MIN)
    );
    Some(Verdict::note(RULE.segment, &one.id, Severity::Warning).because(text, "elapsed time", ""))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{read, slugs};

    #[test]
    fn a_run_under_half_a_second_is_told() {
        let of = |rest: &str| {
            slugs(&read(&format!("[[observation]]\nid = \"a\"\n{rest}\n"))).contains(&"short_run".to_owned())
        };
        assert!(of("elapsed_s = 0.3") && of("file_bytes = 40000000\nbytes_per_s = 444e6"));
        assert!(!of("elapsed_s = 3") && !of("bytes_per_s = 444e6"));
    }
}
