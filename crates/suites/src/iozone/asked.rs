//! What was typed, letter by letter, as values; each checked by itself.
//!
//! Not here: what they come to together, which is the request's.

use super::columns::NUMBER_MAX;
use super::heading;
use super::letters::{self, Letter};
use narrows_study::Problem;

/// Files up to this.
const FILE_KB_MAX: u64 = 1 << 40;
/// Records up to this: each process holds one.
pub(super) const RECORD_KB_MAX: u64 = 1 << 20;
/// Most processes of one machine.
pub(super) const PROCESSES_MAX: u64 = 256;
/// Most records of a stride.
const STRIDE_MAX: u64 = 1 << 30;
/// Largest cache of a processor.
const CACHE_KB_MAX: u64 = 4 << 20;

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a letter of its own")]
pub(super) struct Asked {
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
    /// What the letters say over the figures, in their order.
    pub(super) heading: Vec<String>,
}

/// Reads `words`, of which long options and the folder are gone already.
///
/// # Errors
/// Every letter that is unknown, and every value out of its range.
pub(super) fn read(words: &[String]) -> Result<Asked, Vec<Problem>> {
    let mut asked = Asked::default();
    let mut problems = Vec::new();
    for letter in letters::read(words)? {
        asked.heading.extend(heading::line(&letter));
        let outcome = match letter.values.first() {
            None => {
                flag(&mut asked, &letter.name);
                Ok(())
            }
            Some(_) if letter.name == "-F" => {
                asked.names.extend(letter.values);
                Ok(())
            }
            Some(value) => valued(&mut asked, &letter, value),
        };
        problems.extend(outcome.err());
    }
    if problems.is_empty() { Ok(asked) } else { Err(problems) }
}

fn flag(asked: &mut Asked, name: &str) {
    let place = match name {
        "-a" => &mut asked.auto,
        "-z" => &mut asked.all_records,
        "-e" => &mut asked.times_sync,
        "-c" => &mut asked.times_close,
        "-o" => &mut asked.synchronous,
        "-I" => &mut asked.direct,
        "-R" => &mut asked.sheet,
        "-O" => &mut asked.ops,
        "-N" => &mut asked.micros,
        "-p" => &mut asked.purge,
        "-w" => &mut asked.keeps,
        "-+n" => &mut asked.no_retests,
        _ => &mut asked.cpu,
    };
    *place = true;
}

fn valued(asked: &mut Asked, letter: &Letter, value: &str) -> Result<(), Problem> {
    match letter.name.as_str() {
        "-i" => {
            let number =
                whole("-i", value, 0, NUMBER_MAX, "the tests are numbered: 0 writes, 1 reads, 2 at random")?;
            if !asked.tests.contains(&number) {
                asked.tests.push(number);
            }
        }
        "-s" => push(&mut asked.files_kb, size("-s", value, FILE_KB_MAX)?),
        "-r" => push(&mut asked.records_kb, size("-r", value, RECORD_KB_MAX)?),
        "-n" => asked.file_kb_min = Some(size("-n", value, FILE_KB_MAX)?),
        "-g" => asked.file_kb_max = Some(size("-g", value, FILE_KB_MAX)?),
        "-y" => asked.record_kb_min = Some(size("-y", value, RECORD_KB_MAX)?),
        "-q" => asked.record_kb_max = Some(size("-q", value, RECORD_KB_MAX)?),
        "-t" => asked.processes = Some(processes("-t", value)?),
        "-l" => asked.processes_least = Some(processes("-l", value)?),
        "-u" => asked.processes_most = Some(processes("-u", value)?),
        "-j" => asked.stride = Some(whole("-j", value, 1, STRIDE_MAX, "17 is usual")?),
        "-S" => asked.cache_kb = Some(size("-S", value, CACHE_KB_MAX)?),
        "-V" => {
            whole("-V", value, 0, u64::MAX, "any number: blocks say themselves what they are")?;
            asked.verify = true;
        }
        "-U" => asked.cold_mount = Some(value.to_owned()),
        _ => asked.sheet_file = Some(value.to_owned()),
    }
    Ok(())
}

fn push(list: &mut Vec<u64>, value: u64) {
    if !list.contains(&value) {
        list.push(value);
    }
}

fn processes(key: &'static str, value: &str) -> Result<u64, Problem> {
    whole(key, value, 1, PROCESSES_MAX, "that many processes of one machine can be started")
}

fn whole(key: &'static str, value: &str, least: u64, most: u64, hint: &str) -> Result<u64, Problem> {
    let number = value.parse::<u64>().ok().filter(|number| (least..=most).contains(number));
    let found = || format!("`{}`", value.escape_default());
    number.ok_or_else(|| Problem::new(key, found(), format!("a whole number from {least} to {most}"), hint))
}

/// A size in kB of 1024 bytes; with k, m or g in those.
pub(super) fn size(key: &'static str, value: &str, most: u64) -> Result<u64, Problem> {
    let unit = value.chars().last().map(|letter| letter.to_ascii_lowercase());
    let factor = match unit {
        Some('m') => 1 << 10,
        Some('g') => 1 << 20,
        _ => 1,
    };
    let digits = value.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']).unwrap_or(value);
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    number.filter(|number| (1..=most).contains(number)).ok_or_else(|| {
        let allowed = format!("1 to {most} kB of 1024 bytes");
        let hint = "write 64, 64k, 4m or 1g";
        Problem::new(key, format!("`{}`", value.escape_default()), allowed, hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Result<Asked, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read(&words)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn sizes_are_in_kb_or_with_their_unit() {
        let asked = told("-a -n 64 -g 4M -y 4k -q 1g -s 512 -s 1m -s 512").unwrap();
        assert_eq!((asked.file_kb_min, asked.file_kb_max), (Some(64), Some(4096)));
        assert_eq!((asked.record_kb_min, asked.record_kb_max), (Some(4), Some(1 << 20)));
        assert_eq!((asked.auto, asked.files_kb), (true, vec![512, 1024]));
    }

    #[test]
    fn every_value_out_of_its_range_is_told_with_what_is_allowed() {
        let said = told("-i 13 -s 0 -r 2g -g x -t 257 -l 0 -j 0 -V z -s 99999999999999999999g").unwrap_err();
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
            assert_ne!(told(name).unwrap(), Asked::default(), "{name}");
        }
        let each = letters::VALUES.iter().map(|(name, _, _)| format!("{name} 1"));
        for line in each.chain(["-F x".to_owned()]) {
            assert_ne!(told(&line).unwrap(), Asked::default(), "{line}");
        }
    }
}
