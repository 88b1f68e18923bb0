//! The server's CPU is full.

use super::{Rule, SegmentVerdict};
use crate::case::{Case, Cases};
use crate::method;
use crate::method::cpu::{self, RoleCpuTest};
use narrows_model::counters::Role;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "server-cpu-full",
    slug: "server_cpu",
    segment: Segment::ServerCpu,
    title: "the server's CPU is full",
    definition: "The server uses all of the CPU available to it (the smallest of its CPUs, its affinity and its \
                 quota), or its quota throttles it. A low share of many CPUs does not clear it while one connection \
                 uses 0.9 of one. Where client and server use the same CPUs only a quota of its own group, or a smaller \
                 CPU set, that it fills is named: see host.cpu. A figure of \
                 an observation may be the share of all CPUs or that of the busiest core: one full thread limits even \
                 if other cores are idle. A share up to a tenth above 1 is rounding and counts as full; a larger one \
                 is impossible and is ignored.",
    formula: "used / capacity >= 0.95, or throttled for a tenth of the time at 0.80 or more, or throttled in half of \
              the quota's periods or more; cleared below 0.9; at one request in flight: CPU and throttled time >= \
              half of the time of one request; in a file busy / usable CPUs, busiest core, or (user + system) / \
              elapsed of one core where the number of CPUs is not given",
    source: "Utilisation law, Denning and Buzen, ACM Computing Surveys 10 (1978); CFS bandwidth control, kernel \
             documentation scheduler/sched-bwc",
    example: "a server with a quota of 0.30 CPUs uses 0.30 CPUs and is throttled for 0.9 s of 1.5 s",
    how_to_measure: Some(
        "run `narrows serve` on the storage server and give --server HOST:PORT; it reads its CPU counters",
    ),
    how_to_write: Some(
        "give cpu_ratio, cpu_cores with cpus, or user_s and system_s of the role (vmstat, sar, getrusage)",
    ),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let command = cases.view().map_or("", |_| COMMAND);
    let test = RoleCpuTest { role: Role::Server, segment: RULE.segment, command };
    let is_charged = |(case, verdict): &(&Case<'_>, SegmentVerdict)| {
        cpu::is_charged_alone(cases, case, verdict, Role::Server)
    };
    let verdicts = cpu::of_role(cases, test).into_iter().filter(is_charged).map(|(case, verdict)| {
        if let Some(undecided) = cpu::one_thread(Segment::Server, case, test, &verdict) {
            return undecided;
        }
        let measured = cases.view().zip(case.cell()).filter(|_| !case.is_single);
        let gain = measured.and_then(|(view, cell)| {
            method::relief_of(view, cell, &[Cut::NetworkStream], Some(Role::Server))
        });
        SegmentVerdict { relief_gain_ratio: verdict.relief_gain_ratio.or(gain), ..verdict }
    });
    verdicts.collect()
}

const COMMAND: &str = "cat /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/*/cpu.stat; top -b -n1 (on the server)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found, named};
    use narrows_model::summary::CpuBasis;

    #[test]
    fn a_server_limited_to_a_third_of_a_cpu_is_named_first() {
        assert_eq!(named(&builtin("slow-server-cpu"), "bulk"), [Segment::ServerCpu]);
    }

    #[test]
    fn on_shared_cpus_a_quota_of_the_server_alone_is_its_own_limit_and_use_without_one_is_not() {
        let shared = |basis: CpuBasis| {
            let mut summary = builtin("slow-server-cpu");
            for host in &mut summary.hosts {
                host.inventory.host.boot_id = Some("one".to_owned());
                host.inventory.host.affinity_cpus = vec![0, 1];
                if let Some(server) = &mut host.server {
                    (server.boot_id, server.shares_machine) = ("one".to_owned(), true);
                    server.affinity_cpus = vec![0, 1];
                }
            }
            for cell in &mut summary.cells {
                if let Some(server) = cell.cpu.get_mut(&Role::Server) {
                    server.basis = basis;
                }
            }
            crate::diagnose(&summary)
        };
        let by_quota = shared(CpuBasis::Cgroup);
        assert_eq!(by_quota.limiting[0].segment, Segment::ServerCpu, "{:#?}", by_quota.limiting);
        let by_use = shared(CpuBasis::Process);
        assert!(by_use.limiting.iter().all(|entry| entry.segment != Segment::ServerCpu));
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
