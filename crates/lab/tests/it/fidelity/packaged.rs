//! PostMark and bonnie++, which are packaged: they run in turn with ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{FidelityRow, masked, pairs};
use crate::support::original::suite_output;

/// Settings of one run of PostMark each, but for its location; `+two` and `+three` are others.
pub(super) const POSTMARK: [&str; 14] = [
    "",
    "set seed 1",
    "set seed 7;set number 1000;set transactions 3000",
    "set seed 2147483647;set size 100 300;set number 50;set transactions 2000",
    "set subdirectories 10",
    "set seed 3;set bias read 9;set bias create 2;set number 300;set transactions 400",
    "set seed 5;set bias create -1;set transactions 300;set buffering false;set read 4096;set write 1000",
    "set size 1 2;set number 30;set transactions 500;set seed 12",
    "set size 500 1000 2000",
    "set report terse",
    "set location +two",
    "set location +two 3;set location +three 2;set seed 1",
    "set location +two;set subdirectories 10;set seed 7;set number 1000;set transactions 3000",
    "set location +two 5;set size 100 300;set bias create 8;set seed 11;show",
];

/// Options of one run of bonnie++ each, but for its folder and the user.
pub(super) const BONNIE: [&str; 4] =
    ["-s 0 -n 1", "-s 2 -r 1 -n 0", "-s 2 -r 1 -n 1:100:10:2 -f", "-s 0 -n 1 -x 2"];

/// A line without what a clock decides: times, and rates in brackets.
fn untimed(line: &str) -> String {
    // A terse report is times and rates alone.
    if !line.is_empty() && line.split(' ').all(|word| word.parse::<f64>().is_ok()) {
        return line.split(' ').map(masked).collect::<Vec<_>>().join(" ");
    }
    let line = line.split('(').next().unwrap_or(line).trim_end();
    match line.split_once(" seconds") {
        Some((time, rest)) if time.trim().parse::<f64>().is_ok() => format!("SECONDS{rest}"),
        _ => line.to_owned(),
    }
}

fn stdout_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub(super) fn postmark(scratch: &Path, original: &Path, settings: &[&str]) -> Vec<FidelityRow> {
    let folder = scratch.join("postmark");
    let others = ["two", "three"].map(|name| (format!("+{name}"), scratch.join(format!("postmark-{name}"))));
    for made in others.iter().map(|(_, folder)| folder).chain([&folder]) {
        fs::create_dir_all(made).unwrap();
    }
    let of_settings = |settings: &&str| {
        let script = scratch.join("script");
        let located = |line: &str| {
            let of_other = |line: String, (name, folder): &(String, PathBuf)| {
                line.replace(name, &format!("+{}", folder.display()))
            };
            others.iter().fold(line.to_owned(), of_other) + "\n"
        };
        let lines: String = settings.split(';').filter(|line| !line.is_empty()).map(located).collect();
        fs::write(&script, format!("set location {}\n{lines}run\nquit\n", folder.display())).unwrap();
        let lines = |text: &str| text.lines().map(untimed).collect::<Vec<_>>();
        let theirs = lines(&stdout_of(Command::new(original).arg(&script)));
        let ours = lines(&suite_output(&["postmark", script.to_str().unwrap()]));
        FidelityRow::from_pairs("PostMark", settings, "lines", &pairs(&theirs, &ours))
    };
    settings.iter().map(of_settings).collect()
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

pub(super) fn bonnie(scratch: &Path, original: &Path, options: &[&str]) -> Vec<FidelityRow> {
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
    options.iter().map(of_options).collect()
}
