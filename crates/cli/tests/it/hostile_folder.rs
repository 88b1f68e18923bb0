//! Another user of the same machine who may write in the target folder, and works against a run in it.

use crate::support::{Guarded, Seen, narrows};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Two users without accounts.
pub(crate) const ATTACKER: u32 = 61_001;
pub(crate) const OWNER: u32 = 65_534;
/// A short check that writes.
const SHORT: [&str; 10] =
    ["--seconds", "8", "--cell-seconds", "0.1", "--block", "4KiB", "--depth", "1", "--op", "write"];

/// A folder in which everybody may write, and a file of the owner outside it; nothing where the test is not run by root.
pub(crate) struct Shared {
    folder: tempfile::TempDir,
}

impl Shared {
    pub(crate) fn make() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        if fs::metadata(folder.path()).unwrap().uid() != 0 {
            drop(writeln!(std::io::stderr(), "skipped: only root may act as two users"));
            return None;
        }
        let all = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        all(folder.path(), 0o755);
        for name in ["shared", "home"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        all(&folder.path().join("shared"), 0o777);
        let secret = folder.path().join("home/secret");
        fs::write(&secret, vec![b's'; 1 << 20]).unwrap();
        for path in [folder.path().join("home"), secret] {
            std::os::unix::fs::chown(path, Some(OWNER), Some(OWNER)).unwrap();
        }
        Some(Self { folder })
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Fails unless the file outside is as it was.
    #[track_caller]
    pub(crate) fn assert_untouched(&self, seen: &Seen) {
        let secret = fs::read(self.path("home/secret")).unwrap();
        assert!(secret == vec![b's'; 1 << 20], "a foreign file was overwritten: {seen:#?}");
    }

    /// Runs `script` as the other user until its guard is dropped.
    pub(crate) fn attack(&self, script: &str) -> Guarded {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(self.path("shared")).uid(ATTACKER).gid(ATTACKER);
        Guarded(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Checks the shared folder as its owner.
    fn check(&self, more: &[&str]) -> Seen {
        self.run(&[&["check", "../shared", "--out", "record"][..], &SHORT, more].concat())
    }

    /// Runs the study `text` of loads of the shared folder as its owner.
    fn study(&self, text: &str) -> Seen {
        fs::write(self.path("home/study.toml"), text).unwrap();
        self.run(&["run", "study.toml", "--out", "record"])
    }

    /// Runs `words` as the owner, who has given all rights on what they make to everybody.
    pub(crate) fn run(&self, words: &[&str]) -> Seen {
        self.run_under("0", words)
    }

    /// Runs `words` as the owner, with the umask `umask`.
    pub(crate) fn run_under(&self, umask: &str, words: &[&str]) -> Seen {
        let inner = narrows(&self.path("home"), &[]);
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")])
            .arg(std::env::var_os("NARROWS_OLD").unwrap_or(inner.get_program().into()));
        command.args(words);
        let done = command.current_dir(self.path("home")).uid(OWNER).gid(OWNER).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Seen { code: done.status.code(), stdout: text(done.stdout), stderr: text(done.stderr) }
    }
}

/// Puts another folder in the place of the test folder, once, soon after it was made.
const REPLACE_FOLDER: &str = "until [ -f stolen ]; do sleep 0.02; for each in .narrows-*; do [ ! -d \"$each\" ] || { \
     sleep 0.3; : > stolen; mv \"$each\" moved && mkdir -m 777 \"$each\" && : > \"$each/made-by-narrows\" \
     && ln -s ../../home/secret \"$each/data-0\" && ln -s ../../home/secret \"$each/data-1\"; }; done; done";

/// Fails unless the folder's replacement ended a run of eight cells of `workload` at once.
#[track_caller]
fn assert_replacement_ends_the_run(workload: &str) {
    let Some(shared) = Shared::make() else { return };
    let attack = shared.attack(REPLACE_FOLDER);
    let seen = shared.study(&format!(
        "title = \"replaced\"\ntarget = \"../shared\"\nseconds = 60\n[workload]\nop = \"write\"\n\
         file = \"8MiB\"\n{workload}\n[stop]\nmeasure = \"500ms\"\ntrials = 1\n\
         [sweep]\nblock = [\"4KiB\", \"8KiB\", \"16KiB\", \"32KiB\", \"64KiB\", \"128KiB\", \"256KiB\", \"512KiB\"]\n"
    ));
    drop(attack);
    shared.assert_untouched(&seen);
    assert_eq!(seen.code, Some(4), "{workload}: {seen:#?}");
    assert!(seen.stderr.contains("replaced"), "{workload}: {seen:#?}");
    let events = fs::read_to_string(shared.path("home/record/events.jsonl")).unwrap();
    assert!(events.contains("\"trial_finished\""), "what was measured is kept: {events}");
    let failed = events.matches("\"cell_failed\"").count();
    assert!(failed <= 1, "no cell is tried after the replacement was found: {failed} failed");
    assert!(events.contains("\"failed\""), "{workload}: the run ends as failed");
}

#[test]
fn a_replaced_folder_ends_a_run_through_uring() {
    assert_replacement_ends_the_run("engine = \"uring\"");
}

#[test]
fn a_replaced_folder_ends_a_run_through_mmap() {
    assert_replacement_ends_the_run("engine = \"mmap\"");
}

#[test]
fn a_replaced_folder_ends_a_run_through_stdio() {
    assert_replacement_ends_the_run("engine = \"stdio\"");
}

#[test]
fn a_replaced_folder_ends_a_run_of_client_processes() {
    assert_replacement_ends_the_run("clients = 2");
}

#[test]
fn a_data_file_replaced_by_a_link_costs_nothing_outside_the_folder() {
    let Some(shared) = Shared::make() else { return };
    let attack = shared.attack(
        "while :; do for each in .narrows-*/data-0; do [ -f \"$each\" ] && [ ! -L \"$each\" ] \
         && rm -f \"$each\" && ln -s ../../home/secret \"$each\"; done; done",
    );
    let seen = shared.check(&[]);
    drop(attack);
    shared.assert_untouched(&seen);
    assert_eq!(seen.code, Some(0), "nobody else can look into the folder: {seen:#?}");
}

#[test]
fn a_test_folder_put_in_the_place_of_ours_ends_the_check_with_exit_4() {
    let Some(shared) = Shared::make() else { return };
    let attack = shared.attack(REPLACE_FOLDER);
    let seen = shared.check(&[]);
    drop(attack);
    shared.assert_untouched(&seen);
    assert_eq!(seen.code, Some(4), "{seen:#?}");
    assert!(seen.stderr.contains("replaced"), "{seen:#?}");
    // The reason is in the result too, and more time is no advice.
    assert!(seen.stdout.contains("replaced") && !seen.stdout.contains("more time"), "{seen:#?}");
    let links = fs::read_dir(shared.path("shared"))
        .unwrap()
        .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().join("data-0").is_symlink()));
    assert_eq!(links.count(), 1, "what the other user made is left as it is");
}
