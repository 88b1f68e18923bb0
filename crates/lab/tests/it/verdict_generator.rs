//! What costs nothing but the load generator shows the generator, and is called so; what costs more does not.

use std::path::{Path, PathBuf};

use crate::support::check::Checked;
use crate::support::study::{MemoryFolder, ops_per_s, own_copy_s, resident_bytes, run_study, write_data};
use crate::support::{lab, on_a_calm_machine};
use narrows_lab::Lab;
use narrows_model::{Cut, Segment};

const FILE_BYTES: usize = 1 << 20;
const BLOCK_BYTES: usize = 8;

fn file_in(memory: &MemoryFolder) -> PathBuf {
    let file = memory.path.join("data");
    write_data(&file, FILE_BYTES);
    assert_eq!(resident_bytes(&file), FILE_BYTES as u64, "all of it is in memory");
    file
}

/// Copies of `block` out of a mapped file beside the generator alone.
fn reads(lab: &Lab, name: &str, file: &Path, block: &str) -> Checked {
    let target = file.display();
    let text = format!(
        r#"
target = "{target}"
[workload]
engine = "mmap"
block = "{block}"
[stop]
warm_up = "100ms"
measure = "1s"
"#
    );
    run_study(lab, name, &text)
}

/// From which share of the generator's own rate it is the limit, as the rule's page has it.
const LIMITED_RATIO: f64 = 0.8;

/// The first run in which the path reaches `ratio` of the generator alone, of six at most: the two differ by
/// nanoseconds, which a program's location in memory shifts either way. Runs that stay below must not be reported as
/// limited by it.
#[track_caller]
fn first_run_at(ratio: f64, run: impl Fn(u32) -> Checked) -> Checked {
    const RUNS_MAX: u32 = 6;
    for index in 0..RUNS_MAX {
        let checked = run(index);
        if ops_per_s(checked.only(Cut::Path)) >= ratio * ops_per_s(checked.only(Cut::Generator)) {
            return checked;
        }
        checked.assert_not_found("generator-limited");
    }
    panic!("the path never comes near the generator");
}

#[test]
fn copies_of_8_bytes_that_are_nearly_free_show_the_generator_alone() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let memory = MemoryFolder::new(&lab, 16);
        let file = file_in(&memory);
        let checked = first_run_at(LIMITED_RATIO, |run| reads(&lab, &format!("run{run}"), &file, "8B"));
        checked.assert_limits("generator-limited");
        assert_eq!(checked.summary.diagnosis.limiting[0].segment, Segment::Generator);
        assert_eq!(checked.exit_code, 4, "such figures are not to be relied on");
        let (path, alone) = (checked.only(Cut::Path), checked.only(Cut::Generator));
        let statement = &checked.evidence("generator-limited")[0].text;
        assert!(statement.starts_with(&path.id), "{statement}");
        assert!(ops_per_s(path) >= 0.8 * ops_per_s(alone), "{} of {}", ops_per_s(path), ops_per_s(alone));
        // Without narrows the same copies take a fraction of that time: it is not they that limit.
        let copies_s = own_copy_s::<BLOCK_BYTES>(&std::fs::read(&file).unwrap(), |to, from| *to = *from);
        let copy_ns = copies_s * 1e9 / (FILE_BYTES / BLOCK_BYTES) as f64;
        let each_ns = 1e9 / ops_per_s(path);
        assert!(copy_ns < 0.2 * each_ns, "a copy takes {copy_ns} ns of the {each_ns} ns of a request");
    });
}

#[test]
fn copies_of_256_kib_show_what_they_cost_and_not_the_generator() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let memory = MemoryFolder::new(&lab, 16);
        let checked = reads(&lab, "large", &file_in(&memory), "256KiB");
        checked.assert_not_found("generator-limited");
        assert_eq!(checked.exit_code, 0, "{}", checked.stderr);
        let cleared = &checked.summary.diagnosis.exonerated;
        assert!(cleared.iter().any(|entry| entry.segment == Segment::Generator), "{cleared:?}");
    });
}
