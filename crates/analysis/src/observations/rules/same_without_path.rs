//! The same rate over the network as on the server itself: what lies between does not limit.

use super::super::table::{self, PATH, Table};
use super::ObservationRule;
use super::factor_effect::times;
use crate::rules::{Basis, Stance, Verdict};
use crate::text;
use narrows_model::counters::Role;
use narrows_model::{Observation, Segment};

/// Rates this close are the same.
const NO_EFFECT: f64 = 1.05;
/// From this share on, a CPU that two equal rates have in common is what holds both.
pub(super) const BUSY_RATIO: f64 = 0.8;
/// Two machines of which each runs at its own CPU's rate may be equal by chance.
const CONFIDENCE_MAX: f64 = 0.7;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "same-without-path",
    slug: "same_without_path",
    segment: Segment::ClientCpu,
    title: "as fast over the network as on the server itself",
    definition: "An observation is as fast as the same load with factor `path = \"local\"`, on the server itself: the network \
                 between them does not limit it. Where the CPU of the load's process was busy in both, it is that CPU that \
                 limits both, though it is not quite full: a phase also has its start and its end. Said no surer than 0.7.",
    formula: "1/1.05 < rate / local rate < 1.05; CPU of the client >= 0.8 in both",
    source: "IOPerf at the RHIC Computing Facility (2002): putc over NFS and on the server",
    example: "putc 9050 KB/s over NFS at 83 % CPU, 9183 KB/s on the server at 94 %",
    how_to_measure: "run the same load on the server itself and write factor = { path = \"local\" } below it",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    let has_path = |name: &str| name == PATH;
    let groups = table.groups(|one| Some(table::setting_under(one, one.op, &has_path)));
    let mut verdicts = Vec::new();
    for group in groups {
        let (local, over): (Vec<&Observation>, Vec<&Observation>) =
            group.into_iter().partition(|one| table::is_local(one));
        for one in over {
            let found = local.iter().find_map(|local| same(local, one)).unwrap_or_default();
            // What several are equal to is told once.
            let known = |verdict: &Verdict| verdicts.iter().any(|known: &Verdict| known.cell == verdict.cell);
            let fresh: Vec<Verdict> = found.into_iter().filter(|verdict| !known(verdict)).collect();
            verdicts.extend(fresh);
        }
    }
    verdicts
}

/// What two equal rates say; `None` where they differ.
fn same(local: &Observation, one: &Observation) -> Option<Vec<Verdict>> {
    let faster = table::speed_up(local, one)?;
    let doubt = table::doubt_ratio(local).max(table::doubt_ratio(one));
    if faster.high >= NO_EFFECT - doubt.min(0.04) || faster.low <= 1.0 / NO_EFFECT {
        return None;
    }
    let busy = |one: &Observation| table::cpu(one, Role::Client).map(|cpu| cpu.ratio);
    let told =
        format!("{} at {} times the rate of {}, which crosses no network", one.id, times(faster), local.id);
    let because =
        |verdict: Verdict, text: String| verdict.because(text, "rates with and without the network", "");
    let network = Verdict::on(Segment::Network, &one.id, Stance::Clears, Basis::State, 0.0);
    let mut verdicts = vec![because(network, told.clone())];
    if let (Some(there), Some(here)) = (busy(local), busy(one))
        && there.min(here) >= BUSY_RATIO
    {
        let cpus = format!("{told}; CPU {} and {}", text::percent(here), text::percent(there));
        for (id, busy) in [(&one.id, here), (&local.id, there)] {
            let cpu = Verdict::on(Segment::ClientCpu, id, Stance::Limits, Basis::State, busy.min(1.0));
            verdicts.push(because(cpu.at_most(CONFIDENCE_MAX), cpus.clone()));
        }
    }
    Some(verdicts)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{cleared, named, read};
    use super::*;

    fn of(local_rate: f64, cpu: f64) -> narrows_model::Observations {
        read(&format!(
            "[[observation]]\nid = \"here\"\nop = \"write\"\nbytes_per_s = {local_rate}\ncpu_cores = {{ client = 0.94 }}\n\
             factor = {{ path = \"local\" }}\n[[observation]]\nid = \"over\"\nop = \"write\"\nbytes_per_s = 9.05e6\n\
             cpu_cores = {{ client = {cpu} }}\n[[ceiling]]\nsegment = \"network.bandwidth\"\nbytes_per_s = 12e6\n"
        ))
    }

    #[test]
    fn equal_rates_with_busy_cpus_are_the_cpus() {
        let both = crate::diagnose_observations(&of(9.18e6, 0.83)).limiting;
        assert_eq!(both.iter().map(|entry| entry.segment).collect::<Vec<_>>(), [Segment::ClientCpu]);
        assert_eq!(both[0].regime, "write (all 2 observations)");
        assert!(cleared(&of(9.18e6, 0.83), Segment::Network));
    }

    #[test]
    fn other_rates_or_idle_cpus_say_nothing_of_the_cpu() {
        assert!(!named(&of(27e6, 0.83)).contains(&Segment::ClientCpu));
        assert!(!named(&of(9.18e6, 0.3)).contains(&Segment::ClientCpu));
    }

    #[test]
    fn what_crossed_no_network_is_not_held_against_it() {
        assert!(!named(&of(27e6, 0.83)).contains(&Segment::ClientCache));
    }
}
