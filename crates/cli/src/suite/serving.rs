//! Servers that this command starts for a suite: an endpoint each, in a folder of its own.

use crate::exit::CommandFailure;
use crate::measurement::{self, ServeProcess, random_u64};
use crate::token;
use clap::ValueEnum;
use narrows_engines::psync::TestFolder;
use narrows_suites::jovian::ServersToStart;
use std::path::Path;

/// The longest that a run may take, for servers that would end a session sooner.
const SESSION_SECONDS: u32 = 7 * 24 * 3600;
/// Room at each of them for the files of cuts, beside those of clients.
const CUT_BYTES: u64 = 1 << 30;

/// Servers of this command; they end with it, and their folders are removed.
pub(super) struct Nodes {
    /// Dropped before the folder that contains them.
    _processes: Vec<ServeProcess>,
    _folder: TestFolder,
    pub(super) addresses: Vec<(String, u16)>,
    pub(super) token: Vec<u8>,
}

impl Nodes {
    /// Starts servers in folders of their own in `root`.
    ///
    /// # Errors
    /// When this user may not write in `root`, or a server cannot be started.
    pub(super) fn start(root: &Path, serving: &ServersToStart) -> Result<Self, CommandFailure> {
        let folder = measurement::make(root, random_u64()?)?;
        let token = token::drawn()?;
        let mut processes = Vec::new();
        let mut addresses = Vec::new();
        for node in 1..=serving.count {
            let own = folder.path().join(format!("node{node}"));
            std::fs::create_dir(&own)
                .map_err(|error| CommandFailure::could_not_run(format!("make {}: {error}", own.display())))?;
            let (process, port) = ServeProcess::start(&own, &token, &words_of(serving))?;
            processes.push(process);
            addresses.push(("127.0.0.1".to_owned(), port));
        }
        Ok(Self { _processes: processes, _folder: folder, addresses, token })
    }
}

/// The words of `narrows serve`.
fn words_of(serving: &ServersToStart) -> Vec<String> {
    let bytes = serving.file_bytes.0.saturating_mul(2).saturating_add(CUT_BYTES);
    let mut words = vec![
        "--max-bytes".to_owned(),
        bytes.to_string(),
        "--max-seconds".to_owned(),
        SESSION_SECONDS.to_string(),
    ];
    if let Some(count) = serving.disk_threads {
        words.extend(["--disk-threads".to_owned(), count.to_string()]);
    }
    let priority = serving.priority.to_possible_value();
    words.extend(
        priority.into_iter().flat_map(|value| ["--priority".to_owned(), value.get_name().to_owned()]),
    );
    words
}
