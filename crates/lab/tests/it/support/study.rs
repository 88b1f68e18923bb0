//! Runs of studies in a lab, questions to the findings by their codes, and what the kernel says of a file's pages.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use narrows_lab::{Host, Lab, clock, mounts, narrows_bin, pin_to_cpus};
use narrows_model::Cut;
use narrows_model::diagnosis::Evidence;
use narrows_model::summary::CellSummary;

use super::check::{Checked, Served, run_check};

/// Longer than the load of any study here, so that nothing of it is left out.
const BUDGET: &str = "--seconds 20";

/// Runs a study on this machine.
#[track_caller]
pub(crate) fn run_study(lab: &Lab, name: &str, text: &str) -> Checked {
    let mut command = Command::new(narrows_bin().unwrap());
    command.arg("run");
    run(lab, name, command, text)
}

/// Runs a study of an endpoint from `client`, on CPU 0.
#[track_caller]
pub(crate) fn run_study_from(lab: &Lab, client: &Host, served: &Served, name: &str, text: &str) -> Checked {
    let mut command = client.command(narrows_bin().unwrap());
    command.arg("run").arg("--token-file").arg(served.token());
    pin_to_cpus(&mut command, &[0]);
    run(lab, name, command, text)
}

#[track_caller]
fn run(lab: &Lab, name: &str, mut command: Command, text: &str) -> Checked {
    let study = lab.scratch().join(format!("{name}.toml"));
    fs::write(&study, text).unwrap();
    command.arg(&study);
    run_check(lab, name, command, BUDGET)
}

impl Checked {
    /// Whether a rule found something.
    pub(crate) fn found(&self, code: &str) -> bool {
        self.summary.diagnosis.findings.iter().any(|finding| finding.code == code)
    }

    /// What a rule's finding rests on; fails where it found nothing.
    #[track_caller]
    pub(crate) fn evidence(&self, code: &str) -> &[Evidence] {
        let findings = &self.summary.diagnosis.findings;
        let finding = findings.iter().find(|finding| finding.code == code);
        &finding.unwrap_or_else(|| panic!("{code} is not found: {findings:#?}")).evidence
    }

    /// Fails unless a rule limits a regime, with a confidence that makes it more than a guess.
    #[track_caller]
    pub(crate) fn assert_limits(&self, code: &str) {
        let limiting = &self.summary.diagnosis.limiting;
        let named = limiting.iter().find(|entry| entry.codes.iter().any(|known| known == code));
        let named = named.unwrap_or_else(|| panic!("{code} limits nothing: {limiting:#?}"));
        assert!(named.confidence > 0.5, "{}", named.confidence);
        assert!(!named.evidence.is_empty(), "{code} rests on nothing");
    }

    /// Fails where a rule found something or limits a regime.
    #[track_caller]
    pub(crate) fn assert_not_found(&self, code: &str) {
        let diagnosis = &self.summary.diagnosis;
        let limits = diagnosis.limiting.iter().any(|entry| entry.codes.iter().any(|known| known == code));
        assert!(!limits && !self.found(code), "{code} is found: {diagnosis:#?}");
    }

    /// The only cell of a cut.
    #[track_caller]
    pub(crate) fn only(&self, cut: Cut) -> &CellSummary {
        let cells: Vec<_> = self.cells(cut).collect();
        assert_eq!(cells.len(), 1, "one cell of the cut {}", cut.name());
        cells[0]
    }
}

/// Bytes a second of a cell.
#[track_caller]
pub(crate) fn bytes_per_s(cell: &CellSummary) -> f64 {
    cell.rate_bytes_per_s.unwrap_or_else(|| panic!("{} has no rate", cell.id)).0
}

/// Operations a second of a cell.
#[track_caller]
pub(crate) fn ops_per_s(cell: &CellSummary) -> f64 {
    cell.ops_per_s.unwrap_or_else(|| panic!("{} has no rate", cell.id)).0
}

/// A folder in memory, as long as this lives, which must be shorter than its lab.
#[derive(Debug)]
pub(crate) struct MemoryFolder {
    /// Where it is.
    pub path: PathBuf,
}

impl MemoryFolder {
    /// A new one of `mebibytes` MiB below the lab's scratch folder.
    pub(crate) fn new(lab: &Lab, mebibytes: u64) -> Self {
        let path = lab.scratch().join("memory");
        fs::create_dir(&path).unwrap();
        // In huge pages, as the memory is that copies are measured with.
        let size = format!("size={mebibytes}m,mode=700,huge=always");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&path).status();
        assert!(mounted.unwrap().success(), "a file system in memory is mounted");
        Self { path }
    }
}

impl Drop for MemoryFolder {
    fn drop(&mut self) {
        let _refused = mounts::unmount_below(&self.path);
    }
}

/// Writes a file of data that no file system can store once for many.
pub(crate) fn write_data(path: &Path, bytes: usize) {
    let mut state = 7_u64;
    let mut data = vec![0_u8; bytes];
    for word in data.chunks_exact_mut(8) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        word.copy_from_slice(&state.to_le_bytes());
    }
    fs::write(path, data).unwrap();
}

/// How much of a file is in the page cache, as util-linux's fincore(1) reports it.
#[track_caller]
pub(crate) fn resident_bytes(path: &Path) -> u64 {
    let words = ["--bytes", "--noheadings", "--output", "RES"];
    let output = Command::new("fincore").args(words).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

/// Seconds in which `copy` copies all of `source`, `BLOCK` bytes at a time, in this process: the best of some rounds. Where
/// functions are not inlined, as in tests, an assignment suits small blocks: of large ones it makes a second copy on the stack.
/// An index takes the place of an iterator for the same reason.
pub(crate) fn own_copy_s<const BLOCK: usize>(
    source: &[u8],
    copy: impl Fn(&mut [u8; BLOCK], &[u8; BLOCK]),
) -> f64 {
    const ROUNDS: usize = 40;
    let mut block: Box<[u8; BLOCK]> = vec![0; BLOCK].try_into().unwrap();
    let (parts, _rest) = source.as_chunks::<BLOCK>();
    let mut round = || {
        let before = clock::monotonic_ns();
        let mut index = 0;
        while index < parts.len() {
            copy(black_box(&mut block), black_box(&parts[index]));
            index += 1;
        }
        clock::monotonic_ns() - before
    };
    (0..ROUNDS).map(|_| round()).min().unwrap() as f64 / 1e9
}
