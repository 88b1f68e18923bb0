//! Jovian-2's modes between real hosts: what limits them is set by the lab, shows in the tables, and is named.

use crate::support::check::{Checked, Served, assert_within, run_check, serve};
use crate::support::{lab, lab_with_disks, on_a_calm_machine};
use narrows_lab::{DiskPlan, Host, Lab, narrows_bin, pin_to_cpus};
use narrows_model::{Cut, Op, Segment};
use std::fs;
use std::process::Command;

const MIB: f64 = (1 << 20) as f64;
/// What each node's link is limited to.
const NODE_LINK: &str = "200mbit";
const NODE_BITS_PER_S: u64 = 200_000_000;
/// The client's link: one server does not fill it, and two could more than fill it.
const CLIENT_LINK: &str = "300mbit";
const CLIENT_BITS_PER_S: u64 = 300_000_000;

/// Nodes that serve behind links of their own, all on one CPU.
fn nodes(lab: &Lab, count: u8) -> Vec<(Host, Served)> {
    let start = |index| {
        let host = lab.host(index).unwrap();
        host.limit_rate(NODE_LINK).unwrap();
        let root = lab.scratch().join(format!("node{index}"));
        fs::create_dir(&root).unwrap();
        let served = serve(lab, &host, Some(&root), |command| pin_to_cpus(command, &[1]));
        (host, served)
    };
    (1..=count).map(start).collect()
}

fn addresses(nodes: &[(Host, Served)]) -> String {
    nodes.iter().map(|(_, served)| served.address.clone()).collect::<Vec<_>>().join(",")
}

/// `narrows suite jovian` with these words.
fn suite(command: &mut Command, words: &str) {
    command.args(["suite", "jovian"]).args(words.split_whitespace());
}

/// The trimmed mean of a configuration in one direction, in bytes a second.
#[track_caller]
fn rate(checked: &Checked, label: &str, op: Op) -> f64 {
    let wanted =
        |cell: &&narrows_model::summary::CellSummary| cell.op == op && cell.test.as_deref() == Some(label);
    let cell =
        checked.cells(Cut::Path).find(wanted).unwrap_or_else(|| panic!("{label} {op} was not measured"));
    let mut rates: Vec<f64> = cell.trials.iter().map(|trial| trial.rate_bytes_per_s.0).collect();
    rates.sort_by(f64::total_cmp);
    assert_eq!(rates.len(), 3, "without the least and the greatest one is left");
    rates[1]
}

/// What `narrows diagnose` says of the record.
fn diagnose(lab: &Lab, checked: &Checked) -> String {
    let mut command = Command::new(narrows_bin().unwrap());
    command.arg("diagnose").arg(&checked.record);
    let mut process = lab.start("diagnose", command).unwrap();
    process.wait(crate::support::SOON).unwrap();
    process.stdout().unwrap()
}

#[allow(clippy::print_stdout, reason = "the proof's numbers are what the test is run for")]
fn show(text: &str) {
    let tables = text.lines().take_while(|line| !line.starts_with("PATH"));
    println!("{}", tables.collect::<Vec<_>>().join("\n"));
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn one_client_rises_with_servers_until_its_own_link_is_full_and_that_is_named() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let nodes = nodes(&lab, 4);
        let client = lab.host(5).unwrap();
        client.limit_rate(CLIENT_LINK).unwrap();
        let mut command = client.command(narrows_bin().unwrap());
        suite(
            &mut command,
            "one-to-many c1-s1 c1-s2 c1-s4 --bytes 24MiB --flush drop --trials 3 --cell-seconds 0.3",
        );
        command.args(["--servers", &addresses(&nodes), "--token-file"]).arg(nodes[0].1.token());
        pin_to_cpus(&mut command, &[0]);
        let checked = run_check(&lab, "client-link", command, "");
        let text = diagnose(&lab, &checked);
        show(&text);
        let node = client.payload_bytes_per_s(NODE_BITS_PER_S);
        let all = client.payload_bytes_per_s(CLIENT_BITS_PER_S);
        for op in [Op::Write, Op::Read] {
            assert_within(rate(&checked, "c1-s1", op), node, 0.1);
            assert_within(rate(&checked, "c1-s2", op), all, 0.15);
            assert_within(rate(&checked, "c1-s4", op), all, 0.15);
            let sentence = format!("{op}: c1-s4 reaches ");
            let flat = text.lines().find(|line| line.contains(&sentence)).unwrap_or_else(|| panic!("{text}"));
            assert!(flat.contains("rising, then flat"), "{flat}");
        }
        checked.assert_limiting_first("bulk", Segment::NetworkBandwidth);
        for entry in checked.limiting("bulk") {
            assert_eq!(entry.scope.as_deref(), Some("shared"), "{:#?}", entry.evidence);
        }
    });
}

/// A disk that takes and gives 64 KiB in 3.2 ms: 19.5 MiB/s, one request at a time.
const SLOW_DISK: DiskPlan =
    DiskPlan { mebibytes: 256, read_us: 6400, write_us: 3200, flush_us: 1000, at_once: 1, ..DiskPlan::PLAIN };

/// c1-s1 against a server on the slow disk.
fn on_a_slow_disk(lab: &Lab, name: &str, words: &str) -> Checked {
    let disks = lab.disks(name, &SLOW_DISK).unwrap();
    let (server, client) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let served = serve(lab, &server, Some(&disks.path(0)), |command| pin_to_cpus(command, &[1]));
    let mut command = client.command(narrows_bin().unwrap());
    suite(&mut command, &format!("c1-s1 --bytes 4MiB --flush drop --trials 3 --cell-seconds 0.3 {words}"));
    command.args(["--servers", &served.address, "--token-file"]).arg(served.token());
    pin_to_cpus(&mut command, &[0]);
    run_check(lab, name, command, "")
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn an_early_acknowledgement_hides_the_disk_from_writes_and_a_late_one_does_not() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let early = on_a_slow_disk(&lab, "early", "--ack early");
        let text = diagnose(&lab, &early);
        show(&text);
        assert!(text.contains("an early acknowledgement hides the disk from writes"), "{text}");
        let of_writes = early.limiting("bulk write");
        assert!(of_writes.iter().all(|entry| entry.segment == Segment::ServerCache), "{of_writes:#?}");
        let (write, read) = (rate(&early, "c1-s1", Op::Write), rate(&early, "c1-s1", Op::Read));
        assert!(write > 2.0 * read, "{write} of writes, {read} of reads");
        let late = on_a_slow_disk(&lab, "late", "--ack late");
        let text = diagnose(&lab, &late);
        show(&text);
        let late_write = rate(&late, "c1-s1", Op::Write);
        assert!(late_write < 20.5 * MIB, "{late_write} of writes at a disk of 19.5 MiB/s");
        assert!(!text.contains("hides the disk"), "{text}");
    });
}

/// These configurations of `nodes`, with the text of the diagnosis.
fn many_to_many(lab: &Lab, labels: &str, nodes: &[(Host, Served)]) -> (Checked, String) {
    let mut command = Command::new(narrows_bin().unwrap());
    let words = format!("many-to-many {labels} --bytes 15MiB --flush drop --trials 3 --cell-seconds 0.3");
    suite(&mut command, &words);
    command.args(["--nodes", &addresses(nodes), "--token-file"]).arg(nodes[0].1.token());
    for (host, _) in nodes {
        command.arg("--client-command").arg(format!("nsenter --net=/run/netns/{} --", host.netns()));
    }
    let checked = run_check(lab, "many-to-many", command, "");
    let text = diagnose(lab, &checked);
    show(&text);
    (checked, text)
}

/// Fails unless each node of pp-N transfers nearly the bound for N in `bounds`, in bytes a second.
#[track_caller]
fn assert_each_node(checked: &Checked, op: Op, bounds: [(f64, f64); 2]) {
    for (count, bound) in bounds {
        let label = format!("pp-{count}");
        let each = rate(checked, &label, op) / count;
        assert!(each <= 1.05 * bound, "{label} {op}: {each} over a link that lets {bound} through");
        assert!(each >= 0.6 * bound, "{label} {op}: {each} of {bound}");
    }
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn nodes_behind_links_of_their_own_fill_them_and_share_nothing() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let nodes = nodes(&lab, 4);
        let (checked, text) = many_to_many(&lab, "pp-2 pp-4", &nodes);
        for entry in checked.limiting("bulk read") {
            let network = [Segment::Network, Segment::NetworkBandwidth].contains(&entry.segment);
            assert!(network, "{:#?}", checked.summary.diagnosis.limiting);
            assert_ne!(entry.scope.as_deref(), Some("shared"), "{:#?}", entry.evidence);
        }
        // Of what each node moves 1/N stays on it, and its link transfers the rest: 200 Mbit/s x N / (N - 1).
        let link = nodes[0].0.payload_bytes_per_s(NODE_BITS_PER_S);
        for op in [Op::Write, Op::Read] {
            assert_each_node(&checked, op, [(2.0, link * 2.0), (4.0, link * 4.0 / 3.0)]);
        }
        assert!(!text.contains("to the others with"), "{text}");
    });
}

/// The link between two hosts with two nodes each. On a CPU of their own servers would be the limit of none of this.
const SHARED_LINK: &str = "100mbit";
const SHARED_BITS_PER_S: u64 = 100_000_000;

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn nodes_that_share_a_link_send_less_each_with_more_of_them_and_that_is_reported() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let hosts = [1, 2].map(|index| lab.host(index).unwrap());
        hosts[0].limit_rate(SHARED_LINK).unwrap();
        // In turn on either side of the link: pp-2 is one node on each, pp-6 three.
        let start = |index: usize| {
            let host = hosts[index % 2].clone();
            let root = lab.scratch().join(format!("node{index}"));
            fs::create_dir(&root).unwrap();
            let served = serve(&lab, &host, Some(&root), |command| pin_to_cpus(command, &[1]));
            (host, served)
        };
        let nodes: Vec<(Host, Served)> = (0..6).map(start).collect();
        let (checked, text) = many_to_many(&lab, "pp-2 pp-6", &nodes);
        // Half of what each node moves is sent to the other host: 2 x 100 Mbit/s for one node there, 2/3 of 100 for
        // each of three. Of it a half or 5/6 is sent to other nodes: 100 Mbit/s with two of them and 56 with six.
        let link = hosts[0].payload_bytes_per_s(SHARED_BITS_PER_S);
        for op in [Op::Write, Op::Read] {
            assert_each_node(&checked, op, [(2.0, link * 2.0), (6.0, link * 2.0 / 3.0)]);
            let sentence = format!("{op}: each node sends ");
            let falling = text.lines().find(|line| line.contains(&sentence));
            let falling = falling.unwrap_or_else(|| panic!("{text}"));
            assert!(falling.contains("with 6: they share something, such as the interconnect"), "{falling}");
        }
        // Two of three servers of a client are beside it or on its host: traffic to them crosses no link, and the rest
        // fills it.
        for entry in checked.limiting("bulk read") {
            let network = [Segment::Network, Segment::NetworkBandwidth].contains(&entry.segment);
            assert!(network, "{:#?}", checked.summary.diagnosis.limiting);
            if entry.segment == Segment::NetworkBandwidth {
                assert_eq!(entry.scope.as_deref(), Some("shared"), "{:#?}", entry.evidence);
            }
        }
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn two_disks_of_a_node_on_one_bus_do_not_add_up() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let plan = DiskPlan {
            count: 2,
            read_us: 3200,
            write_us: 3200,
            flush_us: 0,
            shared_bytes_per_s: Some(25 << 20),
            ..SLOW_DISK
        };
        let disks = lab.disks("bus", &plan).unwrap();
        let mut command = Command::new(narrows_bin().unwrap());
        suite(&mut command, "local --bytes 32MiB --flush drop --trials 3 --cell-seconds 0.5 --engine uring");
        command.arg("--root").arg(format!("{},{}", disks.path(0).display(), disks.path(1).display()));
        let checked = run_check(&lab, "bus", command, "");
        show(&diagnose(&lab, &checked));
        let bus = 25.0 * MIB;
        let of_devices = |members: usize| {
            let reads = checked.cells(Cut::LocalDevice).filter(|cell| cell.op == Op::Read);
            let found = reads.filter(|cell| cell.target.members().len() == members);
            found.map(|cell| cell.rate_bytes_per_s.unwrap().0).collect::<Vec<_>>()
        };
        assert_eq!((of_devices(1).len(), of_devices(2).len()), (2, 1), "each alone, and both together");
        for rate in of_devices(1).into_iter().chain(of_devices(2)) {
            assert!(rate <= 1.05 * bus, "{rate} over a bus of {bus}");
        }
        assert_within(rate(&checked, "local", Op::Read), bus, 0.1);
        // The bus of both disks together sustains the rate of the cut of both, so their bandwidth may be named beside
        // it.
        let named: Vec<Segment> = checked.limiting("bulk read").iter().map(|entry| entry.segment).collect();
        assert!(named.contains(&Segment::DeviceBus), "{named:?}");
        let may = [Segment::DeviceBus, Segment::DeviceBandwidth];
        assert!(named.iter().all(|segment| may.contains(segment)), "{named:?}");
    });
}
