//! What is asked of IOzone: sizes, columns and processes that its letters come to.
//!
//! Not here: what can be wrong with it, which is `problems`.

use super::columns::{self, CallKind, IozoneColumn, USUAL, USUAL_THROUGHPUT};
use super::letter_line::DISTRIBUTED;
use super::options::{self, IozoneOptions};
use crate::client_hosts::SuiteHosts;
use narrows_model::Bytes;
use narrows_study::Problem;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Files of auto mode in kB, from the first to the last.
pub(super) const AUTO_FILES_KB: (u64, u64) = (64, 512 << 10);
/// Records of auto mode in kB.
pub(super) const AUTO_RECORDS_KB: (u64, u64) = (4, 16 << 10);
/// In larger files auto mode leaves out smaller records than the second.
const CROSSING_KB: (u64, u64) = (16 << 10, 64);
/// One file where no size is given, and one record.
const SINGLE_KB: (u64, u64) = (512, 4);
/// Records from one to the next in the stride test.
const STRIDE: u64 = 17;

/// The processor's cache where neither the machine nor the user gives it: as the original's.
const CPU_CACHE: Bytes = Bytes(1 << 20);

/// What the figures are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FigureUnit {
    KbPerS,
    OpsPerS,
    MicrosPerOp,
}

/// What is asked for, and what is known of the machine and the folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    #[serde(flatten)]
    pub(super) options: IozoneOptions,
    /// Whether cuts of the path are measured beside the tests.
    pub has_cuts: bool,
    /// Free room for files, where known.
    pub free: Option<Bytes>,
    /// The processor's largest cache, where known.
    pub cpu_cache: Option<Bytes>,
    /// A line of it, where known.
    pub cpu_cache_line: Option<Bytes>,
    /// The file for every figure as CSV.
    #[serde(default)]
    pub surface_csv: Option<PathBuf>,
    /// The file for the picture of the surface.
    #[serde(default)]
    pub surface_svg: Option<PathBuf>,
    /// Hosts that the processes run on, in turn; none for this machine.
    #[serde(default, skip_serializing_if = "SuiteHosts::is_empty")]
    pub hosts: SuiteHosts,
    /// What direct access must be a multiple of, or why there is none; `None` where it was not looked for.
    pub direct_alignment: Option<Result<Bytes, String>>,
}

/// A file size and a record size, in kB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SizePair {
    pub(super) file_kb: u64,
    pub(super) record_kb: u64,
}

impl Request {
    /// The request of IOzone's letters `words`; nothing is known of the machine yet.
    ///
    /// # Errors
    /// Every letter and value that cannot be read, or else all that is wrong with them together.
    pub fn from_words(words: &[String]) -> Result<Self, Vec<Problem>> {
        let options = options::read(words)?;
        let request = Self {
            options,
            has_cuts: true,
            free: None,
            cpu_cache: None,
            cpu_cache_line: None,
            surface_csv: None,
            surface_svg: None,
            hosts: SuiteHosts::default(),
            direct_alignment: None,
        };
        let problems = request.problems();
        if problems.is_empty() { Ok(request) } else { Err(problems) }
    }

    /// Has the processes run on `hosts`, in turn.
    ///
    /// # Errors
    /// When it is not throughput mode, which alone has processes.
    pub(super) fn set_hosts(&mut self, hosts: &SuiteHosts) -> Result<(), Vec<Problem>> {
        if !self.is_throughput() {
            let hint = format!("add -t {}, a process for each host", hosts.count());
            return Err(vec![Problem::new("--hosts", "no -t", "--hosts in throughput mode (-t)", hint)]);
        }
        self.hosts = hosts.clone();
        if self.options.host_list.is_none() {
            self.options.heading.push(DISTRIBUTED.to_owned());
        }
        Ok(())
    }

    /// Whether each file's pages are dropped before each test.
    pub(super) fn is_cold(&self) -> bool {
        self.options.cold_mount.is_some()
    }

    /// Whether the numbers of processes were given by their ends.
    pub(super) fn has_range(&self) -> bool {
        self.options.processes_least.or(self.options.processes_most).is_some()
    }

    /// The largest record.
    #[must_use]
    pub(super) fn record_bytes_max(&self) -> Bytes {
        kb(self.records_kb().into_iter().max().unwrap_or(1))
    }

    pub(super) fn options(&self) -> &IozoneOptions {
        &self.options
    }

    /// Whether it is throughput mode, which has no surface of sizes.
    #[must_use]
    pub(super) fn is_throughput(&self) -> bool {
        self.options.processes.or(self.options.processes_least).or(self.options.processes_most).is_some()
    }

    /// The numbers of processes of throughput mode; one process in the others.
    pub(super) fn processes(&self) -> Vec<u64> {
        let options = &self.options;
        match (options.processes, options.processes_least, options.processes_most) {
            (Some(count), _, _) => vec![count],
            // As the original: from one on without -l, and no more than -l without -u.
            (None, least, Some(most)) => (least.unwrap_or(1)..=most).collect(),
            (None, Some(only), None) => vec![only],
            _ => vec![1],
        }
    }

    pub(super) fn unit(&self) -> FigureUnit {
        match (self.options.ops, self.options.micros) {
            (true, _) => FigureUnit::OpsPerS,
            (_, true) => FigureUnit::MicrosPerOp,
            _ => FigureUnit::KbPerS,
        }
    }

    /// The processor's cache, as given or reported by the machine, or of the size that a purge assumes.
    pub(super) fn purged_cache(&self) -> Option<Bytes> {
        self.options.cache_kb.map(kb).or(self.cpu_cache).or(self.options.purge.then_some(CPU_CACHE))
    }

    pub(super) fn stride(&self) -> u64 {
        self.options.stride.unwrap_or(STRIDE)
    }

    pub(super) fn tests(&self) -> Vec<u64> {
        let mut tests = match (self.options.tests.as_slice(), self.is_throughput()) {
            ([], false) => USUAL.to_vec(),
            ([], true) => USUAL_THROUGHPUT.to_vec(),
            (given, _) => given.to_vec(),
        };
        tests.sort_unstable();
        tests
    }

    /// The columns that are measured, in their order: streams have no direct access.
    pub(super) fn columns(&self) -> Vec<&'static IozoneColumn> {
        let mut columns = columns::of_tests(&self.tests(), !self.options.no_retests, self.is_throughput());
        columns.retain(|column| !self.options.direct || column.calls != CallKind::Stdio);
        columns
    }

    pub(super) fn files_kb(&self) -> Vec<u64> {
        let options = &self.options;
        let (least, most) = (options.file_kb_min, options.file_kb_max);
        sizes(options.auto, &options.files_kb, (least, most), AUTO_FILES_KB, SINGLE_KB.0)
    }

    pub(super) fn records_kb(&self) -> Vec<u64> {
        let options = &self.options;
        let (least, most) = (options.record_kb_min, options.record_kb_max);
        sizes(options.auto, &options.records_kb, (least, most), AUTO_RECORDS_KB, SINGLE_KB.1)
    }

    /// Whether small records of large files are left out.
    fn crosses(&self) -> bool {
        let options = &self.options;
        let is_explicit =
            !options.files_kb.is_empty() || !options.records_kb.is_empty() || options.record_kb_min.is_some();
        options.auto && !options.all_records && !is_explicit
    }

    /// The sizes that are measured: file by file, of each its records.
    pub(super) fn pairs(&self) -> Vec<SizePair> {
        let (records, crosses) = (self.records_kb(), self.crosses());
        let of_file = |file_kb: u64| {
            let least = if crosses && file_kb > CROSSING_KB.0 { CROSSING_KB.1 } else { 0 };
            let fits = move |record_kb: &u64| (least..=file_kb).contains(record_kb);
            let records: Vec<u64> = records.iter().copied().filter(fits).collect();
            records.into_iter().map(move |record_kb| SizePair { file_kb, record_kb })
        };
        self.files_kb().into_iter().flat_map(of_file).collect()
    }

    /// Bytes of all files at once.
    pub(super) fn all_bytes(&self) -> Bytes {
        let most = self.files_kb().into_iter().max().unwrap_or(0);
        let processes = self.processes().into_iter().max().unwrap_or(1);
        Bytes(kb(most).0.saturating_mul(processes))
    }
}

/// The given sizes, or those of auto mode between its bounds, or the one that is usual; from the smallest on.
fn sizes(
    auto: bool,
    given: &[u64],
    bounds: (Option<u64>, Option<u64>),
    usual: (u64, u64),
    single: u64,
) -> Vec<u64> {
    let mut all = match (given.is_empty(), auto) {
        (false, _) => given.to_vec(),
        (true, false) => vec![single],
        (true, true) => {
            let (least, most) = (bounds.0.unwrap_or(usual.0), bounds.1.unwrap_or(usual.1));
            // Bounded: each is twice the one before it.
            std::iter::successors(Some(least), |size| size.checked_mul(2))
                .take_while(|size| *size <= most)
                .collect()
        }
    };
    all.sort_unstable();
    all
}

/// Bytes of so many kB, which are 1024.
pub(super) fn kb(kb: u64) -> Bytes {
    Bytes(kb.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::super::testing::words;
    use super::*;

    fn sound(line: &str) -> Request {
        Request::from_words(&words(line)).unwrap()
    }

    #[test]
    fn auto_mode_doubles_files_and_records_and_crosses_over_in_large_files() {
        let full = sound("-a");
        let pairs = full.pairs();
        // 5 to 13 records of the files up to 16 MB, 9 of each of the five larger ones.
        assert_eq!(pairs.len(), (5..=13).sum::<usize>() + 5 * 9);
        assert_eq!((pairs[0].file_kb, pairs[0].record_kb), (64, 4));
        assert_eq!(full.files_kb().last(), Some(&524_288));
        let least_of = |request: &Request, file_kb| {
            request.pairs().iter().filter(|pair| pair.file_kb == file_kb).map(|pair| pair.record_kb).min()
        };
        assert_eq!((least_of(&full, 16_384), least_of(&full, 32_768)), (Some(4), Some(64)));
        for explicit in ["-a -z", "-a -y 4", "-a -r 4", "-a -s 32m"] {
            assert_eq!(least_of(&sound(explicit), 32_768), Some(4), "{explicit}");
        }
    }

    #[test]
    fn bounds_and_explicit_sizes_choose_the_sizes() {
        let bounded = sound("-a -n 100 -g 450 -y 8 -q 32");
        assert_eq!((bounded.files_kb(), bounded.records_kb()), (vec![100, 200, 400], vec![8, 16, 32]));
        let single = sound("");
        assert_eq!(single.pairs(), [SizePair { file_kb: 512, record_kb: 4 }]);
        assert_eq!(sound("-s 1m -s 64 -r 16").files_kb(), [64, 1024]);
    }

    #[test]
    fn several_processes_and_how_they_are_reported() {
        assert_eq!(sound("-t 4").processes(), [4]);
        assert_eq!(sound("-l 2 -u 4 -O").processes(), [2, 3, 4]);
        assert_eq!((sound("-u 3").processes(), sound("-l 3").processes()), (vec![1, 2, 3], vec![3]));
        assert_eq!(
            (sound("").processes(), sound("-O").unit(), sound("-N").unit()),
            (vec![1], FigureUnit::OpsPerS, FigureUnit::MicrosPerOp)
        );
        let names: Vec<&str> = sound("-i 0 -+n -I").columns().iter().map(|column| column.name).collect();
        assert_eq!((names, sound("-a -I").columns().len()), (vec!["write"], 9));
    }
}
