//! The surface as a list: a line for each test, file and record, with the limits that it exceeds.

use super::super::figures::{IozonePoint, points};
use super::super::request::FigureUnit;
use super::SurfaceMarks;
use narrows_model::Summary;
use std::fmt::Write;

/// Every figure of a run as CSV; `None` where `summary` is of another suite.
///
/// # Units
/// Sizes in kB of 1024 bytes; the last three columns are yes, no, or empty where it is not known.
pub(in super::super) fn csv(summary: &Summary) -> Option<String> {
    super::super::recorded(summary)?;
    Some(list(&points(summary), &SurfaceMarks::from_summary(summary)))
}

pub(super) fn list(points: &[IozonePoint], marks: &SurfaceMarks) -> String {
    let mut out = "test,processes,file_kb,record_kb,kb_per_s,ops_per_s,us_per_op,cpu_percent,above_ceiling,\
                   above_request_size,above_memory\n"
        .to_owned();
    for point in points {
        let processes = point.children.len();
        let kb_per_s = point.bytes_per_s().map(|rate| rate / 1024.0);
        let ops: f64 = point.children.iter().map(|child| child.ops).sum();
        let ops_per_s = narrows_model::units::ratio(ops, point.wall_s());
        let micros = point.value(FigureUnit::MicrosPerOp).filter(|_| processes == 1);
        // Writing into a string cannot fail.
        let _ = write!(out, "{},{processes},{},{}", point.column.name, point.file_kb, point.record_kb);
        for value in [kb_per_s, ops_per_s, micros, point.cpu_percent()] {
            let _ = write!(out, ",{}", value.map_or_else(String::new, |value| format!("{value:.2}")));
        }
        let split = marks.split_kb(point.column).map(|(split, _)| point.record_kb > split);
        let memory = marks.memory_kb.map(|memory| point.file_kb.saturating_mul(processes as u64) > memory);
        for is in [kb_per_s.and_then(|rate| marks.is_cache(rate)), split, memory] {
            let _ = write!(out, ",{}", is.map_or("", |is| if is { "yes" } else { "no" }));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::point_of;
    use super::super::SurfaceCeiling;
    use super::*;

    #[test]
    fn each_line_says_what_its_figure_is_beyond() {
        let points = [point_of("write", 4096, 64, 900_000.0), point_of("read", 65_536, 1024, 60_000.0)];
        let marks = SurfaceMarks {
            read_kb: Some(64),
            memory_kb: Some(24_576),
            ceiling: Some(SurfaceCeiling { kb_per_s: 122_070.0, source: "the wire" }),
            ..SurfaceMarks::default()
        };
        let text = list(&points, &marks);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines[0], "write,1,4096,64,900000.00,14062.50,71.11,50.00,yes,,no");
        assert_eq!(lines[1], "read,1,65536,1024,60000.00,58.59,17066.67,50.00,no,yes,yes");
        assert!(
            list(&points, &SurfaceMarks::default()).lines().nth(1).is_some_and(|line| line.ends_with(",,,"))
        );
    }
}
