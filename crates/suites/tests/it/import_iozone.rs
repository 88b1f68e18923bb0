//! IOzone in its three outputs, imported and diagnosed. The data are written from the documented format, but for those that
//! IOzone 3.489 printed (data/README.md).

use narrows_analysis::diagnose_observations;
use narrows_model::located::FileProblems;
use narrows_model::observation::ObservedOp;
use narrows_model::units::BytesPerSec;
use narrows_model::{Bytes, Diagnosis, Observation, Role, Segment};
use narrows_suites::import::{Import, ImportOptions, import, importer};

/// The observation file of an import.
fn text_of(made: &Import) -> String {
    narrows_record::observations_text(&made.observations, &made.comments())
}

const AUTO: &str = include_str!("../data/iozone_auto.txt");

fn with(text: &str, completion: &ImportOptions) -> Result<Import, FileProblems> {
    import(text.as_bytes(), "out", importer("iozone"), completion)
}

fn read(text: &str) -> Import {
    with(text, &ImportOptions::default()).unwrap_or_else(|problems| panic!("{problems}"))
}

fn one<'m>(made: &'m Import, id: &str) -> &'m Observation {
    made.observations.observations.iter().find(|one| one.id == id).unwrap_or_else(|| panic!("no {id}"))
}

fn verdict(made: &Import) -> Diagnosis {
    let text = text_of(made);
    let all =
        narrows_study::observations::parse(&text, "written").unwrap_or_else(|problems| panic!("{problems}"));
    diagnose_observations(&all)
}

#[test]
fn every_figure_of_the_table_has_its_test_file_and_record() {
    let made = read(AUTO);
    assert_eq!(made.observations.observations.len(), 6 * 7 * 6);
    let write = one(&made, "write 65536/64");
    assert_eq!((write.block_bytes, write.file_bytes), (Some(Bytes(64 << 10)), Some(Bytes(64 << 20))));
    assert!(made.observations.title.contains("iozone -a -n 64m"));
}

#[test]
fn the_blocks_of_the_spreadsheet_say_the_same() {
    let sheet = read(include_str!("../data/iozone_sheet.txt"));
    let table = read(AUTO);
    assert_eq!(sheet.observations.observations.len(), table.observations.observations.len());
    for found in &sheet.observations.observations {
        assert_eq!(found, one(&table, &found.id));
    }
}

#[test]
fn figures_below_blank_columns_belong_to_the_heading_above_them() {
    let text = "              KB  reclen   write rewrite    read    reread    read   write    read  rewrite     read   fwrite frewrite   fread  freread\n\
                \x20         409600      64   31782   22524                    816017   10411                  3779260                                  \n";
    let made = read(text);
    let ids: Vec<&str> = made.observations.observations.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "write 409600/64",
            "rewrite 409600/64",
            "random-read 409600/64",
            "random-write 409600/64",
            "stride-read 409600/64"
        ]
    );
    let squeezed = text.replace(
        "31782   22524                    816017   10411                  3779260",
        "31782 22524 816017 10411 3779260",
    );
    let problems = with(&squeezed, &ImportOptions::default()).unwrap_err();
    assert!(problems.render().contains("the spaces of the table must be kept"), "{problems}");
}

#[test]
fn skipped_cells_are_no_rates() {
    let text = "kB reclen write rewrite\n32768 4 0 0\n32768 64 5000 6000\n";
    assert_eq!(read(text).observations.observations.len(), 2);
}

#[test]
fn operations_and_microseconds_become_rates_of_bytes() {
    let head = "kB reclen write rewrite\n4096 128 1000 1250\n";
    let ops = read(&format!("OPS Mode. Output is in operations per second.\n{head}"));
    assert_eq!(one(&ops, "write 4096/128").bytes_per_s, Some(BytesPerSec(1000.0 * 131_072.0)));
    let micros = read(&format!("Microseconds/op Mode. Output is in microseconds per operation.\n{head}"));
    assert_eq!(one(&micros, "rewrite 4096/128").ops_per_s.map(|rate| rate.0), Some(800.0));
    assert_eq!(one(&micros, "write 4096/128").latency_s, Some(1000.0 * 1e-6));
}

#[test]
fn both_ridges_of_the_surface_are_named() {
    let remarks = read(AUTO).remarks.join("\n");
    let file = "write, rewrite, read, reread, random-read, random-write: falls to half or less between files of 524288 and 1048576 KiB";
    assert!(remarks.contains(file), "{remarks}");
    let record = "write, rewrite, read, reread: records above 64 KiB add nothing (file of 2097152 KiB)";
    assert!(remarks.contains(record), "{remarks}");
}

#[test]
fn records_of_small_files_say_nothing_of_a_mount() {
    let table = |file_kib: u32| {
        let rows = [(4, 2000), (8, 9000), (16, 9000), (32, 9000)];
        let rows = rows.map(|(record, rate)| format!("{file_kib} {record} {rate} {rate}\n")).concat();
        read(&format!("kB reclen write rewrite\n{rows}")).remarks.join("\n")
    };
    assert!(!table(256).contains("records above"), "{}", table(256));
    assert!(table(8192).contains("records above 8 KiB add nothing (file of 8192 KiB)"), "{}", table(8192));
}

#[test]
fn a_fall_where_memory_ends_is_the_cache_running_out() {
    let completion = ImportOptions { client_memory: Some(Bytes(768 << 20)), ..ImportOptions::default() };
    let diagnosis = verdict(&with(AUTO, &completion).unwrap());
    let cached = diagnosis.findings.iter().find(|finding| finding.code == "file-size-fall").unwrap();
    assert!(cached.cells.iter().any(|cell| cell == "read 524288/64"), "{:?}", cached.cells);
    assert!(!cached.cells.iter().any(|cell| cell.contains("1048576/")), "{:?}", cached.cells);
    assert_eq!(diagnosis.limiting[0].segment, Segment::ClientCache);
}

#[test]
fn points_above_the_wire_are_named_as_cache() {
    let completion = ImportOptions { network: Some(BytesPerSec(125e6)), ..ImportOptions::default() };
    let diagnosis = verdict(&with(AUTO, &completion).unwrap());
    let cached = diagnosis.findings.iter().find(|finding| finding.code == "client-cache-served").unwrap();
    assert!(cached.cells.iter().any(|cell| cell == "reread 65536/16384"));
    assert!(!cached.cells.iter().any(|cell| cell.contains("2097152/")), "{:?}", cached.cells);
}

#[test]
fn the_parent_of_several_processes_is_believed_before_the_childrens_sum() {
    let made = read(include_str!("../data/iozone_throughput.txt"));
    let writers = one(&made, "initial writers x 4");
    assert_eq!((writers.clients, writers.bytes_per_s), (Some(4), Some(BytesPerSec(61210.52 * 1024.0))));
    let remarks = made.remarks.join("\n");
    assert!(
        remarks.contains("initial writers x 4: the children's sum is 1.6 times")
            && remarks.contains("3.5 times the rate"),
        "{remarks}"
    );
    assert!(!remarks.contains("readers x 4:"), "{remarks}");
    let children = one(&made, "initial writers x 4 (children)");
    assert!(children.bytes_per_s.unwrap().0 > 1.5 * writers.bytes_per_s.unwrap().0, "{children:?}");
    assert_eq!(children.quality, narrows_model::observation::Quality::UpperBound);
}

#[test]
fn columns_that_are_blank_in_a_published_form_are_passed_over() {
    let made = read(include_str!("../data/iozone_columns.txt"));
    let ids: Vec<&str> = made.observations.observations.iter().map(|one| one.id.as_str()).take(5).collect();
    let wanted = ["write", "rewrite", "random-read", "random-write", "stride-read"];
    assert_eq!(ids, wanted.map(|test| format!("{test} 65536/64")));
    assert_eq!(made.observations.observations.len(), 2 * 3 * 5);
}

#[test]
fn every_test_of_processes_together_has_its_name_its_direction_and_its_cpu_in_words() {
    let made = read(include_str!("../data/iozone_together.txt"));
    let all = &made.observations.observations;
    let of = |op: ObservedOp| all.iter().filter(|one| one.op == op).count();
    // Each as its parent saw it, and as its children did.
    assert_eq!((all.len(), of(ObservedOp::Write), of(ObservedOp::Read)), (26, 10, 14));
    assert_eq!(one(&made, "mixed workload x 4").op, ObservedOp::Mixed);
    let readers = one(&made, "freaders x 4");
    assert_eq!((readers.clients, readers.block_bytes), (Some(4), Some(Bytes(64 << 10))));
    // How many cores four processes could use is not known.
    assert!(all.iter().all(|one| one.cpu_cores.is_empty()));
    assert!(readers.note.as_ref().unwrap().ends_with("; 0.62 cores of the client were busy"), "{readers:?}");
}

#[test]
fn the_cpu_of_one_process_is_read_from_its_line_and_from_blocks_where_it_is_not_nothing() {
    let line = "Children see throughput for  1 readers \t\t= 500.00 kB/sec\n\
                CPU utilization: Wall time    2.000    CPU time    1.000    CPU utilization  ";
    for whole in [format!("{line} 50.00 %\n"), format!("{line}\n")] {
        assert_eq!(one(&read(&whole), "readers x 1").cpu_cores.get(&Role::Client), Some(&0.5), "{whole}");
    }
    let unresolved = line.replace("1.000", "0.000");
    assert!(one(&read(&format!("{unresolved}\n")), "readers x 1").cpu_cores.is_empty());
    let made = read(include_str!("../data/iozone_cpu.txt"));
    let cores = |id: &str| one(&made, id).cpu_cores.get(&Role::Client).copied();
    assert_eq!((cores("write 65536/64"), cores("read 131072/128")), (Some(0.095), Some(0.1775)));
    assert_eq!(cores("reread 65536/64"), None, "zero values should be ignored");
    assert_eq!(made.observations.observations.len(), 2 * 2 * 4);
}

#[test]
fn rows_that_are_cut_off_or_impossible_are_refused() {
    for (text, message) in [
        ("kB reclen write rewrite\n4096 128 1000 1250\n4096\n", "a row of 0 figures"),
        ("kB reclen write rewrite\n4096 128 1000 x\n", "found `x`"),
        ("kB reclen write rewrite\n4096 128 1000 1e99\n", "`1e99`"),
        ("kB reclen write rewrite\n4096 128 -3 1\n", "`-3`"),
        ("\"Writer report\"\n \"4\" \"8\"\n\"64\" 1 2 3\n", "3 figures"),
        ("Children see throughput for  4 readers \t=\n", "no rate"),
        (
            "Children see throughput for  4 readers \t= 1.00 kB/sec\nCPU utilization: Wall time 1\n",
            "no CPU time",
        ),
    ] {
        let problems = with(text, &ImportOptions::default()).unwrap_err();
        assert!(problems.render().contains(message), "{text}: {problems}");
    }
}

/// What IOzone 3.489 printed: its text, and how many figures of rates it has.
const PRINTED: [(&str, usize); 6] = [
    (include_str!("../data/iozone_3.489_processes.txt"), 2),
    (include_str!("../data/iozone_3.489_processes_synced.txt"), 2),
    // Five and six records, four tests.
    (include_str!("../data/iozone_3.489_auto.txt"), 44),
    (include_str!("../data/iozone_3.489_sheet.txt"), 44),
    (include_str!("../data/iozone_3.489_file.txt"), 4),
    (include_str!("../data/iozone_3.489_stride.txt"), 3),
];

#[test]
fn every_figure_that_iozone_has_printed_is_an_observation() {
    for (text, figures) in PRINTED {
        let made = read(text);
        assert_eq!(made.observations.observations.len(), figures, "{}", made.observations.title);
        let rates = made.observations.observations.iter().filter_map(|one| one.bytes_per_s);
        let kb_per_s: Vec<f64> = rates.map(|rate| rate.0 / 1024.0).collect();
        // The words of tables, and the rates of processes.
        let printed: Vec<f64> = text
            .lines()
            .flat_map(|line| match line.split_once("= ").filter(|_| line.contains(" see")) {
                Some((_, rate)) => vec![rate.trim().trim_end_matches(" kB/sec").trim()],
                None if line.starts_with("        ") => line.split_whitespace().skip(2).collect(),
                None => Vec::new(),
            })
            .filter_map(|word| word.parse().ok())
            .collect();
        assert_eq!(printed.len(), figures, "{printed:?}");
        for rate in printed {
            assert!(kb_per_s.iter().any(|found| (found - rate).abs() < 0.01), "{rate}: {kb_per_s:?}");
        }
    }
}
