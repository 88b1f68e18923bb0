//! A `narrows` that runs while the test looks at it: its lines as they come, its end in bounded time.
//!
//! Nothing here sleeps: lines come through a channel that is waited for with a deadline.

use super::{Guarded, Seen, narrows};
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longer than any step takes on a busy machine.
pub(crate) const SOON: Duration = Duration::from_mins(1);

/// A running command.
pub(crate) struct Running {
    child: Guarded,
    stderr: Receiver<String>,
    stdout: Option<JoinHandle<String>>,
    said: String,
}

impl Running {
    /// Starts the binary in `folder`.
    pub(crate) fn start(folder: &Path, words: &[&str]) -> Self {
        Self::start_command(narrows(folder, words))
    }

    /// Starts `command`, which runs the binary.
    pub(crate) fn start_command(command: Command) -> Self {
        Self::start_into(command, Stdio::piped())
    }

    /// The same with another stdout than one that is read.
    pub(crate) fn start_into(mut command: Command, stdout: Stdio) -> Self {
        command.stdout(stdout).stderr(Stdio::piped());
        let mut child = Guarded(command.spawn().unwrap());
        let stderr = lines(child.0.stderr.take().unwrap());
        let stdout = child.0.stdout.take().map(|mut pipe| {
            std::thread::spawn(move || {
                let mut text = String::new();
                drop(pipe.read_to_string(&mut text));
                text
            })
        });
        Self { child, stderr, stdout, said: String::new() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.0.id()
    }

    /// Waits for a line on stderr that contains `pattern`.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, pattern: &str) -> String {
        loop {
            match self.stderr.recv_timeout(SOON) {
                Ok(line) => {
                    self.said.push_str(&line);
                    self.said.push('\n');
                    if line.contains(pattern) {
                        return line;
                    }
                }
                Err(error) => panic!("no line with `{pattern}` ({error}): {}", self.said),
            }
        }
    }

    /// Sends a signal by its name, such as `INT`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.pid())]).status().unwrap();
        assert!(sent.success(), "kill -{name}");
    }

    /// Waits until all processes with its stderr open, children included, are gone; fails if that takes longer.
    #[track_caller]
    pub(crate) fn wait_until_all_are_gone(&mut self, within: Duration) {
        loop {
            match self.stderr.recv_timeout(within) {
                Ok(line) => {
                    self.said.push_str(&line);
                    self.said.push('\n');
                }
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => panic!("a child is still there: {}", self.said),
            }
        }
    }

    /// Whether it ends within `within`.
    pub(crate) fn ends_within(&mut self, within: Duration) -> bool {
        ends_within(&mut self.child.0, within)
    }

    /// Its end, and all that it said.
    #[track_caller]
    pub(crate) fn end(mut self) -> Seen {
        self.wait_until_all_are_gone(SOON);
        let status = self.child.0.wait().unwrap();
        let stdout = self.stdout.take().map(|stdout| stdout.join().unwrap()).unwrap_or_default();
        Seen { code: status.code(), stdout, stderr: std::mem::take(&mut self.said) }
    }
}

/// The folders in `/proc` of the children of the process `pid`.
pub(crate) fn children_of(pid: u32) -> Vec<PathBuf> {
    let parent = format!("PPid:\t{pid}\n");
    let processes = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let is_child = |path: &PathBuf| {
        // Others come and go meanwhile.
        std::fs::read_to_string(path.join("status")).is_ok_and(|status| status.contains(&parent))
    };
    processes.filter(is_child).collect()
}

/// Whether `child` ends within `within`.
pub(crate) fn ends_within(child: &mut Child, within: Duration) -> bool {
    waited(within, || child.try_wait().unwrap().is_some())
}

/// Waits until the manifest of `record` says how the run ended.
#[track_caller]
pub(crate) fn wait_until_finished(record: &Path) {
    let is_finished = || {
        let manifest = std::fs::read_to_string(record.join("manifest.json")).unwrap_or_default();
        manifest.contains("\"complete\": \"")
    };
    assert!(waited(SOON / 4, is_finished), "{} is not finished", record.display());
}

/// A pipe that nobody reads, and that takes no more.
pub(crate) fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    narrows_sys::output::write_within(&writer, &"x".repeat(4 << 20), Duration::from_millis(1));
    (reader, writer)
}

/// Whether `is_so` within `within`, asked every 5 ms.
pub(crate) fn waited(within: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let (_open, pause) = channel::<()>();
    let looks = within.as_millis() / 5;
    (0..=looks).any(|_| {
        is_so() || {
            let _ = pause.recv_timeout(Duration::from_millis(5));
            false
        }
    })
}

/// Waits until the `record` shows that `count` phases of one of the names have begun.
#[track_caller]
pub(crate) fn wait_for_phases(record: &Path, names: &[&str], count: usize) {
    let begun = || {
        let events = std::fs::read_to_string(record.join("events.jsonl")).unwrap_or_default();
        let is_one = |line: &&str| names.iter().any(|name| line.contains(&format!(r#""phase":"{name}""#)));
        events.lines().filter(is_one).count()
    };
    let have_begun = waited(Duration::from_secs(10), || begun() >= count);
    assert!(have_begun, "{} of {count} phases {names:?} began in {}", begun(), record.display());
}

fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            drop(sender.send(line));
        }
    });
    lines
}

/// A `narrows serve` on loopback that ends with this value.
pub(crate) struct Served {
    child: Guarded,
    /// HOST:PORT.
    pub(crate) address: String,
}

impl Served {
    /// Starts it in `folder`, on a free port.
    pub(crate) fn start(folder: &Path, words: &[&str]) -> Self {
        Self::of("serve", folder, words)
    }

    /// Starts another `command` that says where it listens.
    pub(crate) fn of(command: &str, folder: &Path, words: &[&str]) -> Self {
        Self::at("127.0.0.1:0", command, folder, words, Stdio::inherit())
    }

    /// Starts it at an address, with its stderr where it is wanted.
    pub(crate) fn at(listen: &str, command: &str, folder: &Path, words: &[&str], stderr: Stdio) -> Self {
        let all = [&[command, "--listen", listen], words].concat();
        let mut command = narrows(folder, &all);
        command.stdout(Stdio::piped()).stderr(stderr);
        let mut child = Guarded(command.spawn().unwrap());
        let mut line = String::new();
        BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, address }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.0.id()
    }

    /// Sends a signal by its name, such as `STOP`.
    pub(crate) fn signal(&self, name: &str) {
        let sent =
            Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status().unwrap();
        assert!(sent.success(), "kill -{name}");
    }

    /// Kills it as a crash would.
    pub(crate) fn kill9(&mut self) {
        self.child.0.kill().unwrap();
        self.child.0.wait().unwrap();
    }
}

/// A study of two cells, each of two clients, which wait most of the time.
pub(crate) const TWO_CELLS_OF_TWO_CLIENTS: &str = r#"
target = "null:"
seconds = 30
cuts = []
[workload]
clients = 2
max_rate = "10MiB/s"
[sweep]
block = ["4KiB", "8KiB"]
[stop]
warm_up = "0s"
measure = "4s"
"#;
