//! What was typed, letter by letter, as values; each checked by itself.
//!
//! Not here: what they come to together, which is the request's.

use super::columns::NUMBER_MAX;
use super::letter_line;
use super::letters::{self, Letter};
use super::size::size_kb;
use narrows_study::Problem;
use serde::{Deserialize, Serialize};

/// Files up to this.
const FILE_KB_MAX: u64 = 1 << 40;
/// Records up to this: each process has one.
pub(super) const RECORD_KB_MAX: u64 = 1 << 20;
/// Most processes of one machine.
pub(super) const PROCESSES_MAX: u64 = 256;
/// Most records of a stride.
const STRIDE_MAX: u64 = 1 << 30;
/// Largest cache of a processor.
const CACHE_KB_MAX: u64 = 4 << 20;

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is a letter of its own")]
pub(super) struct IozoneOptions {
    pub(super) auto: bool,
    pub(super) all_records: bool,
    pub(super) tests: Vec<u64>,
    pub(super) files_kb: Vec<u64>,
    pub(super) records_kb: Vec<u64>,
    pub(super) file_kb_min: Option<u64>,
    pub(super) file_kb_max: Option<u64>,
    pub(super) record_kb_min: Option<u64>,
    pub(super) record_kb_max: Option<u64>,
    pub(super) times_sync: bool,
    pub(super) times_close: bool,
    pub(super) synchronous: bool,
    pub(super) direct: bool,
    pub(super) sheet: bool,
    pub(super) sheet_file: Option<String>,
    pub(super) ops: bool,
    pub(super) micros: bool,
    pub(super) purge: bool,
    pub(super) cache_kb: Option<u64>,
    /// The mount below which each test is to find its file in no page cache.
    pub(super) cold_mount: Option<String>,
    pub(super) keeps: bool,
    pub(super) no_retests: bool,
    pub(super) cpu: bool,
    pub(super) verify: bool,
    pub(super) stride: Option<u64>,
    pub(super) processes: Option<u64>,
    pub(super) processes_least: Option<u64>,
    pub(super) processes_most: Option<u64>,
    pub(super) names: Vec<String>,
    /// The file of the tests, of which the folder is used.
    #[serde(default)]
    pub(super) file: Option<String>,
    /// The list of hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) host_list: Option<String>,
    /// Whether each process is printed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) children: bool,
    /// What the letters say over the figures, in their order.
    pub(super) heading: Vec<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Reads `words`, of which long options and the folder are gone already.
///
/// # Errors
/// Every letter that is unknown, and every value out of its range.
pub(super) fn read(words: &[String]) -> Result<IozoneOptions, Vec<Problem>> {
    let mut options = IozoneOptions::default();
    let mut problems = Vec::new();
    for letter in letters::read(words)? {
        options.heading.extend(letter_line::line(&letter));
        let outcome = match letter.values.first() {
            None => {
                flag(&mut options, &letter.name);
                Ok(())
            }
            Some(_) if letter.name == "-F" => {
                options.names.extend(letter.values);
                Ok(())
            }
            Some(value) => valued(&mut options, &letter, value),
        };
        problems.extend(outcome.err());
    }
    if problems.is_empty() { Ok(options) } else { Err(problems) }
}

fn flag(options: &mut IozoneOptions, name: &str) {
    let place = match name {
        "-a" => &mut options.auto,
        "-z" => &mut options.all_records,
        "-e" => &mut options.times_sync,
        "-c" => &mut options.times_close,
        "-o" => &mut options.synchronous,
        "-I" => &mut options.direct,
        "-R" => &mut options.sheet,
        "-O" => &mut options.ops,
        "-N" => &mut options.micros,
        "-p" => &mut options.purge,
        "-w" => &mut options.keeps,
        "-+n" => &mut options.no_retests,
        "-C" => &mut options.children,
        _ => &mut options.cpu,
    };
    *place = true;
}

fn valued(options: &mut IozoneOptions, letter: &Letter, value: &str) -> Result<(), Problem> {
    match letter.name.as_str() {
        "-i" => {
            let number =
                whole("-i", value, 0, NUMBER_MAX, "the tests are numbered: 0 writes, 1 reads, 2 at random")?;
            if !options.tests.contains(&number) {
                options.tests.push(number);
            }
        }
        "-s" => push(&mut options.files_kb, size_kb("-s", value, FILE_KB_MAX)?),
        "-r" => push(&mut options.records_kb, size_kb("-r", value, RECORD_KB_MAX)?),
        "-n" => options.file_kb_min = Some(size_kb("-n", value, FILE_KB_MAX)?),
        "-g" => options.file_kb_max = Some(size_kb("-g", value, FILE_KB_MAX)?),
        "-y" => options.record_kb_min = Some(size_kb("-y", value, RECORD_KB_MAX)?),
        "-q" => options.record_kb_max = Some(size_kb("-q", value, RECORD_KB_MAX)?),
        "-t" => options.processes = Some(processes("-t", value)?),
        "-l" => options.processes_least = Some(processes("-l", value)?),
        "-u" => options.processes_most = Some(processes("-u", value)?),
        "-j" => options.stride = Some(whole("-j", value, 1, STRIDE_MAX, "17 is usual")?),
        "-S" => options.cache_kb = Some(size_kb("-S", value, CACHE_KB_MAX)?),
        "-V" => {
            whole("-V", value, 0, u64::MAX, "any number: blocks contain their own labels")?;
            options.verify = true;
        }
        "-U" => options.cold_mount = Some(value.to_owned()),
        "-f" => options.file = Some(value.to_owned()),
        "-+m" => options.host_list = Some(value.to_owned()),
        _ => options.sheet_file = Some(value.to_owned()),
    }
    Ok(())
}

fn push(list: &mut Vec<u64>, value: u64) {
    if !list.contains(&value) {
        list.push(value);
    }
}

fn processes(key: &'static str, value: &str) -> Result<u64, Problem> {
    whole(key, value, 1, PROCESSES_MAX, "that many processes can be started on one machine")
}

fn whole(key: &'static str, value: &str, least: u64, most: u64, hint: &str) -> Result<u64, Problem> {
    let number = value.parse::<u64>().ok().filter(|number| (least..=most).contains(number));
    let found = || format!("`{}`", value.escape_default());
    number.ok_or_else(|| Problem::new(key, found(), format!("a whole number from {least} to {most}"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<IozoneOptions, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read(&words)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn sizes_are_in_kb_or_with_their_unit() {
        let options = parsed("-a -n 64 -g 4M -y 4k -q 1g -s 512 -s 1m -s 512").unwrap();
        assert_eq!((options.file_kb_min, options.file_kb_max), (Some(64), Some(4096)));
        assert_eq!((options.record_kb_min, options.record_kb_max), (Some(4), Some(1 << 20)));
        assert_eq!((options.auto, options.files_kb), (true, vec![512, 1024]));
    }

    #[test]
    fn every_value_out_of_its_range_is_reported_with_what_is_allowed() {
        let said =
            parsed("-i 13 -s 0 -r 2g -g x -t 257 -l 0 -j 0 -V z -s 99999999999999999999g").unwrap_err();
        for (key, found) in [("-i", "`13`"), ("-s", "`0`"), ("-r", "`2g`"), ("-g", "`x`"), ("-t", "`257`")] {
            assert!(said.contains(&format!("{key}: found {found}; allowed: ")), "{key} {said}");
        }
        assert!(
            said.contains("a whole number from 0 to 12") && said.contains("write 64, 64k, 4m or 1g"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 9, "{said}");
    }

    #[test]
    fn every_letter_without_a_value_changes_what_is_asked() {
        for (name, _) in letters::FLAGS {
            assert_ne!(parsed(name).unwrap(), IozoneOptions::default(), "{name}");
        }
        let each = letters::VALUES.iter().map(|(name, _, _)| format!("{name} 1"));
        for line in each.chain(["-F x".to_owned()]) {
            assert_ne!(parsed(&line).unwrap(), IozoneOptions::default(), "{line}");
        }
    }
}
