//! More clients carry less: they hinder each other.

use super::super::table::{self, CLIENTS, Table};
use super::factor_effect::times;
use super::{ObservationRule, clients_add_nothing};
use crate::rules::{Basis, Stance, Verdict};
use narrows_model::diagnosis::Severity;
use narrows_model::{Observation, Segment};

/// Below this share of the best of fewer clients more of them hinder each other: runs repeat within a few percent.
const FALL_RATIO: f64 = 0.95;
/// Locks, seeks and caches that are too small all look so.
const CONFIDENCE_MAX: f64 = 0.7;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "retrograde-scaling",
    slug: "retrograde",
    segment: Segment::ServerContention,
    title: "more clients carry less",
    definition: "The aggregate falls as clients are added: each of them costs the others something (locks, queues, seeks \
                 between files, a cache that is too small for all). What exactly, the rates alone do not tell, so the verdict is no \
                 surer than 0.7.",
    formula: "aggregate(N) < 0.95 x the largest aggregate of fewer clients",
    source: "Gunther, Guerrilla Capacity Planning (2007): the coherency term of the universal scalability law",
    example: "8 clients carry 112 MB/s, 32 clients 74 MB/s",
    how_to_measure: "give the aggregate for several numbers of clients",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    table.series(CLIENTS).iter().flat_map(|series| of_series(table, series)).collect()
}

fn of_series(table: &Table<'_>, series: &[&Observation]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let mut best: Option<&Observation> = None;
    for one in series.iter().copied().filter(|one| table.modes(one).is_none()) {
        let Some(peak) = best else {
            best = Some(one);
            continue;
        };
        let Some(faster) = table::speed_up(peak, one) else { continue };
        if faster.low >= 1.0 {
            best = Some(one);
        } else if faster.high < FALL_RATIO - table::doubt_ratio(one) && one.clients > peak.clients {
            let clients = |one: &Observation| one.clients.unwrap_or(1);
            let text = format!(
                "{} clients carry {} times what {} {} ({}, {})",
                clients(one),
                times(faster),
                clients(peak),
                if clients(peak) == 1 { "does" } else { "do" },
                peak.id,
                one.id
            );
            let verdict = Verdict::on(RULE.segment, &one.id, Stance::Limits, Basis::State, 1.0 - faster.high);
            let verdict = Verdict { severity: Severity::Warning, ..verdict }.at_most(CONFIDENCE_MAX);
            let text = clients_add_nothing::remarked(peak, one, text);
            verdicts.push(verdict.because(text, "aggregates of different numbers of clients", ""));
        }
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{first, read, slugs, told};
    use super::*;
    use std::fmt::Write as _;

    fn of(rates: [f64; 4]) -> narrows_model::Observations {
        let mut rows = String::new();
        for (clients, rate) in [1, 4, 8, 32].into_iter().zip(rates) {
            writeln!(rows, "[[observation]]\nid = \"c{clients}\"\nop = \"read\"\nclients = {clients}\nbytes_per_s = {rate}e6").unwrap();
        }
        read(&rows)
    }

    #[test]
    fn a_baseline_of_other_files_is_told() {
        let mut all = of([30.0, 100.0, 112.0, 74.0]);
        let remark = "the bytes of a client differ between them too";
        assert!(!told(&all, "retrograde").contains(remark));
        all.observations[3].file_bytes = Some(narrows_model::Bytes(1 << 20));
        assert!(told(&all, "retrograde").contains(remark), "{}", told(&all, "retrograde"));
    }

    #[test]
    fn an_aggregate_that_falls_is_contention() {
        let all = of([30.0, 100.0, 112.0, 74.0]);
        assert!(slugs(&all).contains(&"retrograde".to_owned()));
        assert_eq!(first(&all), Segment::ServerContention);
        assert!(!slugs(&of([30.0, 100.0, 112.0, 110.0])).contains(&"retrograde".to_owned()));
    }
}
