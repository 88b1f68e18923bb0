//! The engine `iscsi` against a real target: conformance, verified runs, restarts in the middle of a load, refusals.

use std::fs;
use std::io::{Seek, SeekFrom, Write as _};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::support::spoken::check_target;
use crate::support::tgt::{SERIAL, Tgt, TgtSetup};
use crate::support::waits::{pause, wait_until, wait_until_measuring};
use crate::support::{SOON, conform, lab_with_iscsi};
use narrows_engines::conformance;
use narrows_engines::iscsi::UnitRegion;
use narrows_engines::{EngineRegistry, MonotonicClock, ProtocolCounters, RegionNeed};
use narrows_lab::{Lab, LabProcess, narrows_bin};
use narrows_model::rpc::ProcedureCounters;
use narrows_model::summary::CellSummary;
use narrows_model::{Bytes, Cut, IscsiAddress, Op, Summary, Target};

const MIB: u64 = 1 << 20;
/// Digests are granted where they are asked for.
const DIGESTS: &[&str] = &["HeaderDigest=CRC32C,None", "DataDigest=CRC32C,None"];
const ANSWER_NS: u64 = 10_000_000_000;

/// A region of `target` for one client with a file of 1 MiB.
fn claim(target: &str) -> UnitRegion {
    let address = IscsiAddress::parse(target.strip_prefix("iscsi:").unwrap()).unwrap();
    let need = RegionNeed { client_bytes: Bytes(MIB), client_count: 1 };
    let clock = Arc::new(MonotonicClock::new());
    UnitRegion::claim(&address, need, 7, "a test", &|_| false, clock, ANSWER_NS).unwrap()
}

#[test]
fn the_engine_conforms_at_every_depth_and_size() {
    let Some(lab) = lab_with_iscsi() else { return };
    let server = Tgt::start(&lab, 1, 64 * MIB, TgtSetup::default());
    for (depth, options) in [
        (1, &[][..]),
        (8, &[]),
        (32, &[]),
        (32, &[("sessions", 4_u64)]),
        // A request of 4 KiB is then several commands, of which each is asked for in parts.
        (8, &[("transfer", 1024)]),
        (8, &[("max_burst", 1024), ("first_burst", 512), ("receive", 512)]),
    ] {
        let region = claim(&server.target(""));
        let target = format!("iscsi:{}", region.address());
        conform(&target, depth, options, |spec| spec.objects = vec!["data-0".to_owned()]);
    }
    assert!(server.is_empty(), "what was written is zeroes again");
}

/// A verified study of reads and writes, with more lines of its load's table for the engine.
fn study(target: &str, depth: u32, seconds: u32, options: &str) -> String {
    format!(
        "title = \"a unit\"\ntarget = \"{target}\"\ncuts = []\n\n[workload]\nverify = true\nops = {{ read = 1, write = 1 \
         }}\norder = \"random_with_replacement\"\nfile = \"8MiB\"\nblock = \"4KiB\"\ndepth = {depth}\n\n\
         [workload.iscsi]\n{options}\n\n[stop]\nwarm_up = \"100ms\"\nmeasure = \"{seconds}s\"\n"
    )
}

/// A run of a study with these arguments, started; its record is in `NAME`.
fn start_run(lab: &Lab, name: &str, text: &str, arguments: &[&str]) -> LabProcess {
    let file = lab.scratch().join(format!("{name}.toml"));
    fs::write(&file, text).unwrap();
    let mut command = Command::new(narrows_bin().unwrap());
    command.args(["run", "--yes", "--trials", "1"]).args(arguments);
    if !arguments.contains(&"--plan") {
        command.args(["--json", "--out"]).arg(lab.scratch().join(name));
    }
    command.arg(&file).current_dir(lab.scratch());
    lab.start(name, command).unwrap()
}

fn finished(lab: &Lab, name: &str, text: &str, arguments: &[&str]) -> LabProcess {
    let mut run = start_run(lab, name, text, arguments);
    run.wait(SOON).unwrap();
    run
}

/// The one cell of a run, whose data was all right.
fn verified_cell(run: &LabProcess) -> CellSummary {
    let json = run.stdout().unwrap();
    let summary: Summary = serde_json::from_str(&json)
        .unwrap_or_else(|error| panic!("{error}: {json}\n{}", run.stderr().unwrap()));
    let cell = summary.cells[0].clone();
    let verified = cell.verification.as_ref().unwrap();
    assert_eq!((verified.wrong_bytes.0, verified.mismatch_count), (0, 0), "{verified:?}");
    assert!(verified.checked_bytes.0 > 0 && cell.errors.is_empty(), "{verified:?} {:?}", cell.errors);
    cell
}

fn counted(cell: &CellSummary, procedure: &str) -> ProcedureCounters {
    let found = cell.protocol.iter().find(|known| known.procedure == procedure);
    found.unwrap_or_else(|| panic!("no {procedure}: {:?}", cell.protocol)).clone()
}

#[test]
fn data_is_right_with_and_without_proofs_and_digests() {
    let Some(lab) = lab_with_iscsi() else { return };
    let secret = |name: &str, text: &str| {
        let path = lab.scratch().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (right, wrong, its) = (
        secret("right", "initiatorpw12\n"),
        secret("wrong", "somethingelse\n"),
        secret("its", "targetpw3456\n"),
    );
    let setup = TgtSetup {
        chap: Some(("me", "initiatorpw12")),
        own_chap: Some(("it", "targetpw3456")),
        keys: DIGESTS,
        ..TgtSetup::default()
    };
    let server = Tgt::start(&lab, 1, 64 * MIB, setup);
    let chap = |file: &str| server.target(&format!("?chap_user=me&chap_secret_file={file}"));
    for (depth, digests) in [(1, "false"), (8, "true"), (32, "true")] {
        let options = format!("header_digest = {digests}\ndata_digest = {digests}");
        let run = finished(&lab, &format!("depth-{depth}"), &study(&chap(&right), depth, 1, &options), &[]);
        let cell = verified_cell(&run);
        for procedure in ["READ", "WRITE"] {
            let counts = counted(&cell, procedure);
            assert!(counts.reply_count > 20 && counts.latency_sum_ns.0 > 0, "{counts:?}");
            assert_eq!((counts.error_count, counts.retransmit_count), (0, 0), "{counts:?}");
        }
    }
    let both = format!("{}&target_user=it&target_secret_file={its}", chap(&right));
    verified_cell(&finished(&lab, "both", &study(&both, 4, 1, ""), &[]));
    for (name, target, part) in [
        ("wrong", chap(&wrong), "name or secret are wrong"),
        ("none", server.target(""), "chap_user=NAME"),
        (
            "impostor",
            format!("{}&target_user=it&target_secret_file={wrong}", chap(&right)),
            "its answer is wrong",
        ),
    ] {
        let message = finished(&lab, name, &study(&target, 1, 1, ""), &[]).stderr().unwrap();
        assert!(message.contains(part) && !message.contains("initiatorpw12"), "{name}: {message}");
    }
    assert!(server.is_empty(), "what was written is zeroes again");
}

#[test]
fn a_target_that_is_killed_and_started_again_loses_nothing_and_what_was_sent_again_is_counted() {
    let Some(lab) = lab_with_iscsi() else { return };
    let mut server = Tgt::start(&lab, 1, 64 * MIB, TgtSetup::default());
    let mut run = start_run(&lab, "restart", &study(&server.target(""), 8, 6, ""), &[]);
    wait_until_measuring(&lab.scratch().join("restart"));
    pause(Duration::from_millis(1500));
    server.kill();
    pause(Duration::from_millis(300));
    server.start_again();
    run.wait(SOON).unwrap();
    let cell = verified_cell(&run);
    let events = cell.protocol_events.unwrap();
    assert_eq!(events.reconnect_count, 1, "{events:?}");
    let again: u64 = cell.protocol.iter().map(|one| one.retransmit_count).sum();
    assert!((1..=8).contains(&again), "what was in flight, of a depth of 8: {:?}", cell.protocol);
    assert!(server.is_empty(), "what was written is zeroes again");
}

#[test]
fn a_unit_that_contains_something_is_only_read_unless_it_is_named_by_its_serial_number() {
    let Some(lab) = lab_with_iscsi() else { return };
    let server = Tgt::start(&lab, 1, 64 * MIB, TgtSetup::default());
    let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(server.image()).status().unwrap();
    assert!(made.success());
    let before = fs::read(server.image()).unwrap();
    let text = study(&server.target(""), 4, 1, "").replace("ops = { read = 1, write = 1 }", "op = \"write\"");
    let text = text.replace("verify = true\n", "");
    let message = finished(&lab, "refused", &text, &[]).stderr().unwrap();
    assert!(message.contains("ext4") && message.contains(&format!("--overwrite-lun {SERIAL}")), "{message}");
    let message = finished(&lab, "misnamed", &text, &["--overwrite-lun", "lab-0002"]).stderr().unwrap();
    assert!(message.contains("lab-0002") && message.contains(SERIAL), "{message}");
    let reading = text.replace("op = \"write\"", "op = \"read\"").replace("file = \"8MiB\"\n", "");
    let run = finished(&lab, "read", &reading, &[]);
    let summary: Summary = serde_json::from_str(&run.stdout().unwrap()).unwrap();
    assert!(summary.cells[0].rate_bytes_per_s.is_some(), "{}", run.stderr().unwrap());
    assert!(fs::read(server.image()).unwrap() == before, "nothing was changed");
    let plan = finished(&lab, "plan", &text, &["--plan", "--overwrite-lun", SERIAL]);
    let printed = plan.stdout().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("OVERWRITING an ext2, ext3 or ext4"), "{printed}");
    assert!(fs::read(server.image()).unwrap() == before, "a plan changes nothing");
    let run = finished(&lab, "named", &text, &["--overwrite-lun", SERIAL]);
    assert!(serde_json::from_str::<Summary>(&run.stdout().unwrap()).is_ok(), "{}", run.stderr().unwrap());
    assert!(fs::read(server.image()).unwrap()[..9 << 20].iter().all(|byte| *byte == 0));
}

#[test]
fn what_a_killed_run_left_is_cleared_by_the_next_and_data_of_others_stays() {
    let Some(lab) = lab_with_iscsi() else { return };
    let server = Tgt::start(&lab, 1, 64 * MIB, TgtSetup { is_thick: true, ..TgtSetup::default() });
    let text = study(&server.target(""), 4, 5, "");
    let mut killed = start_run(&lab, "killed", &text, &[]);
    wait_until(|| !server.is_empty());
    pause(Duration::from_millis(300));
    killed.kill9().unwrap();
    assert!(!server.is_empty());
    let mut interrupted = start_run(&lab, "interrupted", &text, &[]);
    // A claim waits 2 s where the target does not compare and write.
    pause(Duration::from_millis(4500));
    // Twice: the first one waits for the end of the cell.
    interrupted.interrupt().unwrap();
    pause(Duration::from_millis(200));
    interrupted.interrupt().unwrap();
    interrupted.wait(SOON).unwrap();
    let message = interrupted.stderr().unwrap();
    assert!(message.contains("cleared what a run that was killed had left"), "{message}");
    assert!(server.is_empty(), "{message}");
    // One byte where the run would write, far from the unit's beginning.
    let mut image = fs::OpenOptions::new().write(true).open(server.image()).unwrap();
    image.seek(SeekFrom::Start(5 * MIB + 3)).unwrap();
    image.write_all(&[1]).unwrap();
    image.sync_all().unwrap();
    let message = finished(&lab, "byte", &text, &[]).stderr().unwrap();
    assert!(message.contains("byte 5242883 is not zero"), "{message}");
}

#[test]
fn refusals_of_a_target_say_what_to_do() {
    let Some(lab) = lab_with_iscsi() else { return };
    let server = Tgt::start(&lab, 1, 64 * MIB, TgtSetup::default());
    let target = server.target("");
    for (name, target, parts) in [
        ("name", target.replace("lab:t1", "lab:t2"), ["no target of this name", "check the target's name"]),
        ("unit", target.replace("t1/1", "t1/7"), ["no LUN 7", "the target has 0, 1"]),
        ("port", target.replace("3260", "3261"), ["Connection refused", "that an iSCSI target runs there"]),
        ("kind", target.replace("t1/1", "t1/0"), ["is no disk", "give the number of a disk"]),
    ] {
        let message = finished(&lab, name, &study(&target, 1, 1, ""), &[]).stderr().unwrap();
        assert!(parts.iter().all(|part| message.contains(part)), "{name}: {message}");
    }
}

#[test]
fn the_bytes_of_all_pdus_are_those_that_the_kernel_counts() {
    let Some(lab) = lab_with_iscsi() else { return };
    let server = Tgt::start(&lab, 1, 64 * MIB, TgtSetup { keys: DIGESTS, ..TgtSetup::default() });
    for digest in [false, true] {
        let region = claim(&server.target(""));
        let target = format!("iscsi:{}", region.address());
        let mut spec = conformance::spec(&target, Op::Write, 8);
        spec.objects = vec!["data-0".to_owned()];
        for name in ["header_digest", "data_digest"] {
            spec.workload.engine_options.set(name, digest);
        }
        let factory = EngineRegistry::for_user().factory(&target.parse::<Target>().unwrap(), None).unwrap();
        let mut engine = factory.open(&spec, &conformance::worker()).unwrap();
        for op in [Op::Write, Op::Read] {
            let requests: Vec<_> = (0..8).map(|tag| conformance::request(op, tag, u64::from(tag))).collect();
            assert!(
                conformance::complete(engine.as_mut(), &requests).iter().all(|(_, result)| result.is_ok())
            );
        }
        let mut counters = ProtocolCounters::default();
        engine.counters(&mut counters);
        let (pdus, tcp) = (counters.rpc.unwrap().procedures, counters.tcp.unwrap());
        let sum = |bytes: fn(&ProcedureCounters) -> Bytes| pdus.iter().map(|one| bytes(one).0).sum::<u64>();
        // The kernel counts the SYN as a byte; what was answered was acknowledged.
        assert_eq!(tcp.acked_bytes.0, sum(|one| one.sent_bytes) + 1, "{pdus:?}");
        assert_eq!(tcp.received_bytes.0, sum(|one| one.received_bytes), "{pdus:?}");
        let write = pdus.iter().find(|one| one.procedure == "WRITE").unwrap();
        assert_eq!((write.call_count, write.reply_count, write.error_count), (8, 8, 0));
        engine.close().unwrap();
    }
}

/// `check` chooses its loads itself: without its serial number none of them writes.
#[test]
fn a_check_of_a_unit_that_contains_a_file_system_only_reads_unless_it_is_named() {
    let Some(lab) = lab_with_iscsi() else { return };
    let server = Tgt::start(&lab, 2, 64 << 20, TgtSetup::default());
    let made = Command::new("mkfs.ext4").arg("-q").arg(server.image()).status().unwrap();
    assert!(made.success());
    let before = fs::read(server.image()).unwrap();
    let words = "--seconds 6 --cell-seconds 0.3 --block 64KiB --depth 4";
    let checked = check_target(&lab, &server.target(""), |_| (), words);
    let ops: Vec<Op> = checked.cells(Cut::Path).map(|cell| cell.op).collect();
    assert!(!ops.is_empty() && ops.iter().all(|op| *op == Op::Read), "it is only read: {ops:?}");
    assert_eq!(fs::read(server.image()).unwrap(), before, "nothing of it has changed");
    let mut command = lab.host(1).unwrap().command(narrows_bin().unwrap());
    command.arg("check").arg(server.target("")).args(["--overwrite-lun", SERIAL, "--plan"]);
    let planned = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(planned.contains("OVERWRITING"), "{planned}");
    assert_eq!(fs::read(server.image()).unwrap(), before, "a plan changes nothing");
}
