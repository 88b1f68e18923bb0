//! Rows of given rates, for tests.

use super::figures::{Rate, Row, scale};
use super::label::labels;
use super::options::Options;
use crate::figure::{MB, trimmed};
use narrows_model::Bytes;

/// Rows of five equal trials each: label, MB a second written and read.
pub(super) fn rows_of(measured: &[(&str, f64, f64)]) -> Vec<Row> {
    let rate = |value: f64| trimmed(&[value * MB; 5]).map(|bytes_per_s| Rate { bytes_per_s, scaling: None });
    let row = |&(label, write, read): &(&str, f64, f64)| {
        let label = labels(&[label.to_owned()]).unwrap()[0];
        let request = Bytes(u64::from(label.servers()) * (64 << 10));
        Row { label, request, queue_depth: 8, write: rate(write), read: rate(read) }
    };
    let mut rows: Vec<Row> = measured.iter().map(row).collect();
    scale(&mut rows);
    rows
}

/// As published: 70 MB a client, 64 KiB, five trials, a dummy file of 300 MB, nodes of 256 MB.
pub(super) fn options() -> Options {
    Options {
        unit: Bytes(64 << 10),
        client_bytes: Bytes(70 << 20),
        trials: 5,
        late: false,
        flush: "dummy".to_owned(),
        flush_bytes: Some(Bytes(300 << 20)),
        memory: Some(Bytes(256 << 20)),
        has_cuts: true,
        one_machine: false,
    }
}
