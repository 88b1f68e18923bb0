//! The programs of the run: narrows and the bare loops, built once, and the peers that the distribution brings.

use crate::workspace::{Workspace, cargo};
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is built: the words after `cargo build`.
const BUILDS: [&[&str]; 3] = [
    &["--package", "narrows"],
    &["--package", "narrows-sys", "--examples"],
    &["--package", "narrows-remote", "--examples"],
];

/// Another program that narrows is measured against.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PeerProgram {
    pub(crate) name: &'static str,
    /// What it says of its version; `None` where it is not installed.
    pub(crate) version: Option<String>,
}

impl PeerProgram {
    fn ask(name: &'static str) -> Self {
        Self::ask_by(name, "--version")
    }

    /// Asks by another word than most; the version is on the first line that speaks of one, or on the first at all.
    fn ask_by(name: &'static str, word: &str) -> Self {
        let answer = Command::new(name).arg(word).output().ok();
        // bonnie++ has no such option, and prints its version in its usage text: on standard error.
        let text = answer.map(|answer| {
            let output = if answer.stdout.is_empty() { answer.stderr } else { answer.stdout };
            String::from_utf8_lossy(&output).into_owned()
        });
        let line = |text: &String| {
            let named = text.lines().find(|line| line.contains(" version ") || line.starts_with("Version: "));
            named.or_else(|| text.lines().next()).map(str::to_owned)
        };
        Self { name, version: text.as_ref().and_then(line) }
    }

    /// A command line of it, or in words that it is missing.
    ///
    /// # Errors
    /// It is not installed; the error says what is not compared for it.
    pub(crate) fn command(&self) -> Result<Command, String> {
        match &self.version {
            Some(_) => Ok(Command::new(self.name)),
            None => Err(format!(
                "{0} is not installed, so nothing is compared with it (apt install {0})",
                self.name
            )),
        }
    }
}

/// The programs.
#[derive(Debug)]
pub(crate) struct Tools {
    narrows: PathBuf,
    examples: PathBuf,
    /// Where cargo builds, and where `./test` puts programs that are built from source.
    pub(crate) target_folder: PathBuf,
    pub(crate) fio: PeerProgram,
    pub(crate) iperf3: PeerProgram,
    pub(crate) socat: PeerProgram,
    pub(crate) haproxy: PeerProgram,
    pub(crate) postmark: PeerProgram,
    pub(crate) bonnie: PeerProgram,
}

impl Tools {
    /// Builds what is the project's own, as it is released, and looks for the peers.
    ///
    /// # Errors
    /// A build that fails.
    pub(crate) fn build(workspace: &Workspace) -> anyhow::Result<Self> {
        for words in BUILDS {
            let arguments = [&["build", "--release", "--locked", "--quiet"], words].concat();
            let status =
                cargo(&workspace.root, &arguments).status().context("could not start cargo build")?;
            if !status.success() {
                bail!("cargo {} failed ({status})", arguments.join(" "));
            }
        }
        let release = release_folder(workspace);
        Ok(Self {
            narrows: release.join("narrows"),
            examples: release.join("examples"),
            target_folder: target_folder(workspace).to_owned(),
            fio: PeerProgram::ask("fio"),
            iperf3: PeerProgram::ask("iperf3"),
            socat: PeerProgram::ask_by("socat", "-V"),
            haproxy: PeerProgram::ask_by("haproxy", "-v"),
            postmark: PeerProgram::ask("postmark"),
            bonnie: PeerProgram::ask("bonnie++"),
        })
    }

    /// A command line of narrows.
    pub(crate) fn narrows(&self) -> Command {
        Command::new(&self.narrows)
    }

    /// A command line of a bare loop.
    pub(crate) fn bare(&self, name: &str) -> Command {
        Command::new(self.examples.join(name))
    }
}

fn release_folder(workspace: &Workspace) -> PathBuf {
    target_folder(workspace).join("release")
}

/// Where cargo builds, which is where the run makes its own folder.
pub(crate) fn target_folder(workspace: &Workspace) -> &Path {
    workspace.metadata.target_directory.as_std_path()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_not_there_is_reported_with_how_to_get_it() {
        let peer = PeerProgram::ask("narrows-has-no-such-peer");
        assert_eq!(peer.version, None);
        assert!(peer.command().expect_err("not installed").contains("apt install narrows-has-no-such-peer"));
    }

    #[test]
    fn a_peer_that_is_there_reports_its_version() {
        let peer = PeerProgram::ask("cargo");
        assert!(peer.version.as_deref().is_some_and(|text| text.starts_with("cargo ")), "{peer:?}");
        assert!(peer.command().is_ok());
    }
}
