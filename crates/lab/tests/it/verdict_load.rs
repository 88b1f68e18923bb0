//! What the client does is distinguished from what the path sustains: a load limited by a cap, a client without CPU.

use crate::support::apart::{Quotas, check_apart, check_with_quotas};
use crate::support::check::assert_within;
use crate::support::{lab, on_a_calm_machine};
use narrows_model::counters::Role;
use narrows_model::{Op, Segment};

#[test]
fn a_load_limited_to_a_cap_is_named_as_such_and_clears_nothing() {
    on_a_calm_machine(|| {
        const CAP_BYTES_PER_S: f64 = (20 << 20) as f64;
        let Some(lab) = lab() else { return };
        let words = "--op read --seconds 8 --cell-seconds 1 --block 64KiB --depth 4 --max-rate 20MiB";
        let checked = check_apart(&lab, "capped", None, |_| (), words);
        checked.assert_limiting_first("bulk", Segment::OfferedLoad);
        assert_eq!(checked.summary.diagnosis.limiting.len(), 1, "nothing else is blamed");
        assert_within(
            checked.path_cell(Op::Read, 64 << 10, 4).rate_bytes_per_s.unwrap().0,
            CAP_BYTES_PER_S,
            0.05,
        );
        let cleared = &checked.summary.diagnosis.exonerated;
        assert!(cleared.iter().all(|entry| entry.segment != Segment::NetworkBandwidth), "{cleared:?}");
    });
}

#[test]
fn a_client_with_a_quota_of_0_12_cpus_is_limited_by_its_cpu() {
    on_a_calm_machine(|| {
        const CLIENT_CPUS: f64 = 0.12;
        let Some(lab) = lab() else { return };
        let quotas = Quotas { client_cpus: CLIENT_CPUS, server_cpus: 1.0 };
        let words = "--seconds 14 --cell-seconds 0.8 --block 64KiB --depth 16";
        let checked = check_with_quotas(&lab, "weak", quotas, words);
        checked.assert_limiting_first("bulk", Segment::ClientCpu);
        checked.assert_none_limit(&[
            Segment::ServerCpu,
            Segment::HostCpu,
            Segment::NetworkBandwidth,
            Segment::ServerProtocol,
            Segment::Unknown,
        ]);
        for op in [Op::Read, Op::Write] {
            let client = &checked.path_cell(op, 64 << 10, 16).cpu[&Role::Client];
            assert_within(client.capacity_cpus, CLIENT_CPUS, 0.01);
            assert!(client.throttled_s.unwrap() > 0.1, "{op}: its quota held it back");
        }
    });
}
