//! That roles share a machine is reported first, and verdicts there never have high confidence.

use crate::support::check::{Checked, assert_within, local_check_command, run_check, serve};
use crate::support::{assert_nothing_left, lab, on_a_calm_machine};
use narrows_model::Segment;

/// The sentence that comes first, as the design has it.
const PREFACE: &str =
    "Client and server share this machine: this shows software cost, not your network or server.";
/// The most that is believed of a verdict on such a machine.
const CONFIDENCE_MAX: f64 = 0.6;

#[track_caller]
fn assert_modest(checked: &Checked) {
    assert_eq!(checked.summary.diagnosis.preface.as_deref(), Some(PREFACE));
    assert_eq!(checked.json["diagnosis"]["preface"], PREFACE);
    let limiting = &checked.summary.diagnosis.limiting;
    assert!(!limiting.is_empty());
    for entry in limiting {
        assert!(entry.confidence <= CONFIDENCE_MAX, "{}: {}", entry.segment, entry.confidence);
    }
    // With CPUs in common no role can be blamed for its own.
    checked.assert_none_limit(&[Segment::ClientCpu, Segment::ServerCpu]);
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn an_endpoint_of_ones_own_shows_software_cost_and_no_network() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let folder = lab.scratch().join("folder");
        std::fs::create_dir(&folder).unwrap();
        let words = "--server self --seconds 14 --cell-seconds 0.6 --block 64KiB --depth 16";
        let checked = run_check(&lab, "self", local_check_command(&folder), words);
        assert_modest(&checked);
        // Loopback is memory: nothing about a network may come of it.
        for segment in [Segment::NetworkBandwidth, Segment::NetworkLatency, Segment::NetworkLoss] {
            assert!(!checked.segment(segment).measured, "{segment}");
            let untold = &checked.summary.diagnosis.not_measured;
            assert!(
                untold.iter().any(|entry| entry.segment == segment),
                "{segment} is listed as not measured"
            );
        }
        assert_nothing_left(&folder);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_slow_link_between_roles_without_cpus_of_their_own_is_named_with_little_confidence() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
        let rate = server.limit_rate("100mbit").unwrap();
        let served = serve(&lab, &server, None, |_anywhere| ());
        let words = "--seconds 14 --cell-seconds 0.6 --block 1MiB --depth 16";
        let checked = run_check(&lab, "unpinned", served.check_command(&client, "memory"), words);
        assert_modest(&checked);
        assert_eq!(checked.summary.diagnosis.limiting[0].segment, Segment::NetworkBandwidth);
        assert_within(checked.ceiling(Segment::NetworkBandwidth), server.payload_bytes_per_s(rate), 0.05);
    });
}
