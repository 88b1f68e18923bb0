//! Trees of folders of `narrows suite mdtest`, as strace sees them: which folders are made and removed, and how many items are on
//! each level.

use crate::support::run;
use crate::support::suites::Mistakes;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

const BARE: &str = "--no-verdict --quiet --out record";

/// What a run asked of the kernel, by the paths below the folder of the run.
#[derive(Debug, Default)]
struct TracedTree {
    /// Folders of trees, in the order of their making within a process, each with the process.
    made: Vec<(String, String)>,
    /// The same in the order of their removal.
    removed: Vec<(String, String)>,
    /// Items that were made, by kind and path.
    items: BTreeSet<(&'static str, String)>,
    /// Items that were looked up or read, and those that were removed.
    looked_up: BTreeSet<(&'static str, String)>,
    items_removed: BTreeSet<(&'static str, String)>,
}

/// Runs the suite under strace in `folder`; `None` where there is no strace.
fn traced(folder: &Path, words: &str) -> Option<(String, TracedTree)> {
    if Command::new("strace").arg("-V").output().is_err() {
        drop(writeln!(std::io::stderr(), "skipped: strace is missing"));
        return None;
    }
    let mut command = Command::new("strace");
    command.args(["-ff", "-qq", "-s", "400", "--signal=none", "-o", "trace"]);
    command.args(["-e", "trace=mkdirat,unlinkat,openat,newfstatat,fstatat64", env!("CARGO_BIN_EXE_narrows")]);
    let all = format!("suite mdtest {words} {BARE}");
    let output = command.args(all.split_whitespace()).current_dir(folder).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{words}: {output:?}");
    let mut seen = TracedTree::default();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if let Some(process) = name.strip_prefix("trace.") {
            let text = fs::read(entry.path()).unwrap();
            String::from_utf8_lossy(&text).lines().for_each(|line| add_call(&mut seen, process, line));
        }
    }
    Some((String::from_utf8(output.stdout).unwrap(), seen))
}

/// Adds a call on a path in a tree that has succeeded.
fn add_call(seen: &mut TracedTree, process: &str, line: &str) {
    let path = line.split('"').nth(1).filter(|path| path.starts_with("mdtest_tree."));
    let Some(path) = path.filter(|_| !line.contains(" = -1 ")).map(str::to_owned) else { return };
    let name = path.rsplit('/').next().unwrap();
    let kind = if name.starts_with("file.") { "file" } else { "dir" };
    let is_folder = name.starts_with("mdtest_tree.");
    match line.split('(').next().unwrap() {
        "mkdirat" if is_folder => seen.made.push((process.to_owned(), path)),
        "unlinkat" if is_folder => seen.removed.push((process.to_owned(), path)),
        "mkdirat" => drop(seen.items.insert((kind, path))),
        "openat" if line.contains("O_CREAT") => drop(seen.items.insert((kind, path))),
        "unlinkat" => drop(seen.items_removed.insert((kind, path))),
        _ => drop(seen.looked_up.insert((kind, path))),
    }
}

/// The folders of a tree by the formula, level by level: those in folder d are `branch` d + 1 to `branch` (d + 1).
fn levels(word: &str, depth: u32, branch: u64) -> Vec<Vec<(u64, String)>> {
    let mut all = vec![vec![(0, format!("{word}0"))]];
    for _ in 0..depth {
        let above = all.last().unwrap().clone();
        let below = above.iter().flat_map(|(number, path)| {
            (1..=branch).map(move |nth| {
                let number = number * branch + nth;
                (number, format!("{path}/{word}{number}"))
            })
        });
        all.push(below.collect());
    }
    all
}

fn of_levels(levels: &[Vec<(u64, String)>]) -> BTreeSet<String> {
    levels.iter().flatten().map(|(_, path)| path.clone()).collect()
}

fn paths(found: &[(String, String)]) -> BTreeSet<String> {
    found.iter().map(|(_, path)| path.clone()).collect()
}

/// Items of each kind and rank on each level.
fn by_level(items: &BTreeSet<(&'static str, String)>) -> BTreeMap<(&'static str, char, usize), u64> {
    let mut counts = BTreeMap::new();
    for (kind, path) in items {
        let rank = path.rsplit('/').next().unwrap().split('.').nth(2).unwrap();
        *counts.entry((*kind, rank.chars().next().unwrap(), path.matches('/').count() - 1)).or_default() += 1;
    }
    counts
}

#[test]
fn a_tree_for_all_ranks_has_the_folders_and_items_of_the_formula_and_its_phases_their_lines() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    // 1 + 3 + 9 folders; 30 items of each rank are 2 in each of 13, and 4 are left out.
    let Some((stdout, seen)) = traced(folder.path(), "-z 2 -b 3 -n 30 -w 10 -e 10 --clients 2") else {
        return;
    };
    let levels = levels("mdtest_tree.", 2, 3);
    assert_eq!(levels.iter().map(Vec::len).collect::<Vec<_>>(), [1, 3, 9]);
    assert_eq!((seen.made.len(), paths(&seen.made)), (13, of_levels(&levels)));
    assert_eq!((seen.removed.len(), paths(&seen.removed)), (13, of_levels(&levels)));
    let makers: BTreeSet<&String> = seen.made.iter().map(|(process, _)| process).collect();
    assert_eq!(makers.len(), 1, "rank 0 alone");
    let expected: BTreeMap<_, u64> = ["dir", "file"]
        .into_iter()
        .flat_map(|kind| ['0', '1'].into_iter().map(move |rank| (kind, rank)))
        .flat_map(|(kind, rank)| {
            [2, 6, 18].into_iter().enumerate().map(move |(level, count)| ((kind, rank, level), count))
        })
        .collect();
    assert_eq!(by_level(&seen.items), expected);
    assert_eq!((&seen.looked_up, &seen.items_removed), (&seen.items, &seen.items));
    // Item 13 is the second of folder 6, which is in folder 1.
    let one = ("file", "mdtest_tree.0/mdtest_tree.1/mdtest_tree.6/file.mdtest.1.13".to_owned());
    assert!(seen.items.contains(&one), "{:?}", seen.items);
    assert!(stdout.contains("2 tasks, 52 files/directories\n"), "{stdout}");
    let table: Vec<&str> =
        stdout.lines().skip_while(|line| !line.starts_with("   ---------")).skip(1).collect();
    assert_eq!(table.len(), 9, "{stdout}");
    assert!(
        table[7].starts_with("   Tree creation  ") && table[8].starts_with("   Tree removal  "),
        "{stdout}"
    );
    let text = fs::read_to_string(folder.path().join("record/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    let counts: Vec<Vec<u64>> = summary["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| {
            cell["per_client"].as_array().unwrap().iter().map(|one| one["ops"].as_u64().unwrap()).collect()
        })
        .collect();
    let items = vec![26, 26];
    assert_eq!(counts, [vec![vec![13]], vec![items; 7], vec![vec![13]]].concat());
}

#[test]
fn a_tree_for_each_rank_has_items_in_its_leaves_alone_where_that_is_asked_for() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let words = "-F -u -L -z 3 -b 2 -I 3 -N 1 --clients 2";
    let Some((_, seen)) = traced(folder.path(), words) else { return };
    let trees = ["mdtest_tree.0.", "mdtest_tree.1."].map(|word| levels(word, 3, 2));
    let folders: BTreeSet<String> = trees.iter().flat_map(|levels| of_levels(levels)).collect();
    assert_eq!((seen.made.len(), folders.len(), paths(&seen.made)), (30, 30, folders.clone()));
    assert_eq!(paths(&seen.removed), folders);
    // Each rank makes its own tree, each folder before those in it, and removes it in the opposite order.
    for root in ["mdtest_tree.0.0", "mdtest_tree.1.0"] {
        let calls = |all: &[(String, String)]| -> (BTreeSet<String>, Vec<String>) {
            all.iter().filter(|(_, path)| path.starts_with(root)).cloned().unzip()
        };
        let ((makers, made), (removers, mut removed)) = (calls(&seen.made), calls(&seen.removed));
        removed.reverse();
        assert_eq!((makers.len(), removers.len(), made.len(), &made), (1, 1, 15, &removed), "{root}");
    }
    // 2^3 leaves with three each, behind the 7 folders above them: 21 to 44.
    let expected: BTreeMap<_, u64> = [(("file", '0', 3), 24), (("file", '1', 3), 24)].into_iter().collect();
    assert_eq!(by_level(&seen.items), expected);
    let first = "mdtest_tree.0.0/mdtest_tree.0.1/mdtest_tree.0.3/mdtest_tree.0.7/file.mdtest.0.21";
    let last = "mdtest_tree.1.0/mdtest_tree.1.2/mdtest_tree.1.6/mdtest_tree.1.14/file.mdtest.1.44";
    for path in [first, last] {
        assert!(seen.items.contains(&("file", path.to_owned())), "{path}: {:?}", seen.items);
    }
    assert_eq!((&seen.looked_up, &seen.items_removed), (&seen.items, &seen.items));
}

#[test]
fn single_phases_find_a_tree_that_is_made_untimed_and_leave_nothing() {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    for (words, expected) in [
        ("-F -T", vec!["file_stat"]),
        ("-T -r -N 1 -u", vec!["dir_stat", "dir_remove", "file_stat", "file_remove", "tree_remove"]),
        ("-C", vec!["tree_create", "dir_create", "file_create"]),
    ] {
        let all = format!("suite mdtest -z 2 -b 2 -I 2 --clients 2 -i 2 {words} {BARE}");
        let seen = run(folder.path(), &all.split_whitespace().collect::<Vec<_>>());
        assert_eq!(seen.code, Some(0), "{words}: {seen:?}");
        let text = fs::read_to_string(folder.path().join("record/summary.json")).unwrap();
        let summary: Value = serde_json::from_str(&text).unwrap();
        let cells = summary["cells"].as_array().unwrap();
        let names: Vec<&str> = cells.iter().map(|cell| cell["phase"].as_str().unwrap()).collect();
        assert_eq!(names, [expected.clone(), expected].concat(), "{words}");
        assert!(cells.iter().all(|cell| cell["errors"].as_array().unwrap().is_empty()), "{words}: {text}");
        assert!(!seen.stdout.contains("incomplete"), "{words}: {}", seen.stdout);
        fs::remove_dir_all(folder.path().join("record")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{words}: nothing is left");
    }
}

#[test]
fn trees_that_cannot_be_made_or_filled_are_refused() {
    let mistakes = Mistakes::of("mdtest");
    mistakes
        .refused("-z 20 -b 2", &["-z: found a tree of 20 levels", "at most 65536", "fewer levels with -z"]);
    mistakes.refused(
        "-z 3 -b 4 -n 84",
        &["-n: found less than one item for each of the 85 folders", "give -n 85"],
    );
    mistakes.refused("-z 1 -I 3 -n 6", &["-I: found 3 in each folder, and -n 6", "omit one"]);
    mistakes.refused("-z -1", &["-z"]);
}
