//! Reports that the packaged PostMark printed, imported and diagnosed.

use narrows_analysis::diagnose_observations;
use narrows_model::located::FileProblems;
use narrows_model::observation::Quality;
use narrows_model::{Observation, Segment};
use narrows_suites::import::{Import, ImportOptions, import, importer};

/// The observation file of an import.
fn text_of(made: &Import) -> String {
    narrows_record::observations_text(&made.observations, &made.comments())
}

const LONG: &str = include_str!("../data/postmark_long.txt");

fn read(text: &str) -> Result<Import, FileProblems> {
    import(text.as_bytes(), "out", importer("postmark"), &ImportOptions::default())
}

fn one(made: &Import, id: &str) -> Observation {
    let all = &made.observations.observations;
    all.iter().find(|one| one.id == id).unwrap_or_else(|| panic!("{id}: {all:?}")).clone()
}

#[test]
fn rates_are_computed_again_from_counts_and_times() {
    let made = read(LONG).unwrap_or_else(|problems| panic!("{problems}"));
    let transactions = one(&made, "transactions");
    assert!((transactions.ops_per_s.unwrap().0 - 100_000.0 / 22.0).abs() < 1e-9);
    assert_eq!((transactions.elapsed_s, transactions.quality), (Some(22.0), Quality::Approximate));
    let data = one(&made, "data").bytes_per_s.unwrap().0;
    assert!((data - (3124.66 + 3447.80) * 1_048_576.0 / 25.0).abs() < 1.0, "{data}");
    assert_eq!(one(&made, "creation alone").elapsed_s, Some(2.0));
    // Every line of the report, by hand from its counts and the two times.
    let rates = [
        ("read with transactions", 49_988.0 / 22.0),
        ("appended with transactions", 49_899.0 / 22.0),
        ("created with transactions", 49_925.0 / 22.0),
        ("deleted with transactions", 50_075.0 / 22.0),
        ("created in all", 54_925.0 / 25.0),
        ("deleted in all", 54_925.0 / 25.0),
    ];
    for (id, rate) in rates {
        assert!((one(&made, id).ops_per_s.unwrap().0 - rate).abs() < 1e-9, "{id}");
    }
    let written = one(&made, "data written").bytes_per_s.unwrap().0;
    assert!((written - 3447.80 * 1_048_576.0 / 25.0).abs() < 1.0, "{written}");
    assert!(
        made.observations.claims.is_empty()
            && made.remarks.join("\n").contains("4 of 4 printed sums and rates are correct"),
        "{:?}",
        made.remarks
    );
}

#[test]
fn one_second_of_a_clock_of_seconds_gives_a_lower_bound() {
    let made = read(include_str!("../data/postmark_short.txt")).unwrap();
    let transactions = one(&made, "transactions");
    assert_eq!(
        (transactions.quality, transactions.ops_per_s.map(|rate| rate.0)),
        (Quality::LowerBound, Some(250.0))
    );
    assert!(made.remarks.join("\n").contains("a lower bound"));
}

#[test]
fn a_terse_report_has_the_same_counts() {
    let made =
        read(include_str!("../data/postmark_terse.txt")).unwrap_or_else(|problems| panic!("{problems}"));
    let transactions = one(&made, "transactions");
    let (rate, seconds) = (transactions.ops_per_s.unwrap().0, transactions.elapsed_s.unwrap_or(2.0));
    assert!((rate * seconds - 20_000.0).abs() < 1.0, "{rate} {seconds}");
    let appended = one(&made, "appended with transactions").ops_per_s.unwrap().0;
    assert!((appended - 9928.0 / 16.0).abs() < 0.01, "{appended}");
}

#[test]
fn rates_of_a_finer_clock_beside_whole_seconds_are_taken_as_printed() {
    let terse = "Performing transactions..........Done\nDeleting files...Done\n\
                 1 1 2500.13 1848.07 5000.21 1310.11 1285.32 1215.09 1848.07 22400.90 1190.15 6249513.98 11953766.40\n";
    let made = read(terse).unwrap_or_else(|problems| panic!("{problems}"));
    for (id, rate) in [
        ("transactions", 2500.13),
        ("creation alone", 5000.21),
        ("deletion alone", 22_400.90),
        ("read with transactions", 1285.32),
    ] {
        let one = one(&made, id);
        assert_eq!((one.quality, one.elapsed_s), (Quality::Exact, None), "{id}");
        assert!((one.ops_per_s.unwrap().0 - rate).abs() < 1e-9, "{id}");
    }
    assert!(!made.remarks.join("\n").contains("whole seconds"), "{:?}", made.remarks);
}

#[test]
fn transactions_that_create_and_delete_nothing_are_counted_by_their_rate() {
    let made =
        read(include_str!("../data/postmark_no_files.txt")).unwrap_or_else(|problems| panic!("{problems}"));
    for id in ["run 1 transactions", "run 2 transactions"] {
        // 20000 in one second of a clock of whole seconds: less than two.
        let transactions = one(&made, id);
        assert_eq!(
            (transactions.ops_per_s.map(|rate| rate.0), transactions.quality),
            (Some(10_000.0), Quality::LowerBound),
            "{id}"
        );
    }
    assert!(made.observations.claims.is_empty(), "{:?}", made.observations.claims);
}

#[test]
fn sums_that_do_not_contain_are_claims_that_the_diagnosis_reports() {
    let slip = LONG.replace("54925 created", "54935 created");
    let made = read(&slip).unwrap();
    assert_eq!(made.observations.claims.len(), 2);
    let all = narrows_study::observations::parse(&text_of(&made), "written").unwrap();
    let diagnosis = diagnose_observations(&all);
    assert!(diagnosis.findings.iter().any(|finding| finding.slug == "claim_mismatch"));
}

#[test]
fn with_the_cpu_of_both_ends_added_the_metadata_sits_where_it_is_spent() {
    let text = text_of(&read(LONG).unwrap());
    for (cpu, segment) in [
        ("{ client = 0.02, server = 0.97 }", Segment::ServerCpu),
        ("{ client = 0.98, server = 0.13 }", Segment::ClientCpu),
    ] {
        let text = text.replacen(
            "id = \"transactions\"\n",
            &format!("id = \"transactions\"\ncpu_ratio = {cpu}\n"),
            1,
        );
        let all = narrows_study::observations::parse(&text, "written")
            .unwrap_or_else(|problems| panic!("{problems}"));
        let diagnosis = diagnose_observations(&all);
        assert_eq!(diagnosis.limiting[0].segment, segment, "{:#?}", diagnosis.limiting);
    }
}

#[test]
fn a_run_without_its_report_or_with_half_of_it_is_refused() {
    let cut = LONG.split("Data:").next().unwrap();
    let problems = read(cut).unwrap_err();
    assert!(problems.render().contains("a report without `N megabytes written`"), "{problems}");
    assert!(problems.list[0].line_text.contains("Time:"));
    let run = LONG.split("Time:").next().unwrap();
    assert!(read(run).unwrap_err().render().contains("a run without its report"));
    let odd = LONG.replace("22 seconds of transactions", "-22 seconds of transactions");
    assert!(read(&odd).unwrap_err().list[0].found.contains("-22"));
}

#[test]
fn a_rate_is_not_taken_for_a_count_that_is_damaged() {
    for (count, damaged) in [("54925 created", "x created"), ("alone: 5000 files", "alone: 5OOO files")] {
        assert!(LONG.contains(count), "{count}");
        let message = read(&LONG.replace(count, damaged)).unwrap_err().render();
        assert!(message.contains("the line is damaged"), "{message}");
    }
}

#[test]
fn times_of_a_finer_clock_are_taken_as_they_are() {
    let finer = "Time:\n\t0.250000 seconds total\n\t0.200000 seconds of transactions (2500 per second)\n\n\
                 Files:\n\t462 created (1848 per second)\n\t\tCreation alone: 200 files (5000 per second)\n\
                 \t\tMixed with transactions: 262 files (1310 per second)\n\t257 read (1285 per second)\n\
                 \t243 appended (1215 per second)\n\t462 deleted (1848 per second)\n\
                 \t\tDeletion alone: 224 files (22400 per second)\n\
                 \t\tMixed with transactions: 238 files (1190 per second)\n\n\
                 Data:\n\t1.49 megabytes read (5.96 megabytes per second)\n\
                 \t2.85 megabytes written (11.40 megabytes per second)\n";
    let made = read(finer).unwrap_or_else(|problems| panic!("{problems}"));
    let transactions = one(&made, "transactions");
    assert_eq!((transactions.elapsed_s, transactions.quality), (Some(0.2), Quality::Exact));
    assert!((transactions.ops_per_s.unwrap().0 - 2500.0).abs() < 1e-9);
    assert_eq!(one(&made, "deletion alone").elapsed_s, Some(0.01));
    assert_eq!(made.remarks, ["4 of 4 printed sums and rates are correct."]);
    let terse = "Performing transactions..........Done\nDeleting files...Done\n0.250000 0.200000 2500.00 1848.00 5000.00 1310.00 1285.00 1215.00 1848.00 22400.00 1190.00 6249513.98 \
                 11953766.40\n";
    let made = read(terse).unwrap_or_else(|problems| panic!("{problems}"));
    let alone = one(&made, "creation alone");
    assert!((alone.elapsed_s.unwrap() - 0.04).abs() < 1e-9, "{alone:?}");
    assert!((one(&made, "transactions").ops_per_s.unwrap().0 - 2500.0).abs() < 1e-9);
}
