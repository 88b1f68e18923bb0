//! IOzone's throughput mode with all tests, IOPerf and the relay: ours beside the lines that were published.

use std::fs;
use std::path::Path;
use std::process::Command;

use narrows_lab::narrows_bin;

use super::{FidelityRow, masked, pairs};
use crate::support::original::suite_output;

/// Bytes of a trial of the relay, of which the published counts are.
const RELAY_SIZES: &str = "4096,2048,1024,512";

fn published(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

/// The lines of throughput mode without their figures, their spaces as one, and capitals as small letters: versions differ in
/// these.
fn forms(text: &str) -> Vec<String> {
    let form = |line: &str| line.split_whitespace().map(masked).collect::<Vec<_>>().join(" ").to_lowercase();
    let is_of_group =
        |line: &String| line.contains("throughput") || line.contains("xfer") || line.contains("each process");
    let all = text.lines().map(form).filter(is_of_group);
    // The blocks of the spreadsheet, and the command line, are no lines of a group.
    all.filter(|line| !line.starts_with('"') && !line.starts_with("command line")).collect()
}

/// Throughput mode, all tests of it in turn.
pub(super) fn iozone(scratch: &Path) -> FidelityRow {
    let theirs = forms(&published("crates/suites/tests/data/iozone_together.txt"));
    let folder = scratch.join("iozone");
    fs::create_dir_all(&folder).unwrap();
    let options = "-t 4 -s 1m -r 64";
    let mut words = vec!["iozone", folder.to_str().unwrap()];
    words.extend(options.split_whitespace());
    let ours = forms(&suite_output(&words));
    FidelityRow::from_pairs("IOzone", options, "lines, by form", &pairs(&theirs, &ours))
}

/// A row of the published table: its name and file size, then fifteen figures of two digits.
pub(super) fn ioperf(scratch: &Path) -> FidelityRow {
    let table = published("crates/suites/tests/data/ioperf_star_2002.csv");
    let fields = |line: &str| -> Vec<String> {
        let own = |(index, field): (usize, &str)| if index < 2 { field.to_owned() } else { masked(field) };
        line.split(',').enumerate().map(own).collect()
    };
    // The table has a column of its own for the section.
    let row = table.lines().find_map(|line| line.strip_prefix("client-to-server,")).unwrap();
    let header = table.lines().next().and_then(|line| line.strip_prefix("section,")).unwrap();
    let theirs: Vec<String> = [header, row].into_iter().flat_map(fields).collect();
    let folder = scratch.join("ioperf");
    fs::create_dir_all(&folder).unwrap();
    let options = "--count 5000 --buffer 8 --tag ibmtest --csv";
    let mut words = vec!["ioperf", folder.to_str().unwrap()];
    words.extend(options.split_whitespace());
    let ours: Vec<String> = suite_output(&words).lines().take(2).flat_map(fields).collect();
    FidelityRow::from_pairs("IOPerf", options, "fields, by form", &pairs(&theirs, &ours))
}

/// The published rows of `sweep`, as ours prints them: `4096 2048 N.000000 N.00 24576`.
fn relay_rows(sweep: &str) -> Vec<String> {
    let (nodes, shrunk) = match sweep {
        "server" => ("two-node", "server"),
        "both" => ("two-node", "client+server"),
        "client" => ("two-node", "client"),
        other => ("three-node", other),
    };
    let table = published("docs/examples/observations/relay_buffer_sweeps.csv");
    let rows = table.lines().filter_map(|line| line.strip_prefix(&format!("{nodes},{shrunk},")));
    let of_sizes = |row: &&str| {
        let smallest = row.split(',').take(3).filter_map(|size| size.parse::<u64>().ok()).min().unwrap();
        RELAY_SIZES.split(',').any(|size| size == smallest.to_string())
    };
    rows.filter(of_sizes).map(|row| relay_line(row.split(',').filter(|field| !field.is_empty()))).collect()
}

/// A row with its times and rates by form.
fn relay_line<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    let own = |field: &str| if field.contains('.') { masked(field) } else { field.to_owned() };
    fields.map(own).collect::<Vec<_>>().join(" ")
}

/// The last field of a row, the server's reads, apart from the others.
fn with_reads_apart(rows: &[String]) -> Vec<String> {
    let parted = rows.iter().filter_map(|row| row.rsplit_once(' '));
    parted.flat_map(|(row, reads)| [row.to_owned(), format!("server reads {reads}")]).collect()
}

/// Sweeps of the buffer experiment with its 48 MB: what is printed of each point.
pub(super) fn relay(scratch: &Path, sweeps: &[&str]) -> Vec<FidelityRow> {
    let of = |sweep: &&str| {
        let options = format!("--sweep {sweep} --wait-all --sizes {RELAY_SIZES}");
        let mut command = Command::new(narrows_bin().unwrap());
        command.arg("relay").args(options.split_whitespace()).args(["--trials", "1", "--quiet", "--out"]);
        let output = command.arg(scratch.join(format!("relay-{sweep}"))).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let is_row = |line: &&str| line.split_whitespace().all(|field| field.parse::<f64>().is_ok());
        let own = text.lines().filter(|line| !line.trim().is_empty()).filter(is_row);
        let ours: Vec<String> = own.map(|line| relay_line(line.split_whitespace())).collect();
        let all = pairs(&with_reads_apart(&relay_rows(sweep)), &with_reads_apart(&ours));
        FidelityRow::from_pairs("relay", &options, "rows and counts", &all)
    };
    sweeps.iter().map(of).collect()
}
