//! bonnie++ of several versions, imported and diagnosed: the published row, and lines that the packaged program printed.

use narrows_analysis::diagnose_observations;
use narrows_model::located::FileProblems;
use narrows_model::observation::{Capacity, ObservedOp, Quality};
use narrows_model::{Bytes, Observation, Observations, Segment};
use narrows_suites::import::{Import, ImportOptions, import, importer};

/// The observation file of an import.
fn text_of(made: &Import) -> String {
    narrows_record::observations_text(&made.observations, &made.comments())
}

const PUBLISHED: &str = include_str!("../data/bonnie_pvfs2_bgl_2005.csv");
const PRINTED: &str = include_str!("../data/bonnie_2.00.csv");

fn read(text: &str) -> Result<Import, FileProblems> {
    import(text.as_bytes(), "out", importer("bonnie"), &ImportOptions::default())
}

fn observations(text: &str) -> Vec<Observation> {
    read(text).unwrap_or_else(|problems| panic!("{problems}")).observations.observations
}

fn one<'o>(all: &'o [Observation], id: &str) -> &'o Observation {
    all.iter()
        .find(|one| one.id == id)
        .unwrap_or_else(|| panic!("{id}: {:?}", all.iter().map(|one| &one.id).collect::<Vec<_>>()))
}

fn parsed(text: &str) -> Observations {
    narrows_study::observations::parse(text, "written").unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn the_published_row_has_its_figures_by_position() {
    let all = observations(PUBLISHED);
    assert_eq!(all.len(), 12);
    let block = one(&all, "fs2 put_block");
    assert_eq!(block.bytes_per_s.map(|rate| rate.0), Some(49354.0 * 1024.0));
    assert_eq!(block.cpu_cores.values().copied().collect::<Vec<_>>(), [0.14]);
    assert_eq!((block.op, block.file_bytes), (ObservedOp::Write, Some(Bytes(10 << 30))));
    assert_eq!(one(&all, "fs2 seeks").ops_per_s.map(|rate| rate.0), Some(557.3));
    assert_eq!(one(&all, "fs2 ran_delete").ops_per_s.map(|rate| rate.0), Some(9620.0));
}

#[test]
fn too_fast_to_time_is_a_lower_bound_and_not_zero() {
    let all = observations(PUBLISHED);
    for id in ["fs2 seq_stat", "fs2 seq_delete", "fs2 ran_stat"] {
        let fast = one(&all, id);
        assert_eq!(
            (fast.quality, fast.ops_per_s.map(|rate| rate.0)),
            (Quality::LowerBound, Some(16384.0 / 0.5)),
            "{id}"
        );
        assert!(fast.note.as_deref().is_some_and(|note| note.contains("+++++")));
    }
    assert!(
        read(PUBLISHED)
            .unwrap()
            .remarks
            .join("\n")
            .contains("too fast to time (+++++, under 0.5 s): seq_stat, seq_delete, ran_stat")
    );
}

#[test]
fn the_published_row_says_cpu_for_characters_and_names_and_the_device_for_blocks() {
    // bonnie++ refuses a file of less than twice the memory.
    let completion = ImportOptions { client_memory: Some(Bytes(5 << 30)), ..ImportOptions::default() };
    let made = import(PUBLISHED.as_bytes(), "out", None, &completion).unwrap();
    assert!(
        made.remarks.join("\n").contains("rewrite is 84 % of 1/(1/read + 1/write)"),
        "{:?}",
        made.remarks
    );
    let diagnosis = diagnose_observations(&parsed(&text_of(&made)));
    let named = |id: &str| {
        let entry = diagnosis.limiting.iter().find(|entry| entry.regime.contains(id));
        entry.map(|entry| entry.segment)
    };
    assert_eq!(named("fs2 putc"), Some(Segment::ClientCpu), "{:#?}", diagnosis.limiting);
    assert_eq!(named("fs2 seq_create"), Some(Segment::ClientCpu));
    assert_eq!(named("fs2 put_block"), Some(Segment::Device));
    assert_eq!(named("fs2 rewrite"), Some(Segment::Device));
}

#[test]
fn the_published_row_by_itself_says_disk_as_its_author_does() {
    let made = read(PUBLISHED).unwrap();
    assert!(made.remarks.join("\n").contains("fs2: memory of 5.00 GiB is assumed"), "{:?}", made.remarks);
    let diagnosis = diagnose_observations(&parsed(&text_of(&made)));
    for id in ["fs2 put_block", "fs2 get_block", "fs2 rewrite"] {
        let entry = diagnosis.limiting.iter().find(|entry| entry.regime.contains(id)).unwrap();
        assert_eq!(entry.segment, Segment::Device, "{id}: {:#?}", diagnosis.limiting);
    }
    // A small file in memory is rewritten by the CPU: nothing is assumed of it.
    let cached = PUBLISHED.replace("23415,5,", "23415,90,");
    assert!(!read(&cached).unwrap().remarks.join("\n").contains("is assumed"));
}

#[test]
fn one_nodes_disk_as_a_ceiling_evaluates_what_twelve_nodes_transferred() {
    let completion = ImportOptions { device_count: Some(12), ..ImportOptions::default() };
    let made = import(PUBLISHED.as_bytes(), "out", None, &completion).unwrap();
    assert!(made.observations.observations.is_empty());
    let ceilings = &made.observations.ceilings;
    let rates: Vec<f64> = ceilings
        .iter()
        .map(|one| if let Capacity::BytesPerS(rate) = one.capacity { rate.0 } else { 0.0 })
        .collect();
    assert_eq!(rates, [49354.0 * 1024.0, 63971.0 * 1024.0]);
    // The published aggregates: 325 MB/s written, over 1.2 GB/s read; and that writes doubled with another forwarding daemon.
    let rows = "\n[factor_segment]\nio_daemon = \"proxy.queue\"\n\
                [[observation]]\nid = \"read\"\nop = \"read\"\nclients = 1024\nbytes_per_s = 1.2e9\nquality = \"lower-bound\"\n\
                [[observation]]\nid = \"write\"\nop = \"write\"\nclients = 1024\nbytes_per_s = 325e6\nfactor = { io_daemon = \"new\" }\n\
                [[observation]]\nid = \"write before\"\nop = \"write\"\nclients = 1024\nbytes_per_s = 162e6\nfactor = { io_daemon = \"old\" }\nquality = \"approximate\"\n";
    let diagnosis = diagnose_observations(&parsed(&(text_of(&made) + rows)));
    let entry = |id: &str| diagnosis.limiting.iter().find(|entry| entry.regime.contains(id));
    let read = entry("read").unwrap();
    assert!(read.segment == Segment::ServerCache && read.confidence <= 0.7, "{read:?}");
    let write = entry("write before").unwrap();
    assert_eq!(write.segment, Segment::ProxyQueue, "{:#?}", diagnosis.limiting);
    let cleared: Vec<String> = diagnosis
        .exonerated
        .iter()
        .filter(|entry| entry.segment == Segment::Device)
        .flat_map(|entry| entry.evidence.iter().map(|evidence| evidence.text.clone()))
        .collect();
    assert!(cleared.iter().any(|text| text.contains("54 %")), "{cleared:?}");
}

#[test]
fn lines_of_2_00_are_read_with_their_seeks_chunks_and_blanks() {
    let all = observations(PRINTED);
    assert!(
        all.iter().all(|one| !one.id.starts_with("h2 putc") && !one.id.starts_with("h2 getc")),
        "-f leaves characters out"
    );
    assert_eq!(one(&all, "bigger put_block").bytes_per_s.map(|rate| rate.0 / 1024.0), Some(276_645.0));
    assert_eq!(one(&all, "bigger seq_create").ops_per_s.map(|rate| rate.0), Some(13368.0));
    assert_eq!(one(&all, "bigger seeks").in_flight_configured, Some(5.0));
    assert_eq!(one(&all, "bigger putc").file_bytes, None, "characters have a size of their own");
    assert!(all.iter().any(|one| one.id.starts_with("h2 #2 ")), "-x 2 prints two runs");
    let without_data: Vec<&Observation> = all.iter().filter(|one| one.id.starts_with("nodata")).collect();
    assert!(!without_data.is_empty() && without_data.iter().all(|one| one.op == ObservedOp::Metadata));
    assert!(all.iter().filter(|one| one.id.starts_with("nofiles")).all(|one| one.op != ObservedOp::Metadata));
}

#[test]
fn a_blank_size_of_an_io_is_unknown_and_links_are_no_files() {
    let all = observations(PRINTED);
    assert_eq!(one(&all, "bigger put_block").block_bytes, None);
    assert_eq!(one(&observations(PUBLISHED), "fs2 put_block").block_bytes, Some(Bytes(8192)));
    // Printed by Debian's bonnie++ 2.00a with `-s 0 -n 1:-1` and `-n 1:-2`, with other rates.
    let links = "1.98,2.00a,vm,1,1795559939,,,,,,,,,,,,,,,,,1,link,,,,900,50,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++,,,,,,,13602us,48us,4051us,8049us,15us,4045us\n";
    let all = observations(links);
    assert_eq!(all.len(), 6);
    assert_eq!(one(&all, "vm seq_create of hard links").ops_per_s.map(|rate| rate.0), Some(900.0));
    let all = observations(&links.replace(",link,", ",symlink,"));
    assert!(all.iter().all(|one| one.id.ends_with(" of symbolic links")), "{all:?}");
}

#[test]
fn whole_output_of_2_00_is_read_by_its_line_of_csv() {
    let all = observations(include_str!("../data/bonnie_2.00.txt"));
    assert_eq!(one(&all, "realhost putc").bytes_per_s.map(|rate| rate.0 / 1024.0), Some(962.0));
    let tables: String = include_str!("../data/bonnie_2.00.txt")
        .lines()
        .filter(|line| !line.contains(','))
        .map(|line| line.to_owned() + "\n")
        .collect();
    let problems = read(&tables).unwrap_err();
    assert!(problems.render().contains("import the line of CSV"), "{problems}");
}

#[test]
fn lines_of_1_96_are_read_with_and_without_data() {
    let all = observations(include_str!("../data/bonnie_1.96.csv"));
    assert_eq!(one(&all, "lab3 put_block").bytes_per_s.map(|rate| rate.0 / 1024.0), Some(144_145.0));
    assert_eq!(one(&all, "lab3 put_block").note.as_deref(), Some("longest operation 2371ms"));
    assert_eq!(one(&all, "lab3 #2 seq_create").ops_per_s.map(|rate| rate.0), Some(1702.0));
    assert_eq!(all.iter().filter(|one| one.id.starts_with("lab3 #2")).count(), 6);
}

#[test]
fn the_text_of_1_03_says_what_its_csv_says() {
    assert_eq!(observations(include_str!("../data/bonnie_1.03.txt")), observations(PUBLISHED));
}

/// What 1.03 prints of a run without characters (`-f`), as a mailing list kept it.
const FAST: &str = "\
Version  1.03       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine   Size:chnk K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
Gaia         1G:32k           26895  41 10177  13           25450  16 145.5   3
                    ------Sequential Create------ --------Random Create--------
                    -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
              files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
                 16   340  97 +++++ +++ 16450  79   340  97 +++++ +++  1861  96
";

fn rate(all: &[Observation], id: &str) -> Option<f64> {
    let one = one(all, id);
    one.bytes_per_s.map(|rate| rate.0 / 1024.0).or(one.ops_per_s.map(|rate| rate.0))
}

#[test]
fn tables_without_characters_have_their_figures_by_column() {
    let fast = observations(FAST);
    assert_eq!(fast.len(), 10);
    assert_eq!(
        (rate(&fast, "Gaia put_block"), rate(&fast, "Gaia rewrite")),
        (Some(26_895.0), Some(10_177.0))
    );
    assert_eq!((rate(&fast, "Gaia get_block"), rate(&fast, "Gaia seeks")), (Some(25_450.0), Some(145.5)));
    assert_eq!(one(&fast, "Gaia put_block").block_bytes, Some(Bytes(32 << 10)));
    // Figures of more than five digits push what follows to the right; letters indent what they quote.
    let wide = FAST.replace("26895  41 10177  13 ", "2689500  41 1017700 113 ").replace("25450", "2545000");
    let indented = "    ".to_owned() + &wide.trim_end().replace('\n', "\n    ") + "\n";
    for text in [wide, indented] {
        let wide = observations(&text);
        assert_eq!((wide.len(), rate(&wide, "Gaia seeks")), (10, Some(145.5)), "{text}");
        assert_eq!(rate(&wide, "Gaia rewrite"), Some(1_017_700.0));
        assert_eq!(rate(&wide, "Gaia get_block"), Some(2_545_000.0));
    }
}

#[test]
fn a_row_whose_columns_are_ambiguous_is_refused() {
    let squeezed: String =
        FAST.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect();
    let cut = FAST.replace("  16 145.5   3", "");
    for text in [squeezed, cut, FAST.replace("10177  13", "10177    ")] {
        assert!(read(&text).unwrap_err().render().contains("figures"), "{text}");
    }
}

#[test]
fn a_table_of_files_alone_is_a_run_of_its_own() {
    let table = FAST.split_once(" 3\n").unwrap().1;
    let alone = table.replacen("                    ---", "Version  1.03       ---", 1).replacen(
        "                    -Create",
        "Gaia                -Create",
        1,
    );
    let two = observations(&(FAST.to_owned() + &alone));
    assert_eq!((two.len(), rate(&two, "Gaia #2 ran_delete")), (16, Some(1861.0)));
    assert_eq!(observations(&alone).len(), 6);
}

#[test]
fn torn_lines_and_impossible_figures_are_refused_at_their_place() {
    let row = PUBLISHED.lines().nth(1).unwrap();
    let torn = row.rsplit_once(',').unwrap().0;
    let problems = read(torn).unwrap_err();
    assert!(
        problems.render().contains("26 fields") && problems.render().contains("27 (version 1.03)"),
        "{problems}"
    );
    // Cut where an older version's line ends, it is still one of its own version.
    let newer = format!("1.98,2.00,{}", vec!["1"; 25].join(","));
    let problems = read(&newer).unwrap_err();
    let message = problems.render();
    assert!(message.contains("27 fields") && message.contains("50 (version 1.98)"), "{problems}");
    assert!(!message.contains("1.03"), "{problems}");
    let odd = row.replace("49354", "-49354").replace("63971", "9e99");
    let problems = read(&odd).unwrap_err();
    assert_eq!(problems.list.len(), 2, "{problems}");
    assert_eq!(problems.list[0].column, row.find("49354").unwrap() + 1);
    let seeks =
        PRINTED.lines().find(|line| line.contains("bigger")).unwrap().replace(",8192,5,", ",-8192,5,");
    assert!(read(&seeks).unwrap_err().render().contains("found `-8192`"));
    let table: String = include_str!("../data/bonnie_1.03.txt").replace("63971   5 557.3   0", "");
    assert!(read(&table).unwrap_err().render().contains("a row of 8 figures"));
}

#[test]
fn options_that_an_output_has_no_use_for_are_refused_and_not_passed_over() {
    let completion =
        ImportOptions { block: Some(Bytes(8192)), processes: Some(3), ..ImportOptions::default() };
    let problems = import(PUBLISHED.as_bytes(), "out", None, &completion).unwrap_err();
    assert_eq!(
        problems.list.iter().map(|one| one.key.as_str()).collect::<Vec<_>>(),
        ["--block", "--processes"]
    );
    assert!(problems.list[0].allowed.contains("IOPerf"), "{problems}");
}
