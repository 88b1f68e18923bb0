//! The study of one cell that narrows runs for a figure, as TOML.

use std::fmt::Write;

/// The load of the cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PerfLoad {
    pub(crate) target: String,
    pub(crate) op: &'static str,
    pub(crate) block: &'static str,
    /// `None` for a file that exists: all of it.
    pub(crate) file: Option<&'static str>,
    pub(crate) order: &'static str,
    pub(crate) depth: u32,
    pub(crate) batch: u32,
    /// `None` for the target's own.
    pub(crate) engine: Option<&'static str>,
    /// Buffers and files registered with the kernel.
    pub(crate) registered: bool,
    /// Ends the trial after so many operations instead of a time.
    pub(crate) ops_max: Option<u64>,
}

impl PerfLoad {
    /// 4 KiB reads of `target` in random order, one at a time.
    pub(crate) fn random_reads(target: impl Into<String>) -> Self {
        Self {
            target: target.into(),
            op: "read",
            block: "4KiB",
            file: None,
            order: "random",
            depth: 1,
            batch: 1,
            engine: None,
            registered: false,
            ops_max: None,
        }
    }

    /// The study, whose window is `measure_s` long where no count ends it.
    pub(crate) fn study(&self, measure_s: u64) -> String {
        let mut text = String::new();
        let measure_s = if self.ops_max.is_some() { 3600 } else { measure_s };
        // Writing to a string does not fail.
        let _ = writeln!(text, "target = {:?}\nseconds = 7200\ncuts = []\n\n[workload]", self.target);
        let _ = writeln!(text, "op = {:?}\nblock = {:?}\norder = {:?}", self.op, self.block, self.order);
        let _ = writeln!(text, "depth = {}\nbatch = {}", self.depth, self.batch);
        if let Some(file) = self.file {
            let _ = writeln!(text, "file = {file:?}");
        }
        if let Some(engine) = self.engine {
            let _ = writeln!(text, "engine = {engine:?}");
        }
        if self.registered {
            text.push_str(
                "\n[workload.ring]\nregistered_buffers = \"required\"\nregistered_files = \"required\"\n",
            );
        }
        text.push_str("\n[stop]\n");
        match self.ops_max {
            // The count is of the warm-up too: without one it is all measured.
            Some(ops_max) => {
                let _ = writeln!(text, "ops = {ops_max}");
            }
            None => text.push_str("warm_up = \"300ms\"\n"),
        }
        let _ = writeln!(text, "measure = \"{measure_s}s\"");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_of_a_ring_is_this_study() {
        let load = PerfLoad {
            depth: 32,
            batch: 16,
            engine: Some("uring"),
            registered: true,
            ..PerfLoad::random_reads("/data/file")
        };
        assert_eq!(
            load.study(2),
            r#"target = "/data/file"
seconds = 7200
cuts = []

[workload]
op = "read"
block = "4KiB"
order = "random"
depth = 32
batch = 16
engine = "uring"

[workload.ring]
registered_buffers = "required"
registered_files = "required"

[stop]
warm_up = "300ms"
measure = "2s"
"#
        );
    }

    #[test]
    fn a_count_ends_the_trial_before_its_time_does() {
        let load =
            PerfLoad { ops_max: Some(1_000_000_000), file: Some("1GiB"), ..PerfLoad::random_reads("null:") };
        let study = load.study(2);
        assert!(study.contains("[stop]\nops = 1000000000\nmeasure = \"3600s\"\n"), "{study}");
        assert!(study.contains("file = \"1GiB\"\n"), "{study}");
    }
}
