//! The tables of text of both versions, 80 columns wide; the older one is what `narrows import bonnie` reads without CSV.

use super::figures::BonnieRow;
use super::request::{Edition, Request};
use super::words::{files, latency, seeks, whole};
use super::{DATA_PHASES, PHASES, PhaseAction};
use std::fmt::Write;

/// Columns before the figures.
const HEAD: usize = 19;
/// Seeks, and who seeks, that the newer version leaves out of its first column.
const SEEKS: u64 = 8192;
const SEEKERS: u64 = 5;
const DATA_HEADS: [&str; 2] = [
    "------Sequential Output------ --Sequential Input- --Random-",
    "-Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--",
];
const FILE_HEADS: [&str; 2] = [
    "------Sequential Create------ --------Random Create--------",
    "-Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--",
];

/// The tables of each row.
pub(super) fn tables(rows: &[BonnieRow], request: &Request) -> String {
    let mut out = String::new();
    for row in rows {
        out += &title(row, request);
        if request.file_bytes().0 > 0 {
            data(&mut out, row, request);
        }
        if request.files.thousands > 0 {
            names(&mut out, row, request);
        }
    }
    out
}

/// Which run and process a table is of, where there are several.
fn title(row: &BonnieRow, request: &Request) -> String {
    let mut parts = Vec::new();
    if request.runs > 1 {
        parts.push(format!("run {} of {}", row.run, request.runs));
    }
    if request.processes > 1 {
        parts.push(format!("process {} of {}", row.process, request.processes));
    }
    if parts.is_empty() { String::new() } else { format!("[{}]\n", parts.join(", ")) }
}

fn version(out: &mut String, request: &Request, head: &str) {
    // Writing into a string cannot fail.
    let _ = writeln!(out, "{:<HEAD$} {head}", format!("Version  {}", request.edition.name()));
}

fn data(out: &mut String, row: &BonnieRow, request: &Request) {
    version(out, request, DATA_HEADS[0]);
    let _ = writeln!(out, "{:HEAD$} {}", "", DATA_HEADS[1]);
    let (title, unit) = match request.edition {
        Edition::V1_03 if request.printed_chunk().is_empty() => ("Machine        Size", "K/sec"),
        Edition::V1_03 => ("Machine   Size:chnk", "K/sec"),
        Edition::V2_00 => ("Name:Size etc", " /sec"),
    };
    let columns = [unit, unit, unit, unit, unit, " /sec"].map(|unit| format!(" {unit} %CP"));
    let _ = writeln!(out, "{title:<HEAD$}{}", columns.concat());
    let size = size(request);
    let room = HEAD.saturating_sub(size.len() + 1);
    let name: String = request.row_name(row.process).chars().take(room).collect();
    let _ = writeln!(out, "{name:<room$} {size}{}", figures(row, 0, request));
    latencies(out, row, 0, request);
}

/// The size, and behind colons what is not usual: the chunk, in the newer version also copies of the program (here one),
/// seeks, and who seeks.
fn size(request: &Request) -> String {
    let unusual = |value: u64, usual: u64| if value == usual { String::new() } else { value.to_string() };
    let more = match request.edition {
        Edition::V1_03 => [request.printed_chunk(), String::new(), String::new(), String::new()],
        Edition::V2_00 => {
            let (seeks, seekers) =
                (unusual(request.seeks, SEEKS), unusual(u64::from(request.seekers()), SEEKERS));
            [request.printed_chunk(), String::new(), seeks, seekers]
        }
    };
    let all = format!("{}:{}", request.printed_size(), more.join(":"));
    all.trim_end_matches(':').to_owned()
}

/// Under a table of data 1.03 has neither its number nor the machine's name again.
fn names(out: &mut String, row: &BonnieRow, request: &Request) {
    let is_headed = request.edition == Edition::V2_00 || request.file_bytes().0 == 0;
    if is_headed {
        version(out, request, FILE_HEADS[0]);
    } else {
        let _ = writeln!(out, "{:HEAD$} {}", "", FILE_HEADS[0]);
    }
    let name = if is_headed { request.row_name(row.process) } else { String::new() };
    let name: String = name.chars().take(HEAD).collect();
    let _ = writeln!(out, "{name:<HEAD$} {}", FILE_HEADS[1]);
    let title = match (request.files.max.0, request.files.min.0) {
        (0, _) => "              files",
        (_, 0) => "files:max",
        _ => "files:max:min",
    };
    let _ = writeln!(out, "{title:<HEAD$}{}", "  /sec %CP".repeat(DATA_PHASES));
    let _ = writeln!(out, "{:>HEAD$}{}", files(request), figures(row, DATA_PHASES, request));
    latencies(out, row, DATA_PHASES, request);
}

/// Rate and CPU share of six phases: blank where they were not run, `+` where they were too short.
fn figures(row: &BonnieRow, first: usize, request: &Request) -> String {
    let mut out = String::new();
    for (phase, measured) in PHASES.iter().zip(&row.phases).skip(first).take(DATA_PHASES) {
        let (rate, cpu) = measured.as_ref().map_or_else(Default::default, |measured| {
            let rate = measured.rate().map(|rate| format_rate(rate, phase.action, request.edition));
            let cpu = measured.cpu_percent().map(whole);
            (rate.unwrap_or_else(|| "+++++".to_owned()), cpu.unwrap_or_else(|| "+++".to_owned()))
        });
        let _ = write!(out, " {rate:>5} {cpu:>3}");
    }
    out.truncate(out.trim_end().len());
    out
}

/// A rate: of data in KiB, in the newer version with the unit that fits into five columns.
fn format_rate(rate: f64, does: PhaseAction, edition: Edition) -> String {
    const STEP: f64 = 1024.0;
    if does == PhaseAction::Seeks {
        return seeks(rate);
    }
    if edition == Edition::V1_03 || !does.moves_data() {
        return whole(rate);
    }
    if rate < 10_000.0 {
        return format!("{:.0}k", rate.trunc());
    }
    let (value, unit) = if rate < 1000.0 * STEP { (rate / STEP, 'm') } else { (rate / STEP / STEP, 'g') };
    if value < 99.95 { format!("{value:.1}{unit}") } else { format!("{value:.0}{unit}") }
}

/// The longest operation of six phases, in the newer version.
fn latencies(out: &mut String, row: &BonnieRow, first: usize, request: &Request) {
    if request.edition == Edition::V1_03 {
        return;
    }
    let mut line = format!("{:<17}", "Latency");
    for measured in row.phases.iter().skip(first).take(DATA_PHASES) {
        let longest = measured.and_then(|measured| measured.latency_ns).map(latency);
        let _ = write!(line, "{:>10}", longest.unwrap_or_default());
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::super::testing::{of_edition, published, row};
    use super::*;
    use crate::bonnie::BonnieFiles;
    use narrows_model::Bytes;

    /// The published figures as 1.03 lays them out.
    const PUBLISHED: &str = include_str!("../../tests/data/bonnie_1.03.txt");

    #[test]
    fn the_published_figures_make_the_table_of_the_older_version() {
        assert_eq!(tables(&[published()], &of_edition(Edition::V1_03)), PUBLISHED);
    }

    /// The lines with nothing behind their figures.
    fn lines(request: &Request) -> Vec<String> {
        tables(&[row(4.0)], request).lines().map(str::to_owned).collect()
    }

    #[test]
    fn without_a_file_the_older_table_of_files_is_headed_as_one_of_data() {
        let none = Request { file_mib: Some(0), ..of_edition(Edition::V1_03) };
        let lines = lines(&none);
        assert_eq!(
            lines[0],
            "Version  1.03       ------Sequential Create------ --------Random Create--------"
        );
        assert_eq!(
            lines[1],
            "fs2                 -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--"
        );
    }

    #[test]
    fn a_chunk_that_is_not_usual_is_reported_in_heading_and_row() {
        let with = |edition, chunk| Request { chunk: Bytes(chunk), ..of_edition(edition) };
        let older = lines(&with(Edition::V1_03, 1 << 20));
        assert!(older[2].starts_with("Machine   Size:chnk K/sec %CP"), "{older:?}");
        assert!(older[3].starts_with("fs2       10G:1024k 38476  95"), "{older:?}");
        let newer = lines(&with(Edition::V2_00, 64 << 10));
        assert!(newer[2].starts_with("Name:Size etc        /sec %CP"), "{newer:?}");
        assert!(newer[3].starts_with("fs2         10G:64k 37.6m  95"), "{newer:?}");
    }

    #[test]
    fn the_newer_first_column_has_seeks_and_who_seeks_where_they_are_not_usual() {
        // 2.00a prints `64M:::200000:12` of such a run.
        let asked = Request { seeks: 200_000, seekers: Some(12), ..of_edition(Edition::V2_00) };
        assert_eq!(size(&asked), "10G:::200000:12");
        let asked = Request { seeks: 100, chunk: Bytes(1 << 20), ..of_edition(Edition::V2_00) };
        assert_eq!(
            (size(&asked).as_str(), size(&of_edition(Edition::V2_00)).as_str()),
            ("10G:1m::100", "10G")
        );
        assert_eq!(size(&Request { edition: Edition::V1_03, ..asked }), "10G:1024k");
    }

    #[test]
    fn the_number_of_files_is_headed_by_what_stands_below_it() {
        // As 2.00a prints them, and 1.03.
        for (max, min, title, printed) in [
            (0, 0, "              files  /sec", "                 16 "),
            (100, 0, "files:max            /sec", "           16:100:0 "),
            (100, 10, "files:max:min        /sec", "          16:100:10 "),
        ] {
            for edition in [Edition::V1_03, Edition::V2_00] {
                let files = BonnieFiles { max: Bytes(max), min: Bytes(min), ..BonnieFiles::default() };
                let lines = lines(&Request { files, ..of_edition(edition) });
                let heading = lines.iter().position(|line| line.contains("files")).unwrap();
                assert!(lines[heading].starts_with(title), "{lines:?}");
                assert!(lines[heading + 1].starts_with(printed), "{lines:?}");
            }
        }
    }

    #[test]
    fn the_newer_table_has_units_and_latencies() {
        insta::assert_snapshot!("text-2.00", tables(&[row(4.0)], &of_edition(Edition::V2_00)));
    }

    #[test]
    fn several_runs_and_processes_are_distinguished_and_what_was_not_run_is_blank() {
        let mut first = row(4.0);
        first.phases[0] = None;
        first.phases[3] = None;
        first.phases[7].as_mut().unwrap().elapsed_s = 0.1;
        first.phases[8].as_mut().unwrap().cut_short = true;
        let second = BonnieRow { run: 2, process: 2, ..row(4.0) };
        let files = BonnieFiles { max: Bytes(1000), min: Bytes(10), folders: 4, ..BonnieFiles::default() };
        let asked = Request { runs: 2, processes: 2, files, ..of_edition(Edition::V1_03) };
        insta::assert_snapshot!("text-1.03", tables(&[first, second], &asked));
    }

    #[test]
    fn a_rate_has_the_unit_that_fits_into_five_columns() {
        let printed = |rate| format_rate(rate, PhaseAction::Rewrite, Edition::V2_00);
        let all = [0.9, 962.7, 9_999.9, 10_000.0, 57_012.0, 276_645.0, 1_402_739.0, 3e8].map(printed);
        assert_eq!(all, ["0k", "962k", "9999k", "9.8m", "55.7m", "270m", "1.3g", "286g"]);
    }
}
