//! Writes that arrive together: fewer reads than writes.

use super::{Rule, SegmentVerdict};
use crate::case::Cases;
use crate::case::table::{self, TCP_NO_DELAY, TRANSPORT, UNIX_SOCKETS};
use crate::method::calls::sweeps;
use narrows_model::cell::FactorValue;
use narrows_model::counters::Role;
use narrows_model::diagnosis::Severity;
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};
use std::collections::BTreeSet;

/// Two or more writes per read are coalesced; fewer may be chance.
const COALESCED_RATIO: f64 = 2.0;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "writes-coalesced",
    slug: "coalescing",
    segment: Segment::ClientConnection,
    title: "several writes arrive as one read",
    definition: "The next role reads fewer times than the sender writes, and its buffer size does not explain it: \
                 Nagle's algorithm joined the writes, or the reader was late and found several. Only the count of TCP \
                 segments distinguishes the two, so it is used where given. The factor transport names the connection \
                 between the roles: with tcp_no_delay it was not Nagle, and unix sockets join nothing at the sender. \
                 A secondary finding: it names no limit.",
    formula: "writes / reads >= 2; Nagle where writes / segments >= 2, late reads where segments / reads >= 2",
    source: "RFC 896 (Nagle); client / proxy / server buffer experiment, Onion Routing archive",
    example: "786432 writes of 64 bytes arrive as 24045 reads: 32.7 writes a read",
    how_to_measure: None,
    how_to_write: Some("count the segments (tcp_segments, TCP_INFO), and repeat with TCP_NODELAY"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    let sweeps = sweeps(table);
    let excluded: BTreeSet<&str> =
        sweeps.iter().flat_map(|sweep| &sweep.excluded).map(|one| one.id.as_str()).collect();
    table
        .observations()
        .iter()
        .filter(|one| !excluded.contains(one.id.as_str()))
        .filter_map(evaluate)
        .collect()
}

fn evaluate(one: &Observation) -> Option<SegmentVerdict> {
    [Role::Proxy, Role::Server].into_iter().find_map(|reader| between(one, reader))
}

fn between(one: &Observation, reader: Role) -> Option<SegmentVerdict> {
    let sender = table::upstream(one, reader)?;
    let writes =
        one.write_calls.get(&sender).map(|count| *count as f64).or_else(|| table::calls(one, sender))?;
    let reads = table::counted_calls(one, reader)?;
    let joined = ratio(writes, reads).filter(|joined| *joined >= COALESCED_RATIO)?;
    let why = match one.tcp_segments.get(&sender).map(|count| *count as f64).filter(|count| *count > 0.0) {
        None if uses_transport(one, UNIX_SOCKETS) => {
            "Unix sockets join nothing at the sender: the reader was late".to_owned()
        }
        None => "Nagle and late reads look alike without a count of TCP segments".to_owned(),
        Some(segments) => {
            let (by_sender, by_reader) = (writes / segments, segments / reads);
            let who = if by_sender >= by_reader {
                if uses_transport(one, TCP_NO_DELAY) {
                    "the sender's queue joined them (Nagle's algorithm was off)"
                } else {
                    "the sender joined them (Nagle's algorithm, or its queue)"
                }
            } else {
                "the reader was late"
            };
            format!("{by_sender:.1} writes a segment, {by_reader:.1} segments a read: {who}")
        }
    };
    let text = format!(
        "{}: {joined:.1} writes of the {} arrive as one read of the {}; {why}",
        one.id,
        sender.name(),
        reader.name()
    );
    Some(SegmentVerdict::note(RULE.segment, &one.id, Severity::Info).with_evidence(
        text,
        "calls of both roles",
        "",
    ))
}

/// Whether `one` says that this joins its roles.
fn uses_transport(one: &Observation, transport: &str) -> bool {
    matches!(one.factors.get(TRANSPORT), Some(FactorValue::Text(found)) if found == transport)
}

#[cfg(test)]
mod tests {
    use crate::testing::observed::{finding_text, read, slugs};

    fn observations(reads: u32, segments: &str) -> narrows_model::Observations {
        read(&format!(
            "[[observation]]\nid = \"a\"\nop = \"send\"\ncalls = {{ client = 786432, server = {reads} }}\n{segments}"
        ))
    }

    #[test]
    fn fewer_reads_than_writes_are_reported_with_what_segments_say() {
        assert!(finding_text(&observations(24045, ""), "coalescing").contains("32.7 writes"));
        assert!(
            finding_text(&observations(24045, "tcp_segments = { client = 35000 }\n"), "coalescing")
                .contains("Nagle")
        );
        assert!(
            finding_text(&observations(24045, "tcp_segments = { client = 780000 }\n"), "coalescing")
                .contains("late")
        );
        let unix = finding_text(&observations(24045, "factor = { transport = \"unix\" }\n"), "coalescing");
        assert!(unix.contains("the reader was late") && !unix.contains("Nagle"), "{unix}");
        let no_delay = "tcp_segments = { client = 35000 }\nfactor = { transport = \"tcp_no_delay\" }\n";
        assert!(finding_text(&observations(24045, no_delay), "coalescing").contains("algorithm was off"));
        assert!(!slugs(&observations(786_432, "")).contains(&"coalescing".to_owned()));
    }
}
