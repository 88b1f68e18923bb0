//! The CPUs of the one machine on which client and server run are full.

use super::judge::{self, Shown};
use super::{Basis, Rule, Stance, Verdict};
use crate::text;
use crate::view::View;
use narrows_model::Segment;
use narrows_model::counters::Role;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "host-cpu-full",
    slug: "host_cpu",
    segment: Segment::HostCpu,
    title: "the CPUs that client and server share are full",
    definition: "Client and server run on one machine (same boot id) without CPUs of their own, so their CPU is one \
                 station: what one uses the other lacks; a proxy there without CPUs of its own belongs to it. Roles of the buffer \
                 experiment are charged so where their CPU sets overlap, unless one of them fills a core by itself. The verdict shows software cost, not a network or a server.",
    formula: "X <= min(CPUs, CPU sets, shared quota) / (D client + D proxy + D server + D softirq); full from 0.9 of it; at one request in flight: the sum of \
              the demands >= half of the time of one request",
    source: "Forced flow and utilisation laws, Denning and Buzen, ACM Computing Surveys 10 (1978)",
    example: "1 MiB reads over loopback: client 0.98 CPUs, server 0.87 CPUs, softirq 0.05 CPUs of 2.00 CPUs (95 %)",
    how_to_measure: "run client and server on one machine without CPU sets of their own; apart, see client.cpu and server.cpu",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    if !view.sharing.one_station() {
        return Vec::new();
    }
    view.regimes().iter().filter_map(|regime| judge(view, regime.cell)).collect()
}

/// CPUs busy for each part of the work.
struct Busy {
    client: f64,
    /// Of a proxy on the same machine; 0 where there is none.
    proxy: f64,
    server: f64,
    softirq: f64,
}

fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let busy = busy(view, cell)?;
    let capacity = view.station_cpus();
    let sum = busy.client + busy.proxy + busy.server + busy.softirq;
    let load = ratio(sum, capacity)?.min(1.0);
    let shown = Shown {
        counter: "CPU time of the processes, soft interrupts of the machine",
        command: "mpstat 1; pidstat -u 1",
    };
    if judge::is_single(cell) && load < judge::FULL_RATIO {
        let part_s = ratio(sum, cell.ops_per_s?.0)?;
        let what = "CPU of client, server and soft interrupts together";
        return judge::time_share(RULE.segment, cell, part_s, what, shown);
    }
    let stance = if load >= judge::FULL_RATIO { Stance::Limits } else { Stance::Clears };
    let text = format!(
        "{}: client {},{} server {}, soft interrupts {} of {} ({})",
        cell.id,
        text::cpus(busy.client),
        if busy.proxy > 0.0 { format!(" proxy {},", text::cpus(busy.proxy)) } else { String::new() },
        text::cpus(busy.server),
        text::cpus(busy.softirq),
        text::cpus(capacity),
        text::percent(load),
    );
    let verdict = Verdict::on(RULE.segment, &cell.id, stance, Basis::Utilisation, load);
    Some(verdict.within(judge::error_ratio(cell)).because(text, shown.counter, shown.command))
}

fn busy(view: &View<'_>, cell: &CellSummary) -> Option<Busy> {
    let (client, server) = (View::cpu(cell, Role::Client)?, View::cpu(cell, Role::Server)?);
    let cpus = |cpu: &narrows_model::summary::RoleCpu| cpu.busy_ratio * cpu.capacity_cpus;
    let softirq = client.softirq_s.or(server.softirq_s).unwrap_or(0.0);
    let proxy = View::cpu(cell, Role::Proxy).filter(|_| view.proxy_is_in_station());
    Some(Busy {
        client: cpus(client),
        proxy: proxy.map_or(0.0, cpus),
        server: cpus(server),
        softirq: ratio(softirq, cell.elapsed_s.last_done).unwrap_or(0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, found};

    #[test]
    fn the_cpus_of_a_shared_machine_are_named_first_with_the_sentence_and_the_cap() {
        let diagnosis = builtin("shared-laptop").diagnosis;
        assert_eq!(diagnosis.limiting[0].segment, Segment::HostCpu);
        assert!(diagnosis.limiting.iter().all(|entry| entry.confidence <= 0.6));
        let sentence =
            "Client and server share this machine: this shows software cost, not your network or server.";
        assert_eq!(diagnosis.preface.as_deref(), Some(sentence));
    }

    #[test]
    fn over_loopback_no_network_is_measured() {
        let diagnosis = builtin("shared-laptop").diagnosis;
        for segment in [Segment::NetworkBandwidth, Segment::NetworkLatency, Segment::NetworkLoss] {
            assert!(diagnosis.not_measured.iter().any(|entry| entry.segment == segment), "{segment}");
        }
    }

    #[test]
    fn two_machines_are_not_judged_as_one() {
        let summary = builtin("two-laptops");
        assert!(!found(&summary, RULE.code) && summary.diagnosis.preface.is_none());
    }

    #[test]
    fn a_proxy_of_the_same_cpus_widens_the_station_and_one_apart_is_left_out() {
        let station = |affinity: &[u32]| {
            let mut summary = builtin("shared-laptop");
            let mut inventory = summary.hosts[0].inventory.clone();
            inventory.host.affinity_cpus = affinity.to_vec();
            for host in &mut summary.hosts {
                (host.inventory.host.affinity_cpus, host.inventory.host.online_cpus) = (vec![0, 1], 4);
                if let Some(server) = &mut host.server {
                    server.affinity_cpus = vec![0, 1];
                }
            }
            let roles = vec![Role::Proxy];
            summary.hosts.push(narrows_model::summary::HostSummary { roles, inventory, server: None });
            let view = View::of(&summary);
            (view.proxy_is_in_station(), view.station_cpus())
        };
        assert_eq!(station(&[1, 2]), (true, 3.0));
        assert_eq!(station(&[2, 3]), (false, 2.0));
    }
}
