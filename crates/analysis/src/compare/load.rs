//! The load of a cell as named settings: those that make it the same work as another's, and those that must be reported
//! where they differ.

use narrows_model::quantity::{amount, op_rate, percent, seconds, storage_rate};
use narrows_model::summary::CellSummary;
use std::fmt::Debug;

/// A setting in one word, as it is written in the code: a name for people to find, not a value to read again.
pub(super) fn debug_word(value: &impl Debug) -> String {
    format!("{value:?}").to_lowercase().replace("bytes(", "(").replace("nanos(", "(")
}

/// A setting that is on or off.
pub(super) fn yes_no(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

/// What makes a cell the same work as another: what each request does, in which order and in what company.
///
/// The target is no part of it, nor is the file size (preparation is bounded in time), nor a cap: comparing two
/// targets, or a path with itself under a cap, is a use of this.
pub(super) fn work(cell: &CellSummary) -> Vec<(&'static str, String)> {
    let load = &cell.requested;
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    vec![
        ("cut", cell.cut.name().to_owned()),
        ("site", debug_word(&cell.site)),
        ("suite", text(&cell.suite)),
        ("test", text(&cell.test)),
        ("phase", text(&cell.phase)),
        ("driver", text(&cell.driver)),
        ("engine", load.engine.map_or_else(|| "default".to_owned(), |engine| debug_word(&engine))),
        ("op", load.name().to_owned()),
        ("op mix", debug_word(&load.op_mix)),
        ("block", load.block_bytes.to_string()),
        ("block mix", debug_word(&load.block_mix)),
        ("order", debug_word(&load.order)),
        ("write back", debug_word(&load.write_back_every)),
        ("access", debug_word(&load.access)),
        ("cache", debug_word(&load.cache)),
        ("sync", debug_word(&load.sync)),
        ("acknowledgement", debug_word(&load.acknowledgement)),
        ("depth", load.queue_depth.to_string()),
        ("workers", load.workers.to_string()),
        ("clients", load.clients.to_string()),
        ("batch", load.batch.to_string()),
        ("think time", debug_word(&load.think_ns)),
        ("arrivals", debug_word(&load.arrivals)),
        ("ring", debug_word(&load.ring)),
        ("stdio", debug_word(&load.stdio)),
        ("psync", debug_word(&load.psync)),
        ("engine options", debug_word(&load.engine_options)),
        ("edges", debug_word(&load.edges)),
        ("files of clients", debug_word(&load.client_files)),
        ("objects", debug_word(&load.objects)),
    ]
}

/// Something that may differ between two of the same work, and must be reported where it does.
#[derive(Debug, Clone)]
pub(super) struct Condition {
    /// What, for people.
    pub(super) name: &'static str,
    /// Its value, for people.
    pub(super) text: String,
    /// Its value as a number, where a small difference is none.
    number: Option<f64>,
    apart: fn(f64, f64) -> bool,
}

impl Condition {
    /// A setting that is the same or not.
    pub(super) fn exact(name: &'static str, text: String) -> Self {
        Self { name, text, number: None, apart: |_, _| false }
    }

    fn measured(name: &'static str, text: String, number: f64, apart: fn(f64, f64) -> bool) -> Self {
        Self { name, text, number: Some(number), apart }
    }

    /// Whether the two are not the same.
    pub(super) fn differs(&self, other: &Self) -> bool {
        match self.number.zip(other.number) {
            Some((one, other)) => (self.apart)(one, other),
            None => self.text != other.text,
        }
    }
}

/// Windows that differ by less are about as long: a count may end them.
fn half_as_long_again(one: f64, other: f64) -> bool {
    one.max(other) > 1.5 * one.min(other)
}

/// Files that differ by less were bounded by the time of their preparation, and fill the same caches.
fn a_tenth_larger(one: f64, other: f64) -> bool {
    one.max(other) > 1.1 * one.min(other)
}

fn a_tenth_more(one: f64, other: f64) -> bool {
    (one - other).abs() > 0.1
}

/// What may differ between cells of the same work and must be reported: caps, sizes, checks, what was granted.
pub(super) fn conditions(cell: &CellSummary) -> Vec<Condition> {
    let load = &cell.requested;
    let elapsed_s = cell.elapsed_s.last_done;
    let mut conditions = vec![
        Condition::exact(
            "cap on bytes a second",
            cap(load.max_bytes_per_s.map(|cap| storage_rate(cap as f64))),
        ),
        Condition::exact("cap on operations a second", cap(load.max_ops_per_s.map(op_rate))),
        Condition::measured("file", amount(cell.file_bytes), cell.file_bytes.as_f64(), a_tenth_larger),
        Condition::exact("data verified", yes_no(load.verify)),
        Condition::measured("measured for", seconds(elapsed_s), elapsed_s, half_as_long_again),
    ];
    if let Some(ratio) = cell.cache_served_ratio {
        conditions.push(Condition::measured("served by a cache", percent(ratio), ratio, a_tenth_more));
    }
    if let Some(granted) = &cell.effective {
        let access = granted.access.map_or_else(|| "none".to_owned(), |access| debug_word(&access));
        conditions.extend([
            Condition::exact("engine granted", granted.engine.clone()),
            Condition::exact("access granted", access),
            Condition::exact("depth granted", granted.queue_depth.to_string()),
            Condition::exact("sync granted", debug_word(&granted.sync)),
            Condition::exact("open files shared with other threads", yes_no(!granted.has_own_file_table)),
            Condition::exact("a completed write is", debug_word(&granted.write_completion)),
        ]);
        let control = granted.connection.as_ref().and_then(|found| found.congestion_control.clone());
        conditions.extend(control.map(|control| Condition::exact("congestion control", control)));
    }
    conditions
}

fn cap(cap: Option<String>) -> String {
    cap.unwrap_or_else(|| "none".to_owned())
}
