//! Outputs that were cut off at any byte: refused with words, or all of their figures are there.

use crate::outputs;
use narrows_model::Observation;
use narrows_model::located::FileProblems;
use narrows_suites::import::{Import, ImportOptions, import, importer};

fn read(bytes: &[u8], format: &str) -> Result<Import, FileProblems> {
    import(bytes, "cut", importer(format), &ImportOptions::default())
}

/// Whether a cut is between lines of figures: the result is a valid, shorter table, and the cut cannot be detected.
fn between_rows(cut: &[u8]) -> bool {
    let last = cut.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    last.ends_with(b")") || !last.iter().any(u8::is_ascii_digit)
}

/// Whether the figures of `part` are the first of `whole`, or it reports a mean of hosts that are cut off.
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
#[ignore = "campaign: every cut of every published output"]
fn an_output_cut_at_any_byte_is_refused_or_has_the_figures_of_the_whole() {
    // Its CPU shares are a section behind the rates: cut off between the two, it is a whole output without them.
    let sections = "iozone_cpu.txt";
    let alone = outputs::all().into_iter().filter(|output| output.name != sections);
    for outputs::ToolOutput { format, name, bytes } in alone {
        let whole = &*bytes;
        let all = read(whole, format).unwrap_or_else(|problems| panic!("{problems}"));
        for end in 0..whole.len() {
            let cut = &whole[..end];
            match read(cut, format) {
                Ok(made) if made.observations == all.observations => {}
                Ok(made) => assert!(
                    between_rows(cut) && is_start(&made, &all),
                    "{name} cut at byte {end} of {}: {made:?}",
                    whole.len()
                ),
                Err(problems) => assert!(
                    problems.list.iter().all(|one| !one.found.is_empty() && !one.hint.is_empty()),
                    "{name} cut at byte {end}: {problems}"
                ),
            }
        }
    }
}

#[test]
fn a_bonnie_header_without_rows_is_known_and_reported_as_cut_off() {
    let whole = include_str!("../data/bonnie_2.00.csv");
    for end in ["format_version,".len(), 300, whole.find('\n').unwrap(), whole.find('\n').unwrap() + 1] {
        for format in ["auto", "bonnie"] {
            let message = read(&whole.as_bytes()[..end], format).unwrap_err().render();
            assert!(
                message.contains("a header without rows") && message.contains("cut off after its header"),
                "{message}"
            );
        }
    }
}

#[test]
fn a_second_run_of_postmark_without_its_report_is_reported() {
    let whole = include_str!("../data/postmark_no_files.txt");
    let (cut, _) = whole.rsplit_once("Performing transactions").unwrap();
    let message = read(cut.as_bytes(), "postmark").unwrap_err().render();
    assert!(message.contains("a run without its report"), "{message}");
}

#[test]
fn a_figure_at_the_end_of_a_text_without_a_line_break_is_not_taken() {
    let whole = include_str!("../data/bonnie_pvfs2_bgl_2005.csv");
    let message = read(whole.trim_end().as_bytes(), "bonnie").unwrap_err().render();
    assert!(message.contains("add a line break"), "{message}");
}
