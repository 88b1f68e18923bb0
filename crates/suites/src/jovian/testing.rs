//! Rows of given rates, for tests.

use super::figures::{JovianRate, JovianRow, scale};
use super::label::labels;
use super::request::{CacheFlush, PUBLISHED_BYTES, Request};
use crate::figure::{MB, trimmed_mean};
use narrows_model::Bytes;

/// Rows of five equal trials each: label, MB a second written and read.
pub(super) fn rows_of(measured: &[(&str, f64, f64)]) -> Vec<JovianRow> {
    let rate = |value: f64| {
        trimmed_mean(&[value * MB; 5]).map(|bytes_per_s| JovianRate { bytes_per_s, scaling: None })
    };
    let row = |&(label, write, read): &(&str, f64, f64)| {
        let label = labels(&[label.to_owned()]).unwrap()[0];
        let request = Bytes(u64::from(label.servers()) * (64 << 10));
        let disks = label.servers();
        JovianRow { label, request, disks, queue_depth: 8, write: rate(write), read: rate(read) }
    };
    let mut rows: Vec<JovianRow> = measured.iter().map(row).collect();
    scale(&mut rows);
    rows
}

/// As published: 70 MB a client, 64 KiB, five trials, a dummy file of 300 MB, nodes of 256 MB.
pub(super) fn published() -> Request {
    Request {
        bytes: Some(PUBLISHED_BYTES),
        flush: CacheFlush::Dummy(Bytes(300 << 20)),
        ..super::request::tests::request("c1-s1 c1-s4")
    }
}

/// The same with all servers on one machine.
pub(super) fn on_one_machine() -> Request {
    let endpoints = (1..=4).map(|port| ("127.0.0.1".to_owned(), port)).collect();
    Request { endpoints, ..published() }
}
