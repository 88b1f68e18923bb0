//! The same rate over the network as on the server itself: what is between them does not limit.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::case::table::{self, PATH, times};
use crate::text;
use crate::thresholds::{BUSY_RATIO, INFERRED_CONFIDENCE, NO_EFFECT_RATIO, no_effect_ratio};
use narrows_model::counters::Role;
use narrows_model::{Observation, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "same-without-path",
    slug: "same_without_path",
    segment: Segment::ClientCpu,
    title: "as fast over the network as on the server itself",
    definition: "An observation is as fast as the same load with factor `path = \"local\"`, on the server itself: the \
                 network between them does not limit it. Where the CPU of the load's process was busy in both, that \
                 CPU limits both, even if it is not quite full: a phase includes its start and its end. The \
                 confidence is at most 0.7.",
    formula: "1/1.05 < rate / local rate < 1.05; CPU of the client >= 0.8 in both",
    source: "IOPerf at the RHIC Computing Facility (2002): putc over NFS and on the server",
    example: "putc 9050 KB/s over NFS at 83 % CPU, 9183 KB/s on the server at 94 %",
    how_to_measure: None,
    how_to_write: Some(
        "run the same load on the server itself and write factor = { path = \"local\" } below it",
    ),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    let has_path = |name: &str| name == PATH;
    let groups = table.groups(|one| Some(table::setting_under(one, one.op, &has_path)));
    let mut verdicts = Vec::new();
    for group in groups {
        let (local, over): (Vec<&Observation>, Vec<&Observation>) =
            group.into_iter().partition(|one| table::is_local(one));
        for one in over {
            let found = local.iter().find_map(|local| evaluate_equal_rates(local, one)).unwrap_or_default();
            // What several are equal to is reported once.
            let known = |verdict: &SegmentVerdict| {
                verdicts.iter().any(|known: &SegmentVerdict| known.cell == verdict.cell)
            };
            let fresh: Vec<SegmentVerdict> = found.into_iter().filter(|verdict| !known(verdict)).collect();
            verdicts.extend(fresh);
        }
    }
    verdicts
}

/// What two equal rates say; `None` where they differ.
fn evaluate_equal_rates(local: &Observation, one: &Observation) -> Option<Vec<SegmentVerdict>> {
    let faster = table::speed_up(local, one)?;
    let doubt = table::doubt_ratio(local).max(table::doubt_ratio(one));
    if faster.high >= no_effect_ratio(doubt) || faster.low <= 1.0 / NO_EFFECT_RATIO {
        return None;
    }
    let busy = |one: &Observation| table::cpu(one, Role::Client).map(|cpu| cpu.ratio);
    let comparison =
        format!("{} at {} times the rate of {}, which crosses no network", one.id, times(faster), local.id);
    let because = |verdict: SegmentVerdict, text: String| {
        verdict.with_evidence(text, "rates with and without the network", "")
    };
    let network = SegmentVerdict::new(Segment::Network, &one.id, Stance::Clears, Basis::State, 0.0);
    let mut verdicts = vec![because(network, comparison.clone())];
    if let (Some(there), Some(here)) = (busy(local), busy(one))
        && there.min(here) >= BUSY_RATIO
    {
        let cpus = format!("{comparison}; CPU {} and {}", text::percent(here), text::percent(there));
        for (id, busy) in [(&one.id, here), (&local.id, there)] {
            let cpu =
                SegmentVerdict::new(Segment::ClientCpu, id, Stance::Limits, Basis::State, busy.min(1.0));
            verdicts.push(because(cpu.with_confidence_max(INFERRED_CONFIDENCE), cpus.clone()));
        }
    }
    Some(verdicts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::observed::{cleared, named, read};

    fn observations(local_rate: f64, cpu: f64) -> narrows_model::Observations {
        read(&format!(
            "[[observation]]\nid = \"here\"\nop = \"write\"\nbytes_per_s = {local_rate}\ncpu_cores = {{ client = 0.94 }}\n\
             factor = {{ path = \"local\" }}\n[[observation]]\nid = \"over\"\nop = \"write\"\nbytes_per_s = 9.05e6\n\
             cpu_cores = {{ client = {cpu} }}\n[[ceiling]]\nsegment = \"network.bandwidth\"\nbytes_per_s = 12e6\n"
        ))
    }

    #[test]
    fn equal_rates_with_busy_cpus_are_the_cpus() {
        let both = crate::diagnose_observations(&observations(9.18e6, 0.83)).limiting;
        assert_eq!(both.iter().map(|entry| entry.segment).collect::<Vec<_>>(), [Segment::ClientCpu]);
        assert_eq!(both[0].regime, "write (all 2 observations)");
        assert!(cleared(&observations(9.18e6, 0.83), Segment::Network));
    }

    #[test]
    fn other_rates_or_idle_cpus_say_nothing_of_the_cpu() {
        assert!(!named(&observations(27e6, 0.83)).contains(&Segment::ClientCpu));
        assert!(!named(&observations(9.18e6, 0.3)).contains(&Segment::ClientCpu));
    }

    #[test]
    fn what_crossed_no_network_is_not_compared_with_it() {
        assert!(!named(&observations(27e6, 0.83)).contains(&Segment::ClientCache));
    }
}
