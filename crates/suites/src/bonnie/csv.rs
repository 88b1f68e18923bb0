//! The lines of CSV: 27 fields of version 1.03, 50 of version 2.00, which the packaged `bon_csv2txt` and `bon_csv2html` read.

use super::figures::{BonnieMeasurement, BonnieRow};
use super::layout::{CsvLayout, V1_03, V1_98};
use super::request::{BonnieFiles, Edition, Request};
use super::words::{files, latency, seeks, whole};
use super::{BonniePhase, DATA_PHASES, PHASES, PhaseAction};
use narrows_model::Summary;

/// The format that 2.00 calls itself by, and that its tools ask for.
const FORMAT: &str = "1.98";
/// The seed of 2.00 is a number of 32 bits.
const SEED_MASK: u64 = 0xFFFF_FFFF;

/// The names of the fields of 2.00: a heading over the lines of several runs.
const NAMES: &str = "format_version,bonnie_version,name,concurrency,seed,file_size,io_chunk_size,seek_count,\
                     seek_proc_count,putc,putc_cpu,put_block,put_block_cpu,rewrite,rewrite_cpu,getc,getc_cpu,get_block,\
                     get_block_cpu,seeks,seeks_cpu,num_files,max_size,min_size,num_dirs,file_chunk_size,seq_create,\
                     seq_create_cpu,seq_stat,seq_stat_cpu,seq_del,seq_del_cpu,ran_create,ran_create_cpu,ran_stat,\
                     ran_stat_cpu,ran_del,ran_del_cpu,putc_latency,put_block_latency,rewrite_latency,getc_latency,\
                     get_block_latency,seeks_latency,seq_create_latency,seq_stat_latency,seq_del_latency,\
                     ran_create_latency,ran_stat_latency,ran_del_latency\n";

/// A line for each row; of several runs in 2.00 below the names of the fields, as there.
pub(super) fn lines(rows: &[BonnieRow], request: &Request, summary: &Summary) -> String {
    let line = |row: &BonnieRow| match request.edition {
        Edition::V1_03 => v1_03(row, request),
        Edition::V2_00 => v2_00(row, request, summary.seed),
    };
    let is_headed = request.edition == Edition::V2_00 && request.runs > 1;
    let head = if is_headed { NAMES } else { "" };
    rows.iter().fold(head.to_owned(), |lines, row| lines + &line(row).join(",") + "\n")
}

/// Rate and CPU share of the phases from `first` on, half of all: empty where they were not run, `+` where they were too
/// short.
fn figures(row: &BonnieRow, first: usize, edition: Edition) -> impl Iterator<Item = String> {
    let pair = move |(phase, measured): (&BonniePhase, &Option<BonnieMeasurement>)| {
        let Some(measured) = measured else { return [String::new(), String::new()] };
        let rate = measured.rate().map(|rate| format_rate(rate, phase.action, edition));
        let cpu = measured.cpu_percent().map(whole);
        [rate.unwrap_or_else(|| "+++++".to_owned()), cpu.unwrap_or_else(|| "+++".to_owned())]
    };
    PHASES.iter().zip(&row.phases).skip(first).take(DATA_PHASES).flat_map(pair)
}

/// A rate: seeks to tenths, in the newer version below 1000 alone.
fn format_rate(rate: f64, does: PhaseAction, edition: Edition) -> String {
    match (does, edition) {
        (PhaseAction::Seeks, Edition::V1_03) => format!("{rate:.1}"),
        (PhaseAction::Seeks, Edition::V2_00) => seeks(rate),
        _ => whole(rate),
    }
}

/// The size as both versions print it: empty without a file.
fn size(request: &Request) -> String {
    if request.file_bytes().0 == 0 { String::new() } else { request.printed_size() }
}

/// A number that is left out where it is none.
fn or_empty(value: u64) -> String {
    if value == 0 { String::new() } else { value.to_string() }
}

/// The fields of a line with the machine, the size and all figures; the others are empty.
fn filled(layout: &CsvLayout, row: &BonnieRow, request: &Request, file_bytes: String) -> Vec<String> {
    let mut fields = vec![String::new(); layout.field_count];
    fields[layout.name] = request.row_name(row.process);
    fields[layout.size_index] = file_bytes;
    for (start, first) in [(layout.data, 0), (layout.names, DATA_PHASES)] {
        put(&mut fields, start, figures(row, first, request.edition));
    }
    fields
}

/// Machine, size, six pairs, files, six pairs.
fn v1_03(row: &BonnieRow, request: &Request) -> Vec<String> {
    let chunk = request.printed_chunk();
    let size = if chunk.is_empty() { size(request) } else { format!("{}:{chunk}", size(request)) };
    let mut fields = filled(&V1_03, row, request, size);
    fields[V1_03.files()] = files(request);
    fields
}

/// Format, version, machine, concurrency, seed, what was asked for, six pairs, what was asked for of files, six pairs, and
/// twelve latencies.
fn v2_00(row: &BonnieRow, request: &Request, seed: u64) -> Vec<String> {
    let BonnieFiles { thousands, max, min, folders, chunk } = request.files;
    let mut fields = filled(&V1_98, row, request, size(request));
    FORMAT.clone_into(&mut fields[0]);
    request.edition.name().clone_into(&mut fields[1]);
    "1".clone_into(&mut fields[V1_98.name + 1]);
    fields[V1_98.name + 2] = (seed & SEED_MASK).to_string();
    if request.file_bytes().0 > 0 {
        let asked = [request.printed_chunk(), request.seeks.to_string(), request.seekers().to_string()];
        put(&mut fields, V1_98.size_index + 1, asked);
    }
    if thousands > 0 {
        let chunk = if max.0 > 0 && chunk.0 != 8192 { chunk.0 } else { 0 };
        let folders = if folders > 1 { folders } else { 0 };
        put(&mut fields, V1_98.files(), [thousands, max.0, min.0, folders, chunk].map(or_empty));
    }
    let longest =
        |measured: &Option<BonnieMeasurement>| measured.and_then(|measured| measured.latency_ns).map(latency);
    let latencies = row.phases.iter().map(|measured| longest(measured).unwrap_or_default());
    put(&mut fields, V1_98.names + 2 * DATA_PHASES, latencies);
    fields
}

/// Puts `values` into the fields from `start` on.
fn put(fields: &mut [String], start: usize, values: impl IntoIterator<Item = String>) {
    for (field, value) in fields.iter_mut().skip(start).zip(values) {
        *field = value;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{of_edition, published, row};
    use super::*;
    use narrows_model::Bytes;

    fn with_files(edition: Edition, max: u64, min: u64, folders: u64) -> Request {
        let files = BonnieFiles { max: Bytes(max), min: Bytes(min), folders, ..BonnieFiles::default() };
        Request { files, ..of_edition(edition) }
    }

    /// The published line of CSV.
    const PUBLISHED: &str = include_str!("../../tests/data/bonnie_pvfs2_bgl_2005.csv");

    #[test]
    fn the_published_figures_make_the_published_line() {
        let line = v1_03(&published(), &of_edition(Edition::V1_03)).join(",");
        assert_eq!(PUBLISHED.lines().nth(1), Some(line.as_str()));
    }

    #[test]
    fn the_newer_line_has_the_fields_of_its_header_and_what_was_not_run_is_empty() {
        let mut row = row(4.0);
        row.phases[0] = None;
        let asked = with_files(Edition::V2_00, 200, 100, 3);
        let fields = v2_00(&row, &asked, 7 << 32 | 3);
        assert_eq!(fields.len(), 50);
        assert_eq!(fields[..9], ["1.98", "2.00", "fs2", "1", "3", "10G", "", "8192", "5"]);
        assert_eq!((fields[9].as_str(), fields[10].as_str(), fields[38].as_str()), ("", "", ""));
        assert_eq!(fields[21..26], ["16", "200", "100", "3", ""]);
        assert_eq!(fields[39], "9639us");
    }

    #[test]
    fn without_a_file_or_without_files_their_fields_are_empty() {
        let mut row = row(4.0);
        row.phases[..6].fill(None);
        let none = Request { file_mib: Some(0), ..of_edition(Edition::V2_00) };
        let fields = v2_00(&row, &none, 1);
        assert!(fields[5..21].iter().all(String::is_empty) && fields[21] == "16", "{fields:?}");
        let files = BonnieFiles { thousands: 0, ..BonnieFiles::default() };
        let none = Request { files, ..of_edition(Edition::V1_03) };
        let fields = v1_03(&row, &none);
        assert_eq!((fields.len(), fields[14].as_str()), (27, ""));
    }

    #[test]
    fn files_with_sizes_and_directories_are_one_field_of_the_older_line() {
        assert_eq!(files(&with_files(Edition::V1_03, 1000, 10, 4)), "16:1000:10/4");
        assert_eq!(files(&with_files(Edition::V1_03, 1000, 0, 1)), "16:1000:0");
    }

    #[test]
    fn one_directory_is_none_in_both_lines() {
        let one = with_files(Edition::V2_00, 0, 0, 1);
        assert_eq!((v2_00(&row(4.0), &one, 1)[24].as_str(), files(&one).as_str()), ("", "16"));
    }

    #[test]
    fn seeks_have_tenths_in_the_older_line_and_below_1000_in_the_newer() {
        let mut row = row(4.0);
        let of = |row: &BonnieRow| {
            (
                v1_03(row, &of_edition(Edition::V1_03))[12].clone(),
                v2_00(row, &of_edition(Edition::V2_00), 1)[19].clone(),
            )
        };
        assert_eq!(of(&row), ("557.3".to_owned(), "557.3".to_owned()));
        row.phases[5].as_mut().unwrap().amount = 4.0 * 9546.7;
        assert_eq!(of(&row), ("9546.7".to_owned(), "9547".to_owned()));
    }
}
