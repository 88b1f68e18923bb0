//! The lines of CSV: 27 fields of version 1.03, 50 of version 2.00, which the packaged `bon_csv2txt` and `bon_csv2html` read.

use super::figures::{Measured, Row};
use super::native::{latency, seeks, whole};
use super::options::Options;
use super::request::Edition;
use super::{DATA_PHASES, Does, PHASES, Phase};
use narrows_model::Summary;

/// The format that 2.00 calls itself by, and that its tools ask for.
const FORMAT: &str = "1.98";
/// The seed of 2.00 is a number of 32 bits.
const SEED_MASK: u64 = 0xFFFF_FFFF;

/// The names of the fields of 2.00, which stand over the lines of several runs.
const NAMES: &str = "format_version,bonnie_version,name,concurrency,seed,file_size,io_chunk_size,seek_count,\
                     seek_proc_count,putc,putc_cpu,put_block,put_block_cpu,rewrite,rewrite_cpu,getc,getc_cpu,get_block,\
                     get_block_cpu,seeks,seeks_cpu,num_files,max_size,min_size,num_dirs,file_chunk_size,seq_create,\
                     seq_create_cpu,seq_stat,seq_stat_cpu,seq_del,seq_del_cpu,ran_create,ran_create_cpu,ran_stat,\
                     ran_stat_cpu,ran_del,ran_del_cpu,putc_latency,put_block_latency,rewrite_latency,getc_latency,\
                     get_block_latency,seeks_latency,seq_create_latency,seq_stat_latency,seq_del_latency,\
                     ran_create_latency,ran_stat_latency,ran_del_latency\n";

/// A line for each row; of several runs in 2.00 below the names of the fields, as there.
pub(super) fn lines(rows: &[Row], options: &Options, summary: &Summary) -> String {
    let line = |row: &Row| match options.edition {
        Edition::V1_03 => v1_03(row, options),
        Edition::V2_00 => v2_00(row, options, summary.seed),
    };
    let is_headed = options.edition == Edition::V2_00 && options.runs > 1;
    let head = if is_headed { NAMES } else { "" };
    rows.iter().fold(head.to_owned(), |lines, row| lines + &line(row).join(",") + "\n")
}

/// Rate and CPU share of the phases from `first` on, half of all: empty where they were not run, `+` where they were too
/// short.
fn figures(row: &Row, first: usize, edition: Edition) -> impl Iterator<Item = String> {
    let pair = move |(phase, measured): (&Phase, &Option<Measured>)| {
        let Some(measured) = measured else { return [String::new(), String::new()] };
        let rate = measured.rate().map(|rate| told(rate, phase.does, edition));
        let cpu = measured.cpu_percent().map(whole);
        [rate.unwrap_or_else(|| "+++++".to_owned()), cpu.unwrap_or_else(|| "+++".to_owned())]
    };
    PHASES.iter().zip(&row.phases).skip(first).take(DATA_PHASES).flat_map(pair)
}

/// A rate: seeks to tenths, in the newer version below 1000 alone.
fn told(rate: f64, does: Does, edition: Edition) -> String {
    match (does, edition) {
        (Does::Seeks, Edition::V1_03) => format!("{rate:.1}"),
        (Does::Seeks, Edition::V2_00) => seeks(rate),
        _ => whole(rate),
    }
}

/// The size as both versions print it: empty without a file.
fn size(options: &Options) -> String {
    if options.file.0 == 0 { String::new() } else { options.size() }
}

/// A number that is left out where it is none.
fn or_empty(value: u64) -> String {
    if value == 0 { String::new() } else { value.to_string() }
}

/// Machine, size, six pairs, files, six pairs.
fn v1_03(row: &Row, options: &Options) -> Vec<String> {
    let chunk = options.chunk();
    let size = if chunk.is_empty() { size(options) } else { format!("{}:{chunk}", size(options)) };
    let mut fields = vec![options.name.clone(), size];
    fields.extend(figures(row, 0, Edition::V1_03));
    fields.push(files(options));
    fields.extend(figures(row, DATA_PHASES, Edition::V1_03));
    fields
}

/// How many files of which sizes in how many directories, as one field: `16:1000:10/4`.
pub(super) fn files(options: &Options) -> String {
    if options.thousands == 0 {
        return String::new();
    }
    let bytes = if options.max > 0 { format!(":{}:{}", options.max, options.min) } else { String::new() };
    let folders = if options.folders > 1 { format!("/{}", options.folders) } else { String::new() };
    format!("{}{bytes}{folders}", options.thousands)
}

/// Format, version, machine, concurrency, seed, what was asked for, six pairs, what was asked for of files, six pairs, and
/// twelve latencies.
fn v2_00(row: &Row, options: &Options, seed: u64) -> Vec<String> {
    let of_data = |value: String| if options.file.0 == 0 { String::new() } else { value };
    let of_files = |value: u64| if options.thousands == 0 { String::new() } else { or_empty(value) };
    let mut fields = vec![
        FORMAT.to_owned(),
        options.edition.name().to_owned(),
        options.name.clone(),
        "1".to_owned(),
        (seed & SEED_MASK).to_string(),
        size(options),
        of_data(options.chunk()),
        of_data(options.seeks.to_string()),
        of_data(options.seekers.to_string()),
    ];
    fields.extend(figures(row, 0, Edition::V2_00));
    let chunk = if options.max > 0 && options.file_chunk != 8192 { options.file_chunk } else { 0 };
    let folders = if options.folders > 1 { options.folders } else { 0 };
    fields.extend([options.thousands, options.max, options.min, folders, chunk].map(of_files));
    fields.extend(figures(row, DATA_PHASES, Edition::V2_00));
    let longest =
        |measured: &Option<Measured>| measured.and_then(|measured| measured.latency_ns).map(latency);
    fields.extend(row.phases.iter().map(|measured| longest(measured).unwrap_or_default()));
    fields
}

#[cfg(test)]
mod tests {
    use super::super::testing::{options, published, row};
    use super::*;

    /// The published line of CSV.
    const PUBLISHED: &str = include_str!("../../../record/tests/data/bonnie_pvfs2_bgl_2005.csv");

    #[test]
    fn the_published_figures_make_the_published_line() {
        let line = v1_03(&published(), &options(Edition::V1_03)).join(",");
        assert_eq!(PUBLISHED.lines().nth(1), Some(line.as_str()));
    }

    #[test]
    fn the_newer_line_has_the_fields_of_its_header_and_what_was_not_run_is_empty() {
        let mut row = row(4.0);
        row.phases[0] = None;
        let options = Options { max: 200, min: 100, folders: 3, ..options(Edition::V2_00) };
        let fields = v2_00(&row, &options, 7 << 32 | 3);
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
        let none = Options { file: narrows_model::Bytes(0), ..options(Edition::V2_00) };
        let fields = v2_00(&row, &none, 1);
        assert!(fields[5..21].iter().all(String::is_empty) && fields[21] == "16", "{fields:?}");
        let none = Options { thousands: 0, ..options(Edition::V1_03) };
        let fields = v1_03(&row, &none);
        assert_eq!((fields.len(), fields[14].as_str()), (27, ""));
    }

    #[test]
    fn files_with_sizes_and_directories_are_one_field_of_the_older_line() {
        let some = Options { max: 1000, min: 10, folders: 4, ..options(Edition::V1_03) };
        assert_eq!(files(&some), "16:1000:10/4");
        assert_eq!(files(&Options { min: 0, folders: 1, ..some }), "16:1000:0");
    }

    #[test]
    fn one_directory_is_none_in_both_lines() {
        let one = Options { folders: 1, ..options(Edition::V2_00) };
        assert_eq!((v2_00(&row(4.0), &one, 1)[24].as_str(), files(&one).as_str()), ("", "16"));
    }

    #[test]
    fn seeks_have_tenths_in_the_older_line_and_below_1000_in_the_newer() {
        let mut row = row(4.0);
        let of = |row: &Row| {
            (
                v1_03(row, &options(Edition::V1_03))[12].clone(),
                v2_00(row, &options(Edition::V2_00), 1)[19].clone(),
            )
        };
        assert_eq!(of(&row), ("557.3".to_owned(), "557.3".to_owned()));
        row.phases[5].as_mut().unwrap().amount = 4.0 * 9546.7;
        assert_eq!(of(&row), ("9546.7".to_owned(), "9547".to_owned()));
    }
}
