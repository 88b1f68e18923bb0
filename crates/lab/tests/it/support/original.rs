//! The programs that suites reproduce, where the distribution has them.

use std::path::PathBuf;
use std::process::Command;

/// The packaged program of this name; or nothing, with the reason printed, where it is missing and nobody insists
/// (`CI=true` does).
#[allow(clippy::print_stdout, reason = "the reason of a skipped test must be seen")]
#[allow(clippy::disallowed_methods, reason = "whether a skip is a failure is the environment's to say")]
pub(crate) fn original(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    // Where programs of root are, which is not in everybody's path.
    let found = std::env::split_paths(&folders).chain([PathBuf::from("/usr/sbin")]).map(|dir| dir.join(name));
    let found = found.into_iter().find(|path| path.is_file());
    if found.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "lab: not run: it needs the command {name}");
        println!("lab: not run: it needs the command {name}");
    }
    found
}

/// What `narrows suite WORDS` prints, without cuts and verdict.
///
/// # Panics
///
/// If it fails.
pub(crate) fn suite_output(words: &[&str]) -> String {
    let record = tempfile::tempdir().unwrap();
    let mut command = Command::new(narrows_lab::narrows_bin().unwrap());
    command
        .arg("suite")
        .args(words)
        .args(["--no-verdict", "--quiet", "--out"])
        .arg(record.path().join("record"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
