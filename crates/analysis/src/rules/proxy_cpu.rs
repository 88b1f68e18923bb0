//! The proxy's CPU is full.

use super::judge;
use super::{Rule, Verdict};
use crate::view::View;
use narrows_model::counters::Role;
use narrows_model::summary::{CellSummary, CpuBasis};
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "proxy-cpu-full",
    slug: "proxy_cpu",
    segment: Segment::ProxyCpu,
    title: "the proxy's CPU is full",
    definition: "The proxy on the way uses what CPU it may use (the smallest of its CPUs, its affinity and its quota), or \
                 its quota holds it back. A low share of many CPUs does not clear it while one connection uses 0.9 of \
                 one: a direction of a connection is one thread there. Where it runs on the CPUs of the client or the \
                 server, it is judged by a quota of its own alone.",
    formula: "used / capacity >= 0.95, or held back for a tenth of the time at 0.80 or more, or the quota out in half \
              of its periods or more; at one request in flight: CPU and throttled time >= half of the time of one request",
    source: "Utilisation law, Denning and Buzen, ACM Computing Surveys 10 (1978); CFS bandwidth control, kernel \
             documentation scheduler/sched-bwc",
    example: "a proxy with a quota of 0.15 CPUs uses 0.15 CPUs and is held back for 1.2 s of 1.5 s",
    how_to_measure: "give the path as tcp://HOST:PORT/LAYER?via=PROXYHOST:PORT through a `narrows proxy`, which tells its CPU \
                     counters; where all run on one machine, give the proxy CPUs or a quota of its own",
    run,
};

const COMMAND: &str =
    "cat /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/*/cpu.stat; top -H -b -n1 (on the proxy's machine)";

fn run(view: &View<'_>) -> Vec<Verdict> {
    view.regimes().iter().filter_map(|regime| judge(view, regime.cell)).collect()
}

fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let cpu = View::cpu(cell, Role::Proxy)?;
    if !view.proxy_apart() && cpu.basis != CpuBasis::Cgroup {
        return None;
    }
    let verdict = judge::role_cpu(RULE.segment, cell, Role::Proxy, COMMAND)?;
    if let Some(undecided) = judge::one_thread(Segment::Proxy, cell, Role::Proxy, &verdict, COMMAND) {
        return Some(undecided);
    }
    // Without the proxy the path gets what it and the stream get past it, at most.
    let gain = judge::relief_of(view, cell, &[Cut::DirectStream, Cut::DirectPath], Some(Role::Proxy));
    Some(if judge::is_single(cell) { verdict } else { verdict.gains(gain) })
}

#[cfg(test)]
mod tests {
    use crate::rules::proxy_queue::tests::{Proxied, proxied};
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
