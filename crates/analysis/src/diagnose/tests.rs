//! What is true of every diagnosis, whatever the machine.

use super::*;
use crate::testing::{builtin, builtins};
use narrows_model::Relation;

#[test]
fn every_segment_of_the_path_is_in_exactly_one_list() {
    for (machine, summary) in builtins() {
        let diagnosis = &summary.diagnosis;
        for segment in summary.segments.iter().map(|segment| segment.id) {
            let lists = [
                diagnosis.limiting.iter().any(|entry| entry.segment == segment),
                diagnosis.exonerated.iter().any(|entry| entry.segment == segment),
                diagnosis.not_measured.iter().any(|entry| entry.segment == segment),
            ];
            assert_eq!(lists.iter().filter(|listed| **listed).count(), 1, "{machine} {segment}");
        }
    }
}

#[test]
fn every_statement_has_numbers_a_counter_and_how_to_go_on() {
    for (machine, Summary { diagnosis, .. }) in builtins() {
        let blamed = diagnosis.limiting.iter().flat_map(|entry| &entry.evidence);
        let cleared = diagnosis.exonerated.iter().flat_map(|entry| &entry.evidence);
        for evidence in blamed.chain(cleared) {
            assert!(evidence.text.contains(|c: char| c.is_ascii_digit()), "{evidence:?}");
            assert!(!evidence.counter.is_empty(), "{evidence:?}");
        }
        assert!(diagnosis.limiting.iter().all(|entry| !entry.evidence.is_empty()), "{machine}");
        assert!(diagnosis.not_measured.iter().all(|entry| !entry.why.is_empty() && !entry.how_to.is_empty()));
    }
}

#[test]
fn a_load_on_null_has_no_verdict_for_there_is_no_storage() {
    let mut summary = builtin("local-ssd");
    summary.cells.retain(|cell| cell.cut == narrows_model::Cut::Path);
    for cell in &mut summary.cells {
        cell.target = narrows_model::Target::Null { copy: false };
    }
    let diagnosis = diagnose(&summary);
    assert!(diagnosis.limiting.is_empty() && diagnosis.exonerated.is_empty(), "{diagnosis:?}");
    let blames =
        |slug: &str| !matches!(slug, "short_run" | "mixture" | "operations_failed" | "ceiling_exceeded");
    assert!(diagnosis.findings.iter().all(|found| !blames(&found.slug)), "{:?}", diagnosis.findings);
}

#[test]
fn bulk_comes_before_small_requests() {
    let limiting = builtin("wan-10ms").diagnosis.limiting;
    let kinds: Vec<bool> = limiting.iter().map(|entry| entry.regime.starts_with("bulk")).collect();
    assert!(kinds.is_sorted_by(|a, b| a >= b) && kinds.contains(&true) && kinds.contains(&false));
}

#[test]
fn directions_that_agree_become_one_entry_and_others_stay_apart() {
    let agreed = builtin("gigabit-nfs").diagnosis.limiting;
    assert!(agreed[0].regime.starts_with("bulk read and write (1MiB, 16 in flight)"), "{}", agreed[0].regime);
    let apart = builtin("cached-server").diagnosis.limiting;
    assert!(apart.iter().filter(|entry| entry.regime.starts_with("bulk")).count() == 2);
}

#[test]
fn two_resources_within_a_tenth_of_each_other_are_one_of() {
    let mut summary = builtin("gigabit-nfs");
    let wire = |cell: &narrows_model::summary::CellSummary| cell.cut == narrows_model::Cut::NetworkStream;
    let rates: Vec<_> = summary.cells.iter().filter(|cell| wire(cell)).cloned().collect();
    for cell in summary.cells.iter_mut().filter(|cell| cell.cut == narrows_model::Cut::ServerStorage) {
        let same = rates.iter().find(|wire| {
            wire.block_bytes == cell.block_bytes && wire.in_flight.configured == cell.in_flight.configured
        });
        cell.rate_bytes_per_s = same.and_then(|wire| wire.rate_bytes_per_s);
        cell.ops_per_s = same.and_then(|wire| wire.ops_per_s);
    }
    let limiting = diagnose(&summary).limiting;
    let bulk: Vec<_> = limiting.iter().filter(|entry| entry.regime.starts_with("bulk")).collect();
    assert!(bulk.len() >= 2 && bulk.iter().all(|entry| entry.relation == Relation::OneOf), "{bulk:?}");
}

/// The file server with its wire at `share` of what its device sustains, cell by cell.
fn device_beside_wire(share: f64) -> narrows_model::Summary {
    let mut summary = builtin("gigabit-nfs");
    let wire = |cell: &narrows_model::summary::CellSummary| cell.cut == narrows_model::Cut::NetworkStream;
    let rates: Vec<_> = summary.cells.iter().filter(|cell| wire(cell)).cloned().collect();
    for cell in summary.cells.iter_mut().filter(|cell| cell.cut == narrows_model::Cut::ServerStorage) {
        let same = rates.iter().find(|wire| {
            wire.block_bytes == cell.block_bytes && wire.in_flight.configured == cell.in_flight.configured
        });
        let rate = same.and_then(|wire| wire.rate_bytes_per_s).map_or(0.0, |rate| rate.0 / share);
        cell.rate_bytes_per_s = Some(narrows_model::BytesPerSec(rate));
        cell.ops_per_s = Some(narrows_model::OpsPerSec(rate / cell.block_bytes.as_f64()));
    }
    summary
}

#[test]
fn a_runner_up_within_a_tenth_is_named_too_although_it_is_not_full() {
    let mut beside = device_beside_wire(0.905);
    for cell in beside.cells.iter_mut().filter(|cell| cell.cut == narrows_model::Cut::Path) {
        cell.rate_bytes_per_s = cell.rate_bytes_per_s.map(|rate| narrows_model::BytesPerSec(rate.0 * 0.97));
    }
    let diagnosis = diagnose(&beside);
    let bulk: Vec<_> = diagnosis.limiting.iter().filter(|entry| entry.regime.starts_with("bulk")).collect();
    let named =
        |segment| bulk.iter().any(|entry| entry.segment == segment && entry.relation == Relation::OneOf);
    assert!(named(Segment::NetworkBandwidth) && named(Segment::DeviceBandwidth), "{bulk:?}");
    let far = diagnose(&device_beside_wire(0.5));
    assert!(
        !far.limiting
            .iter()
            .any(|entry| entry.segment == Segment::DeviceBandwidth && entry.regime.starts_with("bulk"))
    );
}

#[test]
fn what_is_blamed_under_any_load_is_never_cleared() {
    for (machine, summary) in builtins() {
        for evaluated in evaluate_rules(&Cases::of_run(&summary))
            .iter()
            .filter(|evaluated| evaluated.verdict.stance == Stance::Limits)
        {
            let cleared = |entry: &narrows_model::Exonerated| entry.segment == evaluated.verdict.segment;
            assert!(!summary.diagnosis.exonerated.iter().any(cleared), "{machine} {:?}", evaluated.verdict);
        }
    }
}

#[test]
fn a_part_of_a_named_whole_is_not_cleared() {
    let view_of = builtin("gigabit-nfs");
    let cases = Cases::of_run(&view_of);
    let mut limiting = view_of.diagnosis.limiting.clone();
    limiting[0].segment = Segment::Device;
    let cleared = lists::exonerated(&cases, &evaluate_rules(&cases), &limiting);
    assert!(cleared.iter().all(|entry| entry.segment.parent() != Some(Segment::Device)), "{cleared:?}");
}

#[test]
fn what_was_evaluated_under_some_loads_alone_says_under_which() {
    let diagnosis = builtin("wan-10ms").diagnosis;
    let latency = diagnosis.exonerated.iter().find(|entry| entry.segment == Segment::DeviceLatency).unwrap();
    let is_of_single =
        |text: &str| text.starts_with("one-at-a-time read") || text.starts_with("synchronous write");
    assert!(latency.evidence.iter().all(|e| is_of_single(&e.text)), "{latency:?}");
}

#[test]
fn what_was_evaluated_in_one_direction_alone_is_not_cleared() {
    let mut summary = builtin("ten-gigabit-nfs");
    summary
        .cells
        .retain(|cell| cell.cut != narrows_model::Cut::NetworkStream || !cell.op.moves_towards_device());
    let diagnosis = diagnose(&summary);
    assert!(!diagnosis.exonerated.iter().any(|entry| entry.segment == Segment::NetworkBandwidth));
}

#[test]
fn a_run_without_cells_names_nothing_and_says_so() {
    let mut summary = builtin("gigabit-nfs");
    summary.cells.clear();
    let diagnosis = diagnose(&summary);
    assert!(diagnosis.limiting.is_empty());
    assert!(diagnosis.findings.iter().any(|finding| finding.slug == "not_enough_evidence"));
}

#[test]
fn a_summary_read_again_gives_the_same_verdict() {
    let summary = builtin("slow-server-cpu");
    assert_eq!(diagnose(&summary), summary.diagnosis);
}

#[test]
fn codes_are_unique_kebab_words_and_no_segments() {
    for rule in RULES {
        assert_eq!(RULES.iter().filter(|other| other.code == rule.code).count(), 1, "{}", rule.code);
        let is_kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(rule.code.chars().all(is_kebab), "{}", rule.code);
        assert_eq!(Segment::from_id(rule.code), None, "`narrows explain` prints one of the two");
        let texts = [rule.slug, rule.title, rule.definition, rule.formula, rule.source, rule.example];
        let how_to = [rule.how_to_measure, rule.how_to_write].into_iter().flatten();
        assert!(texts.into_iter().chain(how_to).all(|text| !text.is_empty()), "{}", rule.code);
        assert!(rule.how_to_measure.is_some() || rule.how_to_write.is_some(), "{}", rule.code);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_part_of_a_run_is_left_the_lists_cover_the_path_once(kept in proptest::collection::vec(proptest::bool::ANY, 80)) {
        let mut summary = builtin("slow-server-cpu");
        let mut kept = kept.into_iter();
        summary.cells.retain(|_| kept.next().unwrap_or(true));
        summary.prediction = crate::predict(&summary);
        let diagnosis = diagnose(&summary);
        for segment in summary.segments.iter().map(|segment| segment.id) {
            let cleared = diagnosis.exonerated.iter().filter(|entry| entry.segment == segment).count();
            let unmeasured = diagnosis.not_measured.iter().filter(|entry| entry.segment == segment).count();
            let limiting = usize::from(diagnosis.limiting.iter().any(|entry| entry.segment == segment));
            proptest::prop_assert_eq!(cleared + unmeasured + limiting, 1, "{}", segment);
        }
        proptest::prop_assert!(diagnosis.limiting.iter().all(|entry| (0.0..=0.9).contains(&entry.confidence)));
    }
}
