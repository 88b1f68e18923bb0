//! Originals and ours in turn, with the same options: which lines of their output are equal, which differ and why. The table
//! of `docs/reference/fidelity.md` is what these tests find; one that is not up to date is a failure.
//!
//! Where an original is not packaged, its side is an output that was kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::lab;
use crate::support::original::{original, suite_output};

/// Settings of one run of PostMark each, but for its location.
const POSTMARK: [&str; 8] = [
    "",
    "set seed 1",
    "set seed 7;set number 1000;set transactions 3000",
    "set seed 2147483647;set size 100 300;set number 50;set transactions 2000",
    "set subdirectories 10",
    "set seed 3;set bias read 9;set bias create 2;set number 300;set transactions 400",
    "set seed 5;set bias create -1;set transactions 300;set buffering false;set read 4096;set write 1000",
    "set size 1 2;set number 30;set transactions 500;set seed 12",
];

/// Options of one run of bonnie++ each, but for its folder and the user.
const BONNIE: [&str; 4] = ["-s 0 -n 1", "-s 16 -r 8 -n 0", "-s 16 -r 8 -n 1:100:10:2 -f", "-s 0 -n 1 -x 2"];

/// A difference that is wanted: what of the original's line, and why ours is another one.
struct KnownDifference {
    program: &'static str,
    original: &'static str,
    why: &'static str,
}

const KNOWN: [KnownDifference; 5] = [
    KnownDifference {
        program: "PostMark",
        original: "PostMark v1.51",
        why: "names narrows in the place of a date",
    },
    KnownDifference {
        program: "bonnie++",
        original: "field 2",
        why: "the version is that of the edition, without the distribution's letter",
    },
    KnownDifference {
        program: "bonnie++",
        original: "field 25",
        why: "the number of directories, which the original prints as the size of a call",
    },
    KnownDifference {
        program: "bonnie++",
        original: "field 26",
        why: "blank for the default size of a call, where the original has the number of directories",
    },
    KnownDifference {
        program: "bonnie++",
        original: "format_version",
        why: "the header names all 50 fields, that of the original 48",
    },
];

/// One option set of a program: how many lines (or fields) are equal, and those that are not.
struct FidelityRow {
    program: &'static str,
    options: String,
    unit: &'static str,
    equal_count: usize,
    differing: Vec<(String, &'static str)>,
}

impl FidelityRow {
    /// Lines or fields of both sides, in pairs; a difference that is not known is a failure.
    fn from_pairs(
        program: &'static str,
        options: &str,
        unit: &'static str,
        pairs: &[(String, String)],
    ) -> Self {
        let mut row =
            Self { program, options: options.to_owned(), unit, equal_count: 0, differing: Vec::new() };
        for (theirs, ours) in pairs {
            if theirs == ours {
                row.equal_count += 1;
                continue;
            }
            // A field is known by its whole number, a line by how it begins.
            let is_it = |known: &&KnownDifference| match theirs.split_once(": ") {
                Some((field, _)) if field.starts_with("field ") => field == known.original,
                _ => theirs.starts_with(known.original),
            };
            let known = KNOWN.iter().filter(|known| known.program == program).find(is_it);
            let known = known.unwrap_or_else(|| panic!("{program} {options}: {theirs:?} and {ours:?}"));
            row.differing.push((known.original.to_owned(), known.why));
        }
        row.differing.dedup();
        row
    }

    fn markdown(&self) -> String {
        let differing: Vec<String> =
            self.differing.iter().map(|(line, why)| format!("`{line}`: {why}")).collect();
        let differing = if differing.is_empty() { "none".to_owned() } else { differing.join("; ") };
        let options = if self.options.is_empty() { "defaults" } else { &self.options };
        format!("| {} | `{options}` | {} {} | {differing} |\n", self.program, self.equal_count, self.unit)
    }
}

/// A line without what a clock decides: times, and rates in brackets.
fn untimed(line: &str) -> String {
    let line = line.split('(').next().unwrap_or(line).trim_end();
    match line.split_once(" seconds") {
        Some((time, rest)) if time.trim().parse::<f64>().is_ok() => format!("SECONDS{rest}"),
        _ => line.to_owned(),
    }
}

/// The lines of both in pairs; where one has fewer, nothing is its counterpart.
fn pairs(theirs: &[String], ours: &[String]) -> Vec<(String, String)> {
    let at = |lines: &[String], index: usize| lines.get(index).cloned().unwrap_or_default();
    (0..theirs.len().max(ours.len())).map(|index| (at(theirs, index), at(ours, index))).collect()
}

fn stdout_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn postmark(scratch: &Path, original: &Path) -> Vec<FidelityRow> {
    let folder = scratch.join("postmark");
    fs::create_dir_all(&folder).unwrap();
    let of_settings = |settings: &&str| {
        let script = scratch.join("script");
        let lines: String =
            settings.split(';').filter(|line| !line.is_empty()).map(|line| line.to_owned() + "\n").collect();
        fs::write(&script, format!("set location {}\n{lines}run\nquit\n", folder.display())).unwrap();
        let lines = |text: &str| text.lines().map(untimed).collect::<Vec<_>>();
        let theirs = lines(&stdout_of(Command::new(original).arg(&script)));
        let ours = lines(&suite_output(&["postmark", script.to_str().unwrap()]));
        FidelityRow::from_pairs("PostMark", settings, "lines", &pairs(&theirs, &ours))
    };
    POSTMARK.iter().map(of_settings).collect()
}

/// The fields of a line of CSV with their positions, figures and times as such.
fn fields(line: &str) -> Vec<String> {
    let masked = |field: &str| {
        let digits = field.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let is_figure = field.starts_with('+') || (!digits.is_empty() && digits.parse::<f64>().is_ok());
        if is_figure { "FIGURE".to_owned() } else { field.to_owned() }
    };
    let numbered = |(index, field): (usize, &str)| match index {
        // The version, and the sizes that were asked for, are no figures.
        0 | 1 | 5 | 6 | 21..=25 => format!("field {}: {field}", index + 1),
        _ => format!("field {}: {}", index + 1, masked(field)),
    };
    line.split(',').enumerate().map(numbered).collect()
}

fn bonnie(scratch: &Path, original: &Path) -> Vec<FidelityRow> {
    let folder = scratch.join("bonnie");
    fs::create_dir_all(&folder).unwrap();
    let folder = folder.to_str().unwrap();
    let of_options = |options: &&str| {
        let shared = ["-d", folder, "-u", "root", "-m", "machine", "-q"];
        let words: Vec<&str> = shared.into_iter().chain(options.split_whitespace()).collect();
        let theirs = stdout_of(Command::new(original).args(&words));
        let mut own = vec!["bonnie"];
        own.extend(&words);
        let ours = suite_output(&own);
        let split = |text: &str| -> Vec<String> {
            let rows = text.lines().filter(|line| line.contains(','));
            rows.flat_map(|line| {
                if line.starts_with("format_version") { vec![line.to_owned()] } else { fields(line) }
            })
            .collect()
        };
        let all = pairs(&split(&theirs), &split(&ours));
        FidelityRow::from_pairs("bonnie++", options, "fields", &all)
    };
    BONNIE.iter().map(of_options).collect()
}

/// The lines of throughput mode with their figures and widths left out.
fn forms(text: &str) -> Vec<String> {
    let masked = |word: &str| {
        if word.trim_end_matches(['.', ',']).parse::<f64>().is_ok() {
            "N".to_owned()
        } else {
            word.to_owned()
        }
    };
    let form = |line: &str| line.split_whitespace().map(masked).collect::<Vec<_>>().join(" ");
    let is_of_group =
        |line: &String| line.contains("throughput") || line.contains("xfer") || line.contains("Each process");
    text.lines().map(form).filter(is_of_group).collect()
}

/// Throughput mode beside a kept output: IOzone is not in Debian's main section.
fn iozone(scratch: &Path) -> Vec<FidelityRow> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites/tests/data/iozone_throughput.txt");
    let theirs = forms(&fs::read_to_string(kept).unwrap());
    let folder = scratch.join("iozone");
    fs::create_dir_all(&folder).unwrap();
    let options = "-t 4 -i 0 -i 1 -s 1m -r 64";
    let mut words = vec!["iozone", folder.to_str().unwrap()];
    words.extend(options.split_whitespace());
    let ours = forms(&suite_output(&words));
    // The kept output has some of the tests; each of its lines is to be among ours.
    let found = |line: &String| ours.iter().find(|own| *own == line).cloned().unwrap_or_default();
    let pairs: Vec<(String, String)> = theirs.iter().map(|line| (line.clone(), found(line))).collect();
    vec![FidelityRow::from_pairs("IOzone", options, "lines", &pairs)]
}

const HEAD: &str = "# Fidelity of the suites

What the originals print and what `narrows suite` prints with the same options, line by line; made by the lab's test
`fidelity`, which runs both in turn. PostMark and bonnie++ are the packaged programs of Debian (postmark 1.53, bonnie++ 2.00a);
of IOzone, which Debian's main section does not have, the lines of a kept output are looked for. Times and rates are compared
by their form alone, counts and bytes by their value.

| program | options | equal | different, and why |
|---|---|---|---|
";

fn page(rows: &[FidelityRow]) -> String {
    HEAD.to_owned() + &rows.iter().map(FidelityRow::markdown).collect::<String>()
}

#[test]
fn the_table_of_fidelity_is_what_the_programs_print() {
    let Some(lab) = lab() else { return };
    let (Some(own_postmark), Some(own_bonnie)) = (original("postmark"), original("bonnie++")) else { return };
    let mut rows = postmark(lab.scratch(), &own_postmark);
    rows.extend(bonnie(lab.scratch(), &own_bonnie));
    rows.extend(iozone(lab.scratch()));
    let made = page(&rows);
    let kept: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/fidelity.md");
    let found = fs::read_to_string(&kept).unwrap_or_default();
    assert!(found == made, "{} is not what the programs print; it should be:\n\n{made}", kept.display());
}
