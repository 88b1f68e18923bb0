//! What the suites on a folder share: the check of the same folder whose cuts lie under their tests, what is known of the
//! machine, and the run of their plan.
//!
//! Not here: what is asked of a suite, and what becomes of its output, which are each suite's own.

use super::no_folder;
use crate::args::{CheckArguments, OutputArguments, SuiteCutArguments};
use crate::check::{self, CheckServer, Prepared};
use crate::console::Console;
use crate::exit::Failure;
use crate::measurement::{self, PathFound, Ran, Terms, Undertaking, Watch};
use narrows_model::{Bytes, Plan, Target};
use std::path::{Path, PathBuf};

/// Time that the plan of the check may take whose cuts are measured: all of them, on any path.
const CUTS_SECONDS: f64 = 3600.0;

/// A folder that a suite is to run on.
pub(super) struct OnFolder<'a> {
    /// The folder.
    pub(super) dir: &'a Path,
    /// What was asked of the cuts.
    pub(super) cuts: &'a SuiteCutArguments,
    /// Time of each of them where none was asked for, in seconds.
    pub(super) cell_seconds: f64,
    /// The seed; one is drawn without it.
    pub(super) seed: Option<u64>,
    /// Block of the cuts.
    pub(super) block: Bytes,
}

impl OnFolder<'_> {
    /// Looks at the folder, connects to its server and plans the check of it.
    ///
    /// # Errors
    /// When the folder is none or cannot be used, or its server cannot.
    pub(super) fn prepare(
        &self,
        output: &OutputArguments,
        watch: &Watch,
        console: &Console,
    ) -> Result<Prepared, Failure> {
        check_folder(self.dir)?;
        let arguments = CheckArguments {
            target: Target::File { path: self.dir.to_path_buf() },
            server: self.cuts.server.clone(),
            token_file: self.cuts.token_file.clone(),
            seconds: CUTS_SECONDS,
            cell_seconds: Some(self.cuts.cell_seconds.unwrap_or(self.cell_seconds)),
            trials: 1,
            seed: self.seed,
            block: vec![self.block],
            depth: vec![1],
            op: Vec::new(),
            max_rate: None,
            deep: false,
            output: output.clone(),
        };
        check::prepare(&arguments, watch, console)
    }

    /// Where the suite's files go: the folder that was made for them, or the one that was named where none is made.
    pub(super) fn own(&self, prepared: &Prepared) -> PathBuf {
        prepared.place.own_folder().unwrap_or(self.dir).to_path_buf()
    }
}

/// Fails where `dir` is no folder.
pub(super) fn check_folder(dir: &Path) -> Result<(), Failure> {
    if !dir.exists()
        && let Some(problem) = no_folder::refusal(dir)
    {
        return Err(Failure::bad_input(problem));
    }
    match measurement::examine(dir)? {
        PathFound::Folder => Ok(()),
        PathFound::File { .. } => Err(Failure::bad_input(format!(
            "{} is a file; give the folder in which the suite makes files of its own",
            dir.display()
        ))),
    }
}

/// What a request needs to know of the machine.
pub(super) struct Room {
    /// Memory that this process may use.
    pub(super) memory: Option<Bytes>,
    /// Free room in the folder.
    pub(super) free: Option<Bytes>,
}

impl Room {
    /// What was found out about it.
    pub(super) fn of(prepared: &Prepared) -> Self {
        let inventory = prepared.place.inventory();
        Self {
            memory: inventory.host.memory_limit_bytes.or(inventory.host.memory_bytes),
            free: inventory.path.as_ref().and_then(|path| path.free_bytes),
        }
    }
}

/// Says what would be run, or runs it; `None` where it was only said.
///
/// # Errors
/// When the record cannot be made; what happens later is in the record.
pub(super) fn run(
    plan: &Plan,
    prepared: &mut Prepared,
    watch: &Watch,
    terms: Terms<'_>,
) -> Result<Option<Ran>, Failure> {
    if terms.output.plan {
        terms.print_plan(plan)?;
        return Ok(None);
    }
    terms.announce(plan, prepared.place.inventory());
    let undertaking = Undertaking {
        plan,
        inventory: prepared.place.inventory(),
        devices: prepared.place.device_names(),
        token: prepared.token(),
        servers: prepared.server.as_mut().map(CheckServer::servers),
        further: None,
        launchers: Vec::new(),
    };
    measurement::run(undertaking, watch, terms).map(Some)
}
