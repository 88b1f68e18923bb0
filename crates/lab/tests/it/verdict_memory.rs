//! A path that is one copy in memory is limited by memory copies, and one that waits for a disk is not.
//!
//! The lab cannot slow memory down; it makes a path that does nothing but copy, and copies the same bytes itself.

use std::path::Path;

use crate::support::check::assert_within;
use crate::support::study::{MemoryFolder, bytes_per_s, own_copy_s, resident_bytes, run_study, write_data};
use crate::support::{lab, lab_with_disks, on_a_calm_machine};
use narrows_lab::{DiskPlan, counters, device_under};
use narrows_model::{Cut, Segment};

const FILE_BYTES: usize = 64 << 20;
const BLOCK_BYTES: usize = 1 << 20;

/// Reads of the whole of `target` beside one copy of each block.
fn reads(target: &Path, engine: &str, access: &str) -> String {
    let target = target.display();
    format!(
        r#"
target = "{target}"
cuts = ["generator", "memory_copy"]
[workload]
engine = "{engine}"
access = "{access}"
block = "1MiB"
file = "64MiB"
[stop]
warm_up = "200ms"
measure = "1s"
"#
    )
}

#[test]
fn reads_that_copy_each_block_once_from_memory_are_limited_by_that_copy() {
    on_a_calm_machine(|| {
        const RUNS_MAX: u32 = 6;
        let Some(lab) = lab() else { return };
        let memory = MemoryFolder::new(&lab, 128);
        let file = memory.path.join("data");
        write_data(&file, FILE_BYTES);
        assert_eq!(resident_bytes(&file), FILE_BYTES as u64, "all of it is in memory");
        let text = reads(&file, "mmap", "buffered");
        // Others on the same memory move both rates: the first run in which they come together.
        let mut runs = (0..RUNS_MAX).map(|run| run_study(&lab, &format!("copies{run}"), &text));
        let checked = runs.find(|run| run.found("memory-copy-bound")).unwrap();
        let ratio = bytes_per_s(checked.only(Cut::Path)) / bytes_per_s(checked.only(Cut::MemoryCopy));
        assert!((0.9..1.25).contains(&ratio), "the path moves {ratio} of one copy");
        checked.assert_limits("memory-copy-bound");
        checked.assert_limiting_first("bulk", Segment::ClientMemory);
        let (path, copy) = (checked.only(Cut::Path), checked.only(Cut::MemoryCopy));
        let statement = &checked.evidence("memory-copy-bound")[0].text;
        assert!(
            statement.starts_with(&path.id) && statement.contains("that memory-copy reached"),
            "{statement}"
        );
        // This process's own copies reach the memory rate that narrows reports: pages and caches differ a little.
        let own = FILE_BYTES as f64
            / own_copy_s::<BLOCK_BYTES>(&vec![1; FILE_BYTES], |to, from| to.copy_from_slice(from));
        for cell in [path, copy] {
            let ratio = bytes_per_s(cell) / own;
            assert!((0.5..3.0).contains(&ratio), "{} is {ratio:.2} of {own}", cell.id);
        }
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn reads_that_wait_for_a_disk_are_not_limited_by_memory_copies() {
    on_a_calm_machine(|| {
        let Some(lab) = lab_with_disks() else { return };
        let plan = DiskPlan { read_us: 5000, at_once: 1, ..DiskPlan::PLAIN };
        let disk = lab.disks("disk", &plan).unwrap().path(0);
        let device = device_under(&disk).unwrap().name;
        let before = counters::diskstats(&device).unwrap().read_bytes;
        let checked = run_study(&lab, "disk", &reads(&disk, "psync", "direct"));
        let read_bytes = counters::diskstats(&device).unwrap().read_bytes - before;
        let path = checked.only(Cut::Path);
        assert!(read_bytes >= path.bytes.application.0, "the disk carried them: {read_bytes}");
        checked.assert_not_found("memory-copy-bound");
        let cleared = &checked.summary.diagnosis.exonerated;
        assert!(cleared.iter().any(|entry| entry.segment == Segment::ClientMemory), "{cleared:?}");
        // Each block is read in pieces of what the disk takes at once, 5 ms each.
        assert!(bytes_per_s(path) < 0.2 * bytes_per_s(checked.only(Cut::MemoryCopy)));
        assert_within(path.in_flight.configured as f64, 1.0, 0.0);
    });
}
