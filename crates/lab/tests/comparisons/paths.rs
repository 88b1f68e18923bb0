//! The paths that are compared with themselves.

use crate::support::check::{Served, local_check_command, serve};
use narrows_lab::{Host, Lab};
use std::fs;
use std::process::Command;

/// A kind of path, and the check of it.
pub(crate) struct MeasuredPath {
    /// In a word.
    pub name: &'static str,
    /// Words of the check.
    pub words: &'static str,
    /// Makes it.
    pub prepare: fn(&Lab) -> PreparedPath,
}

/// A path that is there as long as this is.
pub(crate) struct PreparedPath {
    /// A check of it, without its words.
    pub check: Box<dyn Fn(&Lab) -> Command>,
}

/// The kinds.
pub(crate) const MEASURED_PATHS: [MeasuredPath; 3] = [
    MeasuredPath { name: "memory", words: "--seconds 8", prepare: memory },
    MeasuredPath { name: "disk", words: "--seconds 8", prepare: disk },
    MeasuredPath { name: "link", words: "--seconds 8 --block 64KiB --depth 16", prepare: steady_link },
];

fn memory(_lab: &Lab) -> PreparedPath {
    let folder = tempfile::Builder::new().prefix("narrows-lab-").tempdir_in("/dev/shm").unwrap();
    PreparedPath { check: Box::new(move |_| local_check_command(folder.path())) }
}

fn disk(lab: &Lab) -> PreparedPath {
    let folder = lab.scratch().join("disk");
    fs::create_dir(&folder).unwrap();
    PreparedPath { check: Box::new(move |_| local_check_command(&folder)) }
}

fn steady_link(lab: &Lab) -> PreparedPath {
    let link = link(lab);
    link.set_rate("100mbit");
    PreparedPath { check: Box::new(move |lab| link.check(lab)) }
}

/// An endpoint behind a link whose rate can be set.
pub(crate) struct Link {
    client: Host,
    server: Host,
    served: Served,
}

/// Makes a link and serves the memory of an endpoint behind it.
pub(crate) fn link(lab: &Lab) -> Link {
    let (server, client) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    let served = serve(lab, &server, None, |_| {});
    Link { client, server, served }
}

impl Link {
    /// Sets the rate of both directions.
    pub(crate) fn set_rate(&self, rate: &str) {
        self.server.limit_rate(rate).unwrap();
    }

    /// A check of the memory behind it, without its words.
    pub(crate) fn check(&self, _lab: &Lab) -> Command {
        self.served.check_command(&self.client, "memory")
    }
}
