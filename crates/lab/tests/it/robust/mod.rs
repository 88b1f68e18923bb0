//! What the tests of robustness share: small file systems of their own, and looking at what is around a run.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use narrows_lab::{Lab, narrows_bin};

/// A file system that is unmounted when the test ends, however it ends. Declare it after its [`Lab`].
#[derive(Debug)]
pub(crate) struct Mounted {
    point: PathBuf,
}

impl Mounted {
    /// A tmpfs of `size_bytes`.
    pub(crate) fn tmpfs(lab: &Lab, name: &str, size_bytes: u64) -> Self {
        Self::mount(lab, name, &["-t", "tmpfs", "-o", &format!("size={size_bytes},mode=755"), "tmpfs"])
    }

    /// An ext4 of `mebibytes` in a file, mounted with `options`.
    pub(crate) fn ext4(lab: &Lab, name: &str, mebibytes: u64, options: &str) -> Self {
        let image = lab.scratch().join(format!("{name}.img"));
        fs::File::create(&image).unwrap().set_len(mebibytes << 20).unwrap();
        succeed(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image));
        Self::mount(lab, name, &["-o", &format!("loop,{options}"), image.to_str().unwrap()])
    }

    fn mount(lab: &Lab, name: &str, words: &[&str]) -> Self {
        let point = lab.scratch().join(name);
        fs::create_dir(&point).unwrap();
        succeed(Command::new("mount").args(words).arg(&point));
        Self { point }
    }

    /// What is mounted at `point` by somebody else.
    pub(crate) fn found(point: &Path) -> Self {
        Self { point: point.to_path_buf() }
    }

    /// Makes it read-only.
    pub(crate) fn forbid_writing(&self) {
        succeed(Command::new("mount").args(["-o", "remount,ro"]).arg(&self.point));
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.point
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily: a program that a failing test leaves behind must not keep the mount.
        drop(Command::new("umount").arg("-l").arg(&self.point).status());
    }
}

#[track_caller]
fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The release binary in the lab's scratch folder, without input.
pub(crate) fn narrows(lab: &Lab, words: &[&str]) -> Command {
    let mut command = Command::new(narrows_bin().unwrap());
    command.args(words).current_dir(lab.scratch()).stdin(Stdio::null());
    command
}

/// Words for a check that is over in about a second.
pub(crate) const SHORT: [&str; 10] =
    ["--seconds", "4", "--cell-seconds", "0.1", "--block", "4KiB", "--depth", "1", "--op", "read"];

/// What a finished command left on the terminal.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Seen {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Fails unless it ended with `code` and said all of `words` on stderr, in messages and not in a panic.
    #[track_caller]
    pub(crate) fn assert_said(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is not said: {}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked") && !self.stdout.contains("panicked"), "{self:#?}");
    }
}

/// Runs a command to its end.
pub(crate) fn see(command: &mut Command) -> Seen {
    Seen::of(&command.output().unwrap())
}

/// Names, rights and contents of everything below a folder.
pub(crate) fn surroundings(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let status = fs::symlink_metadata(&path).unwrap();
            let content = if status.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            if status.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path, (status.permissions().mode(), content));
        }
    }
    found
}
