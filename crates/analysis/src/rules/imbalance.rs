//! Clients that were served unequally, or did not run together.

use super::{Rule, SegmentVerdict};
use crate::case::Cases;
use crate::case::table;
use crate::text;
use crate::thresholds::{OVERLAP_RATIO, UNEQUAL_RATIO};
use narrows_model::diagnosis::Severity;
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};
use narrows_stats::moments::Moments;
use narrows_stats::quantile::median;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "clients-unequal",
    slug: "imbalance",
    segment: Segment::Unknown,
    title: "clients were served unequally",
    definition: "The fastest client had twice the rate of the slowest or more, or the last ended a fifth later than \
                 the first. Towards the end only the slow clients load the path, so the sum of rates is an upper \
                 bound of the aggregate; all bytes over the longest time is the lower bound.",
    formula: "max / min >= 2, or last done / first done > 1.2",
    source: "Jain's fairness index (1984); docs/concepts/methodology.md, section 10, on aggregates",
    example: "47 clients that ran 1467 to 3855 s: the aggregate is between 4876 and 8824 KB/s",
    how_to_measure: None,
    how_to_write: Some("give every client's rate, or elapsed_first_s beside elapsed_s"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    table.observations().iter().filter_map(|one| of_rates(one).or_else(|| of_times(one))).collect()
}

fn of_rates(one: &Observation) -> Option<SegmentVerdict> {
    let rates = &one.per_client_bytes_per_s;
    let (least, most) = (table::extreme(rates, f64::min)?, table::extreme(rates, f64::max)?);
    let apart = most / least.max(f64::MIN_POSITIVE);
    (apart >= UNEQUAL_RATIO).then(|| {
        let spread = Moments::from_values(rates).and_then(|moments| moments.coefficient_of_variation()).unwrap_or(0.0);
        let between = table::bytes_per_s(one).map_or_else(String::new, |rate| {
            format!("; the aggregate is between {} and {}", text::storage_rate(rate.low), text::storage_rate(rate.high))
        });
        let text = format!(
            "{}: rates of clients from {} to {}, median {}, sum {}, coefficient of variation {spread:.2}, Jain's index {:.2}{between}",
            one.id,
            text::storage_rate(least),
            text::storage_rate(most),
            text::storage_rate(median(rates).unwrap_or(0.0)),
            text::storage_rate(rates.iter().sum()),
            fairness(rates)
        );
        SegmentVerdict::note(RULE.segment, &one.id, Severity::Warning).with_evidence(text, "rates of the clients", "")
    })
}

/// Jain's index: 1 for equal shares, 1/n for one client that has it all.
fn fairness(rates: &[f64]) -> f64 {
    let (sum, squares) =
        rates.iter().fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
    ratio(sum * sum, rates.len() as f64 * squares).unwrap_or(1.0)
}

fn of_times(one: &Observation) -> Option<SegmentVerdict> {
    let later = ratio(one.elapsed_s?, one.elapsed_first_s?).filter(|later| *later > OVERLAP_RATIO)?;
    let text = format!(
        "{}: the first client was done after {}, the last after {} ({later:.2} times)",
        one.id,
        text::seconds(one.elapsed_first_s?),
        text::seconds(one.elapsed_s?)
    );
    Some(SegmentVerdict::note(RULE.segment, &one.id, Severity::Warning).with_evidence(
        text,
        "times of the clients",
        "",
    ))
}

#[cfg(test)]
mod tests {
    use crate::testing::observed::{finding_text, read, slugs};

    #[test]
    fn what_all_transfer_and_one_in_the_middle_gets_is_reported() {
        let all = read("[[observation]]\nid = \"a\"\nper_client_bytes_per_s = [100, 200, 210, 290]\n");
        let said = finding_text(&all, "imbalance");
        assert!(said.contains("from 100 B/s to 290 B/s, median 205 B/s, sum 800 B/s"), "{said}");
    }

    #[test]
    fn clients_far_apart_are_reported_and_equal_ones_are_not() {
        let of = |rest: &str| {
            slugs(&read(&format!("[[observation]]\nid = \"a\"\n{rest}\n"))).contains(&"imbalance".to_owned())
        };
        assert!(of("per_client_bytes_per_s = [100, 250]") && of("elapsed_first_s = 1467\nelapsed_s = 3855"));
        assert!(!of("per_client_bytes_per_s = [100, 110]") && !of("elapsed_first_s = 10\nelapsed_s = 11"));
    }
}
