//! Verdicts on the load of several ranks of an MPI job, each on a host of its own behind its own link: what limits is the clients'
//! links, what they share, or the server's memory before its device.

use crate::support::check::{Checked, DEVICE_AND_CLIENT_CACHE, Served, assert_within, run_check, serve};
use crate::support::ranks::{RankHosts, RankOrder};
use crate::support::{lab_with_ranks, on_a_calm_machine};
use narrows_lab::{BlkioThrottle, Lab, pin_to_cpus};
use narrows_model::summary::{Scaling, SharedStageState};
use narrows_model::{Cut, Segment};

/// The server's host; those of the ranks follow it.
const SERVER: u8 = 1;
const RANKS: u8 = 4;
/// Three points, twice each.
const POINTS: &str = "--clients 1,2,4 --cell-seconds 1 --trials 2 --seconds 50";

/// `narrows-mpi scale` of a store of `served`, each rank on a host of its own.
fn scale(lab: &Lab, served: &Served, hosts: &RankHosts, store: &str, words: &str) -> Checked {
    let mut command = hosts.narrows_mpi(1, RankOrder::HostByHost);
    command.arg("scale").arg(format!("tcp://{}/{store}", served.address));
    command.arg("--token-file").arg(served.token());
    let words = format!("--block 64KiB --depth 4 {words}");
    let checked = run_check(lab, "scale-ranks", command, &words);
    assert!(matches!(checked.exit_code, 0 | 4), "{}", checked.stderr);
    let names = hosts.names();
    for cell in checked.cells(Cut::Path) {
        let ran: Vec<&str> = cell.per_client.iter().map(|client| client.host.as_str()).collect();
        assert_eq!(ran, names[..ran.len()], "{}", cell.id);
    }
    checked
}

/// Links of the clients' hosts and of the server, in Mbit/s; `None` is without a limit.
#[derive(Debug, Clone, Copy)]
struct Links {
    client: Option<u64>,
    server: u64,
}

/// The curve of reads from the memory of a server behind these links, with these words of the command; what so many clients have
/// together is `expected`, in Mbit/s.
fn curve_behind(links: Links, words: &str, expected: &[(u32, u64)]) -> Option<(Checked, Scaling)> {
    let lab = lab_with_ranks()?;
    let limited = |index: u8, mbit_per_s: u64| {
        lab.host(index).unwrap().limit_rate(&format!("{mbit_per_s}mbit")).unwrap();
    };
    limited(SERVER, links.server);
    let hosts = RankHosts::new(&lab, SERVER + 1, RANKS);
    if let Some(mbit_per_s) = links.client {
        hosts.hosts().iter().for_each(|host| limited(host.index(), mbit_per_s));
    }
    let server = lab.host(SERVER).unwrap();
    let served = serve(&lab, &server, None, |_| {});
    let checked = scale(&lab, &served, &hosts, "memory", words);
    let scaling = checked.summary.scaling.clone().expect("a curve");
    assert_eq!(scaling.points.len(), expected.len());
    for (point, (clients, mbit_per_s)) in scaling.points.iter().zip(expected) {
        assert_eq!(point.clients, *clients);
        assert_within(point.rate, server.payload_bytes_per_s(mbit_per_s * 1_000_000), 0.12);
    }
    Some((checked, scaling))
}

/// Fails unless the network's bandwidth comes first in every entry on bulk loads.
#[track_caller]
fn assert_network_limits(checked: &Checked) {
    for entry in checked.limiting("bulk") {
        assert_eq!(entry.segment, Segment::NetworkBandwidth, "{:#?}", entry.evidence);
    }
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn one_rank_fills_its_own_link_and_more_of_them_the_link_of_the_server() {
    on_a_calm_machine(|| {
        let links = Links { client: Some(50), server: 100 };
        let Some((checked, scaling)) = curve_behind(links, POINTS, &[(1, 50), (2, 100), (4, 100)]) else {
            return;
        };
        // Two trials need not decide that the last doubling adds nothing; one client never fills what they share.
        let may = [SharedStageState::SaturatedWithMany, SharedStageState::Undecided];
        assert!(may.contains(&scaling.shared_stage.state), "{:?}", scaling.shared_stage);
        assert_network_limits(&checked);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn ranks_that_each_fill_their_own_link_alone_have_not_saturated_what_they_share() {
    on_a_calm_machine(|| {
        let links = Links { client: Some(25), server: 400 };
        let Some((checked, scaling)) = curve_behind(links, POINTS, &[(1, 25), (2, 50), (4, 100)]) else {
            return;
        };
        assert_network_limits(&checked);
        let scopes: Vec<_> = checked.limiting("bulk").iter().map(|entry| entry.scope.as_deref()).collect();
        assert_eq!(scopes, [Some("client-link")]);
        assert_eq!(scaling.shared_stage.state, SharedStageState::NotReached, "{:?}", scaling.shared_stage);
        assert!(scaling.shared_stage.full.is_empty(), "{:?}", scaling.shared_stage);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_server_s_link_that_one_rank_fills_is_full_with_one_client() {
    on_a_calm_machine(|| {
        let links = Links { client: None, server: 50 };
        // Whether a doubling adds less than 3 % takes more trials than two or three.
        let words = "--clients 1,2 --cell-seconds 1 --trials 8 --seconds 55";
        let Some((checked, scaling)) = curve_behind(links, words, &[(1, 50), (2, 50)]) else { return };
        let stage = &scaling.shared_stage;
        assert_eq!(stage.state, SharedStageState::FullWithOneClient, "{stage:?}");
        assert_eq!(
            (stage.full[0].segment, stage.full[0].clients),
            (Segment::NetworkBandwidth, 1),
            "{stage:?}"
        );
        assert!(stage.full[0].used_ratio > 0.9, "{stage:?}");
        assert_network_limits(&checked);
    });
}

/// What the server's device gives: its memory gives many times as much.
const DEVICE_BYTES_PER_S: u64 = 10 << 20;

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn ranks_that_the_server_s_memory_answers_past_its_device_are_reported_and_no_device_is_blamed() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_ranks() else { return };
        let root = lab.scratch().join("served");
        std::fs::create_dir(&root).unwrap();
        let slow = lab.cgroup("slow").unwrap();
        slow.limit_io(&BlkioThrottle {
            path: root.clone(),
            read_bytes_per_s: Some(DEVICE_BYTES_PER_S),
            ..BlkioThrottle::default()
        })
        .unwrap();
        let served = serve(&lab, &lab.host(SERVER).unwrap(), Some(&root), |command| {
            pin_to_cpus(command, &[1]);
            slow.enter(command);
        });
        let hosts = RankHosts::new(&lab, SERVER + 1, RANKS);
        let words = format!("{POINTS} --access buffered --file 16MiB");
        let checked = scale(&lab, &served, &hosts, "disk", &words);
        let limit = DEVICE_BYTES_PER_S as f64;
        for point in &checked.summary.scaling.as_ref().expect("a curve").points {
            assert!(point.rate > 3.0 * limit, "no such rate comes from the device: {point:?}");
        }
        let found = checked.evidence("server-cache-served");
        assert!(found.iter().all(|evidence| evidence.text.contains("at the server's device")), "{found:?}");
        let storage = checked.cells(Cut::ServerStorage).next().expect("the device by itself was measured");
        assert_within(storage.rate_bytes_per_s.unwrap().0, limit, 0.2);
        checked.assert_none_limit(&DEVICE_AND_CLIENT_CACHE);
    });
}
