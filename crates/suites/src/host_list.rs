//! A file that lists hosts, each with the folder of its files and the program there: a line for each process.
//!
//! Not here: reading the file, which the command does, and starting anything.

use narrows_study::Problem;
use std::path::PathBuf;

/// Words of a line: host, folder, program.
const WORDS: usize = 3;
/// What a line is.
const FORM: &str = "HOST FOLDER PROGRAM, a line for each process, such as `node1 /mnt/data /usr/bin/narrows`";
/// Most lines: as many as processes.
const LINES_MAX: usize = 256;

/// The file, and how many of its lines are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostList {
    /// The option that names it.
    pub option: &'static str,
    /// Where it is.
    pub path: PathBuf,
    /// Processes: so many of its lines are used.
    pub processes: usize,
}

/// A host with the program there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedHost {
    /// Its name, for the remote shell.
    pub name: String,
    /// The program.
    pub program: String,
}

/// Where the processes of a list are: process i is on host i in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPlacement {
    /// The hosts, each once.
    pub hosts: Vec<ListedHost>,
    /// The folder of each process, in their order.
    pub folders: Vec<PathBuf>,
}

/// A line that names a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ListLine<'t> {
    number: usize,
    host: &'t str,
    folder: &'t str,
    program: &'t str,
}

impl HostList {
    /// What `text` lists.
    ///
    /// # Errors
    /// All that is wrong with it, each with its line.
    pub fn parse(&self, text: &str) -> Result<HostPlacement, Vec<Problem>> {
        let lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (mut found, mut problems) = (Vec::new(), Vec::new());
        for (number, line) in lines.take(LINES_MAX + 1) {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                [host, folder, program] => found.push(ListLine { number, host, folder, program }),
                ref words => problems.push(self.problem(
                    &format!("line {number} with {} words", words.len()),
                    FORM,
                    &format!("give {WORDS} words, without spaces in any of them"),
                )),
            }
        }
        if found.len() < self.processes && problems.is_empty() {
            let hint = "add a line for each process, or give fewer processes";
            let found = format!("{} lines for {} processes", found.len(), self.processes);
            problems.push(self.problem(&found, "at least as many lines as processes", hint));
        }
        // As the original: lines beyond the processes are not used.
        found.truncate(self.processes);
        problems.extend(self.program_problem(&found));
        if problems.is_empty() { self.placed(&found).map_err(|problem| vec![problem]) } else { Err(problems) }
    }

    fn problem(&self, found: &str, allowed: &str, hint: &str) -> Problem {
        Problem::new(self.option, format!("{}: {found}", self.path.display()), allowed, hint)
    }

    /// A host has one program for all of its processes.
    fn program_problem(&self, lines: &[ListLine<'_>]) -> Option<Problem> {
        let other = |line: &&ListLine<'_>| {
            lines.iter().any(|first| first.host == line.host && first.program != line.program)
        };
        let line = lines.iter().rfind(other)?;
        let found = format!("line {} with another program for {}", line.number, line.host);
        Some(self.problem(
            &found,
            "one program for each host",
            "give the same program in all lines of a host",
        ))
    }

    /// The lines with their hosts in turn; of a host with more processes than another the first ones come first.
    fn placed(&self, lines: &[ListLine<'_>]) -> Result<HostPlacement, Problem> {
        let mut by_host: Vec<(&str, Vec<&ListLine<'_>>)> = Vec::new();
        for line in lines {
            match by_host.iter_mut().find(|(host, _)| *host == line.host) {
                Some((_, of_host)) => of_host.push(line),
                None => by_host.push((line.host, vec![line])),
            }
        }
        by_host.sort_by_key(|(_, of_host)| std::cmp::Reverse(of_host.len()));
        let most = by_host.first().map_or(0, |(_, of_host)| of_host.len());
        let least = by_host.last().map_or(0, |(_, of_host)| of_host.len());
        if most > least + 1 {
            let count = |(host, of_host): &(&str, Vec<_>)| format!("{} of {host}", of_host.len());
            let found: Vec<String> = by_host.first().into_iter().chain(by_host.last()).map(count).collect();
            return Err(self.problem(
                &format!("{} of the lines that are used", found.join(" and ")),
                "as many processes on each host, or one more",
                "processes are started on the hosts in turn: give each host as many lines",
            ));
        }
        let in_turn = (0..most).flat_map(|place| by_host.iter().filter_map(move |(_, all)| all.get(place)));
        Ok(HostPlacement {
            folders: in_turn.map(|line| PathBuf::from(line.folder)).collect(),
            hosts: by_host
                .iter()
                .filter_map(|(host, all)| {
                    let program = all.first()?.program.to_owned();
                    Some(ListedHost { name: (*host).to_owned(), program })
                })
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, processes: usize) -> Result<HostPlacement, String> {
        let list = HostList { option: "-+m", path: PathBuf::from("list"), processes };
        list.parse(text)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    fn folders(placement: &HostPlacement) -> Vec<&str> {
        placement.folders.iter().filter_map(|folder| folder.to_str()).collect()
    }

    #[test]
    fn each_line_is_a_process_and_comments_and_further_lines_are_not_used() {
        let text =
            "# my cluster\n\nnode1 /mnt/a /opt/narrows\n  node2\t/mnt/b  /usr/bin/narrows \nnode3 /c /d\n";
        let placement = parsed(text, 2).unwrap();
        assert_eq!(folders(&placement), ["/mnt/a", "/mnt/b"]);
        let hosts: Vec<(&str, &str)> =
            placement.hosts.iter().map(|host| (host.name.as_str(), host.program.as_str())).collect();
        assert_eq!(hosts, [("node1", "/opt/narrows"), ("node2", "/usr/bin/narrows")]);
    }

    #[test]
    fn processes_of_one_host_are_started_in_turn_with_those_of_others() {
        let text = "b /1 n\na /2 n\na /3 n\nb /4 n\na /5 n";
        let placement = parsed(text, 5).unwrap();
        assert_eq!(placement.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(folders(&placement), ["/2", "/1", "/3", "/4", "/5"]);
        let said = parsed("a /1 n\na /2 n\na /3 n\nb /4 n", 4).unwrap_err();
        assert!(said.starts_with("-+m: found list: 3 of a and 1 of b of the lines that are used"), "{said}");
    }

    #[test]
    fn lines_of_another_form_and_too_few_are_refused_with_their_numbers() {
        let said = parsed("a /1\nb /2 n more\n", 2).unwrap_err();
        assert!(said.contains("list: line 1 with 2 words; allowed: HOST FOLDER PROGRAM"), "{said}");
        assert!(said.contains("list: line 2 with 4 words") && said.lines().count() == 2, "{said}");
        let said = parsed("a /1 n\n", 2).unwrap_err();
        assert!(said.contains("list: 1 lines for 2 processes"), "{said}");
        let said = parsed("a /1 n\na /2 m\n", 2).unwrap_err();
        assert!(said.contains("list: line 2 with another program for a"), "{said}");
        assert!(parsed("", 1).unwrap_err().contains("0 lines for 1 processes"));
    }
}
