//! Requests of letters and points of given figures, for tests.

use super::columns::{COLUMNS, IozoneColumn};
use super::figures::{IozonePoint, ProcessFigures};
use super::request::Request;

/// The words of a line.
pub(super) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// The request of these letters.
pub(super) fn request(line: &str) -> Request {
    Request::from_words(&words(line)).unwrap()
}

/// A column of one process at these sizes and this rate in kB/s, at 50 % of a CPU.
pub(super) fn point_of(column: &str, file_kb: u64, record_kb: u64, kb_per_s: f64) -> IozonePoint {
    let elapsed_s = file_kb as f64 / kb_per_s;
    let child = ProcessFigures {
        bytes: file_kb as f64 * 1024.0,
        ops: (file_kb / record_kb) as f64,
        elapsed_s,
        cpu_s: elapsed_s / 2.0,
    };
    let column = IozoneColumn::named(column).unwrap();
    IozonePoint { column, file_kb, record_kb, children: vec![child], ended_s: None, cut_short: false }
}

/// Files of 4 to 64 MB by records of 16 kB to 1 MB of an imagined NFS mount with rsize and wsize of 64 kB on a gigabit
/// link, with 24 MB of free memory: larger files fall to the wire's rate and below. The smallest record of files above 16
/// MB is left out.
pub(super) fn surface() -> Vec<IozonePoint> {
    let mut points = Vec::new();
    for file_kb in [4096, 8192, 16_384, 32_768, 65_536] {
        for record_kb in [16, 64, 256, 1024] {
            if file_kb > 16_384 && record_kb < 64 {
                continue;
            }
            for (index, column) in COLUMNS.iter().enumerate().filter(|(_, column)| !column.is_mixed()) {
                let cached = 900_000.0 - 10_000.0 * index as f64;
                let remote = 60_000.0 - 500.0 * index as f64;
                let by_record = if record_kb < 64 { 0.5 } else { 1.0 + 1e-5 * record_kb as f64 };
                let rate = if file_kb > 16_384 { remote } else { cached } * by_record;
                points.push(point_of(column.name, file_kb, record_kb, rate));
            }
        }
    }
    points
}
