//! Bytes that `narrows` counts are the bytes that the kernel counts: system calls, devices, interfaces.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::check::{local_check_command, run_check, serve};
use crate::support::ledger::{Account, accounts, prepared_bytes};
use crate::support::{lab, on_a_calm_machine};
use narrows_lab::{Host, Lab, counters, device_under, narrows_bin, pin_to_cpus};
use narrows_model::Cut;

const BLOCK_BYTES: u64 = 64 << 10;
const MIB: u64 = 1 << 20;

/// Cuts whose requests go to a file.
fn is_on_files(cut: Cut) -> bool {
    matches!(cut, Cut::Path | Cut::PageCache | Cut::LocalDevice)
}

/// Samples and trials of a record agree.
#[track_caller]
fn assert_consistent(accounts: &[Account]) {
    assert!(!accounts.is_empty());
    for account in accounts {
        assert_eq!(account.measured_bytes, account.total_bytes, "{account:?}");
        assert!(account.sampled_bytes >= account.measured_bytes, "{account:?}");
    }
}

/// The most that can have been moved without being counted: what was in flight when a window ended.
fn uncounted_bytes_max<'a>(accounts: impl Iterator<Item = &'a Account>) -> u64 {
    accounts.map(|account| account.measured_count * account.in_flight * account.block_bytes).sum()
}

/// Sum of what `call` returned for files below `folder`, from the output of `strace -f -y`, which cuts a call in two
/// lines when another thread comes between.
fn traced_bytes(trace: &Path, call: &str, folder: &Path) -> u64 {
    let (start, place) = (format!("{call}("), format!("<{}/", folder.display()));
    let (resumed, cut) = (format!("<... {call} resumed>"), "<unfinished ...>");
    let text = fs::read_to_string(trace).unwrap();
    let mut open: HashSet<&str> = HashSet::new();
    let mut total_bytes = 0;
    for line in text.lines() {
        let thread = line.split(' ').next().unwrap();
        let begins = line.contains(&start) && line.contains(&place);
        if begins && line.ends_with(cut) {
            open.insert(thread);
        } else if begins || (line.contains(&resumed) && open.remove(thread)) {
            let (_, result) = line.rsplit_once(" = ").unwrap_or_else(|| panic!("{line}"));
            total_bytes += result.trim().parse::<u64>().unwrap_or_else(|_| panic!("{line}"));
        }
    }
    assert!(open.is_empty(), "every call returned");
    total_bytes
}

/// Runs a check of one operation under strace; its accounts, and the bytes read and written as strace saw them.
fn traced_check(op: &str) -> Option<(Vec<Account>, u64, u64)> {
    let lab = lab()?;
    let folder = lab.scratch().join("traced");
    fs::create_dir(&folder).unwrap();
    let trace = lab.scratch().join("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "--seccomp-bpf", "-e", "trace=pread64,pwrite64", "-e", "signal=none", "-o"]);
    command.arg(&trace).arg(narrows_bin().unwrap()).arg("check").arg(&folder);
    let words = format!("--op {op} --seconds 14 --cell-seconds 0.6 --block 64KiB --depth 1");
    let checked = run_check(&lab, &format!("traced-{op}"), command, &words);
    let accounts = accounts(&checked.record);
    assert_consistent(&accounts);
    let folder = folder.canonicalize().unwrap();
    Some((accounts, traced_bytes(&trace, "pread64", &folder), traced_bytes(&trace, "pwrite64", &folder)))
}

/// Fails unless `seen` is between what was counted and that plus what may be uncounted.
#[track_caller]
fn assert_covers(seen: u64, counted: u64, uncounted_max: u64, what: &str) {
    let most = counted + uncounted_max;
    assert!((counted..=most).contains(&seen), "{what}: {seen} bytes seen, {counted} to {most} counted");
}

#[test]
fn writes_that_are_counted_are_the_writes_that_strace_sees() {
    on_a_calm_machine(|| {
        let Some((accounts, _, written)) = traced_check("write") else { return };
        let files = || accounts.iter().filter(|account| is_on_files(account.cut));
        let prepared = prepared_bytes(files());
        let counted = prepared + files().map(|account| account.sampled_bytes).sum::<u64>();
        assert!(files().all(|account| account.block_bytes == BLOCK_BYTES));
        assert_covers(written, counted, uncounted_bytes_max(files()), "pwrite64");
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn reads_that_are_counted_are_the_reads_that_strace_sees() {
    on_a_calm_machine(|| {
        let Some((accounts, read, written)) = traced_check("read") else { return };
        let files = || accounts.iter().filter(|account| is_on_files(account.cut));
        let prepared = prepared_bytes(files());
        // A cell of the page cache reads its file through once before it begins.
        let warmed: u64 =
            files().filter(|account| account.cut == Cut::PageCache).map(|account| account.file_bytes).sum();
        let counted = warmed + files().map(|account| account.sampled_bytes).sum::<u64>();
        assert_covers(read, counted, uncounted_bytes_max(files()), "pread64");
        assert_eq!(written, prepared, "only the preparation writes");
    });
}

/// Bytes that the device under the lab read during one check of cold and direct reads, and those it counted.
fn read_from_device(lab: &Lab, name: &str) -> (u64, u64) {
    let folder = lab.scratch().join(name);
    fs::create_dir(&folder).unwrap();
    let device = device_under(&folder).unwrap().name;
    let before = counters::diskstats(&device).unwrap();
    let words = "--op read --seconds 14 --cell-seconds 0.6 --block 1MiB --depth 1";
    let checked = run_check(lab, name, local_check_command(&folder), words);
    let after = counters::diskstats(&device).unwrap();
    let accounts = accounts(&checked.record);
    assert_consistent(&accounts);
    // What was just written is in the page cache: only the cold path and the direct cut reach the device.
    let past_cache = || accounts.iter().filter(|a| matches!(a.cut, Cut::Path | Cut::LocalDevice));
    let counted: u64 = past_cache().map(|account| account.sampled_bytes).sum();
    let read = after.read_bytes - before.read_bytes;
    assert!(read >= counted, "{counted} bytes counted, {read} read");
    let prepared = prepared_bytes(past_cache());
    assert!(after.written_bytes - before.written_bytes >= prepared, "the preparation reached the device");
    for cell in checked.cells(Cut::LocalDevice) {
        let (application, device) = (cell.bytes.application.as_f64(), cell.bytes.device.unwrap().as_f64());
        assert!(device / application > 0.9, "{}: {device} at the device for {application}", cell.id);
    }
    (read, counted + uncounted_bytes_max(past_cache()))
}

#[test]
fn direct_reads_that_are_counted_are_the_reads_of_the_device() {
    on_a_calm_machine(|| {
        /// The device is the whole machine's: what others read in one run they do not read in each.
        const RUNS: [&str; 3] = ["direct1", "direct2", "direct3"];
        let Some(lab) = lab() else { return };
        let mut seen = Vec::new();
        let agrees = RUNS.iter().any(|name| {
            let (read, counted) = read_from_device(&lab, name);
            seen.push((read, counted));
            // Read-ahead of a path that stops in mid-file.
            read <= counted + counted / 50 + 16 * MIB
        });
        assert!(agrees, "read by the device, counted: {seen:?}");
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn bytes_to_an_endpoint_are_those_of_the_interface_within_its_headers() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
        server.limit_rate("1gbit").unwrap();
        let served = serve(&lab, &server, None, |command| pin_to_cpus(command, &[1]));
        let mut command = served.check_command(&client, "memory");
        pin_to_cpus(&mut command, &[0]);
        let before = server.net_dev(Host::INTERFACE).unwrap();
        let words = "--op write --seconds 14 --cell-seconds 0.6 --block 64KiB --depth 4";
        let checked = run_check(&lab, "wire", command, words);
        let received = server.net_dev(Host::INTERFACE).unwrap().received_bytes - before.received_bytes;
        let accounts = accounts(&checked.record);
        assert_consistent(&accounts);
        let on_wire = || accounts.iter().filter(|a| matches!(a.cut, Cut::Path | Cut::NetworkStream));
        let prepared = prepared_bytes(on_wire().filter(|account| account.cut == Cut::Path));
        let payload = prepared + on_wire().map(|account| account.sampled_bytes).sum::<u64>();
        // 66 bytes of headers for 1448 at most; packets that the machine does not cut have fewer. Requests have
        // heads of their own and the command a conversation: under a hundredth.
        let headers_max = payload * 66 / 1448 + payload / 100;
        assert_covers(received, payload, headers_max + uncounted_bytes_max(on_wire()), "eth0");
        for cell in checked.cells(Cut::Path) {
            let (application, wire) = (cell.bytes.application.as_f64(), cell.bytes.wire.unwrap().as_f64());
            let in_flight = (cell.queue_depth * cell.block_bytes.0) as f64;
            let off = (wire - application).abs();
            assert!(off <= application * 0.01 + 2.0 * in_flight, "{}: {wire} for {application}", cell.id);
        }
    });
}
