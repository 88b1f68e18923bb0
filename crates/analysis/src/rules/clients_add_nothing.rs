//! More clients transfer no more: what they share limits, not the clients.

use super::Rule;
use super::{Basis, SegmentVerdict, Stance, Tier};
use crate::case::Cases;
use crate::case::table::{self, ObservationTable, PATH, RisingAxis, RisingSeries};
use crate::method::curve::{self, CurveStep, StepShape};
use crate::method::given;
use crate::text;
use crate::thresholds::{ELIMINATED_CONFIDENCE, INFERRED_CONFIDENCE};
use narrows_model::observation::{Capacity, Ceiling};
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};

/// What its statements rest on.
const COUNTER: &str = "aggregates of different numbers of clients";
/// A sum of two times explains a third this far.
const SERIAL_TOLERANCE: f64 = 0.1;
/// Segments that each client has for itself.
const OF_CLIENTS: [Segment; 4] =
    [Segment::ClientCpu, Segment::ClientMemory, Segment::ClientConnection, Segment::ClientFilesystem];

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "clients-add-nothing",
    slug: "saturated",
    segment: Segment::Server,
    title: "more load adds nothing",
    definition: "More clients, requests in flight or threads, or several of them together, reach the same aggregate as \
                 fewer: what each client has for itself is cleared, or the number in flight, and one of the stages that \
                 they share limits; the client's own stages are among these where one client asks for more. Where the \
                 aggregate grows by less than half of what is added, on a logarithmic scale, most of what is added \
                 waits, and one of these stages limits with a confidence of 0.6 at most. A stage whose ceiling or busy \
                 time leaves headroom is excluded: what limits then is full, and a stage at 70 to 90 % of its ceiling \
                 is not. More than three stages that may be full are no answer. Where the clients did not run together \
                 the aggregate is between all bytes over the longest time and the sum of rates, and the upper bound \
                 decides. Reported only where no more specific rule names a limit, with a confidence of 0.7 at most. \
                 One client as fast as many need not fill anything: its call may take the time of the network plus that \
                 of the server alone (`path = \"local\"`), and the evidence says so. Where the aggregate grows with \
                 the clients, each of them is limited on its own.",
    formula: "adds nothing: aggregate(N) / aggregate(n) < 1.05; mostly waits: ln(aggregate(N) / aggregate(n)) / ln(N / n) < \
              0.5; by itself: >= 0.5; each for N >= 1.5 n",
    source: "Gunther, Guerrilla Capacity Planning (2007); IOPerf at the RHIC Computing Facility (2002)",
    example: "one client writes 8810 KB/s, 47 together 8824 KB/s",
    how_to_measure: None,
    how_to_write: Some("repeat with more clients, and give the aggregate or every client's rate"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    let of_curve = |series: &RisingSeries<'_>| -> Vec<SegmentVerdict> {
        curve::steps(table, series).iter().flat_map(|step| of_step(table, step)).collect()
    };
    table.load_curves().iter().flat_map(of_curve).collect()
}

fn of_step(table: &ObservationTable<'_>, step: &CurveStep<'_, '_>) -> Vec<SegmentVerdict> {
    match step.shape {
        StepShape::Follows if step.series.has_clients() => own(step),
        StepShape::Follows => Vec::new(),
        StepShape::Contends => shared(table, step, step.more, "; what is added mostly waits"),
        StepShape::Flat | StepShape::Falls => {
            let serial = one_after_the_other(table, step.fewer).unwrap_or_default();
            let mut verdicts = own_cleared(step);
            verdicts.extend(shared(table, step, step.more, &serial));
            if !step.is_from_one() && step.shape == StepShape::Flat {
                verdicts.extend(shared(table, step, step.fewer, ""));
            }
            verdicts
        }
    }
}

/// Where the time of one client's call is that of the wire and then that of the server by itself: neither was full then.
fn one_after_the_other(table: &ObservationTable<'_>, one: &Observation) -> Option<String> {
    let (block, rate) = (one.block_bytes?, table::bytes_per_s(one)?.high);
    let setting = |one: &Observation| table::setting_under(one, one.op, &|name| name == PATH);
    let own = setting(one);
    let local = table.observations().iter().find(|other| table::is_local(other) && setting(other) == own)?;
    let wire = wire_bytes_per_s(table, one)?;
    let server = table::bytes_per_s(local)?.high;
    let each_s = |rate: f64| ratio(block.as_f64(), rate);
    let (wire_s, server_s, took_s) = (each_s(wire)?, each_s(server)?, each_s(rate)?);
    let explains = (ratio(took_s, wire_s + server_s)? - 1.0).abs() < SERIAL_TOLERANCE;
    (one.clients == Some(1) && !table::is_local(one) && explains).then(|| {
        format!(
            "; {} of {} take {}, the wire {} and then the server {} ({}): with 1 client neither is necessarily full",
            text::amount(block),
            one.id,
            text::seconds(took_s),
            text::seconds(wire_s),
            text::seconds(server_s),
            local.id
        )
    })
}

/// What the network sustains for `one`, by the narrowest ceiling on it.
fn wire_bytes_per_s(table: &ObservationTable<'_>, one: &Observation) -> Option<f64> {
    let of_wire = |ceiling: &&Ceiling| {
        ceiling.segment == Segment::NetworkBandwidth && ceiling.op.is_none_or(|op| op == one.op)
    };
    let carried = table.all.ceilings.iter().filter(of_wire).filter_map(|ceiling| match ceiling.capacity {
        Capacity::BytesPerS(most) => Some(most.0 * ObservationTable::count_of(ceiling, one)),
        _ => None,
    });
    carried.reduce(f64::min)
}

/// What was raised without effect is cleared: what each client has for itself, or the number in flight.
fn own_cleared(step: &CurveStep<'_, '_>) -> Vec<SegmentVerdict> {
    let of_clients = OF_CLIENTS.iter().filter(|_| step.series.has_clients());
    let more_in_flight = step.series.axes.iter().any(|axis| axis.is_load() && *axis != RisingAxis::Clients);
    let in_flight = Some(&Segment::WorkloadConcurrency).filter(|_| more_in_flight);
    let cleared = |segment: &Segment| {
        let verdict = SegmentVerdict::new(*segment, &step.more.id, Stance::Clears, Basis::Utilisation, 0.0);
        verdict.with_confidence_max(INFERRED_CONFIDENCE).with_evidence(step.text(), COUNTER, "")
    };
    of_clients.chain(in_flight).map(cleared).collect()
}

/// What all that was raised shares limits `one`, with `more` to the statement; stages with headroom are excluded.
fn shared(
    table: &ObservationTable<'_>,
    step: &CurveStep<'_, '_>,
    one: &Observation,
    more: &str,
) -> Vec<SegmentVerdict> {
    let text = step.text();
    let stages = given::shared_stages(table, step.series.has_clients());
    let is_flat = step.shape != StepShape::Contends;
    let below = |stage: &Segment| given::below_ceiling(table, *stage, one);
    let own_ceilings = stages.iter().filter(|_| is_flat).flat_map(below).map(|open| SegmentVerdict {
        stance: Stance::Clears,
        ..open.with_evidence(
            format!("{text}, so what all share is full, and that is not"),
            "rate, ceiling and aggregates of different numbers of clients",
            "",
        )
    });
    let own_ceilings: Vec<SegmentVerdict> = own_ceilings.collect();
    let named = given::possibly_full(table, &stages, one);
    let most = if is_flat { INFERRED_CONFIDENCE } else { ELIMINATED_CONFIDENCE };
    let limits = |segment: Segment| {
        let verdict = SegmentVerdict::new(segment, &one.id, Stance::Limits, Basis::Utilisation, 1.0);
        let verdict = verdict.with_tier(Tier::Fallback).with_confidence_max(most);
        verdict.with_evidence(format!("{text}{more}"), COUNTER, "")
    };
    named.into_iter().map(limits).chain(own_ceilings).collect()
}

/// Each client limited by itself: more of them transfer their share more.
fn own(step: &CurveStep<'_, '_>) -> Vec<SegmentVerdict> {
    let verdict =
        SegmentVerdict::new(Segment::Client, &step.fewer.id, Stance::Limits, Basis::Utilisation, 1.0);
    let verdict = verdict
        .with_tier(Tier::Fallback)
        .with_confidence_max(ELIMINATED_CONFIDENCE)
        .with_relief_gain(Some(step.faster.high));
    vec![verdict.with_evidence(step.text(), COUNTER, "")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::observed::{cleared, named, read};
    use narrows_model::Relation;

    const WIRE: &str =
        "[[ceiling]]\nsegment = \"network.bandwidth\"\nbytes_per_s = 12.5e6\nbasis = \"declared\"\n";

    fn two(one: &str, many: &str) -> narrows_model::Observations {
        read(&format!(
            "{WIRE}[[observation]]\nid = \"one\"\nop = \"write\"\nclients = 1\nbytes_per_s = {one}\n[[observation]]\nid = \"many\"\nop = \"write\"\nclients = 47\n{many}\n"
        ))
    }

    #[test]
    fn clients_that_add_nothing_are_cleared_and_server_or_device_limits() {
        let all = two("8.81e6", "bytes_per_s_per_client_mean = 1.8775e5");
        assert!(cleared(&all, Segment::ClientCpu) && cleared(&all, Segment::NetworkBandwidth));
        assert_eq!(named(&all), [Segment::Server, Segment::Device, Segment::Unknown]);
        let limiting = crate::diagnose_observations(&all).limiting;
        assert!(
            limiting[..2].iter().all(|entry| entry.relation == Relation::OneOf && entry.confidence <= 0.7)
        );
    }

    #[test]
    fn a_call_that_takes_the_time_of_the_wire_and_then_of_the_server_says_so() {
        let of = |local_rate: &str| {
            let all = read(&format!(
                "{WIRE}[[observation]]\nid = \"one\"\nop = \"write\"\nclients = 1\nblock_bytes = 8192\nbytes_per_s = 9.02e6\n\
                 [[observation]]\nid = \"many\"\nop = \"write\"\nclients = 47\nblock_bytes = 8192\nbytes_per_s = 9.03e6\n\
                 [[observation]]\nid = \"there\"\nop = \"write\"\nclients = 1\nblock_bytes = 8192\nbytes_per_s = {local_rate}\n\
                 factor = {{ path = \"local\" }}\n"
            ));
            let limiting = crate::diagnose_observations(&all).limiting;
            limiting.iter().flat_map(|entry| &entry.evidence).map(|one| one.text.clone()).collect::<String>()
        };
        // 8192 bytes: 655 us at 12.5e6 bytes a second, 288 us at 28.46e6, and 908 us together.
        let serial = of("28.46e6");
        assert!(
            serial.contains("take 908 us, the wire 655 us and then the server 288 us (there)"),
            "{serial}"
        );
        assert!(!of("5e6").contains("and then the server"), "2.3 ms is not 0.9 ms");
    }

    #[test]
    fn clients_that_add_their_share_are_each_limited_by_themselves() {
        assert_eq!(named(&two("0.1e6", "bytes_per_s = 4.4e6"))[0], Segment::Client);
    }
}
