//! The commands of README.md, run as they are printed, with small budgets where an option allows one.

use crate::support::Guarded;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");

/// Commands that are not run here, each with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("./quickstart", "it builds the program, which is what runs this test"),
    ("./test", "it runs this test"),
    ("install ", "it would change the user's programs"),
    ("export PATH", "the shell's own"),
];

/// Options that make a command short, by the words that it begins with. Options that are given twice are refused, so none
/// of these may be in the README.
const SHORTER: &[(&str, &str)] = &[
    ("narrows check --plan", ""),
    ("narrows check", "--seconds 4 --cell-seconds 0.1 --quiet"),
    ("narrows run depth.toml --plan", ""),
    ("narrows run", "--seconds 5 --cell-seconds 0.1 --trials 2 --quiet"),
    ("narrows relay", "--bytes 192KiB --trials 1 --quiet"),
    ("narrows noise", "--seconds 3 --cell-seconds 0.1 --runs 2 --quiet"),
    ("narrows suite", "--cell-seconds 0.1 --quiet"),
];

/// The largest file of README's run of IOzone, which has no budget to make smaller.
const LARGEST_FILE: &str = "-g 4m";

/// The MiB of README's run of bonnie++, which has no budget either.
const BONNIE_SIZE: &str = "-s 64";

/// The lines of README that are commands: in a block of four spaces, without their comments.
fn commands(readme: &str) -> Vec<String> {
    let is_text = |line: &&str| line.starts_with("    ") && !line.starts_with("     ");
    let mut in_fence = false;
    let mut found = Vec::new();
    for line in readme.lines() {
        in_fence ^= line.starts_with("```");
        if !in_fence && is_text(&line) {
            let command =
                line.split("  #").next().unwrap_or_default().split(" # ").next().unwrap_or_default();
            found.push(command.trim().to_owned());
        }
    }
    found
}

/// The first block of README in this language that contains `part`.
fn block(readme: &str, language: &str, part: &str) -> String {
    let fence = format!("```{language}\n");
    let texts = readme.split(&fence).skip(1).filter_map(|rest| rest.split("```").next());
    texts.into_iter().find(|text| text.contains(part)).unwrap().to_owned()
}

/// A folder in which the commands of README find what they name, and a free port for each that they name.
struct ReadmeRun {
    folder: tempfile::TempDir,
    servers: Vec<Guarded>,
    replaced: BTreeMap<&'static str, String>,
}

impl ReadmeRun {
    fn new(readme: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["data", "export"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("depth.toml"), block(readme, "toml", "depth = ")).unwrap();
        // The second port is a proxy's: both are free together.
        let listeners: Vec<_> = (0..3).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = listeners.iter().map(|one| one.local_addr().unwrap().port()).collect();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let replaced = BTreeMap::from([
            ("/srv/data", path("data")),
            ("/srv/export", path("export")),
            ("10.99.0.2:7300", format!("127.0.0.1:{}", ports[0])),
            ("127.0.0.1:7300", format!("127.0.0.1:{}", ports[1])),
            ("127.0.0.1:7301", format!("127.0.0.1:{}", ports[2])),
            // Up to 4 MiB there are 728 cells of tests.
            (LARGEST_FILE, "-g 128k".to_owned()),
            (BONNIE_SIZE, "-s 4".to_owned()),
        ]);
        Self { folder, servers: Vec::new(), replaced }
    }

    /// The command with this run's folders and ports, and with a small budget.
    fn adapted(&self, command: &str) -> String {
        let mut text =
            self.replaced.iter().fold(command.to_owned(), |text, (from, to)| text.replace(from, to));
        // These listen where nothing is said; here other tests do as well.
        let port = |name: &str| self.replaced.get(name).unwrap().clone();
        if text.starts_with("narrows serve &") {
            text = text
                .replace("narrows serve", &format!("narrows serve --listen {}", port("127.0.0.1:7300")))
                .replace("narrows proxy", &format!("narrows proxy --listen {}", port("127.0.0.1:7301")));
        }
        let shorter = SHORTER.iter().find(|(start, _)| text.starts_with(start)).map_or("", |(_, more)| more);
        let words: Vec<&str> = shorter.split_whitespace().collect();
        let is_given = |option: &str| text.split_whitespace().any(|word| word == option);
        let more: Vec<String> =
            words.chunks(2).filter(|pair| !is_given(pair[0])).map(|pair| pair.join(" ")).collect();
        // In quotes it is no file that is written.
        match text.split_once(" > ").filter(|_| !text.contains('\'')) {
            Some((before, file)) => format!("{before} {} > {file}", more.join(" ")),
            None => format!("{text} {}", more.join(" ")),
        }
    }

    fn shell(&self, command: &str) -> Command {
        let bin = Path::new(env!("CARGO_BIN_EXE_narrows")).parent().unwrap().display().to_string();
        let script = format!("PATH='{bin}':$PATH; {command}");
        let mut shell = Command::new("bash");
        shell.args(["-c", &script]).current_dir(self.folder.path()).stdin(Stdio::null());
        shell
    }

    /// Runs a command to its end, or leaves a server running.
    fn run(&mut self, command: &str) {
        let adapted = self.adapted(command);
        if command.starts_with("narrows serve") {
            for one in adapted.split('&').map(str::trim).filter(|one| !one.is_empty()) {
                self.serve(one);
            }
            return;
        }
        let output = self.shell(&adapted).output().unwrap();
        let code = output.status.code();
        // Code 4: in so short a time not all is measured.
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            matches!(code, Some(0 | 4)),
            "`{command}`, run as `{adapted}`, ended with {code:?}: {stderr}"
        );
    }

    fn serve(&mut self, command: &str) {
        use std::io::{BufRead, BufReader};
        let mut child = self.shell(&format!("exec {command}")).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let mut lines = BufReader::new(stdout).lines();
        let is_ready = lines.by_ref().map_while(Result::ok).any(|line| line.contains("listening on"));
        assert!(is_ready, "`{command}` does not listen");
        // Its lines are read on, so that it never waits for a reader.
        std::thread::spawn(move || lines.map_while(Result::ok).count());
        self.servers.push(Guarded(child));
    }
}

#[test]
fn every_command_of_the_readme_runs_as_printed() {
    let readme = std::fs::read_to_string(Path::new(README)).unwrap();
    let mut run = ReadmeRun::new(&readme);
    let mut count = 0;
    for command in commands(&readme) {
        if let Some((_, reason)) = NOT_RUN.iter().find(|(start, _)| command.starts_with(start)) {
            assert!(!reason.is_empty());
            continue;
        }
        run.run(&command);
        count += 1;
    }
    assert!(count >= 15, "{count} commands were found");
    for size in [LARGEST_FILE, BONNIE_SIZE] {
        assert!(readme.contains(size), "{size} is not in the README any more, and was to be replaced");
    }
}

#[test]
fn the_readme_starts_with_how_to_get_the_program_into_the_path() {
    let readme = std::fs::read_to_string(Path::new(README)).unwrap();
    let first = commands(&readme).into_iter().take(8).collect::<Vec<_>>().join("\n");
    for part in ["./quickstart", "target/release/narrows", "/bin", "narrows --version"] {
        assert!(first.contains(part), "`{part}` is not among the first commands:\n{first}");
    }
}

#[test]
fn readme_and_help_and_plan_agree_on_how_much_is_written() {
    let readme = std::fs::read_to_string(Path::new(README)).unwrap();
    let readme = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    let request = narrows_study::CheckRequest::new("/srv/data".parse().unwrap());
    let load = narrows_study::plan_check(&request).unwrap().load;
    let whole_gib = |bytes: narrows_model::Bytes| format!("{} GiB", bytes.0 >> 30);
    let (files, writes) = (whole_gib(load.file_bytes_max), whole_gib(load.write_bytes_max.unwrap()));
    let folder = tempfile::tempdir().unwrap();
    let help = crate::support::run(folder.path(), &["check", "--help"]).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for (name, text) in [("README", &readme), ("help", &help)] {
        assert!(text.contains(&format!("files of {files} at once")), "{name}: files of {files} at once");
        assert!(text.contains(&format!("writes {writes} in all")), "{name}: writes {writes} in all");
    }
}
