//! What was typed of hosts, as the words that start a program there, or all that is wrong with it.
//!
//! Names and the program pass through a remote shell, and perhaps through a shell on the host: only characters are allowed
//! that neither takes for anything else.

use crate::args::HostArguments;
use narrows_run::hosts::HostLauncher;
use std::path::Path;

/// The remote shell without --remote-shell: it asks no question, and does not wait for a host that is not there.
const USUAL_SHELL: &str = "ssh -o BatchMode=yes -o ConnectTimeout=10";
/// Most hosts: each has a connection of its own to this machine.
const HOSTS_MAX: usize = 64;
/// What a host's name may have beside letters and digits: a user, an address.
const NAME_MARKS: &str = "-_.:@%[]";
/// What the path of a program may have beside them. With = in it a shell takes the word for the setting of a variable.
const PATH_MARKS: &str = "-_./+@%:,";
/// With what it may begin: the home folder there. Elsewhere a shell puts other folders for a tilde, or none.
const HOME_START: &str = "~/";

/// How clients are started on each host; `own_program` is the path of this program.
///
/// # Errors
/// Everything that is wrong, each with what is allowed.
pub(super) fn launchers(
    arguments: &HostArguments,
    names: &[String],
    own_program: &Path,
) -> Result<Vec<HostLauncher>, Vec<String>> {
    let mut problems = name_problems(names);
    let shell = match shell_words(arguments.remote_shell.as_deref().unwrap_or(USUAL_SHELL)) {
        Ok(words) => words,
        Err(problem) => {
            problems.push(format!("--remote-shell {problem}"));
            Vec::new()
        }
    };
    let program = match &arguments.remote_program {
        Some(program) => program.clone(),
        None => own_program.to_string_lossy().into_owned(),
    };
    problems.extend(program_problem(&program, arguments.remote_program.is_some()));
    if !problems.is_empty() {
        return Err(problems);
    }
    let launcher =
        |name: &String| HostLauncher { name: name.clone(), shell: shell.clone(), program: program.clone() };
    Ok(names.iter().map(launcher).collect())
}

fn name_problems(names: &[String]) -> Vec<String> {
    if names.len() > HOSTS_MAX {
        return vec![format!(
            "--hosts: found {} hosts; allowed: {HOSTS_MAX} at most; use `narrows-mpi` for more (docs/guide/mpi.md)",
            names.len()
        )];
    }
    let mut problems: Vec<String> = names.iter().filter_map(|name| name_problem(name)).collect();
    let twice = names.iter().enumerate().filter(|(index, name)| {
        let first = names.iter().position(|other| other == *name);
        !name.is_empty() && first.is_some_and(|first| first < *index)
    });
    let mut duplicates: Vec<&String> = twice.map(|(_, name)| name).collect();
    duplicates.dedup();
    problems.extend(duplicates.iter().map(|name| {
        format!("--hosts: found {name} twice; allowed: each host once; several clients run on a host in turn anyway")
    }));
    problems
}

/// What is wrong with the name of a host; `None` where nothing is.
fn name_problem(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some(
            "--hosts: found an empty name; allowed: names or addresses, such as node1,node2".to_owned(),
        );
    }
    let is_option = name.starts_with('-') || name.contains("@-");
    if is_option {
        return Some(format!(
            "--hosts: found `{name}`, which a remote shell would take for an option; allowed: names that do not begin with -"
        ));
    }
    let strange = strange_character(name, NAME_MARKS)?;
    Some(format!(
        "--hosts: found `{name}` with {strange}; allowed: letters, digits and {NAME_MARKS}, as in user@node1.example.com"
    ))
}

fn program_problem(program: &str, is_given: bool) -> Option<String> {
    let what = if is_given { "--remote-program: found" } else { "the path of this program is" };
    named_program_problem(program, what)
}

/// What is wrong with a program of a host, which is introduced as `what`; `None` where nothing is.
pub(super) fn named_program_problem(program: &str, what: &str) -> Option<String> {
    if program.is_empty() || program.starts_with('-') {
        return Some(format!("{what} `{program}`; allowed: the path of a program"));
    }
    let strange = strange_character(program.strip_prefix(HOME_START).unwrap_or(program), PATH_MARKS)?;
    Some(format!(
        "{what} `{program}` with {strange}, which the shell of a host may interpret; allowed: letters, digits and \
         {PATH_MARKS}, and {HOME_START} at the beginning; give the program a plain path there (ln -s) and name it with --remote-program"
    ))
}

/// The first character that is no letter, digit or one of `marks`, for people.
fn strange_character(text: &str, marks: &str) -> Option<String> {
    let strange = text.chars().find(|one| !one.is_ascii_alphanumeric() && !marks.contains(*one))?;
    Some(if strange == ' ' { "a space".to_owned() } else { format!("`{strange}`") })
}

/// The words of a command, separated by spaces; quotes keep spaces in a word.
fn shell_words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for one in text.chars() {
        match (quote, one) {
            (Some(open), _) if one == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(one);
                word.get_or_insert_default();
            }
            (None, _) if one.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(one),
        }
    }
    words.extend(word);
    match (quote, words.first()) {
        (Some(open), _) => Err(format!("has an opening {open} without a closing one: {text}")),
        (None, Some(first)) if !first.is_empty() => Ok(words),
        _ => Err("names no program; write for example --remote-shell 'ssh -p 2222'".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(shell: &str, program: Option<&str>) -> HostArguments {
        HostArguments {
            hosts: None,
            remote_shell: Some(shell.to_owned()),
            remote_program: program.map(str::to_owned),
        }
    }

    fn problems(names: &[&str]) -> String {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        match launchers(&arguments("ssh", None), &names, Path::new("/opt/narrows")) {
            Ok(_) => String::new(),
            Err(problems) => problems.join("\n"),
        }
    }

    #[test]
    fn names_of_hosts_and_addresses_are_taken() {
        assert_eq!(problems(&["node1", "me@node2.example.com", "10.0.0.3", "::1", "fe80::1%eth0"]), "");
    }

    #[test]
    fn names_that_are_options_empty_twice_or_not_plain_are_refused_each_with_a_reason() {
        assert!(problems(&["a", ""]).contains("found an empty name"));
        for option in ["-oProxyCommand=id", "--", "me@-oProxyCommand=id"] {
            assert!(problems(&["a", option]).contains("take for an option"), "{option}");
        }
        assert!(problems(&["a b"]).contains("with a space"));
        for name in ["a;id", "$(id)", "a`id`", "a\tb", "a'b", "ä"] {
            assert!(problems(&[name]).contains("allowed: letters, digits"), "{name}");
        }
        let twice = problems(&["a", "b", "a", "a"]);
        assert_eq!(twice.matches("found a twice").count(), 1, "{twice}");
        assert_eq!(problems(&["a b", "-x", ""]).lines().count(), 3);
        let many: Vec<String> = (0..65).map(|number| format!("n{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(problems(&many).contains("65 hosts") && problems(&many).contains("narrows-mpi"));
    }

    #[test]
    fn a_remote_shell_is_words_with_quotes() {
        assert_eq!(shell_words("ssh -p 2222").unwrap(), ["ssh", "-p", "2222"]);
        assert_eq!(shell_words("  ssh -o 'User Known' \"\" ").unwrap(), ["ssh", "-o", "User Known", ""]);
        assert_eq!(shell_words("a\"b c\"d").unwrap(), ["ab cd"]);
        for wrong in ["", "  ", "''", "ssh 'x"] {
            assert!(shell_words(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_program_that_a_shell_would_interpret_is_refused_wherever_it_comes_from() {
        let names = ["a".to_owned()];
        let of = |program, own: &str| launchers(&arguments("ssh", program), &names, Path::new(own));
        assert_eq!(of(None, "/opt/narrows").unwrap()[0].program, "/opt/narrows");
        assert_eq!(of(Some("~/bin/narrows"), "/x y").unwrap()[0].program, "~/bin/narrows");
        for wrong in ["-x", "", "/a b", "/a;id", "$HOME/narrows"] {
            assert!(
                of(Some(wrong), "/opt/narrows").unwrap_err()[0].starts_with("--remote-program"),
                "{wrong}"
            );
        }
        for wrong in
            ["A=b/narrows", "/opt/a=b", "~", "~me/narrows", "/opt/~/narrows", "~/~/narrows", "a:~/narrows"]
        {
            let said = of(Some(wrong), "/opt/narrows").unwrap_err();
            assert!(said[0].contains("with `=`") || said[0].contains("with `~`"), "{wrong}: {said:?}");
        }
        let own = of(None, "/opt/narrows (deleted)").unwrap_err();
        assert!(own[0].starts_with("the path of this program is"), "{own:?}");
    }
}
