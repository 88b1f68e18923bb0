//! Printed counts that repeat another observation's: a slip.

use super::{Rule, SegmentVerdict};
use crate::case::Cases;
use crate::method::calls::sweeps;
use narrows_model::Segment;
use narrows_model::diagnosis::Severity;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "counts-repeated",
    slug: "repeated_counts",
    segment: Segment::Unknown,
    title: "two observations print the same counts",
    definition: "Observations with different buffers and times have identical counts of calls in roles whose number \
                 of calls does not depend on a buffer. At most one of them can be right, and it is not known which \
                 one, so none of them is used for counts or for the line over calls.",
    formula: "equal counts of 1000 or more in every counted role that was not varied, one of them 5 % or more from \
              bytes / buffer, at different elapsed times",
    source: "Recomputing printed tables; the published experiment, client sweep with three nodes",
    example: "22161 and 22146 reads, both at buffers of 256 and of 128 bytes",
    how_to_measure: None,
    how_to_write: Some("check the counts in the source"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    let all_notes = sweeps(table).into_iter().filter(|sweep| !sweep.excluded.is_empty()).flat_map(|sweep| {
        let names: Vec<&str> = sweep.excluded.iter().map(|one| one.id.as_str()).collect();
        let text = format!("{} print the same counts of calls, and are left out", names.join(" and "));
        let note = |id: &&str| SegmentVerdict::note(RULE.segment, id, Severity::Warning);
        let mut notes: Vec<SegmentVerdict> = names.iter().map(note).collect();
        if let Some(first) = notes.first_mut() {
            *first = first.clone().with_evidence(text, "printed counts", "");
        }
        notes
    });
    all_notes.collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::observed::{read, slugs};
    use std::fmt::Write as _;

    fn sweep(reads: [u32; 6]) -> narrows_model::Observations {
        let mut rows = String::new();
        for (buffer, reads) in [4096_u32, 1024, 512, 256, 128, 64].into_iter().zip(reads) {
            let elapsed_s = 1.0 + 1000.0 / f64::from(buffer);
            writeln!(rows, "[[observation]]\nid = \"{buffer}\"\nop = \"send\"\nelapsed_s = {elapsed_s}\nbytes = {{ application = 50331648 }}\ncalls = {{ server = {reads} }}\nfactor = {{ client_buffer_bytes = {buffer}, server_buffer_bytes = 4096 }}").unwrap();
        }
        read(&rows)
    }

    #[test]
    fn counts_that_repeat_are_reported_and_those_that_a_buffer_decides_are_not() {
        assert!(
            slugs(&sweep([12_288, 19_535, 20_000, 22_146, 22_146, 24_019]))
                .contains(&"repeated_counts".to_owned())
        );
        assert!(!slugs(&sweep([12_288; 6])).contains(&"repeated_counts".to_owned()));
        assert!(
            !slugs(&sweep([12_288, 19_535, 20_000, 22_146, 23_651, 24_019]))
                .contains(&"repeated_counts".to_owned())
        );
    }
    #[test]
    fn counts_that_the_buffer_all_but_decides_repeat_by_chance() {
        assert!(
            !slugs(&sweep([12_288, 12_321, 12_321, 12_378, 12_318, 12_311]))
                .contains(&"repeated_counts".to_owned())
        );
    }
}
