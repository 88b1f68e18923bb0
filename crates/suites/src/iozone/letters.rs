//! What is typed in IOzone's letters: taken apart as the original does, `-Rac`, `-i0`, `-s 4m` and `-+n` alike.
//!
//! Not here: what the letters mean together, which is the request's.

use narrows_study::Problem;

/// Letters without a value, with what they mean.
pub(super) const FLAGS: &[(&str, &str)] = &[
    ("-a", "auto mode: files of 64 kB to 512 MB, records of 4 kB to 16 MB, each twice the one before"),
    ("-z", "with -a: small records of large files too"),
    ("-e", "the sync of what was written counts as time"),
    ("-c", "closing the file counts as time"),
    ("-o", "every write is synchronous"),
    ("-I", "past the page cache (O_DIRECT)"),
    ("-R", "the blocks of the spreadsheet after the table"),
    ("-O", "figures in operations a second, not kB/s"),
    ("-N", "figures in microseconds an operation, not kB/s"),
    ("-p", "purge the processor's caches before each test"),
    ("-w", "keep the files"),
    ("-+n", "no rewrite and reread, which tests 0 and 1 otherwise include"),
    ("-+u", "CPU shares after the table"),
    ("-C", "throughput mode: bytes and rate of each process"),
];

/// Letters with a value, with its name and what it means.
pub(super) const VALUES: &[(&str, &str, &str)] = &[
    ("-i", "N", "a test, 0 to 12; repeat for more; the default is 0 to 7"),
    ("-s", "SIZE", "file size in kB, or with k, m, g; repeat for more; without it and -a 512"),
    ("-r", "SIZE", "record size in kB, or with k, m, g; repeat for more; without it and -a 4"),
    ("-n", "SIZE", "with -a: the smallest file; without it 64 kB"),
    ("-g", "SIZE", "with -a: the largest file; without it 512 MB"),
    ("-y", "SIZE", "with -a: the smallest record; without it 4 kB"),
    ("-q", "SIZE", "with -a: the largest record; without it 16 MB"),
    ("-t", "N", "throughput mode: this many processes, each with its own file"),
    ("-l", "N", "throughput mode: minimum number of processes"),
    ("-u", "N", "throughput mode: maximum number of processes"),
    ("-j", "N", "stride in records, from start to start, in the stride test; the default is 17"),
    ("-b", "FILE", "the spreadsheet as CSV in FILE"),
    ("-f", "FILE", "the file of the tests: they use a file in a new folder beside it; in place of DIR"),
    (
        "-U",
        "MOUNT",
        "cold reads: each file's pages are dropped before each test; MOUNT contains the files, and is not unmounted",
    ),
    ("-S", "KB", "with -p: size of the processor's cache in kB; the default is what the machine reports"),
    ("-V", "N", "verify all data; N is not used"),
    (
        "-+m",
        "FILE",
        "throughput mode: processes on the hosts that FILE lists, a line for each: host, folder there, path of narrows there",
    ),
];

/// The letter with many values.
pub(super) const NAMES: (&str, &str, &str) =
    ("-F", "NAME..", "throughput mode: the file of each process; all words up to the next option");

/// Letters of the original that are refused, with what to do.
const REFUSED: &[(&str, &str)] = &[
    ("-A", "give -a -z"),
    ("-B", "files mapped into memory are the engine mmap of `narrows run`"),
    ("-d", "processes start together: for starts apart run the suite twice"),
    ("-D", "files mapped into memory are the engine mmap of `narrows run`"),
    ("-G", "files mapped into memory are the engine mmap of `narrows run`"),
    ("-H", "asynchronous requests are the engine uring of `narrows run`"),
    ("-J", "time between requests is `think` of a study for `narrows run`"),
    ("-k", "asynchronous requests are the engine uring of `narrows run`"),
    ("-K", "orders are those of a study for `narrows run`"),
    ("-L", "the line of the cache is read from the machine: omit it"),
    ("-m", "tests 11 and 12 use several buffers: -i 11 -i 12"),
    ("-M", "the record names the machine: use `--json`"),
    ("-P", "choose CPUs with `taskset -c N narrows suite iozone ...`"),
    ("-Q", "latencies are in the record: `--detail`"),
    ("-T", "threads are processes here: give -t"),
    ("-v", "use `narrows --version`"),
    ("-W", "each process has its own file, and nothing to lock: omit it"),
    (
        "-x",
        "without the stone wall, processes would run alone at the end: use a study without `stone_wall` for `narrows run`",
    ),
    ("-X", "requests of a file are a study's for `narrows run`"),
    ("-Y", "requests of a file are a study's for `narrows run`"),
    ("-E", "tests 9 to 12 are the extension tests: -i 9 -i 10 -i 11 -i 12"),
    ("-+a", "asynchronous requests are the engine uring of `narrows run`"),
    ("-+A", "files mapped into memory, with advice to the kernel, are the engine mmap of `narrows run`"),
    ("-+b", "a rate is capped by `max_rate` of a study for `narrows run`"),
    ("-+B", "each process reads or writes all of its file: use a study with two loads for `narrows run`"),
    ("-+C", "data cannot be deduplicated here: omit it"),
    ("-+d", "every byte is verified with -V 1"),
    ("-+D", "give -o, which is O_DSYNC"),
    ("-+E", "files are always new: omit it"),
    ("-+h", "clients need no address of this machine: give -+m FILE, or --hosts"),
    ("-+J", "time between requests is `think` of a study for `narrows run`"),
    ("-+k", "give the size of each process's file with -s: with -t N, an Nth of the whole"),
    ("-+K", "test 8 reads and writes half each, in an order that --seed repeats: omit it"),
    ("-+l", "each process has its own file, and nothing to lock: omit it"),
    ("-+L", "each process has its own file, and nothing to lock: omit it"),
    ("-+N", "files are always new: omit it"),
    ("-+O", "a rate is capped by `max_rate` of a study for `narrows run`"),
    ("-+p", "the share of reads is that of a study's `mix` for `narrows run`; test 8 has half of each"),
    ("-+q", "run the tests one by one, with `sleep` between them"),
    ("-+r", "give -o, which is O_DSYNC"),
    ("-+S", "data cannot be deduplicated here: omit it"),
    ("-+t", "the network is measured by `narrows check --server HOST:PORT`"),
    ("-+T", "the record has the time of each test: use `--json`"),
    ("-+V", "one file of several processes is a study's for `narrows run`"),
    ("-+w", "data cannot be deduplicated here: omit it"),
    ("-+x", "give each size with -s and -r"),
    ("-+X", "data is always written and read: omit it"),
    ("-+y", "data cannot be deduplicated here: omit it"),
    ("-+z", "latencies are in the record: `--detail`"),
    ("-+Z", "files are always new: omit it"),
    ("-Z", "files mapped into memory are the engine mmap of `narrows run`"),
];

/// Refused letters that have a value in the original: it belongs to them, and is no folder.
const REFUSED_WITH_VALUE: &[&str] = &[
    "-d", "-H", "-J", "-k", "-L", "-P", "-X", "-Y", "-+A", "-+b", "-+C", "-+h", "-+p", "-+q", "-+S", "-+w",
    "-+x", "-+y",
];

/// One letter with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) name: String,
    pub(super) values: Vec<String>,
}

/// The words of `words` that are IOzone's letters with their values, and all others, each in their order.
///
/// Long options are others, and so are all words behind `--`; what follows a long option and begins with no dash is its
/// value or a folder, and another too.
pub(super) fn split_letters(words: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut letters, mut others) = (Vec::new(), Vec::new());
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let is_letter = word.len() > 1 && word.starts_with('-') && !word.starts_with("--") && word != "-h";
        if word == "--" {
            others.push(word.clone());
            others.extend(rest.cloned());
            break;
        }
        if !is_letter {
            others.push(word.clone());
            continue;
        }
        letters.push(word.clone());
        match last_of(word) {
            PendingValues::One => letters.extend(rest.next_if(|word| !word.starts_with("--")).cloned()),
            PendingValues::Many => {
                while let Some(name) = rest.next_if(|word| !word.starts_with('-')) {
                    letters.push(name.clone());
                }
            }
            PendingValues::Complete => {}
        }
    }
    (letters, others)
}

/// What the last letter of a word still needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingValues {
    Complete,
    One,
    Many,
}

fn takes(name: &str) -> PendingValues {
    if name == NAMES.0 {
        PendingValues::Many
    } else if VALUES.iter().any(|(letter, _, _)| *letter == name) || REFUSED_WITH_VALUE.contains(&name) {
        PendingValues::One
    } else {
        PendingValues::Complete
    }
}

fn last_of(word: &str) -> PendingValues {
    if word.starts_with("-+") {
        return takes(word);
    }
    let mut letters = word.chars().skip(1);
    while let Some(letter) = letters.next() {
        match takes(&format!("-{letter}")) {
            PendingValues::Complete => {}
            // What follows in the same word is the value.
            needs if letters.next().is_none() => return needs,
            _ => return PendingValues::Complete,
        }
    }
    PendingValues::Complete
}

/// The letters of `words`, of which [`split_letters`] has left letters and values alone.
///
/// # Errors
/// Each letter that is unknown or refused, with what to do instead, and each whose value is missing.
pub(super) fn read(words: &[String]) -> Result<Vec<Letter>, Vec<Problem>> {
    let mut found: Vec<Letter> = Vec::new();
    let mut problems = Vec::new();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let Some(body) = word.strip_prefix('-') else {
            problems.push(unknown(word));
            continue;
        };
        if body.starts_with('+') {
            if FLAGS.iter().any(|(name, _)| name == word) {
                found.push(Letter { name: word.clone(), values: Vec::new() });
            } else if VALUES.iter().any(|(name, _, _)| name == word) {
                let values: Vec<String> =
                    rest.next_if(|word| !word.starts_with('-')).cloned().into_iter().collect();
                if values.is_empty() {
                    problems.push(valueless(word));
                }
                found.push(Letter { name: word.clone(), values });
            } else {
                problems.push(unknown(word));
                skip_value(word, &mut rest);
            }
            continue;
        }
        for (place, letter) in body.char_indices() {
            let name = format!("-{letter}");
            let attached = body[place..].strip_prefix(letter).filter(|rest| !rest.is_empty());
            match takes(&name) {
                PendingValues::Complete if FLAGS.iter().any(|(flag, _)| *flag == name) => {
                    found.push(Letter { name, values: Vec::new() });
                    continue;
                }
                PendingValues::Complete => problems.push(unknown(&name)),
                PendingValues::One if REFUSED_WITH_VALUE.contains(&name.as_str()) => {
                    problems.push(unknown(&name));
                    if attached.is_none() {
                        skip_value(&name, &mut rest);
                    }
                }
                needs => {
                    let mut values: Vec<String> = attached.map(str::to_owned).into_iter().collect();
                    if values.is_empty() || needs == PendingValues::Many {
                        let is_value = |word: &&String| !word.starts_with('-') || needs == PendingValues::One;
                        while let Some(value) = rest.next_if(|word| is_value(word)) {
                            values.push(value.clone());
                            if needs == PendingValues::One {
                                break;
                            }
                        }
                    }
                    if values.is_empty() {
                        problems.push(valueless(&name));
                    }
                    found.push(Letter { name, values });
                }
            }
            // A value, or what no letter is known by, ends the word.
            break;
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

/// Leaves out the value of a refused letter, of which nothing is to be said.
fn skip_value(name: &str, rest: &mut std::iter::Peekable<std::slice::Iter<'_, String>>) {
    if takes(name) == PendingValues::One {
        rest.next_if(|word| !word.starts_with('-'));
    }
}

fn unknown(word: &str) -> Problem {
    let hint = REFUSED
        .iter()
        .find(|(letter, _)| *letter == word)
        .map_or("see narrows suite iozone --help for the supported options", |(_, hint)| hint);
    Problem::new(
        "letters",
        format!("`{}`", word.escape_default()),
        "IOzone's options that narrows supports",
        hint,
    )
}

fn valueless(name: &str) -> Problem {
    let value = VALUES.iter().chain([&NAMES]).find(|(letter, _, _)| *letter == name);
    let (what, meaning) = value.map_or(("a value", ""), |(_, what, meaning)| (*what, *meaning));
    Problem::new("letters", format!("{name} without a value"), format!("{name} {what}"), meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn printed_letters(line: &str) -> String {
        match read(&words(line)) {
            Ok(letters) => {
                let each =
                    letters.iter().map(|letter| format!("{}={}", letter.name, letter.values.join("+")));
                each.collect::<Vec<_>>().join(" ")
            }
            Err(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        }
    }

    #[test]
    fn letters_stand_alone_or_together_with_values_beside_or_behind_them() {
        assert_eq!(printed_letters("-Rac -i0 -i 1 -s4m -+n"), "-R= -a= -c= -i=0 -i=1 -s=4m -+n=");
        assert_eq!(printed_letters("-aes 64"), "-a= -e= -s=64");
        assert_eq!(printed_letters("-t 2 -F /a/x /b/y -w"), "-t=2 -F=/a/x+/b/y -w=");
    }

    #[test]
    fn long_options_and_the_folder_are_left_over() {
        let line = words("-a -g 4M /mnt --out r -F x y --quiet -i0 --plan");
        let (letters, others) = split_letters(&line);
        assert_eq!(letters, words("-a -g 4M -F x y -i0"));
        assert_eq!(others, words("/mnt --out r --quiet --plan"));
        assert_eq!(split_letters(&words("-a -g --plan")).1, words("--plan"));
        assert_eq!(split_letters(&words("-h -a -- -x")), (words("-a"), words("-h -- -x")));
    }

    #[test]
    fn what_is_unknown_refused_or_without_its_value_is_reported() {
        let said = printed_letters("-a -k 4");
        assert!(said.contains("`-k`") && said.contains("engine uring"), "{said}");
        assert!(printed_letters("-+x").contains("`-+x`") && printed_letters("-é").contains("letters: found"));
        assert!(
            printed_letters("-a -g")
                .contains("-g without a value; allowed: -g SIZE; with -a: the largest file")
        );
        assert!(printed_letters("-F -a").contains("-F without a value"));
        assert!(printed_letters("-ax").contains("stone wall"));
        assert!(printed_letters("-+m -a").contains("-+m without a value; allowed: -+m FILE"));
        assert_eq!(printed_letters("-+m list -t 2"), "-+m=list -t=2");
        for (line, value) in [("-+h host -a", "host"), ("-d 10 -a", "10"), ("-X tele -a", "tele")] {
            assert_eq!(printed_letters(line).lines().count(), 1, "{line}");
            assert_eq!(
                split_letters(&words(&format!("{line} /mnt"))),
                (words(line), words("/mnt")),
                "{value}"
            );
        }
        assert_eq!(printed_letters("-f /mnt/tmp.dat -i0"), "-f=/mnt/tmp.dat -i=0");
    }
}
