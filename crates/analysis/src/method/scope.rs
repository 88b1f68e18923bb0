//! Which part of the network is full where a path is striped over several servers, or clients run on several hosts: the links of
//! the servers or of the clients, or what all of them share.
//!
//! Not here: whether the network is full at all, which is the rule's of its bandwidth.

use super::network;
use crate::facts::StripeMembers;
use crate::facts::network::transferred_bytes_per_s;
use crate::text;
use crate::thresholds::{FULL_RATIO, GAIN_RATIO};
use crate::view::SummaryView;
use narrows_model::Cut;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// What all servers share: the client's link, or a switch between.
pub(crate) const SHARED: &str = "shared";
/// The link of each server, or of the slowest one.
pub(crate) const SERVER_LINK: &str = "server-link";

/// The link of each client's host.
pub const CLIENT_LINK: &str = "client-link";

/// Below this share of what they transfer one at a time, streams to all servers at once share a link: the CPUs of the hosts, which
/// all at once load more than one does, take less than a fifth.
const SHARED_RATIO: f64 = 0.8;

/// A part of the network, and why it is that one; no name where the streams do not decide between the parts.
pub(crate) struct NetworkScope {
    pub(crate) name: Option<&'static str>,
    pub(crate) text: String,
}

/// The part of the network that is full for `cell`; `None` where nothing that was measured shows it.
pub(crate) fn scope(view: &SummaryView<'_>, cell: &CellSummary) -> Option<NetworkScope> {
    of_servers(view, cell).or_else(|| of_clients(view, cell))
}

/// The clients' own links, where the same streams of fewer hosts moved as much a host as those of the hosts of `cell`, and nothing
/// but the wire limited either; `None` where that is not so, a proxy is between, or fewer hosts were not measured.
fn of_clients(view: &SummaryView<'_>, cell: &CellSummary) -> Option<NetworkScope> {
    let host_count = |cell: &CellSummary| view.hosts_of_clients(cell.clients).len();
    let all = view.ceiling(Cut::NetworkStream, cell).filter(|_| !view.passes_proxy(cell))?.cell;
    let own_count = host_count(cell);
    let a_host = |cell: &CellSummary, value: f64| ratio(value, host_count(cell) as f64);
    let clients_a_host = |cell: &CellSummary| a_host(cell, f64::from(cell.clients));
    let load =
        |cell: &CellSummary| (cell.cut, cell.op, cell.block_bytes, cell.requested.workers, cell.queue_depth);
    let is_fewer = |other: &&CellSummary| {
        load(other) == load(all)
            && other.target == all.target
            && clients_a_host(other) == clients_a_host(all)
            && (1..own_count).contains(&host_count(other))
    };
    let fewer = view.summary.cells.iter().filter(is_fewer).min_by_key(|other| host_count(other))?;
    let by_wire = |stream: &CellSummary| network::stream_limit(view, stream).is_none();
    if host_count(all) != own_count || !by_wire(all) || !by_wire(fewer) {
        return None;
    }
    let rate = |cell: &CellSummary| a_host(cell, cell.rate_bytes_per_s?.0);
    let (one, each) = (rate(fewer)?, rate(all)?);
    let share = ratio(each, one).filter(|share| (FULL_RATIO..=FULL_RATIO.recip()).contains(share))?;
    let text = format!(
        "{}: streams of {own_count} hosts move {} a host, {} of what those of {} do: each client's own link is full",
        cell.id,
        text::network_rate(each),
        text::percent(share),
        host_count(fewer),
    );
    Some(NetworkScope { name: Some(CLIENT_LINK), text })
}

/// The part where the path has several servers; `None` where the links were not all measured, each alone and all together.
///
/// Links that add up to [`FULL_RATIO`] share nothing, and below [`SHARED_RATIO`] they do. Between the two it may as well be the
/// CPUs of the hosts.
fn of_servers(view: &SummaryView<'_>, cell: &CellSummary) -> Option<NetworkScope> {
    let alone = StripeMembers::new(&view.summary.cells, Cut::NetworkStream, cell)?;
    let combined = transferred_bytes_per_s(view.best_at_any_block(Cut::NetworkStream, cell)?.cell);
    let share = ratio(combined, alone.combined_bytes_per_s())?;
    let measured = format!(
        "{}: streams to all {} servers at once move {}, {} of the {} that they move one at a time",
        cell.id,
        alone.len(),
        text::network_rate(combined),
        text::percent(share),
        text::network_rate(alone.combined_bytes_per_s()),
    );
    let (name, which) = if share < SHARED_RATIO {
        (Some(SHARED), "they share a link or a switch that is full".to_owned())
    } else if share < FULL_RATIO {
        (None, "a shared link, or the CPUs of a host that all streams use, may take the rest".to_owned())
    } else if alone.spread_ratio() < GAIN_RATIO {
        (Some(SERVER_LINK), "each server's own link is full".to_owned())
    } else {
        let slowest = &alone.slowest().target;
        (Some(SERVER_LINK), format!("the link of {slowest} is the slowest and the others wait for it"))
    };
    Some(NetworkScope { name, text: format!("{measured}: {which}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::diagnose;
    use crate::testing::builtin;
    use narrows_model::counters::Role;
    use narrows_model::rank::RankFacts;
    use narrows_model::summary::Metric;
    use narrows_model::units::BytesPerSec;
    use narrows_model::{Limiting, Segment, Summary, Target};

    /// A machine behind a thin wire as a stripe of two servers, whose links alone sustain these shares of the wire.
    fn striped(alone: [f64; 2]) -> Summary {
        let mut summary = builtin("hundred-megabit");
        let at = |text: &str| text.parse::<Target>().unwrap();
        let mut members: Vec<CellSummary> = Vec::new();
        for cell in &mut summary.cells {
            match cell.cut {
                Cut::Path => cell.target = at("stripe:tcp://a:1/disk,tcp://b:1/disk"),
                Cut::NetworkStream => {
                    for (host, share) in ["a", "b"].into_iter().zip(alone) {
                        let rate = cell.rate_bytes_per_s.unwrap().0 * share;
                        let id = format!("{}/{host}", cell.id);
                        let target = at(&format!("tcp://{host}:1/sink"));
                        let rate_bytes_per_s = Some(BytesPerSec(rate));
                        members.push(CellSummary { id, target, rate_bytes_per_s, ..cell.clone() });
                    }
                    cell.target = at("stripe:tcp://a:1/sink,tcp://b:1/sink");
                }
                _ => {}
            }
        }
        summary.cells.extend(members);
        summary.diagnosis = diagnose(&summary);
        summary
    }

    fn bulk(summary: &Summary) -> &Limiting {
        summary.diagnosis.limiting.iter().find(|entry| entry.regime.starts_with("bulk")).unwrap()
    }

    /// Clients on one host and on four of them, whose streams and paths move this share of four times as much together.
    fn on_four_hosts(share: f64) -> Summary {
        let mut summary = builtin("hundred-megabit");
        let rank = |rank: u32| RankFacts {
            rank,
            host: format!("h{rank}"),
            pid: 1,
            cpus: vec![0],
            memory_bytes: None,
            clock_offset_ns: 0,
            clock_uncertainty_ns: narrows_model::Nanos(1),
        };
        let client = |host: &&mut narrows_model::summary::HostSummary| host.roles.contains(&Role::Client);
        summary.hosts.iter_mut().find(client).unwrap().inventory.ranks = (0..4).map(rank).collect();
        summary.cells.retain(|cell| {
            matches!(cell.cut, Cut::Path | Cut::NetworkStream)
                && cell.requested.workers == 1
                && !cell.is_small_block()
        });
        let four = summary.cells.iter().map(|cell| {
            let mut cell = CellSummary { id: format!("{}/four", cell.id), clients: 4, ..cell.clone() };
            cell.requested.clients = 4;
            cell.in_flight.configured *= 4;
            for rate in [&mut cell.rate_bytes_per_s].into_iter().flatten() {
                rate.0 *= 4.0 * share;
            }
            cell
        });
        let four: Vec<CellSummary> = four.collect();
        summary.cells.extend(four);
        summary
    }

    #[test]
    fn streams_that_grow_with_the_hosts_of_clients_fill_the_links_of_these() {
        let scope_of = |share: f64| {
            let summary = on_four_hosts(share);
            let path = |cell: &&CellSummary| cell.cut == Cut::Path && cell.clients == 4;
            let cell = summary.cells.iter().find(path).unwrap();
            scope(&SummaryView::new(&summary), cell).and_then(|part| part.name)
        };
        assert_eq!(scope_of(1.0), Some(CLIENT_LINK));
        assert_eq!(scope_of(0.8), None);
        assert_eq!(scope_of(2.0), None, "one host alone did not fill its link");
        assert_eq!(scope_of(0.25), None, "they share a link");
    }

    #[test]
    fn links_that_transfer_as_much_one_at_a_time_as_all_at_once_share_what_is_full() {
        let summary = striped([1.0, 1.0]);
        let entry = bulk(&summary);
        assert_eq!((entry.segment, entry.scope.as_deref()), (Segment::NetworkBandwidth, Some(SHARED)));
        let is_reported = entry.evidence.iter().any(|evidence| evidence.text.contains("50 % of the"));
        assert!(is_reported, "{:#?}", entry.evidence);
    }

    #[test]
    fn links_that_almost_add_up_are_neither_shared_nor_full_each() {
        let summary = striped([0.57, 0.57]);
        let entry = bulk(&summary);
        assert_eq!((entry.segment, entry.scope.as_deref()), (Segment::NetworkBandwidth, None));
        let is_reported = entry.evidence.iter().any(|evidence| evidence.text.contains("88 % of the"));
        assert!(is_reported, "{:#?}", entry.evidence);
    }

    #[test]
    fn links_that_add_up_are_full_each() {
        let summary = striped([0.5, 0.5]);
        assert_eq!(bulk(&summary).scope.as_deref(), Some(SERVER_LINK));
    }

    #[test]
    fn a_client_beside_the_server_adds_nothing_to_what_its_link_transfers() {
        let alone =
            |cell: &&mut CellSummary| cell.cut == Cut::NetworkStream && cell.target.members().len() == 1;
        // Memory transfers hundreds of times what a link does.
        for times in [10.0, 400.0] {
            let mut summary = striped([0.5, 0.5]);
            let value = 1.0 - 1.0 / times;
            let stayed =
                Metric { id: "tcp_loopback_ratio".into(), value, unit: String::new(), interval: None };
            for cell in summary.cells.iter_mut().filter(alone) {
                cell.rate_bytes_per_s = cell.rate_bytes_per_s.map(|rate| BytesPerSec(rate.0 * times));
                cell.metrics.push(stayed.clone());
            }
            summary.diagnosis = diagnose(&summary);
            assert_eq!(bulk(&summary).scope.as_deref(), Some(SERVER_LINK), "{times}");
        }
    }

    #[test]
    fn the_slowest_link_is_named_where_all_wait_for_it() {
        let summary = striped([0.5, 0.9]);
        let entry = bulk(&summary);
        assert_eq!(entry.scope.as_deref(), Some(SERVER_LINK));
        assert!(
            entry
                .evidence
                .iter()
                .any(|evidence| evidence.text.contains("the link of tcp://a:1/sink is the slowest"))
        );
    }

    #[test]
    fn one_server_alone_has_no_scope() {
        assert_eq!(bulk(&builtin("hundred-megabit")).scope, None);
    }
}
