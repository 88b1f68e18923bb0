//! A proxy between client and server whose CPU is throttled is named as such, with the limit's own number; one without
//! a quota, before a server that is throttled, is not.

use crate::support::apart::{ProxyLimits, Quotas, check_through};
use crate::support::check::{Checked, assert_within};
use crate::support::{lab, on_a_calm_machine};
use narrows_model::counters::Role;
use narrows_model::summary::CpuBasis;
use narrows_model::{Cut, Op, Segment};

/// Segments that limit the bulk load.
#[track_caller]
fn bulk(checked: &Checked) -> Vec<Segment> {
    checked.limiting("bulk").iter().map(|entry| entry.segment).collect()
}

#[test]
fn a_proxy_with_a_quota_of_0_1_cpus_is_limited_by_its_cpu_and_the_network_is_known_past_it() {
    on_a_calm_machine(|| {
        const PROXY_CPUS: f64 = 0.1;
        let Some(lab) = lab() else { return };
        let quotas = Quotas { client_cpus: 0.9, server_cpus: 0.9 };
        let checked = check_through(
            &lab,
            "proxy-quota",
            quotas,
            ProxyLimits { cpus: Some(PROXY_CPUS), is_measured_past: true, ..ProxyLimits::default() },
        );
        checked.assert_limiting("bulk", Segment::ProxyCpu);
        checked.assert_none_limit(&[
            Segment::ProxyQueue,
            Segment::ServerCpu,
            Segment::NetworkBandwidth,
            Segment::ClientConnection,
            Segment::ServerProtocol,
            Segment::Generator,
        ]);
        for op in [Op::Read, Op::Write] {
            let proxy = &checked.path_cell(op, 64 << 10, 16).cpu[&Role::Proxy];
            assert_eq!(proxy.basis, CpuBasis::Cgroup);
            assert_within(proxy.capacity_cpus, PROXY_CPUS, 0.01);
            assert!(proxy.throttled_s.unwrap() > 0.1, "{op}: its quota held it back");
        }
        // The stream past the proxy shows the network's own ceiling, far above what came through.
        let through = checked.cells(Cut::NetworkStream).next().unwrap().rate_bytes_per_s.unwrap().0;
        assert!(checked.ceiling(Segment::NetworkBandwidth) > 2.0 * through, "{through} through the proxy");
        assert!(lab.cgroup("proxy").unwrap().throttled_ns().unwrap() > 1_000_000_000);
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_proxy_without_a_quota_before_a_server_with_one_is_not_blamed() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let quotas = Quotas { client_cpus: 0.8, server_cpus: 0.1 };
        let checked = check_through(&lab, "proxy-free", quotas, ProxyLimits::default());
        checked.assert_limiting("bulk", Segment::ServerCpu);
        checked.assert_none_limit(&[Segment::ProxyCpu, Segment::ProxyQueue, Segment::Proxy]);
        let proxy = &checked.path_cell(Op::Read, 64 << 10, 16).cpu[&Role::Proxy];
        assert!(proxy.busy_ratio < 0.9 && proxy.throttled_s.is_none(), "{proxy:?}");
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_healthy_proxy_with_0_9_cpus_before_a_server_with_0_1_is_cleared() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let quotas = Quotas { client_cpus: 0.9, server_cpus: 0.1 };
        let checked = check_through(
            &lab,
            "proxy-healthy",
            quotas,
            ProxyLimits { cpus: Some(0.9), ..ProxyLimits::default() },
        );
        checked.assert_limiting("bulk", Segment::ServerCpu);
        checked.assert_none_limit(&[Segment::ProxyCpu]);
        let cleared = &checked.summary.diagnosis.exonerated;
        assert!(cleared.iter().any(|entry| entry.segment == Segment::ProxyCpu), "{cleared:#?}");
        assert!(!bulk(&checked).contains(&Segment::ProxyQueue));
    });
}

#[test]
fn a_proxy_with_socket_buffers_of_8_kib_slows_though_its_cpu_is_idle() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let quotas = Quotas { client_cpus: 0.9, server_cpus: 0.9 };
        // With sixteen requests in flight a way of 0.2 ms is nothing, unless 8 KiB are all that fits on it.
        lab.host(3).unwrap().delay(200).unwrap();
        let limits = ProxyLimits { cpus: Some(0.9), buffer: Some("8KiB"), is_measured_past: false };
        let checked = check_through(&lab, "proxy-buffers", quotas, limits);
        assert!(bulk(&checked).contains(&Segment::ProxyQueue), "{:?}", bulk(&checked));
        checked.assert_none_limit(&[Segment::ProxyCpu, Segment::ServerProtocol]);
        assert!(checked.limiting("bulk").iter().all(|entry| entry.confidence <= 0.6));
    });
}

#[test]
#[ignore = "campaign: a variant of a proof that ./test makes"]
fn a_link_of_100_mbit_at_the_proxys_host_is_not_the_proxys_alone() {
    on_a_calm_machine(|| {
        let Some(lab) = lab() else { return };
        let quotas = Quotas { client_cpus: 0.9, server_cpus: 0.9 };
        lab.host(3).unwrap().limit_rate("100mbit").unwrap();
        let checked = check_through(
            &lab,
            "proxy-leg",
            quotas,
            ProxyLimits { cpus: Some(0.9), ..ProxyLimits::default() },
        );
        let named = bulk(&checked);
        assert!(named.contains(&Segment::NetworkBandwidth), "{named:?}");
        assert!(checked.limiting("bulk").iter().all(|entry| entry.confidence <= 0.6));
        let cleared = &checked.summary.diagnosis.exonerated;
        assert!(!cleared.iter().any(|entry| entry.segment == Segment::NetworkBandwidth), "{cleared:#?}");
    });
}
