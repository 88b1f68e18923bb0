//! More clients transfer no more: what they share limits, not the clients.

use super::Rule;
use super::{Basis, SegmentVerdict, Stance, Tier};
use crate::case::Cases;
use crate::case::table::{self, Bracket, CLIENTS, ObservationTable, PATH, times, with_other_differences};
use crate::method::given;
use crate::text;
use crate::thresholds::{ELIMINATED_CONFIDENCE, INFERRED_CONFIDENCE, NO_EFFECT_RATIO};
use narrows_model::observation::{Capacity, Ceiling};
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};

/// Above this share of what as many clients would transfer each alone, each is limited by itself.
const OWN_RATIO: f64 = 0.8;
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
    title: "more clients add nothing",
    definition: "More clients reach the same aggregate as fewer: what each client has for itself is cleared, and one \
                 of the shared stages limits. A stage whose ceiling or busy time leaves headroom is excluded: what limits \
                 then is full, and a stage at 70 to 90 % of its ceiling is not. Where \
                 the clients did not run together the aggregate is between all bytes over the longest time and the \
                 sum of rates, and the upper bound decides. Reported only where no more specific rule names a limit, \
                 with a confidence of 0.7 at most. Where a call of one client takes the time of the network plus that \
                 of the server alone (`path = \"local\"`), neither was necessarily full, and the evidence says so. \
                 Where the aggregate grows with the clients, each of them is limited on its own.",
    formula: "aggregate(N) / aggregate(n) < 1.05; by itself: aggregate(N) / aggregate(n) >= 0.8 x N / n",
    source: "Gunther, Guerrilla Capacity Planning (2007); IOPerf at the RHIC Computing Facility (2002)",
    example: "one client writes 8810 KB/s, 47 together 8824 KB/s",
    how_to_measure: None,
    how_to_write: Some("repeat with more clients, and give the aggregate or every client's rate"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    let mut verdicts = Vec::new();
    for series in table.series(CLIENTS) {
        for pair in series.windows(2) {
            if let [few, many] = pair {
                verdicts.extend(of_pair(table, few, many));
            }
        }
    }
    verdicts
}

fn of_pair(table: &ObservationTable<'_>, few: &Observation, many: &Observation) -> Vec<SegmentVerdict> {
    let clients = |one: &Observation| one.clients.unwrap_or(1).max(1) as f64;
    let more = clients(many) / clients(few);
    let is_mixed = table.modes(few).is_some() || table.modes(many).is_some();
    let Some(faster) = table::speed_up(few, many).filter(|_| more > 1.0 && !is_mixed) else {
        return Vec::new();
    };
    let text = format!(
        "{} clients reach {} times the rate of {} ({}, {})",
        clients(many),
        times(faster),
        clients(few),
        few.id,
        many.id
    );
    if faster.high < NO_EFFECT_RATIO + table::doubt_ratio(few) {
        let serial = one_after_the_other(table, few).unwrap_or_default();
        shared(table, many, &with_other_differences(few, many, text), &serial)
    } else if faster.low >= OWN_RATIO * more {
        own(few, faster, &text)
    } else {
        Vec::new()
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

/// What each client has for itself is cleared by `text`, and what all share limits, with `more` to that.
fn shared(table: &ObservationTable<'_>, many: &Observation, text: &str, more: &str) -> Vec<SegmentVerdict> {
    let clears = OF_CLIENTS.iter().map(|segment| (*segment, Stance::Clears));
    let mut stages = vec![Segment::Server, Segment::Device];
    if table.has_network() {
        stages.push(Segment::Network);
    }
    if table.has_proxy() {
        stages.push(Segment::Proxy);
    }
    let below = |stage: &Segment| given::below_ceiling(table, *stage, many);
    let own_ceilings = stages.iter().flat_map(below).map(|open| SegmentVerdict {
        stance: Stance::Clears,
        ..open.with_evidence(
            format!("{text}, so what all share is full, and that is not"),
            "rate, ceiling and aggregates of different numbers of clients",
            "",
        )
    });
    let own_ceilings: Vec<SegmentVerdict> = own_ceilings.collect();
    let is_named = |stage: &Segment| !given::is_idle(table, *stage, many) && below(stage).is_empty();
    let limits = stages.iter().copied().filter(is_named).map(|stage| (stage, Stance::Limits));
    let verdict = |(segment, stance)| {
        let verdict = SegmentVerdict::new(
            segment,
            &many.id,
            stance,
            Basis::Utilisation,
            if stance == Stance::Limits { 1.0 } else { 0.0 },
        );
        let tier = if stance == Stance::Limits { Tier::Fallback } else { Tier::Resource };
        verdict.with_tier(tier).with_confidence_max(INFERRED_CONFIDENCE).with_evidence(
            if stance == Stance::Limits { format!("{text}{more}") } else { text.to_owned() },
            "aggregates of different numbers of clients",
            "",
        )
    };
    clears.chain(limits).map(verdict).chain(own_ceilings).collect()
}

/// Each client limited by itself: more of them transfer as much more.
fn own(few: &Observation, faster: Bracket, text: &str) -> Vec<SegmentVerdict> {
    let verdict = SegmentVerdict::new(Segment::Client, &few.id, Stance::Limits, Basis::Utilisation, 1.0);
    let verdict = verdict
        .with_tier(Tier::Fallback)
        .with_confidence_max(ELIMINATED_CONFIDENCE)
        .with_relief_gain(Some(faster.high));
    vec![verdict.with_evidence(text.to_owned(), "aggregates of different numbers of clients", "")]
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
        assert_eq!(named(&all), [Segment::Server, Segment::Device]);
        let limiting = crate::diagnose_observations(&all).limiting;
        assert!(limiting.iter().all(|entry| entry.relation == Relation::OneOf && entry.confidence <= 0.7));
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
