//! The server's CPU is full.

use super::judge;
use super::{Rule, Verdict};
use crate::view::View;
use narrows_model::counters::Role;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "server-cpu-full",
    slug: "server_cpu",
    segment: Segment::ServerCpu,
    title: "the server's CPU is full",
    definition: "The server uses what CPU it may use (the smallest of its CPUs, its affinity and its quota), or its \
                 quota holds it back. A low share of many CPUs does not clear it while one connection uses 0.9 of \
                 one. Not judged where client and server use the same CPUs: see host.cpu.",
    formula: "used / capacity >= 0.95, or held back for a tenth of the time at 0.80 or more, or the quota out in half \
              of its periods or more; at one request in flight: \
              CPU and throttled time >= half of the time of one request",
    source: "Utilisation law, Denning and Buzen, ACM Computing Surveys 10 (1978); CFS bandwidth control, kernel \
             documentation scheduler/sched-bwc",
    example: "a server with a quota of 0.30 CPUs uses 0.30 CPUs and is held back for 0.9 s of 1.5 s",
    how_to_measure: "run `narrows serve` on the storage server and give --server HOST:PORT; it reads its CPU counters",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    if view.sharing.one_station() {
        return Vec::new();
    }
    let command = "cat /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/*/cpu.stat; top -b -n1 (on the server)";
    let judged = view.regimes().iter().filter_map(|regime| {
        let verdict = judge::role_cpu(RULE.segment, regime.cell, Role::Server, command)?;
        let gain = judge::relief_of(view, regime.cell, &[Cut::NetworkStream], Some(Role::Server));
        if let Some(undecided) =
            judge::one_thread(Segment::Server, regime.cell, Role::Server, &verdict, command)
        {
            return Some(undecided);
        }
        Some(if judge::is_single(regime.cell) { verdict } else { verdict.gains(gain) })
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found, named};

    #[test]
    fn a_server_held_to_a_third_of_a_cpu_is_named_first() {
        assert_eq!(named(&builtin("slow-server-cpu"), "bulk"), [Segment::ServerCpu]);
    }

    #[test]
    fn one_busy_thread_among_idle_cpus_is_not_cleared_and_the_server_is_named() {
        let mut summary = builtin("ten-gigabit-nfs");
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
            cell.rate_bytes_per_s =
                cell.rate_bytes_per_s.map(|rate| narrows_model::BytesPerSec(rate.0 / 2.0));
            let server = cell.cpu.get_mut(&Role::Server).unwrap();
            (server.busy_ratio, server.capacity_cpus) = (0.12, 8.0);
        }
        let diagnosis = crate::diagnose(&summary);
        assert_eq!(diagnosis.limiting[0].segment, Segment::Server);
        let cleared = diagnosis.exonerated.iter().find(|entry| entry.segment == Segment::ServerCpu);
        assert!(cleared.is_none());
    }

    #[test]
    fn a_server_with_cpus_to_spare_is_cleared() {
        let mut summary = builtin("fast-server-cpu");
        // Many small requests of one connection use most of one CPU: of these it stays open.
        summary.cells.retain(|cell| cell.block_bytes.0 > 64 << 10 || cell.in_flight.configured == 1);
        summary.diagnosis = crate::diagnose(&summary);
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::ServerCpu));
    }
}
