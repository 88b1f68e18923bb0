//! Requests, plans and rows of given figures, for tests.

use super::PHASES;
use super::figures::{BonnieMeasurement, BonnieRow};
use super::request::{BonnieFiles, CHAR_MIB, Edition, Request};
use crate::client_hosts::SuiteHosts;
use crate::suite::Suite;
use narrows_model::{Bytes, Plan};

/// As the published node in small: 512 MiB where the memory is 256 MiB.
pub(super) fn request() -> Request {
    Request {
        edition: Edition::V2_00,
        file_mib: Some(512),
        chunk: Bytes(8192),
        seeks: 8192,
        seekers: None,
        files: BonnieFiles::default(),
        char_mib: Some(CHAR_MIB),
        syncs_each: false,
        direct: false,
        runs: 1,
        processes: 1,
        name: Some("fs2".to_owned()),
        csv_alone: false,
        hosts: SuiteHosts::default(),
        ram_mib: None,
        has_cuts: true,
        memory: Some(Bytes(256 << 20)),
        free: None,
    }
}

/// The plan of `request` beside a check of the same folder.
pub(super) fn planned(request: &Request) -> Plan {
    request.plan(crate::testing::folder(request.chunk)).unwrap()
}

/// The request of the published run.
pub(super) fn of_edition(edition: Edition) -> Request {
    Request { edition, file_mib: Some(10 << 10), seekers: Some(5), memory: Some(Bytes(4 << 30)), ..request() }
}

/// The published figures and CPU shares; no rate where a phase was too short for one.
const PUBLISHED: [Option<(f64, f64)>; PHASES.len()] = [
    Some((38_476.0, 95.0)),
    Some((49_354.0, 14.0)),
    Some((23_415.0, 5.0)),
    Some((35_808.0, 72.0)),
    Some((63_971.0, 5.0)),
    Some((557.3, 0.0)),
    Some((3113.0, 99.0)),
    None,
    None,
    Some((3138.0, 99.0)),
    None,
    Some((9620.0, 100.0)),
];

/// A row with the published figures, each a bit above: figures are cut.
pub(super) fn published() -> BonnieRow {
    row_of(&PUBLISHED, 4.0)
}

/// A row whose phases all took `elapsed_s`, with the published figures where there are any.
pub(super) fn row(elapsed_s: f64) -> BonnieRow {
    row_of(&PUBLISHED.map(|figure| figure.or(Some((50_000.0, 50.0)))), elapsed_s)
}

fn row_of(figures: &[Option<(f64, f64)>; PHASES.len()], elapsed_s: f64) -> BonnieRow {
    let measured = |figure: Option<(f64, f64)>| {
        let (rate, cpu) = figure.unwrap_or((1e5, 50.0));
        let elapsed_s = if figure.is_some() { elapsed_s } else { 0.2 };
        Some(BonnieMeasurement {
            amount: (rate + 0.01) * elapsed_s,
            elapsed_s,
            cpu_s: (cpu + 0.01) / 100.0 * elapsed_s,
            latency_ns: Some(9_639_000),
            cut_short: false,
        })
    };
    BonnieRow { run: 1, process: 1, phases: figures.map(measured) }
}
