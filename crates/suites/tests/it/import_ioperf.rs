//! The published tables of IOPerf (RHIC Computing Facility, 2002), imported and diagnosed.

use narrows_analysis::diagnose_observations;
use narrows_model::located::FileProblems;
use narrows_model::observation::Claim;
use narrows_model::units::BytesPerSec;
use narrows_model::{Bytes, Diagnosis, Observations, Relation, Segment};
use narrows_suites::import::{Import, ImportOptions, LocalResults, import, importer};

/// The observation file of an import.
fn text_of(made: &Import) -> String {
    narrows_record::observations_text(&made.observations, &made.comments())
}

const TABLE: &str = include_str!("../data/ioperf_star_2002.csv");

fn read(text: &str, completion: &ImportOptions) -> Result<Import, FileProblems> {
    import(text.as_bytes(), "table", importer("ioperf"), completion)
}

/// The observations as whoever reads the written file has them.
fn written(made: &Import) -> Observations {
    let text = text_of(made);
    narrows_study::observations::parse(&text, "written").unwrap_or_else(|problems| panic!("{problems}"))
}

/// The whole published table, with what its page says of the path.
fn published() -> Import {
    let completion = ImportOptions {
        network: Some(BytesPerSec(12.0 * 1024.0 * 1024.0)),
        local: LocalResults::Sections(vec!["server-local".to_owned()]),
        block: Some(Bytes(8192)),
        claims: vec![Claim {
            text: "9/47 = 215 kB/s".to_owned(),
            left: "9*1024/47".to_owned(),
            left_value: 0.0,
            right: 215.0,
            tolerance_ratio: 0.01,
        }],
        ..ImportOptions::default()
    };
    read(TABLE, &completion).unwrap_or_else(|problems| panic!("{problems}"))
}

fn limiting<'d>(diagnosis: &'d Diagnosis, id: &str) -> Vec<&'d narrows_model::Limiting> {
    diagnosis.limiting.iter().filter(|entry| entry.regime.contains(id)).collect()
}

fn finding_text(diagnosis: &Diagnosis, slug: &str) -> String {
    let of_slug = diagnosis.findings.iter().filter(|finding| finding.slug == slug);
    of_slug.flat_map(|finding| finding.evidence.iter().map(|evidence| evidence.text.clone() + "\n")).collect()
}

#[test]
fn fifty_one_of_fifty_four_rows_obey_and_three_are_means_of_ratios() {
    let remarks = published().remarks.join("\n");
    assert!(remarks.contains("51 of 54 rows obey CPU%"), "{remarks}");
    for row in [
        "server-local NPV_ibmtest_test (a mean",
        "client-to-server NPV_ibmtest_test (a mean",
        "<rcas6*> (a mean",
    ] {
        assert!(remarks.contains(row), "{row}: {remarks}");
    }
    assert_eq!(published().observations.claims.len(), 1, "means of ratios are no false claims");
}

#[test]
fn the_gross_average_is_reproduced_to_the_last_digit_in_every_column() {
    let remarks = published().remarks.join("\n");
    assert!(
        remarks.contains("mean of 47 hosts is reproduced to the last digit in 15 of 15 columns"),
        "{remarks}"
    );
    let slip = TABLE.replace("47-clients,<rcas6*>,400000,187.75,", "47-clients,<rcas6*>,400000,187.76,");
    let made = read(&slip, &ImportOptions::default()).unwrap();
    assert!(made.remarks.join("\n").contains("14 of 15 columns"), "{:?}", made.remarks);
    let diagnosis = diagnose_observations(&written(&made));
    assert!(finding_text(&diagnosis, "claim_mismatch").contains("mean of column 1 is 187.76"));
}

#[test]
fn a_row_whose_columns_do_not_fit_is_a_claim_that_the_diagnosis_reports() {
    let slip = TABLE.replace("8810.57,72727.27,12.11", "8810.57,72727.27,12.31");
    let made = read(&slip, &ImportOptions::default()).unwrap();
    assert!(made.remarks.join("\n").contains("50 of 54 rows"), "{:?}", made.remarks);
    let diagnosis = diagnose_observations(&written(&made));
    assert!(
        finding_text(&diagnosis, "claim_mismatch").contains("client-to-server ibmtest fwrite: 12.31 % CPU")
    );
}

#[test]
fn what_is_written_is_read_as_it_was_made() {
    let mut made = published().observations;
    for claim in &mut made.claims {
        claim.left_value = 9.0 * 1024.0 / 47.0;
    }
    assert_eq!(written(&published()), made);
}

#[test]
fn clients_that_write_are_cleared_and_the_server_or_its_device_limits() {
    let diagnosis = diagnose_observations(&written(&published()));
    let writes = limiting(&diagnosis, "<rcas6*> fwrite");
    let segments: Vec<Segment> = writes.iter().map(|entry| entry.segment).collect();
    assert_eq!(segments, [Segment::Server, Segment::Device], "{:#?}", diagnosis.limiting);
    assert!(writes.iter().all(|entry| entry.relation == Relation::OneOf && entry.confidence <= 0.7));
    let spread = finding_text(&diagnosis, "imbalance");
    let fwrite = spread.lines().find(|line| line.contains("<rcas6*> fwrite")).unwrap();
    // [4876, 8824] KB/s.
    assert!(fwrite.contains("between 4.76 MiB/s and 8.62 MiB/s"), "{fwrite}");
    // The published hosts by themselves: 103.75 to 272.66 KB/s, 8824 together.
    assert!(fwrite.contains("sum 8.62 MiB/s") && fwrite.contains("median "), "{fwrite}");
}

#[test]
fn the_aggregate_of_47_clients_is_40_to_72_percent_of_the_wire_which_is_not_full() {
    let diagnosis = diagnose_observations(&written(&published()));
    let wire = diagnosis.exonerated.iter().find(|entry| entry.segment == Segment::NetworkBandwidth).unwrap();
    let texts: Vec<&str> = wire.evidence.iter().map(|evidence| evidence.text.as_str()).collect();
    let fwrite = texts.iter().find(|text| text.starts_with("47-clients <rcas6*> fwrite: between "));
    assert!(fwrite.is_some_and(|text| text.contains("40 % to 72 % of the 101 Mbit/s")), "{texts:?}");
}

#[test]
fn the_table_by_its_section_column_alone_blames_no_locks() {
    let made = read(TABLE, &ImportOptions::default()).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(
        made.remarks.join("\n").contains("on the server itself by its name: server-local"),
        "{:?}",
        made.remarks
    );
    let diagnosis = diagnose_observations(&written(&made));
    for id in ["<rcas6*> fwrite", "<rcas6*> putc"] {
        let segments: Vec<Segment> = limiting(&diagnosis, id).iter().map(|entry| entry.segment).collect();
        // Without the capacity of the wire nothing excludes the network.
        assert_eq!(
            segments,
            [Segment::Server, Segment::Device, Segment::Network],
            "{id}: {:#?}",
            diagnosis.limiting
        );
    }
    let writes = limiting(&diagnosis, "<rcas6*> fwrite");
    assert!(writes[0].evidence[0].text.contains("client-to-server ibmtest fwrite"), "{writes:#?}");
}

#[test]
fn characters_of_47_clients_are_evaluated_as_their_blocks_are() {
    let diagnosis = diagnose_observations(&written(&published()));
    let putc = limiting(&diagnosis, "<rcas6*> putc");
    let segments: Vec<Segment> = putc.iter().map(|entry| entry.segment).collect();
    assert_eq!(segments, [Segment::Server, Segment::Device], "{:#?}", diagnosis.limiting);
    assert!(putc.iter().all(|entry| entry.relation == Relation::OneOf && entry.confidence <= 0.7));
    // One client was CPU-bound with a tenth of the bytes: that the 47 are slower is no contention between them.
    assert!(!finding_text(&diagnosis, "retrograde").contains("<rcas6*> putc"));
}

#[test]
fn readers_are_three_groups() {
    let diagnosis = diagnose_observations(&written(&published()));
    let mixture = finding_text(&diagnosis, "mixture");
    let fread = mixture.lines().find(|line| line.contains("<rcas6*> fread")).unwrap();
    // 14, 2 and 31 of 47.
    assert!(fread.contains("30 % at") && fread.contains("4.3 % at") && fread.contains("66 % at"), "{fread}");
}

#[test]
fn columns_that_run_together_are_distinguished_where_there_is_one_way() {
    let apart = "tag KB/sec RealKB/sec CPU%\nhost1 400000 187.75 43215.41 0.43 444444.44 444444.44 100.00 115.65 6411.00 1.81 \
                 13201.32 13201.32 100.00 956.65 957.66 99.89\nhost2 400000 144.89 43196.54 0.34 367.70 88495.58 0.42 139.08 \
                 6360.31 2.19 1069.58 6850.49 15.61 986.43 986.43 100.00\n";
    let glued = apart.replace("444444.44 444444.44 100.00", "444444.44444444.44100.00");
    let plain = read(apart, &ImportOptions::default()).unwrap_or_else(|problems| panic!("{problems}"));
    let split = read(&glued, &ImportOptions::default()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(split.observations, plain.observations);
    // The size is that of the other row.
    let sized = apart.replace("400000 187.75", "400000187.75");
    let split = read(&sized, &ImportOptions::default()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(split.observations, plain.observations);
    for (from, to, said) in [
        ("444444.44 444444.44 100.00", "444444.4.44100.00", "columns that run together: `444444.4.44100.00`"),
        (
            "400000 187.75",
            "500000187.75",
            "without the file size that others have, or with it in `500000187.75`",
        ),
    ] {
        let problems = read(&apart.replace(from, to), &ImportOptions::default()).unwrap_err();
        assert!(problems.render().contains(said), "{problems}");
    }
}

#[test]
fn one_client_writes_at_the_time_of_the_wire_and_then_of_the_server() {
    let diagnosis = diagnose_observations(&written(&published()));
    let writes = limiting(&diagnosis, "<rcas6*> fwrite");
    let said = &writes[0].evidence[0].text;
    assert!(said.contains("take 908 us, the wire 651 us and then the server 288 us"), "{said}");
    assert!(said.contains("the bytes of a client differ between them too"), "{said}");
}

#[test]
fn characters_make_no_early_acknowledgement_and_are_cpu_on_the_server_itself_too() {
    let diagnosis = diagnose_observations(&written(&published()));
    let here = limiting(&diagnosis, "server-local ibmtest putc");
    assert_eq!(
        here.first().map(|entry| entry.segment),
        Some(Segment::ClientCpu),
        "{:#?}",
        diagnosis.limiting
    );
    let early = finding_text(&diagnosis, "early_ack");
    assert!(!early.contains("putc"), "{early}");
}

#[test]
fn reads_above_the_wire_came_from_the_clients_cache_and_their_mean_means_nothing() {
    let diagnosis = diagnose_observations(&written(&published()));
    for id in ["client-to-server ibmtest fread", "<rcas6*> fread"] {
        let cached = diagnosis.findings.iter().find(|finding| finding.code == "client-cache-served").unwrap();
        assert!(cached.cells.iter().any(|cell| cell.ends_with(id)), "{id}: {:?}", cached.cells);
    }
    let caches = limiting(&diagnosis, "read (");
    assert!(caches.iter().any(|entry| entry.segment == Segment::ClientCache && entry.confidence > 0.7));
    let mixture = finding_text(&diagnosis, "mixture");
    assert!(
        mixture.lines().any(|line| line.contains("<rcas6*> fread") && line.contains("47 clients")),
        "{mixture}"
    );
}

#[test]
fn the_pages_own_arithmetic_does_not_compute() {
    let diagnosis = diagnose_observations(&written(&published()));
    let claims = finding_text(&diagnosis, "claim_mismatch");
    assert!(claims.contains("215") && claims.contains("196"), "{claims}");
}

#[test]
fn a_character_at_a_time_is_the_clients_cpu_over_the_wire_as_on_the_server_itself() {
    let diagnosis = diagnose_observations(&written(&published()));
    for id in ["client-to-server ibmtest putc", "client-to-server 1PV_ibmtest_test putc"] {
        let putc = limiting(&diagnosis, id);
        assert_eq!(
            putc.first().map(|entry| entry.segment),
            Some(Segment::ClientCpu),
            "{id}: {:#?}",
            diagnosis.limiting
        );
    }
}

#[test]
fn the_table_reads_the_same_as_text_and_as_html() {
    let rows: Vec<Vec<&str>> = TABLE
        .lines()
        .skip(1)
        .filter(|row| row.starts_with("47"))
        .map(|row| row.split(',').skip(1).collect())
        .collect();
    let text: String = rows.iter().map(|row| row.join("  ") + "\n").collect();
    let text = format!(
        "              Block IO                 Character      Random\nTest tag & FSKB KB/sec RealKB/sec CPU%\n{text}"
    );
    let cell = |cell: &&str| cell.replace('<', "&lt;").replace('>', "&gt;");
    let html: Vec<String> = rows
        .iter()
        .map(|row| row.iter().map(cell).collect::<Vec<_>>().join("</td><td align=right>"))
        .collect();
    let html = format!("<TR><td>{}</td></TR>", html.join("</td></TR>\n<TR><td>"));
    let html = format!(
        "<html><table><tr><th>Test tag &amp; FSKB<th>KB/sec<th>RealKB/sec<th>CPU%</tr>\n{html}</table></html>"
    );
    let plain = read(&text, &ImportOptions::default()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(plain.observations.observations.len(), 5);
    assert_eq!(plain.observations.observations[0].per_client_bytes_per_s.len(), 47);
    assert_eq!(read(&html, &ImportOptions::default()).unwrap().observations, plain.observations);
}

#[test]
fn a_table_that_is_cut_off_is_refused_at_its_line() {
    let text =
        "KB/sec RealKB/sec CPU%\nhost1 400000 1 2 50 1 2 50 1 2 50 1 2 50 1 2 50\nhost2 400000 1 2 50 1 2\n";
    let problems = read(text, &ImportOptions::default()).unwrap_err();
    assert_eq!((problems.list.len(), problems.list[0].line, problems.list[0].column), (1, 3, 1));
    assert!(problems.render().contains("15 figures"), "{problems}");
    let csv: String = TABLE.chars().take(TABLE.len() - 30).collect();
    let problems = read(&csv, &ImportOptions::default()).unwrap_err();
    assert!(problems.list[0].line == 55 && problems.list[0].found.contains("fields"), "{problems}");
}

#[test]
fn figures_out_of_range_are_located_all_at_once() {
    let text = "RealKB/sec\nhost1 400000 -1 2 50 1 2 50 1 1e300 50 1 2 50 1 2 50000\n";
    let problems = read(text, &ImportOptions::default()).unwrap_err();
    let found: Vec<(usize, &str)> =
        problems.list.iter().map(|one| (one.column, one.found.as_str())).collect();
    assert_eq!(found, [(14, "`-1`"), (31, "`1e300`"), (51, "`50000`")]);
}

#[test]
fn a_section_that_is_none_is_refused_with_those_that_are() {
    let asked = ImportOptions { sections: vec!["48-clients".to_owned()], ..ImportOptions::default() };
    let problems = read(TABLE, &asked).unwrap_err();
    assert!(problems.render().contains("server-local, client-to-server, 47-clients"), "{problems}");
    let local = ImportOptions {
        local: LocalResults::Sections(vec!["server".to_owned()]),
        ..ImportOptions::default()
    };
    assert!(read(TABLE, &local).unwrap_err().render().contains("--local=SECTION: found `server`"));
    let one = ImportOptions { sections: vec!["47-clients".to_owned()], ..ImportOptions::default() };
    assert_eq!(read(TABLE, &one).unwrap().observations.observations.len(), 5);
}
