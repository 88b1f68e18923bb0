//! The plan of the buffer experiment: the points of its sweeps in a random order that a seed repeats.
//!
//! Points that sweeps share are measured for each of them, as published. Deliberately absent: how long anything takes.

use crate::expand::shuffle;
use crate::problem::Problem;
use narrows_model::plan::{LoadStatement, PLAN_SCHEMA, Topology};
use narrows_model::relay::{
    BUFFER_BYTES_MAX, ForwardMode, RelayCell, RelayPlan, RelaySockets, RelaySweep, RelayTransport,
    SOCKET_BUFFER_BYTES_MAX, TOTAL_BYTES_MAX,
};
use narrows_model::units::least_common_multiple;
use narrows_model::{Bytes, CellId, Layer, Nanos, Plan, Target};

/// Most buffer sizes of one run.
const SIZES_MAX: usize = 256;

/// What is asked of the buffer experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayRequest {
    /// The sweeps; one that is named twice counts once.
    pub sweeps: Vec<RelaySweep>,
    /// The sizes in any order; the largest is that of the roles that are not shrunk.
    pub sizes: Vec<Bytes>,
    /// Bytes that one trial moves.
    pub total: Bytes,
    /// Repetitions of every point.
    pub trials: u32,
    /// How the sockets are set.
    pub sockets: RelaySockets,
    /// How the proxy moves bytes; `None` copies.
    pub forward: Option<ForwardMode>,
    /// Whether every byte is verified.
    pub verify: bool,
    /// Host and port of the `narrows serve` that plays the server; `None` for a process of this machine.
    pub server: Option<(String, u16)>,
    /// Whether a `narrows proxy` elsewhere plays the proxy.
    pub remote_proxy: bool,
    /// Seed of the order and of the content that is verified.
    pub seed: u64,
}

/// The plan of `request`.
///
/// # Errors
/// All that is wrong with it.
pub fn plan_relay(request: &RelayRequest) -> Result<Plan, Vec<Problem>> {
    let problems = problems(request);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut cells = cells(request);
    shuffle(&mut cells, request.seed);
    let has_proxy = request.sweeps.iter().any(|sweep| sweep.has_proxy());
    let target = match &request.server {
        Some((host, port)) => Target::Tcp { host: host.clone(), port: *port, layer: Layer::Sink, via: None },
        None => Target::Null { copy: false },
    };
    Ok(Plan {
        schema: PLAN_SCHEMA.to_owned(),
        seed: request.seed,
        target,
        topology: if has_proxy { Topology::ClientProxyServer } else { Topology::ClientServer },
        segments: Vec::new(),
        cells: Vec::new(),
        skipped: Vec::new(),
        load: LoadStatement {
            planned_ns: Nanos(0),
            prefill_bytes: Bytes(0),
            prefill_ns_max: Nanos(0),
            file_bytes_max: Bytes(0),
            write_bytes_max: Some(Bytes(0)),
            touches: Vec::new(),
            in_flight_max: 1,
            max_bytes_per_s: None,
        },
        budget_ns: Nanos(u64::MAX),
        interval_ns: crate::check::INTERVAL_NS,
        study: None,
        relay: Some(RelayPlan {
            total: request.total,
            sockets: request.sockets,
            forward: request.forward.unwrap_or(ForwardMode::Copy),
            verify: request.verify,
            cells,
        }),
        suite: None,
        fail_if: Vec::new(),
    })
}

/// Every value once, in the order in which they come first.
fn each_once<T: PartialEq + Copy>(values: &[T]) -> Vec<T> {
    let mut once = Vec::new();
    for value in values {
        if !once.contains(value) {
            once.push(*value);
        }
    }
    once
}

fn cells(request: &RelayRequest) -> Vec<RelayCell> {
    let sizes = each_once(&request.sizes);
    let large = sizes.iter().copied().max().unwrap_or_default();
    let of = |sweep: RelaySweep| {
        let trials = request.trials;
        sizes.iter().map(move |size| RelayCell {
            id: CellId(format!("relay/{}/{size}", sweep.name())),
            sweep,
            shrunk: *size,
            buffers: sweep.buffers(*size, large),
            trials,
        })
    };
    each_once(&request.sweeps).into_iter().flat_map(of).collect()
}

fn problems(request: &RelayRequest) -> Vec<Problem> {
    let mut all = sizes(request);
    all.extend(multiples(request));
    all.extend(sockets(request));
    all.extend(proxies(request));
    all.extend(reads(request));
    if request.sweeps.is_empty() {
        let names: Vec<_> = RelaySweep::ALL.iter().map(|sweep| sweep.name()).collect();
        all.push(Problem::new("sweep", "none", names.join(", "), "give at least one, or all"));
    }
    if request.trials == 0 {
        all.push(Problem::new("trials", "0", "1 and more", "give at least 1"));
    }
    all
}

fn sizes(request: &RelayRequest) -> Vec<Problem> {
    let mut all = Vec::new();
    if request.total == Bytes(0) || request.total > TOTAL_BYTES_MAX {
        let allowed = format!("1 byte to {TOTAL_BYTES_MAX}");
        all.push(Problem::new(
            "bytes",
            request.total.to_string(),
            allowed,
            "the published experiment moves 48MiB",
        ));
    }
    if request.sizes.is_empty() || request.sizes.len() > SIZES_MAX {
        let found = format!("{} sizes", request.sizes.len());
        all.push(Problem::new(
            "sizes",
            found,
            format!("1 to {SIZES_MAX}"),
            "give sizes such as 4096,1024,32",
        ));
    }
    for size in each_once(&request.sizes) {
        if size == Bytes(0) || size > BUFFER_BYTES_MAX {
            let allowed = format!("1 byte to {BUFFER_BYTES_MAX}");
            all.push(Problem::new("sizes", format!("a buffer of {size}"), allowed, "omit this size"));
        } else if size > request.total && request.total > Bytes(0) {
            let found = format!("a buffer of {size}, larger than the transfer");
            let hint = "omit this size, or move more bytes with --bytes";
            all.push(Problem::new(
                "sizes",
                found,
                format!("up to the {} that are transferred", request.total),
                hint,
            ));
        }
    }
    all
}

/// Sizes of which the client cannot write whole buffers only: what it writes at once would not be what is asked for.
fn multiples(request: &RelayRequest) -> Vec<Problem> {
    let total = request.total.0;
    let written: Vec<u64> =
        each_once(&cells(request).iter().map(|cell| cell.buffers.client.0).collect::<Vec<_>>());
    let fits = |size: &u64| *size == 0 || *size > total || total.is_multiple_of(*size);
    let Some(first) = written.iter().find(|size| !fits(size)) else { return Vec::new() };
    let others = written.iter().filter(|size| !fits(size)).count() - 1;
    let more = if others > 0 { format!(", nor of {others} more sizes") } else { String::new() };
    let found = format!("{total} bytes, not a multiple of the client's buffer of {first}{more}");
    let common = written
        .iter()
        .filter(|size| **size > 0)
        .try_fold(1_u64, |all, size| least_common_multiple(all, *size));
    let hint = match common.filter(|common| *common <= TOTAL_BYTES_MAX.0) {
        Some(common) => near(total, common),
        None => format!("{}, and omit the other sizes", near(total, *first)),
    };
    vec![Problem::new(
        "bytes",
        found,
        "multiples of every size that the client writes at once".to_owned(),
        hint,
    )]
}

/// The nearest multiples of `step` around `total`.
fn near(total: u64, step: u64) -> String {
    let below = total / step * step;
    let above = below.saturating_add(step);
    match below {
        0 => format!("the nearest that fits is --bytes {above}"),
        _ => format!("the nearest that fit are --bytes {below} and --bytes {above}"),
    }
}

fn sockets(request: &RelayRequest) -> Vec<Problem> {
    let mut all = Vec::new();
    let sockets = &request.sockets;
    let buffers = [("send-buffer", sockets.send_buffer), ("receive-buffer", sockets.receive_buffer)];
    for (key, size) in buffers {
        if let Some(size) = size.filter(|size| *size == Bytes(0) || *size > SOCKET_BUFFER_BYTES_MAX) {
            let allowed = format!("1 byte to {SOCKET_BUFFER_BYTES_MAX}");
            all.push(Problem::new(key, size.to_string(), allowed, "without it the kernel decides"));
        }
    }
    if sockets.transport == RelayTransport::Tcp {
        return all;
    }
    let tcp_only = "only TCP sockets";
    if request.server.is_some() || request.remote_proxy {
        let key = if request.server.is_some() { "server" } else { "proxy" };
        let hint = "Unix sockets connect processes of one machine; omit --transport unix";
        all.push(Problem::new(key, "a role on another host with Unix sockets", tcp_only, hint));
    }
    if sockets.no_delay {
        let hint = "Unix sockets do not delay small writes; omit it";
        all.push(Problem::new("no-delay", "TCP_NODELAY with Unix sockets", tcp_only, hint));
    }
    if sockets.receive_buffer.is_some() {
        let hint = "a Unix socket queues what the sender's --send-buffer allows; omit it";
        all.push(Problem::new("receive-buffer", "SO_RCVBUF with Unix sockets", tcp_only, hint));
    }
    all
}

/// A proxy that has no reads of a buffer cannot wait for one to be full.
fn reads(request: &RelayRequest) -> Option<Problem> {
    let mode = request.forward.filter(|mode| *mode != ForwardMode::Copy && request.sockets.wait_all)?;
    let found = format!("a proxy with {mode:?}").to_lowercase();
    let hint = "a proxy waits for a full buffer only where it copies: omit --proxy-mode or --wait-all";
    Some(Problem::new("wait-all", found, "a proxy that copies", hint))
}

fn proxies(request: &RelayRequest) -> Vec<Problem> {
    if request.sweeps.iter().any(|sweep| sweep.has_proxy()) {
        return Vec::new();
    }
    let named = [("proxy", request.remote_proxy), ("proxy-mode", request.forward.is_some())];
    let of = |(key, _): (&'static str, bool)| {
        let hint = "add such a sweep, or omit it";
        Problem::new(key, "only sweeps of two nodes", "sweeps with a proxy, such as proxy or all-3", hint)
    };
    named.into_iter().filter(|(_, named)| *named).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::relay::PUBLISHED_SIZES;
    use std::collections::BTreeSet;

    fn published() -> RelayRequest {
        RelayRequest {
            sweeps: RelaySweep::ALL.to_vec(),
            sizes: PUBLISHED_SIZES.to_vec(),
            total: Bytes(48 << 20),
            trials: 3,
            sockets: RelaySockets {
                transport: RelayTransport::Tcp,
                no_delay: false,
                send_buffer: None,
                receive_buffer: None,
                wait_all: false,
            },
            forward: None,
            verify: false,
            server: None,
            remote_proxy: false,
            seed: 1,
        }
    }

    fn refusal(change: fn(&mut RelayRequest)) -> String {
        let mut request = published();
        change(&mut request);
        let problems = plan_relay(&request).unwrap_err();
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_published_experiment_has_ninety_points_in_an_order_that_the_seed_repeats() {
        let relay = |seed| plan_relay(&RelayRequest { seed, ..published() }).unwrap().relay.unwrap();
        let cells = relay(1).cells;
        assert_eq!(cells.len(), 90);
        assert_eq!(cells.iter().map(|cell| &cell.id.0).collect::<BTreeSet<_>>().len(), 90);
        assert_eq!(cells, relay(1).cells);
        assert_ne!(cells, relay(2).cells);
        let point = cells.iter().find(|cell| cell.id.0 == "relay/client+proxy/48B").unwrap();
        assert_eq!(point.buffers, RelaySweep::ClientProxy.buffers(Bytes(48), Bytes(4096)));
    }

    #[test]
    fn sizes_in_any_order_and_named_twice_are_the_same_points() {
        let ids = |sizes: &[u64]| {
            let sizes = sizes.iter().map(|size| Bytes(*size)).collect();
            let plan = plan_relay(&RelayRequest { sizes, ..published() }).unwrap();
            plan.relay
                .unwrap()
                .cells
                .into_iter()
                .map(|cell| (cell.id.0, cell.buffers.server))
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(ids(&[32, 4096, 64, 32]), ids(&[4096, 64, 32]));
    }

    #[test]
    fn a_transfer_that_is_no_multiple_is_refused_with_the_nearest_that_are() {
        let said = refusal(|request| request.total = Bytes(50_000_000));
        // 12288 is the least common multiple of 4096 and 48.
        assert!(said.contains("--bytes 49999872 and --bytes 50012160"), "{said}");
        let said = refusal(|request| (request.sizes, request.total) = (vec![Bytes(4096)], Bytes(4097)));
        assert!(said.contains("not a multiple of the client's buffer of 4096;"), "{said}");
        // A server may read a last, shorter part.
        let mut request = published();
        (request.sweeps, request.sizes) = (vec![RelaySweep::Server], vec![Bytes(4096), Bytes(1000)]);
        plan_relay(&request).unwrap();
    }

    #[test]
    fn all_that_is_wrong_is_reported_at_once() {
        let said = refusal(|request| {
            request.sizes = vec![Bytes(0), Bytes(1 << 30), Bytes(4096)];
            request.total = Bytes(2048);
            request.sweeps = vec![RelaySweep::Both];
            request.forward = Some(ForwardMode::Splice);
            request.sockets.transport = RelayTransport::Unix;
            request.sockets.no_delay = true;
            request.sockets.wait_all = true;
            request.server = Some(("h".into(), 1));
        });
        for word in [
            "a buffer of 0B",
            "a buffer of 1GiB",
            "a buffer of 4KiB, larger than the transfer",
            "proxy-mode: found only sweeps of two nodes",
            "TCP_NODELAY with Unix sockets",
            "a role on another host with Unix sockets",
            "wait-all: found a proxy with splice",
        ] {
            assert!(said.contains(word), "{word}: {said}");
        }
    }
}
