//! The proxy's CPU is full.

use super::{Rule, SegmentVerdict};
use crate::case::{Case, Cases};
use crate::method;
use crate::method::cpu::{self, RoleCpuTest};
use crate::view::SummaryView;
use narrows_model::counters::Role;
use narrows_model::summary::{CellSummary, CpuBasis};
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "proxy-cpu-full",
    slug: "proxy_cpu",
    segment: Segment::ProxyCpu,
    title: "the proxy's CPU is full",
    definition: "The proxy uses all of the CPU available to it (the smallest of its CPUs, its affinity and its \
                 quota), or its quota throttles it. A low share of many CPUs does not clear it while one connection \
                 uses 0.9 of one: each direction of a connection is one thread there. Where it runs on the CPUs of \
                 the client or the server, only a quota set for it is evaluated. A figure of an observation may be \
                 the share of all CPUs or that of the busiest core: one full thread limits even if other cores are \
                 idle. A share up to a tenth above 1 is rounding and counts as full; a larger one is impossible and \
                 is ignored.",
    formula: "used / capacity >= 0.95, or throttled for a tenth of the time at 0.80 or more, or throttled in half of \
              the quota's periods or more; cleared below 0.9; at one request in flight: CPU and throttled time >= \
              half of the time of one request; in a file busy / usable CPUs, busiest core, or (user + system) / \
              elapsed of one core where the number of CPUs is not given",
    source: "Utilisation law, Denning and Buzen, ACM Computing Surveys 10 (1978); CFS bandwidth control, kernel \
             documentation scheduler/sched-bwc",
    example: "a proxy with a quota of 0.15 CPUs uses 0.15 CPUs and is throttled for 1.2 s of 1.5 s",
    how_to_measure: Some(
        "give the path as tcp://HOST:PORT/LAYER?via=PROXYHOST:PORT through a `narrows proxy`, which reports its CPU \
                     counters; where all run on one machine, give the proxy dedicated CPUs or its own quota",
    ),
    how_to_write: Some(
        "give cpu_ratio, cpu_cores with cpus, or user_s and system_s of the role (vmstat, sar, getrusage)",
    ),
    run,
};

const COMMAND: &str =
    "cat /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/*/cpu.stat; top -H -b -n1 (on the proxy's machine)";

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let command = cases.view().map_or("", |_| COMMAND);
    let test = RoleCpuTest { role: Role::Proxy, segment: RULE.segment, command };
    let apart = cpu::of_role(cases, test).into_iter().filter(|(case, _)| is_apart(cases, case));
    let verdicts = apart.map(|(case, verdict)| {
        if let Some(undecided) = cpu::one_thread(Segment::Proxy, case, test, &verdict) {
            return undecided;
        }
        // Without the proxy the path gets what it and the stream get past it, at most.
        let cuts = [Cut::DirectStream, Cut::DirectPath];
        let measured = cases.view().zip(case.cell()).filter(|_| !case.is_single);
        let gain = measured.and_then(|(view, cell)| method::relief_of(view, cell, &cuts, Some(Role::Proxy)));
        SegmentVerdict { relief_gain_ratio: verdict.relief_gain_ratio.or(gain), ..verdict }
    });
    verdicts.collect()
}

/// Whether what the proxy used of its CPU is its own: it has CPUs for itself, or a quota.
fn is_apart(cases: &Cases<'_>, case: &Case<'_>) -> bool {
    let Some(view) = cases.view() else { return true };
    let by_quota = |cell: &CellSummary| {
        SummaryView::cpu(cell, Role::Proxy).is_some_and(|cpu| cpu.basis == CpuBasis::Cgroup)
    };
    view.proxy_apart() || case.cell().is_some_and(by_quota)
}

#[cfg(test)]
mod tests {
    use crate::testing::proxied::{Proxied, proxied};
    use crate::testing::{cleared, found};
    use narrows_model::Segment;
    use narrows_model::summary::CpuBasis;

    #[test]
    fn a_proxy_at_its_quota_is_named_with_its_counter_and_a_command() {
        let summary = proxied(Proxied { busy: 0.99, quota: true, ..Proxied::slow() });
        let first = &summary.diagnosis.limiting[0];
        assert_eq!(first.segment, Segment::ProxyCpu, "{:#?}", summary.diagnosis.limiting);
        assert_eq!(first.codes, ["proxy-cpu-full"]);
        let evidence = &first.evidence[0];
        assert!(evidence.text.contains("the proxy uses 0.30 CPUs of 0.30 CPUs"), "{evidence:?}");
        assert!(evidence.counter.contains("cgroup CPU usage") && evidence.command.contains("cpu.stat"));
        assert!(
            first.relief_gain_ratio.is_some_and(|gain| gain > 1.5),
            "its own quota bounds no gain: {first:?}"
        );
        assert!(!found(&summary, "proxy-holds-back") && !found(&summary, "network-bandwidth-full"));
    }

    #[test]
    fn a_proxy_with_cpu_to_spare_is_cleared() {
        let summary = proxied(Proxied::healthy());
        assert!(!found(&summary, "proxy-cpu-full") && cleared(&summary, Segment::ProxyCpu));
    }

    #[test]
    fn on_the_clients_cpus_a_proxy_without_a_quota_is_neither_blamed_nor_cleared() {
        let mut shared = Proxied { busy: 0.99, shares_client: true, ..Proxied::slow() };
        let summary = proxied(shared);
        assert!(!found(&summary, "proxy-cpu-full") && !cleared(&summary, Segment::ProxyCpu));
        shared.quota = true;
        let summary = proxied(shared);
        assert_eq!(summary.diagnosis.limiting[0].segment, Segment::ProxyCpu);
        assert!(summary.cells.iter().all(|cell| {
            cell.cpu.get(&narrows_model::Role::Proxy).is_none_or(|cpu| cpu.basis == CpuBasis::Cgroup)
        }));
    }

    #[test]
    fn one_busy_thread_among_idle_cpus_is_not_cleared() {
        let summary = proxied(Proxied { busy: 0.25, capacity_cpus: 4.0, ..Proxied::slow() });
        assert!(!cleared(&summary, Segment::ProxyCpu));
        let proxy = |segment: Segment| segment.is_within(Segment::Proxy);
        assert!(summary.diagnosis.limiting.iter().any(|entry| proxy(entry.segment)));
    }
}
