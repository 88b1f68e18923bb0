//! IOzone, which is not packaged in Debian's main section: ours beside whole outputs of IOzone 3.489 that are kept.

use std::fs;
use std::path::Path;

use super::{FidelityRow, masked, pairs};
use crate::support::original::suite_output;

/// What IOzone printed on a virtual machine, one run each.
pub(super) const TRANSCRIPTS: [&str; 6] =
    ["processes", "processes_synced", "auto", "sheet", "file", "stride"];

/// The options of a run are those of this line.
const COMMAND: &str = "Command line used: iozone ";
/// The last line of the heading that says which IOzone it is.
const HEADING_END: &str = "Run began";

/// The lines of an output, figures by their form, without the part of the heading that has version, contributors and date,
/// of which the first line is kept. Ours has no such part.
fn forms(text: &str) -> Vec<String> {
    let form = |line: &str| line.split_whitespace().map(masked).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(form).collect();
    let behind = lines.iter().position(|line| line.starts_with(HEADING_END)).unwrap_or(0);
    lines.iter().take(1).chain(&lines[behind + 1..]).cloned().collect()
}

/// The same options by ours, in `scratch`.
fn own_output(options: &str, scratch: &Path) -> String {
    let file = scratch.join("named").display().to_string();
    let options = options.replace("./named", &file);
    let mut words = vec!["iozone"];
    let folder = scratch.display().to_string();
    if !options.contains(&file) {
        words.push(&folder);
    }
    words.extend(options.split_whitespace());
    suite_output(&words)
}

/// The kept outputs of these names beside ours.
pub(super) fn iozone(scratch: &Path, names: &[&str]) -> Vec<FidelityRow> {
    let folder = scratch.join("iozone-kept");
    fs::create_dir_all(&folder).unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites/tests/data");
    let of = |name: &&str| {
        let kept = fs::read_to_string(data.join(format!("iozone_3.489_{name}.txt"))).unwrap();
        let options = kept.lines().find_map(|line| line.trim().strip_prefix(COMMAND)).unwrap().to_owned();
        let all = pairs(&forms(&kept), &forms(&own_output(&options, &folder)));
        FidelityRow::from_pairs("IOzone", &options, "lines, by form", &all)
    };
    names.iter().map(of).collect()
}
