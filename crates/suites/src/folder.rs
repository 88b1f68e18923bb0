//! A run of a suite on a folder: what it needs of the command that starts it.
//!
//! Not here: looking at a machine or a folder, which the command does.

use crate::arguments::CutArguments;
use crate::client_hosts::SuiteHosts;
use crate::host_list::{HostList, HostPlacement};
use crate::suite::Suite;
use narrows_model::{Bytes, Plan, Summary, Target};
use narrows_study::Problem;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A folder that is ready for a suite's files.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedFolder {
    /// The folders of files: one for all processes, one for each, or those that the files are spread over, of which some
    /// may be the same.
    pub targets: Vec<Target>,
    /// The plan of a check of the folder, whose cuts are measured beside the suite's tests. Its seed is the run's.
    pub check: Plan,
}

impl PreparedFolder {
    /// The first folder.
    #[must_use]
    pub fn target(&self) -> Target {
        self.targets.first().unwrap_or(&self.check.target).clone()
    }
}

/// Room for files in one of several folders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderRoom {
    /// The file system that the folder is on, equal for folders that share their room.
    pub file_system: String,
    /// Free room there.
    pub free: Bytes,
}

/// What is known of the machine and the folder once it was prepared.
pub trait SuiteMachine {
    /// The host's name.
    fn hostname(&self) -> &str;
    /// Memory that a client may use on the host with the least of it, where known.
    fn memory_bytes(&self) -> Option<Bytes>;
    /// Free room for all files together, where known; `None` where they are on several file systems.
    fn free_bytes(&self) -> Option<Bytes>;
    /// The room of each folder of files, in their order, where they are on several file systems; empty where they are on
    /// one, or any of that is not known.
    fn rooms(&self) -> Vec<FolderRoom>;
    /// The processor's largest cache, where known.
    fn cpu_cache_bytes(&self) -> Option<Bytes>;
    /// A line of that cache, where known.
    fn cpu_cache_line_bytes(&self) -> Option<Bytes>;
    /// How many clients a load has that does not say so: 1, or the ranks of a job.
    fn usual_clients(&self) -> u32;
    /// Ranks of the first host, where the first `clients` ranks of a job are on several hosts and come after each other on that
    /// one; `None` where they do not, or there is no job.
    fn ranks_of_host(&self, clients: u32) -> Option<u32>;
    /// What direct access must be a multiple of in the folder.
    ///
    /// # Errors
    /// Why there is none.
    fn direct_alignment_bytes(&self) -> Result<Bytes, String>;
}

/// Whether the files of a suite can be whole objects of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectSupport {
    /// Never: its tests are calls on open files.
    None,
    /// As it is asked for.
    Yes,
    /// Not as it is asked for, with the reason and what to give instead.
    NotSo(&'static str),
}

/// A suite whose tests make calls on files in a folder.
pub trait OnFolder: Suite<Prepared = PreparedFolder> {
    /// Bytes of a request of the cuts.
    fn cut_block_bytes(&self) -> Bytes;

    /// How long each cut is measured where it was not typed.
    fn cut_seconds(&self) -> f64 {
        1.0
    }

    /// Has its clients run on `hosts`, in turn, before the machine is looked at.
    ///
    /// # Errors
    /// What of the request cannot be done there.
    fn on_hosts(&mut self, _: &SuiteHosts) -> Result<(), Vec<Problem>> {
        Ok(())
    }

    /// Has its clients run on the ranks of a job, whose hosts, in the order of the ranks, are `hosts`, before the machine is
    /// looked at.
    ///
    /// # Errors
    /// What of the request cannot be done there.
    fn on_ranks(&mut self, _: &SuiteHosts) -> Result<(), Vec<Problem>> {
        Ok(())
    }

    /// Clients that measure each cut where no hosts are named.
    fn cut_clients(&self) -> u32 {
        1
    }

    /// Whether its plan depends on the memory of the hosts.
    fn plans_by_memory(&self) -> bool {
        false
    }

    /// The file that lists the hosts, where the request names one.
    fn host_list(&self) -> Option<HostList> {
        None
    }

    /// Has its files in the folders of `placement`.
    fn place(&mut self, _: &HostPlacement) {}

    /// Adds what the request needs to know of the machine.
    fn learn(&mut self, machine: &dyn SuiteMachine);

    /// Names of the files of processes in folders of their own choice, in their order; none where all are in the run's
    /// folder.
    fn file_names(&self) -> &[String] {
        &[]
    }

    /// Folders that the files are spread over, in their order; none where all are in the run's folder.
    fn spread_over(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The mount that must contain all files.
    fn mount(&self) -> Option<&str> {
        None
    }

    /// Whether its files can be whole objects of a server, which is called for each as a whole: none is open there.
    fn object_support(&self) -> ObjectSupport {
        ObjectSupport::None
    }

    /// Whether files stay after the run.
    fn keeps_files(&self) -> bool {
        false
    }

    /// Files that are written beside the output; none of them may be there before.
    ///
    /// # Errors
    /// Why one of them cannot be had.
    fn output_files(&self) -> Result<Vec<OutputFile>, String> {
        Ok(Vec::new())
    }
}

/// A file that is written beside the output.
#[derive(Debug, Clone)]
pub struct OutputFile {
    /// The option that asks for it.
    pub option: &'static str,
    /// Where it is written.
    pub path: PathBuf,
    /// What it is, in a few words.
    pub what: &'static str,
    /// Its content after a run; `None` where the record has nothing for it.
    pub text: OutputTextFn,
}

/// The content of a file after a run.
pub type OutputTextFn = fn(&Summary) -> Option<String>;

/// A run on a folder as it was typed.
pub struct FolderRun {
    /// What is asked for.
    pub request: Box<dyn OnFolder>,
    /// The folder.
    pub dir: PathBuf,
    /// How the path below the tests is measured.
    pub cuts: CutArguments,
    /// The seed; one is drawn without it.
    pub seed: Option<u64>,
}

impl fmt::Debug for FolderRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = self.request.source();
        f.debug_struct("FolderRun").field("request", &request).field("dir", &self.dir).finish_non_exhaustive()
    }
}
