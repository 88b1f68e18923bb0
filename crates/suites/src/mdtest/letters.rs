//! The letters of mdtest that are refused here, each with the reason and what to do; the values that mean what is done anyway
//! are taken.
//!
//! They are options like all others, but for the help, which does not list them.

use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};
use narrows_study::Problem;

/// A letter of mdtest that is refused.
#[derive(Debug)]
struct RefusedLetter {
    /// As it is typed.
    name: &'static str,
    letter: char,
    has_value: bool,
    /// Values that ask for what is done anyway.
    taken: &'static [&'static str],
    hint: &'static str,
}

const fn flag(name: &'static str, letter: char, hint: &'static str) -> RefusedLetter {
    RefusedLetter { name, letter, has_value: false, taken: &[], hint }
}

const fn value(
    name: &'static str,
    letter: char,
    taken: &'static [&'static str],
    hint: &'static str,
) -> RefusedLetter {
    RefusedLetter { name, letter, has_value: true, taken, hint }
}

static REFUSED: &[RefusedLetter] = &[
    value("-a", 'a', &["POSIX"], "items are made by system calls: mount the file system, and omit -a"),
    value("-B", 'B', &["0"], "every phase begins when all ranks are ready: omit -B"),
    flag("-c", 'c', "each rank creates its own items: omit -c"),
    value("-f", 'f', &[], "all ranks take part: run the suite once for each number of ranks"),
    flag("-g", 'g', "folders have the layout of the folder that they are in: set it there"),
    value("-G", 'G', &[], "data is random and differs between files: omit -G"),
    flag("-k", 'k', "files are created by open, not by mknod: omit -k"),
    value("-l", 'l', &[], "all ranks take part: run the suite once for each number of ranks"),
    value("-p", 'p', &["0"], "use `sleep` before the command"),
    flag("-P", 'P', "the record has the time of each phase: --json"),
    value("-s", 's', &["1"], "all ranks take part: run the suite once for each number of ranks"),
    flag("-S", 'S', "one file that all ranks open is a study's for `narrows run`, with the engine mpiio"),
    flag(
        "-t",
        't',
        "the folders of the ranks are made before the phases, and their making is not timed: omit -t",
    ),
    flag("-U", 'U', "items are not renamed: omit -U"),
    flag("-v", 'v', "the record has each phase of each rank: --json"),
    value("-V", 'V', &["0"], "the record has each phase of each rank: --json"),
    value(
        "-W",
        'W',
        &["0"],
        "a phase ends when each rank has visited its items, and not by time: give fewer with -n",
    ),
    value(
        "-x",
        'x',
        &[],
        "phases are not spread over several runs: items that -C would create are made untimed without it",
    ),
    flag("-X", 'X', "data that is read is not compared: a study with `verify` does that"),
    flag("-Z", 'Z', "the record has the time of each phase: --json"),
];

/// The refused letters that were typed, with their values.
#[derive(Debug, Default)]
pub(super) struct RefusedLetters {
    given: Vec<(&'static RefusedLetter, String)>,
}

impl RefusedLetters {
    /// A problem for each.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let wrong = |(letter, found): &(&'static RefusedLetter, String)| {
            let shown = if letter.has_value { found.escape_default().to_string() } else { "it".to_owned() };
            let allowed = match letter.taken {
                [] => "nothing".to_owned(),
                taken => taken.join(" or "),
            };
            let is_taken = letter.taken.iter().any(|taken| taken.eq_ignore_ascii_case(found));
            (!is_taken).then(|| Problem::new(letter.name, shown, allowed, letter.hint))
        };
        self.given.iter().filter_map(wrong).collect()
    }
}

impl FromArgMatches for RefusedLetters {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let typed = |letter: &'static RefusedLetter| {
            if letter.has_value {
                return matches.get_one::<String>(letter.name).map(|value| (letter, value.clone()));
            }
            (matches.get_count(letter.name) > 0).then(|| (letter, String::new()))
        };
        Ok(Self { given: REFUSED.iter().filter_map(typed).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for RefusedLetters {
    fn augment_args(command: Command) -> Command {
        REFUSED.iter().fold(command, |command, letter| {
            let arg = Arg::new(letter.name).short(letter.letter).hide(true);
            command.arg(if letter.has_value {
                arg.action(ArgAction::Set).allow_hyphen_values(true)
            } else {
                arg.action(ArgAction::Count)
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Args;

    fn problems(line: &str) -> Vec<String> {
        let words = std::iter::once("mdtest").chain(line.split_whitespace());
        let matches = RefusedLetters::augment_args(Command::new("mdtest")).get_matches_from(words);
        let letters = RefusedLetters::from_arg_matches(&matches).unwrap();
        letters.problems().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_letter_that_is_not_done_is_refused_by_its_name() {
        for letter in REFUSED {
            let value = if letter.has_value { " 77" } else { "" };
            let said = problems(&format!("{}{value}", letter.name));
            let found = if letter.has_value { "77" } else { "it" };
            assert_eq!(said.len(), 1, "{letter:?}");
            assert!(said[0].starts_with(&format!("{}: found {found}; allowed: ", letter.name)), "{said:?}");
            assert_eq!(letter.name, format!("-{}", letter.letter));
        }
        assert_eq!(problems("-k -S -W 3").len(), 3);
    }

    #[test]
    fn values_that_ask_for_what_is_done_anyway_are_taken() {
        assert_eq!(problems("-a posix -B 0 -p 0 -s 1 -V 0 -W 0"), Vec::<String>::new());
        assert_eq!(problems("-vvv").len(), 1);
    }
}
