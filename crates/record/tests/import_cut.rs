//! Outputs that were cut off at any byte: refused with words, or all of their figures are there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use narrows_model::Observation;
use narrows_model::located::FileProblems;
use narrows_record::import::{Completion, Import, import, importer};

const OUTPUTS: [(&str, &[u8]); 15] = [
    ("ioperf", include_bytes!("data/ioperf_star_2002.csv")),
    ("bonnie", include_bytes!("data/bonnie_1.03.txt")),
    ("bonnie", include_bytes!("data/bonnie_1.96.csv")),
    ("bonnie", include_bytes!("data/bonnie_2.00.csv")),
    ("bonnie", include_bytes!("data/bonnie_2.00.txt")),
    ("bonnie", include_bytes!("data/bonnie_pvfs2_bgl_2005.csv")),
    ("postmark", include_bytes!("data/postmark_long.txt")),
    ("postmark", include_bytes!("data/postmark_no_files.txt")),
    ("postmark", include_bytes!("data/postmark_short.txt")),
    ("postmark", include_bytes!("data/postmark_terse.txt")),
    ("iozone", include_bytes!("data/iozone_auto.txt")),
    ("iozone", include_bytes!("data/iozone_sheet.txt")),
    ("iozone", include_bytes!("data/iozone_throughput.txt")),
    ("iozone", include_bytes!("data/iozone_columns.txt")),
    ("iozone", include_bytes!("data/iozone_together.txt")),
];

fn read(bytes: &[u8], format: &str) -> Result<Import, FileProblems> {
    import(bytes, "cut", importer(format), &Completion::default())
}

/// Whether a cut lies between lines of figures: such a table is a shorter one, and no cut can be seen.
fn between_rows(cut: &[u8]) -> bool {
    let last = cut.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    last.ends_with(b")") || !last.iter().any(u8::is_ascii_digit)
}

/// Whether the figures of `part` are the first of `whole`, or it tells of the mean of hosts that are cut off.
fn is_start(part: &Import, whole: &Import) -> bool {
    let claims = |made: &Import| made.observations.claims.len();
    let alike = |(a, b): (&Observation, &Observation)| {
        let id = b.id.strip_prefix("run 1 ").unwrap_or(&b.id).to_owned();
        a == b || *a == Observation { id, ..b.clone() }
    };
    let (cut, all) = (&part.observations.observations, &whole.observations.observations);
    let hostless = part.remarks.iter().any(|remark| remark.contains("its hosts are not in the table"));
    claims(part) > claims(whole) || hostless || (cut.len() < all.len() && cut.iter().zip(all).all(alike))
}

#[test]
fn an_output_cut_at_any_byte_is_refused_or_has_the_figures_of_the_whole() {
    for (format, whole) in OUTPUTS {
        let all = read(whole, format).unwrap_or_else(|problems| panic!("{problems}"));
        for end in 0..whole.len() {
            let cut = &whole[..end];
            match read(cut, format) {
                Ok(made) if made.observations == all.observations => {}
                Ok(made) => assert!(
                    between_rows(cut) && is_start(&made, &all),
                    "{format} cut at byte {end} of {}: {made:?}",
                    whole.len()
                ),
                Err(problems) => assert!(
                    problems.list.iter().all(|one| !one.found.is_empty() && !one.hint.is_empty()),
                    "{format} cut at byte {end}: {problems}"
                ),
            }
        }
    }
}

#[test]
fn a_bonnie_header_without_rows_is_known_and_told_as_cut_off() {
    let whole = include_str!("data/bonnie_2.00.csv");
    for end in ["format_version,".len(), 300, whole.find('\n').unwrap(), whole.find('\n').unwrap() + 1] {
        for format in ["auto", "bonnie"] {
            let told = read(&whole.as_bytes()[..end], format).unwrap_err().render();
            assert!(
                told.contains("a header without rows") && told.contains("cut off after its header"),
                "{told}"
            );
        }
    }
}

#[test]
fn a_second_run_of_postmark_without_its_report_is_told() {
    let whole = include_str!("data/postmark_no_files.txt");
    let (cut, _) = whole.rsplit_once("Performing transactions").unwrap();
    let told = read(cut.as_bytes(), "postmark").unwrap_err().render();
    assert!(told.contains("a run without its report"), "{told}");
}

#[test]
fn a_figure_at_the_end_of_a_text_without_a_line_break_is_not_taken() {
    let whole = include_str!("data/bonnie_pvfs2_bgl_2005.csv");
    let told = read(whole.trim_end().as_bytes(), "bonnie").unwrap_err().render();
    assert!(told.contains("end it with a line break"), "{told}");
}
