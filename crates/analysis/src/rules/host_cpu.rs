//! The CPUs of the one machine on which client and server run are full.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::facts::flags::{FOREIGN_LOAD, has};
use crate::method::cpu::{full_station, open_unless_blamed};
use crate::method::{self, EvidenceSource, calls};
use crate::text;
use crate::thresholds::FULL_RATIO;
use crate::view::SummaryView;
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
    definition: "Client and server run on one machine (same boot id) without dedicated CPUs, so they compete for the \
                 same CPUs; a proxy there without dedicated CPUs is included. Roles of the buffer experiment are \
                 treated this way where their CPU sets overlap, unless one of them fills a core by itself. The \
                 verdict shows software cost, not a network or a server.",
    formula: "X <= min(CPUs, CPU sets, shared quota) / (D client + D proxy + D server + D softirq); full from 0.9 of it; at one request in flight: the sum of \
              the demands >= half of the time of one request",
    source: "Forced flow and utilisation laws, Denning and Buzen, ACM Computing Surveys 10 (1978)",
    example: "1 MiB reads over loopback: client 0.98 CPUs, server 0.87 CPUs, softirq 0.05 CPUs of 2.00 CPUs (95 %)",
    how_to_measure: Some(
        "run client and server on one machine without separate CPU sets; with separate ones, see client.cpu and \
        server.cpu",
    ),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let is_shared = cases.view().is_some_and(|view| view.sharing.one_station());
    let mut verdicts = if is_shared { cases.evaluate_cells(evaluate) } else { Vec::new() };
    verdicts.extend(of_stations(cases));
    verdicts
}

/// CPUs that roles of the buffer experiment share, where they are full, with what calls cost there.
fn of_stations(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let laws = cases.table().map(calls::laws).unwrap_or_default();
    cases.evaluate_loads(|case| {
        let station = full_station(case)?;
        let load = station.load()?;
        let demand = |(role, busy): &(Role, f64)| format!("{} {}", role.name(), text::cpus(*busy));
        let text = format!(
            "{}: {} of {} that they share ({})",
            case.id,
            station.busy_cpus.iter().map(demand).collect::<Vec<_>>().join(", "),
            text::cpus(station.cpu_count as f64),
            text::percent(load)
        );
        let verdict =
            SegmentVerdict::new(RULE.segment, case.id, Stance::Limits, Basis::Utilisation, load.min(1.0))
                .with_evidence(
                    text,
                    "CPU time of the roles' threads, their CPU sets",
                    "mpstat -P ALL 1; taskset -p PID",
                );
        let laws = laws.get(case.id).into_iter().flatten();
        Some(
            laws.fold(verdict, |verdict, law| {
                verdict.with_evidence(law.clone(), "elapsed time and calls", "")
            }),
        )
    })
}

/// CPUs busy for each part of the work.
struct BusyCpus {
    client: f64,
    /// Of a proxy on the same machine; 0 where there is none.
    proxy: f64,
    server: f64,
    softirq: f64,
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let busy = busy(view, cell)?;
    let capacity = view.station_cpus();
    let sum = busy.client + busy.proxy + busy.server + busy.softirq;
    let load = ratio(sum, capacity)?.min(1.0);
    let shown = EvidenceSource {
        counter: "CPU time of the processes, soft interrupts of the machine",
        command: "mpstat 1; pidstat -u 1",
    };
    let is_disturbed = has(cell, FOREIGN_LOAD);
    if method::is_single(cell) && load < FULL_RATIO {
        let part_s = ratio(sum, cell.ops_per_s?.0)?;
        let what = "CPU of client, server and soft interrupts together";
        let verdict = method::time_share(RULE.segment, cell, part_s, what, shown)?;
        return Some(if is_disturbed { open_unless_blamed(verdict) } else { verdict });
    }
    let stance = match load {
        load if load >= FULL_RATIO => Stance::Limits,
        _ if is_disturbed => Stance::Open,
        _ => Stance::Clears,
    };
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
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, stance, Basis::Utilisation, load);
    Some(verdict.with_load_error(method::error_ratio(cell)).with_evidence(text, shown.counter, shown.command))
}

fn busy(view: &SummaryView<'_>, cell: &CellSummary) -> Option<BusyCpus> {
    let (client, server) = (SummaryView::cpu(cell, Role::Client)?, SummaryView::cpu(cell, Role::Server)?);
    let cpus = |cpu: &narrows_model::summary::RoleCpu| cpu.busy_ratio * cpu.capacity_cpus;
    let softirq = client.softirq_s.or(server.softirq_s).unwrap_or(0.0);
    let proxy = SummaryView::cpu(cell, Role::Proxy).filter(|_| view.proxy_is_in_station());
    Some(BusyCpus {
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
    fn two_machines_are_not_evaluated_as_one() {
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
            let view = SummaryView::new(&summary);
            (view.proxy_is_in_station(), view.station_cpus())
        };
        assert_eq!(station(&[1, 2]), (true, 3.0));
        assert_eq!(station(&[2, 3]), (false, 2.0));
    }
}
