//! The faults: what each changes of an ordinary machine, by how much at random.

use super::RandomDraw;
use narrows_model::sim_profile::{NetworkLaw, SimProfile, StationLaw};
use narrows_model::units::round_to_u64;
use narrows_model::{Bytes, BytesPerSec, Nanos, OpsPerSec};

/// One kind of fault.
pub(super) struct InjectedFault {
    /// Its name: a row of the confusion matrix.
    pub(super) name: &'static str,
    /// Whether the machine it is put into has a network and a server.
    pub(super) is_remote: bool,
    /// Puts it in.
    pub(super) inject: fn(&mut SimProfile, &mut RandomDraw),
}

/// Every kind.
pub(super) const FAULTS: &[InjectedFault] = &[
    remote("thin link", |profile, draw| network(profile).bytes_per_s = rate(draw, 2e6, 8e7)),
    remote("long round trip", |profile, draw| network(profile).rtt_ns = time(draw, 2e6, 5e7)),
    remote("small window", |profile, draw| {
        network(profile).rtt_ns = time(draw, 3e6, 4e7);
        network(profile).window_bytes = Some(Bytes(round_to_u64(draw.between(5e4, 4e5))));
    }),
    remote("packets lost", |profile, draw| {
        network(profile).rtt_ns = time(draw, 3e6, 2e7);
        network(profile).loss_ratio = draw.between(0.002, 0.02);
    }),
    remote("client CPU quota", |profile, draw| {
        profile.client_cpus = draw.between(0.05, 0.25);
        slow_down(&mut profile.client_cpu, draw.between(2.0, 6.0));
    }),
    remote("server CPU quota", |profile, draw| {
        profile.server_cpus = draw.between(0.05, 0.3);
        slow_down(&mut profile.server_cpu, draw.between(1.0, 4.0));
    }),
    remote("few server threads", |profile, draw| {
        profile.server_cpu.threads = Some(draw.one_of(&[1, 2]));
        profile.device.parallel = 16;
        profile.device.per_op_ns = time(draw, 3e5, 3e6);
    }),
    remote("slow device behind a server", slow_device),
    remote("few operations behind a server", few_operations),
    remote("late device behind a server", late_device),
    remote("slow commit behind a server", slow_flush),
    remote("link and device alike", |profile, draw| {
        let both = rate(draw, 1e7, 8e7);
        network(profile).bytes_per_s = both;
        profile.device.parallel = 1;
        profile.device.bytes_per_s = Some(both);
    }),
    remote("no fault behind a server", |_, _| {}),
    local("slow device here", slow_device),
    local("few operations here", few_operations),
    local("late device here", late_device),
    local("slow flush here", slow_flush),
    local("CPU quota here", |profile, draw| {
        profile.client_cpus = draw.between(0.05, 0.25);
        slow_down(&mut profile.client_cpu, draw.between(2.0, 6.0));
    }),
    local("no fault here", |_, _| {}),
];

const fn remote(name: &'static str, inject: fn(&mut SimProfile, &mut RandomDraw)) -> InjectedFault {
    InjectedFault { name, is_remote: true, inject }
}

const fn local(name: &'static str, inject: fn(&mut SimProfile, &mut RandomDraw)) -> InjectedFault {
    InjectedFault { name, is_remote: false, inject }
}

fn network(profile: &mut SimProfile) -> &mut NetworkLaw {
    profile.network.as_mut().expect("the fault is one of a machine with a network")
}

fn rate(draw: &mut RandomDraw, low_bytes_per_s: f64, high_bytes_per_s: f64) -> BytesPerSec {
    BytesPerSec(draw.between(low_bytes_per_s, high_bytes_per_s))
}

fn time(draw: &mut RandomDraw, low_ns: f64, high_ns: f64) -> Nanos {
    Nanos(round_to_u64(draw.between(low_ns, high_ns)))
}

/// Makes each operation and each byte of a station cost so many times as much.
fn slow_down(law: &mut StationLaw, factor: f64) {
    law.per_op_ns = Nanos(round_to_u64(law.per_op_ns.0 as f64 * factor));
    if let Some(rate) = &mut law.bytes_per_s {
        rate.0 /= factor;
    }
}

fn slow_device(profile: &mut SimProfile, draw: &mut RandomDraw) {
    profile.device.parallel = 1;
    profile.device.bytes_per_s = Some(rate(draw, 5e6, 6e7));
}

fn few_operations(profile: &mut SimProfile, draw: &mut RandomDraw) {
    profile.device_ops_per_s = Some(OpsPerSec(draw.between(100.0, 1_500.0)));
}

/// Each request takes long, of which the device serves many at once.
fn late_device(profile: &mut SimProfile, draw: &mut RandomDraw) {
    profile.device.per_op_ns = time(draw, 1e6, 1e7);
    profile.device.parallel = draw.one_of(&[8, 32]);
}

fn slow_flush(profile: &mut SimProfile, draw: &mut RandomDraw) {
    profile.device.flush_ns = time(draw, 2e6, 3e7);
}
