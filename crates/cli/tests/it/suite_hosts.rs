//! `narrows suite` with clients on hosts: a row for each, placed in turn, with the refusals of the other commands.

use crate::support::remote_shell::{
    ON_TWO, SHELL, WITHOUT_B, hosts_of, of_record, write_another_build, write_shell,
};
use crate::support::running::Served;
use crate::support::{Seen, Surroundings, narrows, run, strangers_folder};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What every run here has: no cuts, since no test proves our own speed.
const SMALL: [&str; 2] = ["--no-verdict", "--quiet"];

/// `narrows suite` with the words of `line`, and `more`.
fn suite(folder: &Path, line: &str, more: &[&str]) -> Seen {
    let words: Vec<&str> = ["suite"].into_iter().chain(line.split_whitespace()).collect();
    run(folder, &[&words, more].concat())
}

/// A run on hosts a and b that measures everything and leaves nothing but its record.
#[track_caller]
fn on_two(folder: &Path, line: &str) -> Seen {
    let target = folder.join("target");
    let before = Surroundings::of(&target);
    let seen = suite(folder, line, &[&SMALL[..], &ON_TWO, &["--out", "record"]].concat());
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:?}");
    before.assert_same(&target);
    let hosts = of_record(folder, "inventory.json")["client_hosts"].clone();
    let names = hosts.as_array().unwrap().iter().map(|host| host["name"].as_str().unwrap().to_owned());
    assert_eq!(names.collect::<Vec<_>>(), ["a", "b"]);
    let reported = run(folder, &["diagnose", "record"]);
    assert!(reported.stdout.starts_with(&seen.stdout), "{}", reported.stdout);
    seen
}

/// The cell of the record with this id.
fn cell(folder: &Path, id: &str) -> Value {
    let summary = of_record(folder, "summary.json");
    let cells = summary["cells"].as_array().unwrap();
    cells.iter().find(|cell| cell["id"] == id).unwrap_or_else(|| panic!("{id} was not measured")).clone()
}

#[test]
fn each_host_has_a_row_of_ioperf_and_its_share_of_one_alone_and_of_the_link() {
    let folder = strangers_folder();
    write_shell(folder.path(), SHELL);
    let seen = on_two(folder.path(), "ioperf target --count 40 --tag here --link 100Mbit/s");
    let rows = seen.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows: Vec<Vec<&str>> = rows.filter(|row| row.len() == 17 && row[1] == "320").collect();
    let names: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(names, ["1PV_here_test", "NPV_here_test", "<*>", "a", "b"], "{}", seen.stdout);
    assert_eq!(hosts_of(&cell(folder.path(), "1PV/fwrite")), ["a"]);
    assert_eq!(hosts_of(&cell(folder.path(), "NPV/seek")), ["a", "b"]);
    for said in [
        "expected: what 1PV_here_test on a reaches alone, divided by 2\n",
        "network-saturated: the 11.2 MiB/s of the link, as given, without headers, divided by 2\n",
    ] {
        assert!(seen.stdout.contains(said), "{}", seen.stdout);
    }
    fs::write(folder.path().join("table.txt"), &seen.stdout).unwrap();
    let read = run(folder.path(), &["import", "ioperf", "table.txt"]);
    assert_eq!(read.code, Some(0), "{read:?}");
    let reproduced = "<*>: the mean of 2 hosts is reproduced to the last digit in 15 of 15";
    assert!(read.stdout.contains(reproduced), "{}", read.stdout);
}

#[test]
fn several_processes_of_a_host_are_numbered_and_so_many_run_on_each() {
    let folder = strangers_folder();
    write_shell(folder.path(), SHELL);
    let seen = on_two(folder.path(), "ioperf target --count 20 --processes 2 --rows NPV --csv --tag here");
    let names: Vec<&str> = seen.stdout.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(names, ["NPV_here_test", "<*>", "a.1", "a.2", "b.1", "b.2"]);
    assert_eq!(hosts_of(&cell(folder.path(), "NPV/putc")), ["a", "b", "a", "b"]);
}

#[test]
fn each_host_has_a_line_of_bonnie_and_all_start_each_phase_together() {
    let folder = strangers_folder();
    write_shell(folder.path(), SHELL);
    let seen = on_two(folder.path(), "bonnie -d target -s 1 -r 0 -n 1 -f -q -p 1 -y");
    let names: Vec<&str> = seen.stdout.lines().filter_map(|line| line.split(',').nth(2)).collect();
    assert_eq!(names, ["a", "b"], "{}", seen.stdout);
    let summary = of_record(folder.path(), "summary.json");
    for cell in summary["cells"].as_array().unwrap() {
        assert_eq!(
            (cell["clients"].as_u64(), hosts_of(cell)),
            (Some(2), vec!["a".to_owned(), "b".to_owned()])
        );
    }
    assert!(seen.stderr.contains("[process 2 of 2]"), "{}", seen.stderr);
}

#[test]
fn processes_of_iozone_on_hosts_have_the_lines_of_its_cluster_mode() {
    let folder = strangers_folder();
    write_shell(folder.path(), SHELL);
    let seen = on_two(folder.path(), "iozone target -t 3 -i 0 -i 1 -s 256 -r 16 -C");
    for said in [
        "\tNetwork distribution mode enabled.\n",
        "\n\tTest running:\n\tChildren see throughput for  3 initial writers \t= ",
        "\tChild[2] xfer count = ",
        "\n\tTest cleanup:\n\n\niozone test complete.\n",
    ] {
        assert!(seen.stdout.contains(said), "{said:?}: {}", seen.stdout);
    }
    assert!(!seen.stdout.contains("Parent sees"), "{}", seen.stdout);
    assert!(seen.stderr.contains("processes by host: 0 a.1, 1 b.1, 2 a.2"), "{}", seen.stderr);
    fs::write(folder.path().join("output.txt"), &seen.stdout).unwrap();
    let read = run(folder.path(), &["import", "iozone", "output.txt"]);
    assert_eq!(read.code, Some(0), "{read:?}");
}

/// A list for `-+m` of hosts b and a, each with a folder of its own.
fn write_list(folder: &Path, program: &str) {
    for name in ["one", "two"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    fs::write(
        folder.join("list"),
        format!("# two machines\nb one {program}\n\na two {program}\nc three x\n"),
    )
    .unwrap();
}

#[test]
fn a_list_of_hosts_gives_each_its_folder_and_program_and_the_variable_rsh_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    write_shell(folder.path(), SHELL);
    let program = env!("CARGO_BIN_EXE_narrows");
    write_list(folder.path(), program);
    let line = "suite iozone -+m list -t 2 -i 0 -s 256 -r 16 --out record --no-verdict --quiet";
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = narrows(folder.path(), &words).env("RSH", "./shell").output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(matches!(output.status.code(), Some(0 | 4)), "{stderr}");
    assert!(stdout.contains("\tNetwork distribution mode enabled.\n"), "{stdout}");
    let calls = fs::read_to_string(folder.path().join("calls")).unwrap();
    assert!(calls.lines().any(|call| call == format!("b: {program} __client")), "{calls}");
    assert!(calls.lines().all(|call| !call.starts_with("c:")), "{calls}");
    assert_eq!(hosts_of(&cell(folder.path(), "t2/256/16/write")), ["b", "a"]);
    let plan = of_record(folder.path(), "plan.json");
    let cell = &plan["cells"][0];
    let targets = format!("{} {}", cell["target"], cell["more_targets"]);
    assert!(targets.contains("one/") && targets.contains("two/"), "{targets}");
    for name in ["one", "two"] {
        assert!(fs::read_dir(folder.path().join(name)).unwrap().next().is_none(), "{name} is left as it was");
    }
}

#[test]
fn nodes_of_several_disks_are_loaded_by_clients_on_hosts() {
    let folder = strangers_folder();
    write_shell(folder.path(), SHELL);
    for disk in ["one", "two"] {
        fs::create_dir(folder.path().join(disk)).unwrap();
    }
    let disks: Vec<Served> =
        ["one", "two"].iter().map(|disk| Served::start(folder.path(), &["--root", disk])).collect();
    let nodes = format!("{},{}", disks[0].address, disks[1].address);
    let line =
        format!("jovian c2-s1 pp-1 --nodes {nodes} --node-disks 2 --flush drop --bytes 768KiB --trials 3");
    let seen = on_two(folder.path(), &line);
    assert!(
        seen.stdout.contains("768 KiB a client, 2 disks a server, stripe unit 64.0 KiB"),
        "{}",
        seen.stdout
    );
    let summary = of_record(folder.path(), "summary.json");
    for (label, hosts) in [("c2-s1", vec!["a", "b"]), ("pp-1", vec!["a"])] {
        let mut of_label = summary["cells"].as_array().unwrap().iter().filter(|cell| cell["test"] == label);
        assert!(of_label.all(|cell| hosts_of(cell) == hosts && cell["block_bytes"] == 128 << 10), "{label}");
    }
}

#[test]
fn ranks_of_mdtest_are_one_on_each_host() {
    let folder = strangers_folder();
    write_shell(folder.path(), SHELL);
    let seen = on_two(folder.path(), "mdtest -d target -n 20");
    assert!(seen.stdout.contains("was launched with 2 total task(s)"), "{}", seen.stdout);
    let summary = of_record(folder.path(), "summary.json");
    assert!(summary["cells"].as_array().unwrap().iter().all(|cell| hosts_of(cell) == ["a", "b"]));
}

#[test]
fn a_host_that_cannot_be_reached_is_named_once_and_nothing_is_made() {
    let folder = strangers_folder();
    write_shell(folder.path(), WITHOUT_B);
    let before = Surroundings::of(folder.path());
    for line in [
        "ioperf target",
        "bonnie -d target -s 0",
        "iozone target -t 2 -i 0",
        "mdtest -d target",
        "io500 -d target",
    ] {
        let seen = suite(folder.path(), line, &ON_TWO);
        seen.assert_said(3, &["host b cannot be used", "ssh: cannot resolve b"]).assert_no_result();
        assert_eq!(seen.stderr.matches("host b").count(), 1, "{seen:?}");
    }
    let program = ["--remote-program", "/no/such/narrows"];
    let seen = suite(folder.path(), "ioperf target --hosts a --remote-shell ./shell", &program);
    seen.assert_said(3, &["host a cannot run /no/such/narrows"]).assert_no_result();
    before.assert_same(folder.path());
}

#[test]
fn another_build_in_a_list_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    write_shell(folder.path(), SHELL);
    write_another_build(&folder.path().join("other"));
    write_list(folder.path(), "./other");
    let seen = suite(folder.path(), "iozone -+m list -t 2 -i 0 --remote-shell ./shell", &[]);
    seen.assert_said(2, &["host a runs another build", "host b runs another build"]).assert_no_result();
}

#[test]
fn a_plan_connects_to_no_host_and_has_its_clients() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let line = "bonnie -d target -s 1 -r 0 --plan --detail --hosts a,b,c --remote-shell /no/such/shell";
    let seen = suite(folder.path(), line, &[]);
    seen.assert_said(0, &[]);
    before.assert_same(folder.path());
}

#[test]
fn what_hosts_cannot_do_is_refused_with_what_to_do() {
    let folder = strangers_folder();
    fs::write(folder.path().join("list"), "a nowhere narrows\nb target narrows\n").unwrap();
    fs::write(folder.path().join("short"), "a target narrows\n").unwrap();
    fs::write(folder.path().join("strange"), "a target nar;rows\n").unwrap();
    let before = Surroundings::of(folder.path());
    let on_two = "--hosts a,b --remote-shell ./shell";
    let refusals: &[(&str, &str, &[&str])] = &[
        ("ioperf target --rows run", on_two, &["rows: found run, with --hosts", "1PV"]),
        ("ioperf target --processes 200", on_two, &["processes: found 400", "all hosts together"]),
        ("ioperf target --link fast", on_two, &["`fast` is not a rate"]),
        ("ioperf target --server self", on_two, &["--server self", "narrows serve"]),
        ("ioperf target", "--hosts a,a", &["found a twice"]),
        ("ioperf target", "--remote-shell ssh", &["--remote-shell is for clients on other hosts", "--hosts"]),
        ("bonnie -d target -s 0 -m me", on_two, &["-m: found me, with --hosts"]),
        ("iozone target -i 0", on_two, &["--hosts: found no -t", "add -t 2"]),
        ("iozone -t 2 -+m list", on_two, &["-+m and --hosts both name the hosts"]),
        ("iozone -t 2 -+m list", "", &["nowhere is not a folder on this machine"]),
        ("iozone -t 2 -+m short", "", &["short: 1 lines for 2 processes"]),
        ("iozone -t 1 -+m strange", "", &["-+m: found for a the program `nar;rows` with `;`"]),
        ("iozone -t 1 -+m missing", "", &["read the list of hosts missing"]),
        ("iozone -+m list -i 0", "", &["-+m: found a list of hosts without -t"]),
        ("jovian c1-s1", on_two, &["--hosts needs --servers or --nodes"]),
        ("jovian local c1-s1 --servers a:1", on_two, &["local is a client with a disk of this machine"]),
        ("jovian c1-s1 --servers a:1 --client-command env", on_two, &["omit one of them"]),
        (
            "jovian pp-3 --nodes a:1,b:2,c:3",
            on_two,
            &["pp-3 has a client at each of 3 nodes, and --hosts names 2"],
        ),
        ("jovian c1-s1 --node-disks 2", "", &["--node-disks is for servers that run already"]),
        ("postmark target", on_two, &["--hosts"]),
    ];
    for (line, more, said) in refusals {
        let more: Vec<&str> = more.split_whitespace().collect();
        suite(folder.path(), line, &more).assert_said(2, said).assert_no_result();
    }
    before.assert_same(folder.path());
}

#[test]
fn a_suite_that_runs_on_hosts_keeps_its_own_title() {
    let folder = tempfile::tempdir().unwrap();
    let seen = run(folder.path(), &["suite", "ioperf", "--help"]);
    assert!(
        seen.stdout.starts_with("IOPerf: ") && seen.stdout.contains("--hosts <HOST,..>"),
        "{}",
        seen.stdout
    );
}
