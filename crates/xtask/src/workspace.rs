//! The workspace as cargo and git see it: root folder, packages, resolved graph, files.
//!
//! No rule is evaluated here. Cargo is asked with `--locked`, so that a check never changes `Cargo.lock`, and for this
//! host only, so that no package of another operating system is downloaded or counted.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use cargo_metadata::{Metadata, MetadataCommand};

/// The workspace that the current folder is in.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) metadata: Metadata,
}

impl Workspace {
    /// The workspace around the current folder, with its resolved dependencies.
    ///
    /// # Errors
    /// No workspace here, a `Cargo.lock` that lags behind a `Cargo.toml`, or packages that cannot be fetched.
    pub(crate) fn load() -> anyhow::Result<Self> {
        let host = host_triple()?;
        let metadata = MetadataCommand::new()
            .other_options(vec!["--locked".to_owned(), "--filter-platform".to_owned(), host])
            .exec()
            .context("cargo metadata failed (a Cargo.lock out of date is brought up by `cargo check`)")?;
        let root = metadata.workspace_root.clone().into_std_path_buf();
        Ok(Self { root, metadata })
    }
}

/// Every file below `root` that is tracked, or would be once added: paths from the root, `/` between folders, sorted.
///
/// # Errors
/// No git, or a folder that is not a work tree.
pub(crate) fn files(root: &Path) -> anyhow::Result<Vec<String>> {
    let listing = Command::new("git")
        // A checkout owned by another user is only read here.
        .args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("could not start git, which lists the files to be checked; install it")?;
    if !listing.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&listing.stderr).trim());
    }
    let text = String::from_utf8(listing.stdout).context("a file name is not UTF-8")?;
    let mut files: Vec<String> =
        text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    files.sort();
    files.dedup();
    // What is tracked and has been deleted has no text to check.
    files.retain(|name| root.join(name).is_file());
    Ok(files)
}

/// Name and version of each package of a build.
pub(crate) type BuiltPackages = BTreeSet<(String, String)>;

/// Every package that building `package` compiles for this host, its own included.
///
/// Not from `cargo metadata`, which unites the features of all members with those that tests alone have.
///
/// # Errors
/// `cargo tree` fails, or prints a line without a name and a version.
pub(crate) fn built_packages(root: &Path, package: &str) -> anyhow::Result<BuiltPackages> {
    let words = ["tree", "--locked", "--package", package, "--edges", "normal,build", "--prefix", "none"];
    let tree =
        cargo(root, &words).args(["--format", "{p}"]).output().context("could not start cargo tree")?;
    if !tree.status.success() {
        bail!("cargo tree failed: {}", String::from_utf8_lossy(&tree.stderr).trim());
    }
    String::from_utf8_lossy(&tree.stdout).lines().map(built_package).collect()
}

/// A line of `cargo tree`: `serde v1.0.0 (proc-macro)`.
fn built_package(line: &str) -> anyhow::Result<(String, String)> {
    let mut words = line.split(' ');
    let named = words.next().zip(words.next().and_then(|version| version.strip_prefix('v')));
    let (name, version) = named.with_context(|| format!("cargo tree printed no package: {line:?}"))?;
    Ok((name.to_owned(), version.to_owned()))
}

/// A command line of the cargo that runs this chore, in `root`.
pub(crate) fn cargo<S: AsRef<OsStr>>(root: &Path, arguments: &[S]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root);
    command
}

fn host_triple() -> anyhow::Result<String> {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let answer = Command::new(&program)
        .arg("-vV")
        .output()
        .with_context(|| format!("could not start {}", program.to_string_lossy()))?;
    let text = String::from_utf8_lossy(&answer.stdout);
    text.lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .with_context(|| format!("`rustc -vV` named no host; it said: {text}"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::{built_package, built_packages, files};

    fn git(root: &Path, arguments: &[&str]) {
        let status = Command::new("git").args(arguments).current_dir(root).status().expect("git starts");
        assert!(status.success(), "git {arguments:?}");
    }

    #[test]
    fn files_are_what_is_tracked_or_would_be_and_still_there() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let root = folder.path();
        git(root, &["init", "--quiet"]);
        for (name, text) in [(".gitignore", "/ignored\n"), ("ignored", ""), ("gone", ""), ("tracked", "")] {
            fs::write(root.join(name), text).expect("a file can be written");
        }
        git(root, &["add", "gone", "tracked"]);
        fs::remove_file(root.join("gone")).expect("a file can be removed");
        fs::create_dir(root.join("a b")).expect("a folder can be made");
        fs::write(root.join("a b/new"), "").expect("a file can be written");
        assert_eq!(files(root).expect("git lists"), [".gitignore", "a b/new", "tracked"]);
    }

    #[test]
    fn a_line_of_a_tree_is_a_package_or_an_error() {
        let package = |line| built_package(line).ok();
        let named = |name: &str, version: &str| Some((name.to_owned(), version.to_owned()));
        assert_eq!(package("serde v1.0.2 (proc-macro)"), named("serde", "1.0.2"));
        assert_eq!(package("narrows v0.1.0 (/a folder/cli) (*)"), named("narrows", "0.1.0"));
        assert_eq!((package(""), package("[build-dependencies]")), (None, None));
    }

    #[test]
    fn a_package_that_does_not_exist_is_an_error() {
        let error =
            built_packages(Path::new(env!("CARGO_MANIFEST_DIR")), "no-such-package").expect_err("none");
        assert!(error.to_string().contains("cargo tree failed"), "{error}");
    }

    #[test]
    fn a_folder_without_git_is_refused() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let error = files(folder.path()).expect_err("not a work tree");
        assert!(error.to_string().contains("git ls-files failed"), "{error}");
    }
}
