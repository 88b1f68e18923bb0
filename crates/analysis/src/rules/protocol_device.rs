//! What is behind the memory of a server on which nothing of ours runs limits the load.

use super::{Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::facts::{reads, time_per_op_s};
use crate::method::{protocol, time};
use crate::text;
use crate::view::SummaryView;
use narrows_model::Segment;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "protocol-device-bound",
    slug: "device",
    segment: Segment::Device,
    title: "the same few blocks are much faster than the whole set, or than making it durable",
    definition: "A storage protocol is spoken to a server on which nothing of ours runs. Reads of the same few blocks, \
                 which are in the server's memory, or writes of them that need not be durable, are at least twice as \
                 fast as the path: the path waits for what is behind that memory. The file system above the device is \
                 included, and whether the device lacks bandwidth or operations was not seen, so that the whole device \
                 is named, with a limited confidence; for single durable writes together with the commit.",
    formula: "1 - rate / rate of hot blocks >= 0.5 (many in flight), (T - T(hot blocks)) / T >= 0.5 (one in flight); \
              durable writes: T(unstable) in the place of T(hot blocks)",
    source: "Substitution of one stage (asymptotic bounds, Denning and Buzen 1978)",
    example: "1 MiB writes until a COMMIT at 18 MiB/s, UNSTABLE writes of the same few blocks at 210 MiB/s: 91 %",
    how_to_measure: Some(
        "check an existing file that is larger than the server's memory, or writes (--op write), which end at the device",
    ),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    if !cases.view().is_some_and(SummaryView::speaks_protocol) {
        return Vec::new();
    }
    cases.evaluate_cells(evaluate)
}

/// A synchronous write waits for the device and for its flush: the commit is named first, with the device beside it.
const BEHIND_COMMIT_RATIO: f64 = 0.99;

const CAVEAT: &str = "the file system above the device is included, and the device was not seen by itself";

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let is_durable_each = protocol::is_durable_each(cell);
    let memory = if is_durable_each { protocol::early(view, cell) } else { protocol::hot(view, cell) };
    let memory = memory.or_else(|| protocol::hot(view, cell))?;
    let (whole_s, memory_s) = (time_per_op_s(cell)?, time_per_op_s(memory)?);
    let share = ratio(whole_s - memory_s, whole_s)?.clamp(0.0, 1.0);
    let what = match (reads(cell.op), is_durable_each) {
        (true, _) => "from the server's memory".to_owned(),
        (false, false) => {
            format!(
                "into the server's memory, without the {},",
                view.probe().map_or("commit", |probe| probe.commit)
            )
        }
        (false, true) => "not durable".to_owned(),
    };
    let text = format!(
        "{}: a request takes {}, one {what} {}: {} is spent behind it",
        cell.id,
        text::seconds(whole_s),
        text::seconds(memory_s),
        text::percent(share),
    );
    let load = if is_durable_each { share * BEHIND_COMMIT_RATIO } else { share };
    let verdict = time::stage(RULE.segment, cell, memory, share);
    let verdict = SegmentVerdict { load_ratio: load, ..verdict }.with_used(load);
    let verdict =
        verdict.with_evidence(text, "time of the same requests on hot blocks", "iostat -x 1 (on the server)");
    Some(if verdict.stance == Stance::Limits {
        verdict.with_evidence(CAVEAT.to_owned(), "", "")
    } else {
        verdict
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::by_protocol::{named, spoken};

    #[test]
    fn a_set_much_slower_than_a_few_blocks_names_the_device() {
        let slow = spoken(|cell| cell.arrival(4.0).hot(5.0));
        assert_eq!(named(&slow, "bulk read and write"), [Segment::Device]);
    }

    #[test]
    fn a_set_as_fast_as_a_few_blocks_does_not() {
        assert!(!named(&spoken(|cell| cell.arrival(4.0)), "bulk").contains(&Segment::Device));
    }
}
