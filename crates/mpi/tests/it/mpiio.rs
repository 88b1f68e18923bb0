//! The engine `mpiio` by real ranks: where it writes and how often it syncs as strace sees it, and ranks that end or fail.

use crate::job::{Ended, events_of, json, launcher, mpirun, narrows_mpi, run, wait};
use serde_json::Value;
use std::path::Path;

/// Bytes that every offset and length of these tests is a multiple of.
const UNIT: u64 = 4096;
/// Units of a block, and blocks of each rank.
const BLOCK_UNITS: u64 = 4;
const BLOCKS: u64 = 4;

/// Writes a study of `op` in blocks of 16 KiB, four of each rank, with these options of the engine and lines of the workload.
fn study(folder: &Path, op: &str, options: &str, load: &str, stop: &str) {
    let text = format!(
        "target = \".\"\nseconds = 60\ncuts = []\n\n[workload]\nengine = \"mpiio\"\nop = \"{op}\"\nblock = \"16KiB\"\nfile = \
         \"64KiB\"\n{load}\n\n[workload.mpiio]\n{options}\n\n[stop]\n{stop}\n"
    );
    std::fs::write(folder.join("study.toml"), text).unwrap();
}

/// A transfer of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Transfer {
    offset: u64,
    length: u64,
}

/// What strace saw of one rank, but for the thread that prepares files.
#[derive(Debug, Default)]
struct Traced {
    transfers: Vec<Transfer>,
    sync_count: usize,
}

/// Runs the study of `folder` with strace around each rank.
fn traced(folder: &Path, selecting: &[&str], ranks: usize) -> (Ended, Vec<Traced>) {
    let calls = "trace=pwrite64,pwritev,pwritev2,pread64,preadv,preadv2,read,write,fsync,fdatasync";
    let rank = launcher().rank_variable();
    let script = format!("exec strace -ff -y -s 0 -e signal=none -e {calls} -o trace.${rank} \"$@\"");
    let count = ranks.to_string();
    let words = [
        selecting,
        &["-np", &count, "sh", "-c", &script, "sh", narrows_mpi(), "run", "study.toml", "--out", "record"],
    ]
    .concat();
    let ended = wait(mpirun(folder, &words));
    let facts = json(folder.join("record").join("inventory.json"));
    let own = |rank: usize| {
        let mut found = Traced::default();
        let main = format!("trace.{rank}.{}", facts["ranks"][rank]["pid"]);
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&format!("trace.{rank}.")) && name != main {
                let text = std::fs::read(entry.path()).unwrap();
                add_calls(&mut found, &String::from_utf8_lossy(&text));
            }
        }
        found
    };
    (ended, (0..ranks).map(own).collect())
}

fn add_calls(found: &mut Traced, text: &str) {
    // Of the file alone, not of what the library has beside it.
    let is_of_file = |line: &&str| ["/data-shared>", "/data-theirs>"].iter().any(|name| line.contains(name));
    for line in text.lines().filter(is_of_file) {
        if line.starts_with("fsync(") || line.starts_with("fdatasync(") {
            found.sync_count += 1;
            continue;
        }
        // pwrite64(7</tmp/data-shared>, ""..., 4096, 8192) = 4096
        let (call, result) = line.rsplit_once(") = ").unwrap();
        let offset = call.rsplit_once(", ").unwrap().1;
        assert!(line.starts_with('p'), "a transfer without an offset: {line}");
        found
            .transfers
            .push(Transfer { offset: offset.parse().unwrap(), length: result.trim().parse().unwrap() });
    }
}

/// The units of all transfers, in their order, each as often as it was moved.
fn units(transfers: &[Transfer]) -> Vec<u64> {
    let all = transfers.iter().flat_map(|transfer| {
        assert!(transfer.offset.is_multiple_of(UNIT) && transfer.length.is_multiple_of(UNIT), "{transfer:?}");
        transfer.offset / UNIT..(transfer.offset + transfer.length) / UNIT
    });
    let mut all: Vec<u64> = all.collect();
    all.sort_unstable();
    all
}

/// The units that rank `rank` of four has in a layout whose pieces are one unit, by the words of the reference.
fn expected(layout: &str, rank: u64) -> Vec<u64> {
    let mut all = Vec::new();
    for block in 0..BLOCKS {
        for unit in 0..BLOCK_UNITS {
            all.push(match layout {
                // A part of its own.
                "segmented" => (rank * BLOCKS + block) * BLOCK_UNITS + unit,
                // In turn with those of the others.
                "strided" => (block * 4 + rank) * BLOCK_UNITS + unit,
                // A column of one unit in rows of four.
                "subarray" => (block * BLOCK_UNITS + unit) * 4 + rank,
                // Tiles of four rows and one unit, in matrices of two by two of them.
                _ => {
                    let row = rank / 2 * BLOCK_UNITS + unit;
                    block * 4 * BLOCK_UNITS + row * 2 + rank % 2
                }
            });
        }
    }
    all.sort_unstable();
    all
}

fn assert_ended(ended: &Ended) {
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:?}");
}

/// The only trial of the path.
fn trial(folder: &Path) -> Value {
    let mut trials = events_of(&folder.join("record"), "trial_finished");
    assert_eq!(trials.len(), 1, "{trials:?}");
    trials.remove(0)
}

fn op_counts(trial: &Value) -> Vec<u64> {
    let clients = trial["clients"].as_array().unwrap();
    clients.iter().map(|client| client["op_count"].as_u64().unwrap()).collect()
}

const LAYOUTS: [&str; 4] = ["segmented", "strided", "subarray", "darray"];

/// The options of a layout, whose pieces are written one by one: ROMIO else reads and writes what is between them too (data
/// sieving), which OMPIO does not.
fn options(calls: &str, layout: &str) -> String {
    format!("{}\nhints = \"romio_ds_write=disable\"", options_without_hints(calls, layout))
}

fn options_without_hints(calls: &str, layout: &str) -> String {
    let piece = if layout.ends_with("array") { "piece = \"4KiB\"" } else { "" };
    format!("calls = \"{calls}\"\nlayout = \"{layout}\"\n{piece}")
}

#[test]
fn independent_writes_are_where_their_layout_says() {
    for layout in LAYOUTS {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        study(folder.path(), "write", &options("independent", layout), "", "bytes = \"256KiB\"");
        let (ended, ranks) = traced(folder.path(), &[], 4);
        assert_ended(&ended);
        for (rank, traced) in (0..).zip(&ranks) {
            assert_eq!(units(&traced.transfers), expected(layout, rank), "{layout}, rank {rank}: {traced:?}");
        }
        let trial = trial(folder.path());
        assert_eq!(op_counts(&trial), [BLOCKS; 4]);
        assert_eq!(trial["bytes"].as_u64(), Some(256 << 10));
        assert_eq!(trial["complete"], Value::Bool(true));
    }
}

#[test]
fn collective_writes_of_all_ranks_cover_the_file_once_by_either_library_of_mpi_io() {
    for library in launcher().io_libraries() {
        for layout in LAYOUTS {
            let folder = tempfile::tempdir_in("/var/tmp").unwrap();
            study(folder.path(), "write", &options("collective", layout), "", "bytes = \"256KiB\"");
            let (ended, ranks) = traced(folder.path(), library.words, 4);
            assert_ended(&ended);
            let all: Vec<Transfer> = ranks.iter().flat_map(|rank| rank.transfers.iter().copied()).collect();
            let whole: Vec<u64> = (0..4 * BLOCKS * BLOCK_UNITS).collect();
            assert_eq!(units(&all), whole, "{library:?}, {layout}: {ranks:?}");
            let trial = trial(folder.path());
            assert_eq!(op_counts(&trial), [BLOCKS; 4], "{library:?}, {layout}");
            assert_eq!(trial["bytes"].as_u64(), Some(all.iter().map(|transfer| transfer.length).sum()));
        }
    }
}

#[test]
fn a_time_that_ends_collective_calls_ends_them_for_all_ranks_at_the_same_one() {
    for (op, layout) in [("write", "subarray"), ("read", "segmented"), ("read", "darray")] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        study(folder.path(), op, &options("collective", layout), "", "measure = \"500ms\"\ntrials = 2");
        let ended = run(folder.path(), 3, &["run", "study.toml", "--out", "record"]);
        assert_ended(&ended);
        let trials = events_of(&folder.path().join("record"), "trial_finished");
        assert_eq!(trials.len(), 2, "{ended:?}");
        for trial in trials {
            let counts = op_counts(&trial);
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            // Each rank counts what completes in its window, at whose borders one call may be on either side.
            assert!(*least > 0 && most - least <= 2, "{op} {layout}: {counts:?}");
            assert_eq!(trial["complete"], Value::Bool(true), "{trial}");
            assert_eq!(trial["errors"].as_array().map(Vec::len), Some(0), "{trial}");
        }
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "only the study and the record are left: {left:?}");
    }
}

#[test]
fn a_file_for_each_rank_is_read_back_as_it_was_written() {
    for calls in ["independent", "collective"] {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let options = format!("calls = \"{calls}\"\nfile = \"own\"");
        study(folder.path(), "write", &options, "verify = true", "measure = \"300ms\"");
        let ended = run(folder.path(), 2, &["run", "study.toml", "--out", "record"]);
        assert_ended(&ended);
        let verified = &trial(folder.path())["verification"];
        assert_eq!(verified["read_back_bytes"].as_u64(), Some(2 * (64 << 10)), "{verified}");
        assert_eq!(verified["wrong_bytes"].as_u64(), Some(0), "{verified}");
    }
}

#[test]
fn syncs_are_within_each_write_at_the_end_or_after_it_as_often_as_asked_for() {
    for (sync, calls, expected) in [
        ("every 2", "collective", 2),
        ("at_end", "independent", 1),
        ("at_end", "collective", 1),
        ("after_end", "independent", 1),
    ] {
        // In memory: how long a device takes for them is not what is tested.
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let load = format!("sync = \"{sync}\"");
        study(folder.path(), "write", &options(calls, "strided"), &load, "bytes = \"128KiB\"");
        let (ended, ranks) = traced(folder.path(), &[], 2);
        assert_ended(&ended);
        assert!(ranks.iter().all(|rank| rank.sync_count == expected), "{sync}, {calls}: {ranks:?}");
        let trial = trial(folder.path());
        assert_eq!(trial["syncs"].is_null(), !sync.starts_with("every"), "{trial}");
    }
}

#[test]
fn a_count_that_ranks_in_step_cannot_share_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    study(folder.path(), "write", &options("collective", "strided"), "", "ops = 5");
    let ended = run(folder.path(), 2, &["run", "study.toml", "--out", "record"]);
    let failed = events_of(&folder.path().join("record"), "cell_failed");
    let message = failed[0]["message"].as_str().unwrap();
    assert!(message.contains("5 operations of 2 clients were requested"), "{ended:?}");
}

#[test]
fn what_one_rank_cannot_open_fails_on_all_with_the_name_of_that_rank() {
    let (folder, other) =
        (tempfile::tempdir_in("/var/tmp").unwrap(), tempfile::tempdir_in("/var/tmp").unwrap());
    study(folder.path(), "write", &options("collective", "strided"), "", "measure = \"300ms\"");
    let own = [narrows_mpi(), "run", "study.toml", "--out", "record"];
    // Its folder of the same name is another one.
    let script = format!("cd {} && exec \"$@\"", other.path().display());
    let mut words = vec!["-np", "1"];
    words.extend(own);
    words.extend([":", "-np", "1", "sh", "-c", &script, "sh"]);
    words.extend(own);
    let ended = wait(mpirun(folder.path(), &words));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let failed = events_of(&folder.path().join("record"), "cell_failed");
    assert!(failed[0]["message"].as_str().unwrap().contains("rank 1: "), "{failed:?}");
}

#[test]
fn a_write_that_fails_on_one_rank_is_counted_with_what_its_library_says() {
    // OMPIO 4.1 reports success, and that nothing was moved.
    let said = [("ompio", "write moved 0 of 16384 bytes"), ("romio", "MPI_File_write_at on ")];
    for library in launcher().io_libraries() {
        let said = said.iter().find(|(name, _)| *name == library.name).unwrap().1;
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        study(folder.path(), "write", &options("independent", "strided"), "", "bytes = \"128KiB\"");
        let own = [narrows_mpi(), "run", "study.toml", "--out", "record"];
        let mut words = [library.words, &["-np", "1"]].concat();
        words.extend(own);
        words.extend([":", "-np", "1", "strace", "-f", "-o", "/dev/null", "-e", "trace=pwrite64,pwritev"]);
        words.extend(["-e", "inject=pwrite64,pwritev:error=ENOSPC:when=2+"]);
        words.extend(own);
        let ended = wait(mpirun(folder.path(), &words));
        assert_eq!(ended.code, Some(4), "{ended:?}");
        let trial = trial(folder.path());
        assert_eq!(op_counts(&trial), [BLOCKS, 1], "{library:?}: {trial}");
        let errors = trial["errors"].as_array().unwrap();
        let count: u64 = errors.iter().map(|error| error["count"].as_u64().unwrap()).sum();
        assert_eq!(count, BLOCKS - 1, "{library:?}: {errors:?}");
        assert!(errors[0]["first_message"].as_str().unwrap().contains(said), "{errors:?}");
    }
}

#[test]
fn hints_reach_the_library_and_what_it_refuses_is_said_in_its_words() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let hinted = format!(
        "{}\nhints = \"romio_cb_write=enable cb_nodes=1\"",
        options_without_hints("collective", "subarray")
    );
    study(folder.path(), "write", &hinted, "", "bytes = \"256KiB\"");
    let (ended, ranks) = traced(folder.path(), launcher().romio(), 4);
    assert_ended(&ended);
    let writers = ranks.iter().filter(|rank| !rank.transfers.is_empty()).count();
    assert_eq!(writers, 1, "one node has one aggregator: {ranks:?}");

    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    study(folder.path(), "write", &format!("hints = \"{}=1\"", "k".repeat(300)), "", "bytes = \"256KiB\"");
    let ended = run(folder.path(), 2, &["run", "study.toml", "--out", "record"]);
    let failed = events_of(&folder.path().join("record"), "cell_failed");
    assert!(failed[0]["message"].as_str().unwrap().contains("MPI_Info_set on the hint kkk"), "{ended:?}");
}

#[test]
fn a_file_that_exists_is_read_in_parts_by_all_ranks_and_stays() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let content: Vec<u8> = (0..256 << 10).map(|index: u32| index.to_le_bytes()[1]).collect();
    std::fs::write(folder.path().join("data-theirs"), &content).unwrap();
    let text = "target = \"data-theirs\"\ncuts = []\n[workload]\nengine = \"mpiio\"\nblock = \"16KiB\"\n[workload.mpiio]\ncalls = \
                \"collective\"\n[stop]\nbytes = \"256KiB\"\n";
    std::fs::write(folder.path().join("study.toml"), text).unwrap();
    let (ended, ranks) = traced(folder.path(), &[], 4);
    assert_ended(&ended);
    let all: Vec<Transfer> = ranks.iter().flat_map(|rank| rank.transfers.iter().copied()).collect();
    assert_eq!(units(&all), (0..64).collect::<Vec<u64>>(), "{ranks:?}");
    assert_eq!(op_counts(&trial(folder.path())), [4; 4]);
    assert_eq!(std::fs::read(folder.path().join("data-theirs")).unwrap(), content);
}

#[test]
fn the_example_of_the_guide_runs() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/studies/mpi-io.toml");
    let words = ["run", example.to_str().unwrap(), "--out", "record", "--cell-seconds", "0.1"];
    let ended = run(folder.path(), 2, &words);
    assert_ended(&ended);
    let trials = events_of(&folder.path().join("record"), "trial_finished");
    let of_path = trials.iter().filter(|trial| trial["cell"].as_str().unwrap().starts_with("path/")).count();
    assert_eq!(of_path, 4, "{ended:?}");
}
