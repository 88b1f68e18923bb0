//! Kernel and protocol time fill the client's CPU.

use super::judge;
use super::{Rule, Stance, Verdict};
use crate::view::View;
use narrows_model::Segment;
use narrows_model::counters::Role;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "client-cpu-full",
    slug: "client_cpu",
    segment: Segment::ClientCpu,
    title: "the client's CPU is full",
    definition: "The client uses what CPU it may use on system calls, copies and protocol, while the generator alone \
                 could ask for more. Not judged where client and server use the same CPUs: see host.cpu.",
    formula: "used / capacity >= 0.95, or held back for a tenth of the time at 0.80 or more; at one request in flight: \
              CPU and throttled time >= half of the time of one request",
    source: "Utilisation law, Denning and Buzen, ACM Computing Surveys 10 (1978)",
    example: "a client with a quota of 0.25 CPUs uses 0.25 CPUs at 41 MiB/s",
    how_to_measure: "read the client's CPU counters while it runs: `top -b -n1`, /proc/PID/stat, cpu.stat of its group",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    if view.sharing.one_station() {
        return Vec::new();
    }
    let command = "cat /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/*/cpu.stat; top -b -n1";
    let judged = view.regimes().iter().filter_map(|regime| {
        let verdict = judge::role_cpu(RULE.segment, regime.cell, Role::Client, command)?;
        // A cache at memory speed fills the CPU by nature: then the cache is what served, not the CPU what held back.
        let served = judge::is_cached(regime.cell) && verdict.stance == Stance::Limits;
        Some(if served { Verdict { stance: Stance::Clears, ..verdict } } else { verdict })
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found, named};

    #[test]
    fn a_client_held_to_a_quarter_of_a_cpu_is_named_first() {
        assert_eq!(named(&builtin("weak-client"), "bulk"), [Segment::ClientCpu]);
    }

    #[test]
    fn a_client_with_cpus_to_spare_is_cleared() {
        let summary = builtin("strong-client");
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::ClientCpu));
    }
}
