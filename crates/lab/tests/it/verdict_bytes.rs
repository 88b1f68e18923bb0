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

/// A call that strace saw.
struct TracedCall {
    file: String,
    /// `None` of a read that another thread's call came between: it is not needed.
    offset_bytes: Option<u64>,
    /// What it returned.
    bytes: u64,
}

/// Each `call` on a file below `folder`, from the output of `strace -f -y`, which cuts a call in two lines when another
/// thread comes between.
fn traced_calls(trace: &Path, call: &str, folder: &Path) -> Vec<TracedCall> {
    let (start, parent) = (format!("{call}("), format!("<{}/", folder.display()));
    let (resumed, cut) = (format!("<... {call} resumed>"), " <unfinished ...>");
    let text = fs::read_to_string(trace).unwrap();
    let mut open: HashMap<&str, (String, Option<u64>)> = HashMap::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let thread = line.split(' ').next().unwrap();
        let begun = line.split_once(&start).and_then(|(_, arguments)| arguments.split_once(&parent));
        let begun = begun.map(|(_, rest)| {
            let path = rest.split('>').next().unwrap();
            let arguments = rest.strip_suffix(cut).or_else(|| Some(rest.rsplit_once(") = ")?.0));
            let offset = arguments.and_then(|arguments| arguments.rsplit_once(", ")?.1.parse().ok());
            (path.rsplit('/').next().unwrap().to_owned(), offset)
        });
        let ended = match begun {
            Some(begun) if line.ends_with(cut) => {
                open.insert(thread, begun);
                None
            }
            None if line.contains(&resumed) => open.remove(thread),
            begun => begun,
        };
        if let Some((file, offset_bytes)) = ended {
            let (_, result) = line.rsplit_once(" = ").unwrap_or_else(|| panic!("{line}"));
            let bytes = result.trim().parse().unwrap_or_else(|_| panic!("{line}"));
            calls.push(TracedCall { file, offset_bytes, bytes });
        }
    }
    assert!(open.is_empty(), "every call returned");
    calls
}

/// A file as its preparation wrote it.
#[derive(Debug, Default)]
struct PreparedFile {
    size_bytes: u64,
    /// How often it was begun: again where a later cell needs a larger one.
    begun_count: u32,
}

/// What strace saw of a check of one operation.
struct Traced {
    accounts: Vec<Account>,
    /// Read by all calls.
    read_bytes: u64,
    /// Written by calls of a load's block size.
    load_written_bytes: u64,
    /// Files that larger calls wrote, by name.
    prepared: HashMap<String, PreparedFile>,
}

impl Traced {
    fn new(accounts: Vec<Account>, trace: &Path, folder: &Path) -> Self {
        let read_bytes = traced_calls(trace, "pread64", folder).iter().map(|call| call.bytes).sum();
        let mut traced = Self { accounts, read_bytes, load_written_bytes: 0, prepared: HashMap::new() };
        for call in traced_calls(trace, "pwrite64", folder) {
            if call.bytes <= BLOCK_BYTES {
                traced.load_written_bytes += call.bytes;
                continue;
            }
            let offset_bytes = call.offset_bytes.expect("the offset of a write is printed when it begins");
            let file = traced.prepared.entry(call.file).or_default();
            file.size_bytes = file.size_bytes.max(offset_bytes + call.bytes);
            file.begun_count += u32::from(offset_bytes == 0);
        }
        assert!(traced.on_files().next().is_some(), "cells on files were measured");
        traced
    }

    /// Accounts of the cells whose requests go to a file.
    fn on_files(&self) -> impl Iterator<Item = &Account> {
        self.accounts.iter().filter(|account| is_on_files(account.cut))
    }

    /// Fails unless every cell had the files that strace saw being written. Each client's file is filled for a limited
    /// time, so that their sizes differ; the record has the smallest.
    #[track_caller]
    fn assert_prepared(&self) {
        for account in self.on_files() {
            let names = (0..account.clients).map(|client| format!("data-{client}"));
            let files: Vec<&PreparedFile> = names.filter_map(|name| self.prepared.get(&name)).collect();
            assert_eq!(files.len(), account.clients as usize, "{account:?}: {:?}", self.prepared);
            let smallest_bytes = files.iter().map(|file| file.size_bytes).min().unwrap();
            let is_as_it_was = files.iter().all(|file| file.begun_count == 1);
            let agrees = smallest_bytes == account.file_bytes
                || (!is_as_it_was && smallest_bytes > account.file_bytes);
            assert!(agrees, "{account:?}: {:?}", self.prepared);
        }
        assert!(self.prepared.keys().all(|name| name.starts_with("data-")), "{:?}", self.prepared);
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
    Some(Traced::new(accounts, &trace, &folder))
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
        traced.assert_prepared();
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
        traced.assert_prepared();
        assert_eq!(traced.load_written_bytes, 0, "only the preparation writes");
    });
}

/// Bytes that the kernel reads ahead at once of a file on `device`, for requests that are no larger.
fn read_ahead_bytes(device: &str) -> u64 {
    let path = format!("/sys/block/{device}/queue/read_ahead_kb");
    let kib = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
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
    // Each reader of a cold path leaves a window that was read ahead, and the one after it.
    let left_bytes = |account: &Account| {
        let window_bytes = read_ahead_bytes(&device).max(account.block_bytes);
        2 * window_bytes * account.in_flight * account.measured_count
    };
    let ahead: u64 = past_cache().filter(|account| account.cut == Cut::Path).map(left_bytes).sum();
    (read, counted + uncounted_bytes_max(past_cache()) + ahead)
}

#[test]
fn direct_reads_that_are_counted_are_the_reads_of_the_device() {
    on_a_calm_machine(|| {
        /// The device is the whole machine's: what others read in one run they do not read in each.
        const RUNS: [&str; 3] = ["direct1", "direct2", "direct3"];
        let Some(lab) = lab() else { return };
        let mut seen = Vec::new();
        let agrees = RUNS.iter().any(|name| {
            let (read, explained_max) = read_from_device(&lab, name);
            seen.push((read, explained_max));
            read <= explained_max + explained_max / 50
        });
        assert!(agrees, "read by the device, at most explained: {seen:?}");
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
