//! fio with the settings of a figure.

use super::bench::{Bench, MEASURE_S};
use super::parse;
use super::tools::PeerProgram;
use std::path::Path;
use std::process::Command;

/// A job of 4 KiB random reads, with fio's statistics as they are by default.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fio<'a> {
    pub(crate) engine: &'static str,
    /// `None` for an engine that reads nothing.
    pub(crate) file: Option<&'a Path>,
    pub(crate) depth: u32,
    pub(crate) batch: u32,
    pub(crate) registered: bool,
}

impl Fio<'_> {
    /// Its command line.
    ///
    /// # Errors
    /// In words, that fio is not installed.
    pub(crate) fn command(&self, peer: &PeerProgram) -> Result<Command, String> {
        let mut command = peer.command()?;
        command.args(["--name=perf", "--rw=randread", "--bs=4k", "--time_based", "--ramp_time=300ms"]);
        command.args(["--output-format=json", &format!("--runtime={MEASURE_S}")]);
        command.arg(format!("--ioengine={}", self.engine));
        match self.file {
            // The file is in the page cache and stays there.
            Some(file) => command.arg(format!("--filename={}", file.display())).arg("--invalidate=0"),
            None => command.arg("--size=1g"),
        };
        if self.depth > 1 {
            command.arg(format!("--iodepth={}", self.depth));
            command.arg(format!("--iodepth_batch_submit={}", self.batch));
            command.arg(format!("--iodepth_batch_complete_min={}", self.batch));
        }
        if self.registered {
            command.args(["--fixedbufs", "--registerfiles"]);
        }
        Ok(command)
    }

    /// Runs it once and gives its rate.
    ///
    /// # Errors
    /// fio fails.
    pub(crate) fn reads_per_s(&self, bench: &Bench) -> anyhow::Result<f64> {
        let mut command = self.command(&bench.tools.fio).map_err(anyhow::Error::msg)?;
        // fio leaves its status file where it runs.
        command.current_dir(bench.place(""));
        let ended = bench.turn("fio", &mut command)?;
        parse::fio_reads_per_s(ended.printed(&[0])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registered_deep_job_says_so_and_a_synchronous_one_has_no_depth() {
        let peer = PeerProgram { name: "fio", version: Some("fio-3".to_owned()) };
        let words = |fio: Fio<'_>| {
            let command = fio.command(&peer).expect("fio has a version");
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        let file = Some(Path::new("/f"));
        let deep = words(Fio { engine: "io_uring", file, depth: 32, batch: 16, registered: true });
        assert!(
            deep.contains("--iodepth=32 --iodepth_batch_submit=16 --iodepth_batch_complete_min=16"),
            "{deep}"
        );
        assert!(deep.contains("--fixedbufs --registerfiles") && deep.contains("--filename=/f"), "{deep}");
        let single = words(Fio { engine: "psync", file, depth: 1, batch: 1, registered: false });
        assert!(!single.contains("iodepth") && !single.contains("fixedbufs"), "{single}");
    }
}
