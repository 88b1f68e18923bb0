//! The published table, and requests and rows of given figures, for tests.

use super::figures::{IoperfFigure, IoperfMeasurement, IoperfRow};
use super::request::{FlushCall, Request, RowKind};
use crate::client_hosts::SuiteHosts;
use narrows_model::Bytes;

/// The published table.
pub(super) const PUBLISHED: &str = include_str!("../../tests/data/ioperf_star_2002.csv");

/// One of its rows.
pub(super) struct Published {
    pub(super) row: String,
    pub(super) file_kb: f64,
    pub(super) figures: [IoperfFigure; 5],
}

/// Its rows.
pub(super) fn published() -> Vec<Published> {
    PUBLISHED.lines().skip(1).map(row_of).collect()
}

fn row_of(line: &str) -> Published {
    let fields: Vec<&str> = line.split(',').collect();
    let number = |index: usize| fields[index].parse::<f64>().unwrap();
    let figures = [0, 1, 2, 3, 4].map(|test| IoperfFigure {
        kb_per_s: Some(number(3 + 3 * test)),
        real_kb_per_s: Some(number(4 + 3 * test)),
        cpu_percent: Some(number(5 + 3 * test)),
    });
    Published { row: fields[1].to_owned(), file_kb: number(2), figures }
}

/// As the published client: 5000 I/Os of 8 KB.
pub(super) fn request() -> Request {
    Request {
        buffer_kb: 8,
        count: 5000,
        passes: 1,
        processes: 1,
        rows: vec![RowKind::Run],
        flush: FlushCall::Fflush,
        tag: Some("ibmtest".to_owned()),
        csv: false,
        hosts: SuiteHosts::default(),
        has_rows: false,
        typed_processes: None,
        ranks: None,
        link: None,
        has_cuts: true,
        memory: None,
        free: None,
    }
}

/// The same with three processes, on a machine whose memory is known.
pub(super) fn request_of_three() -> Request {
    Request { processes: 3, memory: Some(Bytes(256 << 20)), ..request() }
}

/// A row of which every process has these figures in all tests.
pub(super) fn row(kind: RowKind, each: &[IoperfFigure]) -> IoperfRow {
    let measured = IoperfMeasurement { each: each.to_vec(), shortest_s: Some(4.0), cut_short: false };
    IoperfRow { kind, tests: [0; 5].map(|_| Some(measured.clone())) }
}
