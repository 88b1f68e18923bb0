//! Observations as the text of an observation file, `narrows.observations/1`: what is not known is not written.
//!
//! The counterpart of the reader in `study`; a round-trip test keeps the two consistent. Deliberately absent: files,
//! and any check of the values, which the reader does.

use narrows_model::observation::{Capacity, Ceiling, Claim, Quality, SCHEMA, Scope};
use narrows_model::{Observation, Observations};
use serde::Serialize;
use toml::ser::ValueSerializer;

/// Columns at which remarks are broken.
const REMARK_COLUMNS: usize = 110;

/// The file that contains `all`, with `remarks` as comments above it.
///
/// # Shape
/// TOML; keys in the order of the reference. Numbers are written to the last digit, so that reading gives them back.
#[must_use]
pub fn observations_text(all: &Observations, remarks: &[String]) -> String {
    let mut file = TomlFile::default();
    for remark in remarks {
        file.comment(remark);
    }
    file.entry("schema", &SCHEMA);
    file.entry("title", &all.title);
    file.entry("source", &all.source);
    file.entry("factor_segment", &all.factor_segments);
    for one in &all.ceilings {
        ceiling(&mut file, one);
    }
    for one in &all.observations {
        observation(&mut file, one);
    }
    for one in &all.claims {
        claim(&mut file, one);
    }
    file.text
}

/// Writes the fields of a value under their own names, those that are known.
macro_rules! entries {
    ($file:expr, $one:expr; $($name:ident)*) => { $($file.entry(stringify!($name), &$one.$name);)* };
}

fn ceiling(file: &mut TomlFile, one: &Ceiling) {
    file.head("[[ceiling]]");
    file.entry("segment", &one.segment);
    match one.capacity {
        Capacity::BytesPerS(rate) => file.entry("bytes_per_s", &rate),
        Capacity::OpsPerS(rate) => file.entry("ops_per_s", &rate),
        Capacity::LatencyS(seconds) => file.entry("latency_s", &seconds),
    }
    file.entry("scope", &Some(one.scope).filter(|scope| *scope != Scope::default()));
    entries!(file, one; count op basis note);
}

fn claim(file: &mut TomlFile, one: &Claim) {
    file.head("[[claim]]");
    entries!(file, one; text left right tolerance_ratio);
}

fn observation(file: &mut TomlFile, one: &Observation) {
    file.head("[[observation]]");
    entries!(file, one;
        id op clients bytes_per_s ops_per_s bytes_per_s_per_client_mean per_client_bytes_per_s offered_ops_per_s
        offered_bytes_per_s latency_s in_flight_configured in_flight_measured window_bytes connections block_bytes
        file_bytes elapsed_s elapsed_half_width_ratio elapsed_first_s calls read_calls write_calls tcp_segments
        round_trips messages rtt_s cpu_ratio cpu_cores cpu_busiest_core_ratio user_s system_s cpus busy_ratio hit_ratio
        errors bytes memory_bytes
    );
    file.entry("factor", &one.factors);
    file.entry("sequence", &one.sequence);
    file.entry("quality", &Some(one.quality).filter(|quality| *quality != Quality::default()));
    file.entry("note", &one.note);
}

/// The text of a file that is written line by line.
#[derive(Default)]
struct TomlFile {
    text: String,
}

impl TomlFile {
    fn head(&mut self, head: &str) {
        self.line(&["\n", head]);
    }

    /// A key with its value on one line; nothing where the value is not known, or contains nothing.
    fn entry(&mut self, name: &str, value: &impl Serialize) {
        let mut text = String::new();
        // Only what is not known cannot be written.
        let is_known = value.serialize(ValueSerializer::new(&mut text)).is_ok();
        let is_empty = text.trim_matches(['[', ']', '{', '}', ' ']).is_empty();
        if is_known && !is_empty {
            self.line(&[name, " = ", &text]);
        }
    }

    fn comment(&mut self, remark: &str) {
        let mut line = String::from("#");
        for word in remark.split_whitespace() {
            let word: String = word.chars().filter(|c| !c.is_control()).collect();
            if line.len() > 1 && line.chars().count() + word.chars().count() >= REMARK_COLUMNS {
                self.line(&[&line]);
                line = String::from("# ");
            }
            line.push(' ');
            line.push_str(&word);
        }
        self.line(&[&line]);
    }

    fn line(&mut self, parts: &[&str]) {
        self.text.extend(parts.iter().copied().chain(["\n"]));
    }
}
