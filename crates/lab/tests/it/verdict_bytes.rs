//! Bytes that `narrows` counts are the bytes that the kernel counts: system calls, devices, interfaces.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::check::{local_check_command, run_check, serve};
use crate::support::ledger::{Account, accounts, prepared_bytes};
use crate::support::{lab, on_a_calm_machine};
use narrows_lab::{Host, Lab, counters, device_under, narrows_bin, pin_to_cpus};
use narrows_model::Cut;

const BLOCK_BYTES: u64 = 64 << 10;

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

/// What each `call` on a file below `folder` returned, with the file's name, from the output of `strace -f -y`, which
/// cuts a call in two lines when another thread comes between.
fn traced_calls(trace: &Path, call: &str, folder: &Path) -> Vec<(String, u64)> {
    let (start, parent) = (format!("{call}("), format!("<{}/", folder.display()));
    let (resumed, cut) = (format!("<... {call} resumed>"), "<unfinished ...>");
    let text = fs::read_to_string(trace).unwrap();
    let mut open: HashMap<&str, &str> = HashMap::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let thread = line.split(' ').next().unwrap();
        let begun = line.split_once(&start).and_then(|(_, arguments)| arguments.split_once(&parent));
        let file = begun.map(|(_, path)| path.split('>').next().unwrap());
        let ended = match file {
            Some(file) if line.ends_with(cut) => {
                open.insert(thread, file);
                None
            }
            Some(file) => Some(file),
            None if line.contains(&resumed) => open.remove(thread),
            None => None,
        };
        if let Some(file) = ended {
            let (_, result) = line.rsplit_once(" = ").unwrap_or_else(|| panic!("{line}"));
            let bytes = result.trim().parse().unwrap_or_else(|_| panic!("{line}"));
            calls.push((file.rsplit('/').next().unwrap().to_owned(), bytes));
        }
    }
    assert!(open.is_empty(), "every call returned");
    calls
}

/// What strace saw of a check of one operation.
struct Traced {
    accounts: Vec<Account>,
    /// Read by all calls.
    read_bytes: u64,
    /// Written by calls of a load's block size.
    load_written_bytes: u64,
    /// Written by larger calls, by file: the preparation.
    prepared_bytes: HashMap<String, u64>,
}

impl Traced {
    /// Accounts of the cells whose requests go to a file.
    fn on_files(&self) -> impl Iterator<Item = &Account> {
        self.accounts.iter().filter(|account| is_on_files(account.cut))
    }

    /// Fails unless every cell had the file that strace saw being written, once: with several clients, each of which
    /// had a certain time for a file of its own, the smallest of them.
    #[track_caller]
    fn assert_prepared_once(&self) {
        for account in self.on_files() {
            let files = (0..account.clients).map(|client| format!("data-{client}"));
            let smallest =
                files.map(|file| self.prepared_bytes.get(&file).copied().unwrap_or_default()).min();
            assert_eq!(smallest, Some(account.file_bytes), "{account:?}: {:?}", self.prepared_bytes);
        }
    }
}

/// Runs a check of one operation under strace.
fn traced_check(op: &str) -> Option<Traced> {
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
    let read_bytes = traced_calls(&trace, "pread64", &folder).into_iter().map(|(_, bytes)| bytes).sum();
    let mut traced = Traced { accounts, read_bytes, load_written_bytes: 0, prepared_bytes: HashMap::new() };
    for (file, bytes) in traced_calls(&trace, "pwrite64", &folder) {
        if bytes > BLOCK_BYTES {
            *traced.prepared_bytes.entry(file).or_default() += bytes;
        } else {
            traced.load_written_bytes += bytes;
        }
    }
    Some(traced)
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
        let Some(traced) = traced_check("write") else { return };
        let counted = traced.on_files().map(|account| account.sampled_bytes).sum();
        assert!(traced.on_files().all(|account| account.block_bytes == BLOCK_BYTES));
        let uncounted_max = uncounted_bytes_max(traced.on_files());
        assert_covers(traced.load_written_bytes, counted, uncounted_max, "pwrite64");
        traced.assert_prepared_once();
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn reads_that_are_counted_are_the_reads_that_strace_sees() {
    on_a_calm_machine(|| {
        let Some(traced) = traced_check("read") else { return };
        // A cell of the page cache reads its file through once before it begins.
        let warmed = traced.on_files().filter(|account| account.cut == Cut::PageCache);
        let warmed_bytes: u64 = warmed.map(|account| account.file_bytes).sum();
        let counted = warmed_bytes + traced.on_files().map(|account| account.sampled_bytes).sum::<u64>();
        assert_covers(traced.read_bytes, counted, uncounted_bytes_max(traced.on_files()), "pread64");
        traced.assert_prepared_once();
        assert_eq!(traced.load_written_bytes, 0, "only the preparation writes");
    });
}

/// The most that the kernel reads ahead at once of a file on `device`.
fn read_ahead_bytes(device: &str) -> u64 {
    let kib = fs::read_to_string(format!("/sys/block/{device}/queue/read_ahead_kb")).unwrap();
    kib.trim().parse::<u64>().unwrap() << 10
}

/// Bytes that the device under the lab read during one check of cold and direct reads, and the most
/// that the counted reads explain.
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
    // Each client of a cold path leaves a window that was read ahead, and the one after it.
    let files_left = past_cache().filter(|account| account.cut == Cut::Path);
    let files_left: u64 = files_left.map(|account| account.measured_count * u64::from(account.clients)).sum();
    let read_ahead = 2 * files_left * read_ahead_bytes(&device);
    (read, counted + uncounted_bytes_max(past_cache()) + read_ahead)
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
            read <= counted + counted / 50
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
