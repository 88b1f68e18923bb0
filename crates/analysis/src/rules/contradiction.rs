//! Figures of one observation that contradict each other.

use super::{Rule, SegmentVerdict};
use crate::case::Cases;
use crate::case::table::{self, ObservationTable, ROLES};
use crate::method::window;
use crate::text;
use crate::thresholds::CONTRADICTION_RATIO;
use narrows_model::diagnosis::Severity;
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};

/// The tenth by which figures may differ.
const TOLERANCE_RATIO: f64 = CONTRADICTION_RATIO - 1.0;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "figures-contradict",
    slug: "contradiction",
    segment: Segment::Unknown,
    title: "figures contradict each other",
    definition: "Two figures of one observation contradict each other by more than a tenth: rate x response time and \
                 the requests in flight (Little's law), or the number of processes where the requests of each are not \
                 given; bytes over elapsed time and the rate; more busy cores than CPUs; a CPU share above 1; a sum \
                 of clients' rates and the aggregate; a rate above what the windows allow. An impossible CPU share \
                 counts as neither full nor idle.",
    formula: "X x R > 1.1 x in flight requested; |X x R - in flight observed| > 0.1 x; X x R > 1.1 x processes; \
              |bytes / T - rate| > 0.1 x; cores > 1.1 x CPUs; share > 1.1; |sum - aggregate| > 0.1 x; rate > 1.1 x \
              window / RTT",
    source: "Little's law; Gunther: if your data don't fit Little's law, change your data",
    example: "1100 op/s at 56.6 ms are 62.3 requests in flight, and 20 were requested",
    how_to_measure: None,
    how_to_write: Some("nothing to do: every observation is tested"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    table.observations().iter().flat_map(|one| contradictions(table, one)).collect()
}

fn contradictions(table: &ObservationTable<'_>, one: &Observation) -> Vec<SegmentVerdict> {
    let found =
        [check_littles_law(one), moved(one), cores(one), shares(one), clients(one), window(table, one)];
    let note = |text: String| {
        SegmentVerdict::note(RULE.segment, &one.id, Severity::Warning).with_evidence(
            format!("{}: {text}", one.id),
            "figures of the observation",
            "",
        )
    };
    found.into_iter().flatten().map(note).collect()
}

fn check_littles_law(one: &Observation) -> Option<String> {
    let product = one.ops_per_s?.0 * one.latency_s?;
    let above = one.in_flight_configured.filter(|asked| product > asked * (1.0 + TOLERANCE_RATIO));
    let apart = one.in_flight_measured.filter(|seen| differ(product, *seen));
    let sentence =
        |known: String| format!("rate x response time is {product:.1} requests in flight, and {known}");
    let known = above.map(|asked| format!("{asked} were requested"));
    let known = known.or_else(|| apart.map(|seen| format!("{seen} were observed")));
    known.or_else(|| beyond_processes(one, product)).map(sentence)
}

/// More requests in flight than processes, each of which waits for its own: where nothing is said of how many each has, and
/// none came at a rate of its own.
fn beyond_processes(one: &Observation, product: f64) -> Option<String> {
    let is_open = one.offered_ops_per_s.is_some() || one.offered_bytes_per_s.is_some();
    let is_known = one.in_flight_configured.is_some() || one.in_flight_measured.is_some();
    let clients = one.clients.filter(|_| !is_open && !is_known)? as f64;
    (product > clients * (1.0 + TOLERANCE_RATIO)).then(|| {
        let processes =
            if clients > 1.0 { format!("{clients} processes wait") } else { "one process waits".to_owned() };
        format!(
            "{processes} for them: if each has several in flight, give the number as in_flight_configured"
        )
    })
}

/// Bytes over time against the rate that is given.
fn moved(one: &Observation) -> Option<String> {
    let (given, elapsed_s) = (one.bytes_per_s?.0, one.elapsed_s?);
    let bytes = one.bytes.application?.as_f64();
    let rate = ratio(bytes, elapsed_s).filter(|rate| differ(*rate, given))?;
    let (given, rate) = (text::storage_rate(given), text::storage_rate(rate));
    Some(format!("bytes over elapsed time are {rate}, and {given} is given"))
}

fn differ(a: f64, b: f64) -> bool {
    (a - b).abs() > TOLERANCE_RATIO * a.max(b)
}

fn cores(one: &Observation) -> Option<String> {
    let most = 1.0 + TOLERANCE_RATIO;
    ROLES.into_iter().find_map(|role| {
        let (busy, cpus) = (table::cores(one, role)?, *one.cpus.get(&role)?);
        (busy > cpus * most).then(|| format!("{} busy of {}", text::cpus(busy), text::cpus(cpus)))
    })
}

/// Shares above the whole of what they are shares of.
fn shares(one: &Observation) -> Option<String> {
    let most = 1.0 + TOLERANCE_RATIO;
    ROLES.into_iter().find_map(|role| {
        let of_all = one.cpu_ratio.get(&role).map(|share| (share, "of the CPUs that it may use"));
        let busiest = one.cpu_busiest_core_ratio.get(&role).map(|share| (share, "of its busiest core"));
        let (share, of) = of_all.into_iter().chain(busiest).find(|(share, _)| **share > most)?;
        let role = role.name();
        let share = text::percent(*share);
        Some(format!(
            "the {role} is given as using {share} {of}, which is impossible; busy cores are written as cpu_cores"
        ))
    })
}

fn clients(one: &Observation) -> Option<String> {
    let total = one.bytes_per_s?.0;
    let sum: f64 = one.per_client_bytes_per_s.iter().sum();
    let of_mean = || Some(one.bytes_per_s_per_client_mean?.0 * one.clients? as f64);
    let sum = Some(sum).filter(|sum| *sum > 0.0).or_else(of_mean)?;
    // An aggregate over the longest time is below the sum of rates.
    let apart = ratio(total, sum).is_some_and(|share| share > 1.0 + TOLERANCE_RATIO);
    apart.then(|| {
        format!(
            "the clients' rates add up to {}, and {} is given",
            text::storage_rate(sum),
            text::storage_rate(total)
        )
    })
}

fn window(table: &ObservationTable<'_>, one: &Observation) -> Option<String> {
    let (_, bound) = window::load(table, one).filter(|(load, _)| *load > CONTRADICTION_RATIO)?;
    let rate = table::bytes_per_s(one)?.low;
    Some(format!(
        "{} was reached with windows that allow {}",
        text::network_rate(rate),
        text::network_rate(bound)
    ))
}

#[cfg(test)]
mod tests {
    use crate::testing::observed::{read, slugs};

    #[test]
    fn figures_that_cannot_both_be_are_reported_and_a_tenth_is_not() {
        let of = |rest: &str| {
            slugs(&read(&format!("[[observation]]\nid = \"a\"\n{rest}\n")))
                .contains(&"contradiction".to_owned())
        };
        assert!(of("ops_per_s = 1100\nlatency_s = 0.0566\nin_flight_configured = 20"));
        assert!(!of("ops_per_s = 1000\nlatency_s = 0.0209\nin_flight_configured = 20"));
        assert!(of("ops_per_s = 100\nlatency_s = 0.1\nclients = 4"));
        assert!(of("ops_per_s = 100\nlatency_s = 0.1\nclients = 1"));
        assert!(!of("ops_per_s = 43\nlatency_s = 0.1\nclients = 4"), "a tenth");
        assert!(!of("ops_per_s = 100\nlatency_s = 0.1\nclients = 4\nin_flight_configured = 12"));
        assert!(
            !of("ops_per_s = 100\nlatency_s = 0.1\nclients = 4\noffered_ops_per_s = 100"),
            "nobody waits"
        );
        assert!(of("cpu_ratio = { client = 1.2 }") && of("cpu_busiest_core_ratio = { server = 1.2 }"));
        assert!(!of("cpu_ratio = { client = 1.06 }"));
        assert!(of("cpu_cores = { server = 5 }\ncpus = { server = 4 }"));
        assert!(of("clients = 2\nbytes_per_s = 100\nbytes_per_s_per_client_mean = 20"));
        assert!(of("bytes_per_s = 100\nelapsed_s = 1\nbytes = { application = 1000000 }"));
        assert!(!of("bytes_per_s = 950000\nelapsed_s = 1\nbytes = { application = 1000000 }"));
        assert!(of("bytes_per_s = 1e9\nwindow_bytes = 65536\nrtt_s = 0.02"));
    }
}
