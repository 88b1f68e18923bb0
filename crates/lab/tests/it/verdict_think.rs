//! Users who think for most of the time are named, with what they wait for; users who do not are not.

use crate::support::check::{Checked, assert_within, serve};
use crate::support::study::{ops_per_s, run_study_from};
use crate::support::{lab, on_a_calm_machine, round_trips_ns};
use narrows_lab::{Lab, pin_to_cpus};
use narrows_model::{Cut, Op, Segment};

/// One way; the way back has no delay.
const DELAY_US: u64 = 2000;

/// Reads of a user who thinks `think` after each, over a wire with a delay; and the median of the wire's round trips as
/// others than narrows see it, in seconds.
fn reads_of_a_user(lab: &Lab, think: &str) -> (Checked, f64) {
    let (client, server) = (lab.host(1).unwrap(), lab.host(2).unwrap());
    server.delay(DELAY_US).unwrap();
    let trips = round_trips_ns(lab, &client, &server, 100);
    let served = serve(lab, &server, None, |command| pin_to_cpus(command, &[1]));
    let address = &served.address;
    let text = format!(
        r#"
target = "tcp://{address}/memory"
cuts = ["generator", "network_stream"]
[workload]
block = "4KiB"
file = "8MiB"
think = "{think}"
[stop]
warm_up = "100ms"
measure = "2s"
"#
    );
    let checked = run_study_from(lab, &client, &served, "thinks", &text);
    (checked, trips[trips.len() / 2] as f64 * 1e-9)
}

#[test]
fn a_user_who_thinks_12_ms_between_answers_that_take_a_third_of_it_is_named_with_the_wire() {
    on_a_calm_machine(|| {
        const THINK_S: f64 = 0.012;
        let Some(lab) = lab() else { return };
        let (checked, trip_s) = reads_of_a_user(&lab, "12ms");
        checked.assert_limits("users-think");
        assert_eq!(checked.summary.diagnosis.limiting[0].segment, Segment::OfferedLoad);
        let path = checked.path_cell(Op::Read, 4 << 10, 1);
        assert_within(ops_per_s(path), 1.0 / (THINK_S + trip_s), 0.1);
        let statement = &checked.evidence("users-think")[0].text;
        assert!(
            statement.starts_with(&path.id) && statement.contains("thinks 12.0 ms of the "),
            "{statement}"
        );
        checked.assert_none_limit(&[
            Segment::ClientCpu,
            Segment::ServerCpu,
            Segment::NetworkBandwidth,
            Segment::Generator,
            Segment::Unknown,
        ]);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_user_who_thinks_less_than_the_wire_takes_waits_for_the_wire() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let (checked, trip_s) = reads_of_a_user(&lab, "1ms");
        checked.assert_not_found("users-think");
        checked.assert_limiting_first("single", Segment::NetworkLatency);
        assert_within(ops_per_s(checked.only(Cut::Path)), 1.0 / (0.001 + trip_s), 0.25);
        let cleared = &checked.summary.diagnosis.exonerated;
        assert!(cleared.iter().any(|entry| entry.segment == Segment::OfferedLoad), "{cleared:?}");
    });
}
