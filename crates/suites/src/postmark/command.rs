//! The commands of PostMark's language: their words, what each sets, and what its words may be.
//!
//! Not here: scripts, which are several of them.

use super::settings::{BLOCK_MAX, Location, PostmarkSettings, ReportForm, SEED_MAX};
use narrows_model::located::{Complaint, printable};
use narrows_model::workload::{
    BIAS_MAX, OBJECT_BYTES_MAX, OBJECT_COUNT_MAX, OBJECT_FOLDERS_MAX, TRANSACTION_COUNT_MAX,
};

/// The original's, which keeps figures in 32 bits. A weight means nothing for one location, and is kept for `show`.
const WEIGHT_MAX: u64 = SEED_MAX;

/// The command that takes two numbers, and leaves further ones unread.
pub(super) const SET_SIZE: &str = "set size";

/// What a command does with the words after its own.
#[derive(Clone, Copy)]
pub(super) enum CommandAction {
    /// Changes the settings.
    Set(fn(&CommandInput<'_>, &mut PostmarkSettings) -> Result<(), Complaint>),
    Run,
    Load,
    Show,
    Help,
    Quit,
}

/// A command.
#[derive(Clone, Copy)]
pub(super) struct PostmarkCommand {
    /// Its words.
    pub(super) name: &'static str,
    /// What comes after them.
    arguments: &'static str,
    /// What it does, in a line.
    title: &'static str,
    pub(super) action: CommandAction,
}

/// Every command, in the order of `help`.
pub(super) static COMMANDS: &[PostmarkCommand] = &[
    set(SET_SIZE, "LOW [HIGH]", "bytes of new files: LOW, or from LOW to HIGH", set_size),
    set("set number", "N", "files at the start of a run; the maximum is twice as many", |asked, settings| {
        figure(asked, 1, OBJECT_COUNT_MAX).map(|found| settings.number = found)
    }),
    set("set seed", "N", "seed of the random numbers", |asked, settings| {
        figure(asked, 1, SEED_MAX).map(|found| settings.seed = found)
    }),
    set("set transactions", "N", "transactions of a run", |asked, settings| {
        figure(asked, 1, TRANSACTION_COUNT_MAX).map(|found| settings.transactions = found)
    }),
    set("set location", "DIR", "the folder in which a run creates a subfolder", set_location),
    set(
        "set subdirectories",
        "N",
        "number of subfolders for the files; none for 0 and 1",
        |asked, settings| {
            figure(asked, 0, u64::from(OBJECT_FOLDERS_MAX)).map(|found| settings.subdirectories = found)
        },
    ),
    set("set read", "BYTES", "bytes of a block that is read", |asked, settings| {
        figure(asked, 1, BLOCK_MAX).map(|found| settings.read_bytes = found)
    }),
    set("set write", "BYTES", "bytes of a block that is written", |asked, settings| {
        figure(asked, 1, BLOCK_MAX).map(|found| settings.write_bytes = found)
    }),
    set(
        "set buffering",
        "true|false",
        "whether blocks use a buffer, as C's streams do",
        |asked, settings| word(asked, &["true", "false"]).map(|found| settings.is_buffered = found == "true"),
    ),
    set(
        "set bias read",
        "N",
        "chance in ten to read a file, else append to it; -1 for neither",
        |asked, settings| bias(asked).map(|found| settings.bias_read = found),
    ),
    set(
        "set bias create",
        "N",
        "chance in ten to create a file, else delete one; -1 for neither",
        |asked, settings| bias(asked).map(|found| settings.bias_create = found),
    ),
    set("set report", "verbose|terse", "the form of the report", |asked, settings| {
        let found = word(asked, &["verbose", "terse"])?;
        settings.report = ReportForm::named(found).unwrap_or(settings.report);
        Ok(())
    }),
    PostmarkCommand {
        name: "run",
        arguments: "[FILE]",
        title: "runs once; appends the report to FILE",
        action: CommandAction::Run,
    },
    PostmarkCommand {
        name: "load",
        arguments: "FILE",
        title: "runs the commands of a file",
        action: CommandAction::Load,
    },
    PostmarkCommand {
        name: "show",
        arguments: "[FILE]",
        title: "shows the settings; with FILE, appends them to it",
        action: CommandAction::Show,
    },
    PostmarkCommand {
        name: "help",
        arguments: "[COMMAND]",
        title: "lists the commands, as does ?",
        action: CommandAction::Help,
    },
    PostmarkCommand { name: "quit", arguments: "", title: "ends, as does exit", action: CommandAction::Quit },
];

/// Other words for commands, which the original's `help` leaves out.
pub(super) static ALIASES: [(&str, &str); 2] = [("exit", "quit"), ("?", "help")];

const fn set(
    name: &'static str,
    arguments: &'static str,
    title: &'static str,
    action: fn(&CommandInput<'_>, &mut PostmarkSettings) -> Result<(), Complaint>,
) -> PostmarkCommand {
    PostmarkCommand { name, arguments, title, action: CommandAction::Set(action) }
}

/// What was asked of a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandInput<'a> {
    /// The command's name, or that of the option in its place.
    pub(super) name: &'a str,
    /// The words after it.
    pub(super) rest: &'a str,
    /// The same, word by word.
    pub(super) words: &'a [&'a str],
}

impl CommandInput<'_> {
    /// What is said of words that are not allowed.
    pub(super) fn complaint(&self, allowed: impl Into<String>, hint: impl Into<String>) -> Complaint {
        let found =
            if self.rest.is_empty() { "nothing".to_owned() } else { format!("`{}`", printable(self.rest)) };
        Complaint::new(self.name, found, allowed, hint)
    }
}

/// The lines of `help`: of the commands whose name begins with `topic`, or of all where none does.
pub(super) fn help(topic: &str) -> String {
    let asked: Vec<&PostmarkCommand> =
        COMMANDS.iter().filter(|command| command.name.starts_with(topic)).collect();
    let shown = if asked.is_empty() { COMMANDS.iter().collect() } else { asked };
    let line = |command: &&PostmarkCommand| {
        let usage = format!("{} {}", command.name, command.arguments);
        format!("{} - {}\n", usage.trim_end(), command.title)
    };
    shown.iter().map(line).collect()
}

fn set_size(asked: &CommandInput<'_>, settings: &mut PostmarkSettings) -> Result<(), Complaint> {
    let allowed =
        format!("LOW or LOW HIGH, whole bytes from 1 to {}, LOW not above HIGH", OBJECT_BYTES_MAX.0);
    let numbers: Option<Vec<u64>> = asked.words.iter().map(|word| whole(word)).collect();
    let (low, high) = match numbers.as_deref() {
        Some([low]) => (*low, *low),
        Some([low, high]) => (*low, *high),
        // As the original, which reads no further.
        Some([low, high, ..]) if asked.name == SET_SIZE => (*low, *high),
        _ => return Err(asked.complaint(allowed, "write the sizes in bytes, such as 500 10000")),
    };
    if low > high {
        return Err(asked.complaint(allowed, format!("the lower one comes first: {high} {low}")));
    }
    if low == 0 || high > OBJECT_BYTES_MAX.0 {
        return Err(asked.complaint(allowed, "files have at least one byte, and at most 1 GiB"));
    }
    (settings.size_low, settings.size_high) = (low, high);
    Ok(())
}

/// `DIR [WEIGHT]` is the only one; `+DIR [WEIGHT]` is one more, `-DIR` one less.
fn set_location(asked: &CommandInput<'_>, settings: &mut PostmarkSettings) -> Result<(), Complaint> {
    let allowed = "DIR, DIR WEIGHT, +DIR to add one, -DIR to remove it";
    let (path, weight) = match asked.rest.rsplit_once(char::is_whitespace) {
        Some((path, last)) if last.parse::<i64>().is_ok() => {
            match whole(last).filter(|weight| (1..=WEIGHT_MAX).contains(weight)) {
                Some(weight) => (path.trim_end(), weight),
                None => return Err(asked.complaint(allowed, "a weight is a whole number from 1")),
            }
        }
        _ => (asked.rest, 1),
    };
    let is_removal = path.starts_with('-');
    let bare = path.strip_prefix(['+', '-']).unwrap_or(path);
    if bare.is_empty() {
        return Err(asked.complaint(allowed, "name a folder that exists"));
    }
    let is_other = |location: &Location| location.path != bare;
    if is_removal {
        if settings.locations.iter().all(is_other) {
            return Err(asked.complaint(allowed, "it is not among the locations; `show` lists them"));
        }
        settings.locations.retain(is_other);
        return Ok(());
    }
    if !path.starts_with('+') {
        settings.locations.clear();
    }
    settings.locations.push(Location { path: bare.to_owned(), weight });
    Ok(())
}

/// The one whole number of `asked`, from `min` to `max`.
fn figure(asked: &CommandInput<'_>, min: u64, max: u64) -> Result<u64, Complaint> {
    let allowed = || format!("one whole number from {min} to {max}");
    let hint = "write it in digits only, without a unit";
    let [one] = asked.words else { return Err(asked.complaint(allowed(), hint)) };
    let is_negative = one.starts_with('-') && one.get(1..).is_some_and(|digits| whole(digits).is_some());
    match whole(one) {
        Some(found) if (min..=max).contains(&found) => Ok(found),
        Some(found) if found < min => Err(asked.complaint(allowed(), format!("give {min} or more"))),
        Some(_) => Err(asked.complaint(allowed(), format!("give {max} or less"))),
        None if is_negative => Err(asked.complaint(allowed(), format!("give {min} or more"))),
        None => Err(asked.complaint(allowed(), hint)),
    }
}

fn bias(asked: &CommandInput<'_>) -> Result<Option<u8>, Complaint> {
    let found = match asked.words {
        ["-1"] => return Ok(None),
        [one] => one.parse::<u8>().ok().filter(|bias| *bias <= BIAS_MAX),
        _ => None,
    };
    let hint = format!("{BIAS_MAX} is always the first of the two, 0 always the second, -1 neither");
    found
        .map(Some)
        .ok_or_else(|| asked.complaint(format!("one whole number from 0 to {BIAS_MAX}, or -1"), hint))
}

fn word<'a>(asked: &CommandInput<'a>, allowed: &[&'static str]) -> Result<&'a str, Complaint> {
    match asked.words {
        [one] if allowed.contains(one) => Ok(one),
        _ => Err(asked.complaint(allowed.join(" or "), "write one of these words, in lower case")),
    }
}

/// A whole number of digits alone.
fn whole(word: &str) -> Option<u64> {
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|_| digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings after `name` with `rest`, or what is wrong.
    fn set_option(name: &str, rest: &str) -> Result<PostmarkSettings, String> {
        let command = COMMANDS.iter().find(|command| command.name == name).unwrap();
        let CommandAction::Set(action) = command.action else { panic!("{name} sets nothing") };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let mut settings = PostmarkSettings::default();
        let asked = CommandInput { name, rest, words: &words };
        action(&asked, &mut settings).map_err(|said| {
            format!("{}: found {}; allowed: {}; {}", said.key, said.found, said.allowed, said.hint)
        })?;
        Ok(settings)
    }

    #[test]
    fn each_command_sets_its_own_figure() {
        let sizes = set_option("set size", "5 1500").unwrap();
        assert_eq!((sizes.size_low, sizes.size_high), (5, 1500));
        let three = set_option("set size", "5 1500 9000").unwrap();
        assert_eq!((three.size_low, three.size_high), (5, 1500));
        let one = set_option("set size", "7").unwrap();
        assert_eq!((one.size_low, one.size_high), (7, 7));
        assert_eq!(set_option("set number", "20").unwrap().number, 20);
        assert_eq!(set_option("set seed", "7").unwrap().seed, 7);
        assert_eq!(set_option("set transactions", "9").unwrap().transactions, 9);
        assert_eq!(set_option("set subdirectories", "0").unwrap().subdirectories, 0);
        assert_eq!(set_option("set read", "4096").unwrap().read_bytes, 4096);
        assert_eq!(set_option("set write", "1").unwrap().write_bytes, 1);
        assert!(!set_option("set buffering", "false").unwrap().is_buffered);
        assert_eq!(set_option("set bias read", "10").unwrap().bias_read, Some(10));
        assert_eq!(set_option("set bias create", "-1").unwrap().bias_create, None);
        assert_eq!(set_option("set report", "terse").unwrap().report, ReportForm::Terse);
        let places = set_option("set location", "/a b 3").unwrap().locations;
        assert_eq!(places, [Location { path: "/a b".to_owned(), weight: 3 }]);
    }

    #[test]
    fn what_is_out_of_range_is_refused_with_what_to_do() {
        let said = |name: &str, rest: &str| set_option(name, rest).unwrap_err();
        assert!(said("set size", "500 100").contains("found `500 100`"), "{}", said("set size", "500 100"));
        assert!(said("set size", "500 100").ends_with("the lower one comes first: 100 500"));
        for wrong in ["", "0", "1k", "-5", "1 2 x", "5 4294967296", "1.5"] {
            assert!(said("set size", wrong).contains("whole bytes from 1 to 1073741824"), "{wrong}");
        }
        assert!(
            said("set number", "-3").ends_with("allowed: one whole number from 1 to 4194304; give 1 or more")
        );
        assert!(said("set transactions", "0").ends_with("give 1 or more"));
        assert!(said("set seed", "2147483648").ends_with("give 2147483647 or less"));
        assert!(said("set read", "4k").ends_with("digits only, without a unit"));
        assert!(said("set number", "").contains("found nothing"));
        for wrong in ["11", "-2", "x", "", "5 5"] {
            assert!(said("set bias read", wrong).contains("from 0 to 10, or -1"), "{wrong}");
        }
        assert!(said("set buffering", "maybe").contains("true or false"));
        assert!(said("set report", "").contains("verbose or terse"));
        assert!(said("set location", "").contains("name a folder"));
        assert!(said("set location", "-/a").contains("not among the locations"));
        assert!(said("set location", "/a -3").contains("a weight is"));
    }

    #[test]
    fn help_lists_what_begins_with_the_words_and_all_where_nothing_does() {
        assert_eq!(help("load"), "load FILE - runs the commands of a file\n");
        assert_eq!(help("set bias").lines().count(), 2);
        assert_eq!(help("").lines().count(), COMMANDS.len());
        assert_eq!(help("nonsense"), help(""));
    }

    #[test]
    fn the_language_has_every_command_of_the_original() {
        // In the order of its `help`.
        let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        let figures =
            ["size", "number", "seed", "transactions", "location", "subdirectories", "read", "write"];
        let more = ["buffering", "bias read", "bias create", "report"];
        let set: Vec<String> = figures.iter().chain(&more).map(|name| format!("set {name}")).collect();
        assert_eq!(names[..12], set);
        assert_eq!(names[12..], ["run", "load", "show", "help", "quit"]);
        assert!(ALIASES.iter().all(|(_, name)| names.contains(name)));
    }
}
