//! Suites of files by ranks on several hosts of the lab, which Open MPI's own launcher starts: what a rank visits was created on
//! another host.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::support::lab_with_ranks;
use crate::support::ranks::{RankHosts, RankOrder};
use crate::support::strace::calls_in;
use serde_json::Value;

const HOSTS: u8 = 2;
const RANKS_A_HOST: usize = 2;
const RANKS: usize = HOSTS as usize * RANKS_A_HOST;
/// Items of each rank.
const ITEMS: usize = 4;
/// Longer than a job here takes.
const JOB_ENDED: std::time::Duration = std::time::Duration::from_mins(2);

/// Whose items each rank has looked up, as strace saw its calls on `file.mdtest.RANK.NUMBER`.
type Visits = BTreeMap<usize, BTreeSet<usize>>;

/// The rank that the item of a path is named after.
fn creator(path: &str) -> Option<usize> {
    let (_, name) = path.rsplit_once("file.mdtest.")?;
    name.split('.').next()?.parse().ok()
}

/// What the traces of all threads of all ranks say, in files called `RANK.THREAD`.
fn visits(traces: &Path) -> Visits {
    let mut visits = Visits::new();
    for entry in fs::read_dir(traces).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let rank = name.split('.').next().unwrap().parse().unwrap();
        let looked_up = calls_in(&path).into_iter().filter(|call| !call.text.contains("= -1 E"));
        let creators = looked_up.filter_map(|call| creator(call.text.split('"').nth(1)?));
        visits.entry(rank).or_default().extend(creators);
    }
    visits
}

/// Runs a suite by all ranks; its record names the hosts of the ranks as `expected`, each with all of its operations.
fn suite(order: RankOrder, expected: [&str; RANKS], words: &str) -> Option<(String, Visits)> {
    let lab = lab_with_ranks()?;
    let hosts = RankHosts::new(&lab, 1, HOSTS);
    let (data, traces, record) =
        (lab.scratch().join("data"), lab.scratch().join("traces"), lab.scratch().join("record"));
    fs::create_dir(&data).unwrap();
    fs::create_dir(&traces).unwrap();
    let mut command = hosts.traced_narrows_mpi(RANKS_A_HOST, order, ("newfstatat,statx", &traces));
    command.arg("suite").args(words.split(' ')).arg("-d").arg(&data);
    command.args(["--no-verdict", "--out"]).arg(&record);
    let mut job = lab.start("job", command).unwrap();
    let status = job.wait(JOB_ENDED).unwrap();
    let said = (job.stdout().unwrap(), job.stderr().unwrap());
    assert_eq!(status.code(), Some(0), "{said:?}");
    let text = fs::read_to_string(record.join("events.jsonl")).unwrap();
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["data"].clone());
    let trials: Vec<Value> = events.filter(|event| event["event"] == "trial_finished").collect();
    assert!(!trials.is_empty());
    for trial in &trials {
        let clients = trial["clients"].as_array().unwrap();
        let ran: Vec<&str> = clients.iter().map(|client| client["host"].as_str().unwrap()).collect();
        assert_eq!(ran, expected, "{trial}");
        let counts: BTreeSet<u64> =
            clients.iter().map(|client| client["op_count"].as_u64().unwrap()).collect();
        assert!(counts.len() == 1 && !counts.contains(&0), "every rank does as much: {trial}");
    }
    Some((said.0, visits(&traces)))
}

/// The orders of the launcher, the hosts of the ranks by them, and the shift that takes a rank's visit to the other host.
const ORDERS: [(RankOrder, [&str; RANKS], usize); 2] = [
    (RankOrder::HostByHost, ["n1", "n1", "n2", "n2"], RANKS_A_HOST),
    (RankOrder::ByTurns, ["n1", "n2", "n1", "n2"], 1),
];

/// What every rank visits by this shift: the items of one rank, which must be of another host.
#[track_caller]
fn shifted(shift: usize, hosts: &[&str; RANKS]) -> Visits {
    let of_rank = |rank: usize| {
        let creator = (rank + shift) % RANKS;
        assert_ne!(hosts[rank], hosts[creator]);
        (rank, BTreeSet::from([creator]))
    };
    (0..RANKS).map(of_rank).collect()
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn the_items_that_mdtest_looks_up_were_created_on_another_host_in_either_order_of_ranks() {
    for (order, hosts, shift) in ORDERS {
        let words = format!("mdtest -F -C -T -n {ITEMS} -N 1");
        let Some((stdout, visits)) = suite(order, hosts, &words) else { return };
        assert!(stdout.contains("launched with 4 total task(s) on 2 node(s)"), "{stdout}");
        assert!(stdout.contains(&format!("Shifting ranks by {shift} for each phase.\n")), "{stdout}");
        assert_eq!(visits, shifted(shift, &hosts), "{order:?}");
    }
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn what_io500_looks_up_was_created_on_another_host_in_either_order_of_ranks() {
    for (order, hosts, shift) in ORDERS {
        let words = format!("io500 --bytes-easy 64k --transfer-easy 64k --segments-hard 1 --items {ITEMS}");
        let Some((stdout, visits)) = suite(order, hosts, &words) else { return };
        let said = if shift == 1 {
            "what the rank 1 further on has written\n"
        } else {
            "what the rank 2 further on has written: there are 2 on the first host"
        };
        assert!(stdout.contains("4 rank(s) on 2 node(s)") && stdout.contains(said), "{stdout}");
        assert_eq!(visits, shifted(shift, &hosts), "{order:?}");
    }
}

#[test]
fn ioperf_of_ranks_on_two_hosts_has_the_rows_of_hosts_and_on_one_those_of_processes() {
    let Some(lab) = lab_with_ranks() else { return };
    let hosts = RankHosts::new(&lab, 1, HOSTS);
    let rows = |name: &str, words: &str| {
        let data = lab.scratch().join(name);
        fs::create_dir(&data).unwrap();
        let mut command = hosts.narrows_mpi(RANKS_A_HOST, RankOrder::HostByHost);
        command.args(["suite", "ioperf"]).arg(&data).args(["--count", "20", "--no-verdict", "--csv"]);
        command.args(words.split_whitespace()).arg("--out").arg(lab.scratch().join(format!("{name}-record")));
        let mut job = lab.start(name, command).unwrap();
        let status = job.wait(JOB_ENDED).unwrap();
        let (stdout, stderr) = (job.stdout().unwrap(), job.stderr().unwrap());
        // Twenty I/Os are too short for a rate.
        assert!(matches!(status.code(), Some(0 | 4)), "{stderr}");
        let rows = stdout.lines().skip(1).filter_map(|line| line.split_once(','));
        rows.map(|(row, _)| row.to_owned()).collect::<Vec<_>>()
    };
    let on_two = rows("two", "");
    assert_eq!(on_two, ["1PV_n1_test", "NPV_n1_test", "<n*>", "n1.1", "n1.2", "n2.1", "n2.2"]);
    let on_one = rows("one", "--processes 2 --tag here");
    assert_eq!(on_one, ["here", "1PV_here_test", "NPV_here_test", "<here.*>", "here.1", "here.2"]);
}
