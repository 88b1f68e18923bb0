//! The way of one request: which stations it visits, for how long, and what it moves.
//!
//! Deliberately absent: waiting, which is the stations'.

use crate::random::Randomness;
use narrows_model::sim_profile::{NetworkLaw, SimProfile, StationLaw};
use narrows_model::units::{NANOS_PER_SEC, round_to_u64};
use narrows_model::workload::{Access, Op};
use narrows_model::{Cut, Nanos};

/// Most stations on one way.
pub(crate) const STAGES_MAX: usize = 9;

/// A station's place in a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum StationId {
    /// The client's CPUs; those of the whole machine when it is shared.
    #[default]
    ClientCpu,
    /// What one connection may have under way.
    Connection,
    /// The wire towards the server.
    NetworkUp,
    /// The server's CPUs.
    ServerCpu,
    /// The server's worker threads.
    ServerThread,
    /// The device's limit of operations.
    DeviceTurn,
    /// The bus that the devices share.
    DeviceBus,
    /// The device, one a target.
    Device,
    /// The wire towards the client.
    NetworkDown,
}

/// CPU time that a stage uses, by who uses it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[allow(clippy::struct_field_names, reason = "a name ends in its unit")]
pub(crate) struct CpuCharge {
    /// The load generator.
    pub(crate) generator_ns: f64,
    /// The client's kernel and protocol.
    pub(crate) client_ns: f64,
    /// The server.
    pub(crate) server_ns: f64,
}

/// One visit to a station.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StationVisit {
    /// Where.
    pub(crate) station: StationId,
    /// Which of several equal ones; 0 where there is one.
    pub(crate) unit: u32,
    /// How long it occupies a server.
    pub(crate) service_ns: u64,
    /// Travel after it.
    pub(crate) delay_ns: u64,
    /// CPU time that it uses.
    pub(crate) cpu: CpuCharge,
}

/// What a completed request has moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RequestTraffic {
    /// Payload towards the server.
    pub(crate) up_bytes: u64,
    /// Payload towards the client.
    pub(crate) down_bytes: u64,
    /// Whether a request and a reply crossed the network.
    pub(crate) exchange: bool,
    /// Bytes read from the device; `None` where it was not asked.
    pub(crate) device_read_bytes: Option<u64>,
    /// Bytes written to the device; `None` where it was not asked.
    pub(crate) device_write_bytes: Option<u64>,
    /// Whether the device had to make them durable.
    pub(crate) flushed: bool,
}

/// The way of one request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestRoute {
    stages: [StationVisit; STAGES_MAX],
    stage_count: usize,
    /// Travel before the first station.
    pub(crate) first_delay_ns: u64,
    /// What it moves.
    pub(crate) moved: RequestTraffic,
}

impl RequestRoute {
    /// The stations in the order of the visits.
    pub(crate) fn stages(&self) -> &[StationVisit] {
        &self.stages[..self.stage_count]
    }

    /// Adds travel at the end of the way.
    pub(crate) fn delay(&mut self, delay_ns: u64) {
        match self.stage_count.checked_sub(1).and_then(|last| self.stages.get_mut(last)) {
            Some(last) => last.delay_ns = last.delay_ns.saturating_add(delay_ns),
            None => self.first_delay_ns = self.first_delay_ns.saturating_add(delay_ns),
        }
    }

    fn visit(&mut self, station: StationId, service_ns: u64, cpu: CpuCharge) {
        self.visit_unit((station, 0), service_ns, cpu);
    }

    fn visit_unit(&mut self, (station, unit): (StationId, u32), service_ns: u64, cpu: CpuCharge) {
        if service_ns > 0 && self.stage_count < STAGES_MAX {
            self.stages[self.stage_count] = StationVisit { station, unit, service_ns, delay_ns: 0, cpu };
            self.stage_count += 1;
        }
    }
}

/// What is asked of a machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestCall {
    pub(crate) op: Op,
    pub(crate) bytes: u64,
    pub(crate) cut: Cut,
    pub(crate) access: Access,
    /// Whether it fails in front of the device: it then moves no bytes.
    pub(crate) fails: bool,
    /// Whether what it writes must be durable before it completes.
    pub(crate) durable: bool,
    /// The connection that transfers it, from 0.
    pub(crate) connection: u32,
    /// The target that it is sent to, from 0.
    pub(crate) target: u32,
}

/// How much longer a service takes than its CPU time, because a quota is no whole number of CPUs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slowdown {
    pub(crate) client: f64,
    pub(crate) server: f64,
}

/// Lays out ways through one machine.
pub(crate) struct RouteBuilder<'a> {
    pub(crate) profile: &'a SimProfile,
    pub(crate) slowdown: Slowdown,
    pub(crate) randomness: &'a mut Randomness,
}

impl RouteBuilder<'_> {
    /// The way of one request, its service times drawn.
    pub(crate) fn route(&mut self, call: RequestCall) -> RequestRoute {
        let mut route = RequestRoute::default();
        let payload = if call.fails { 0 } else { call.bytes };
        match call.cut {
            Cut::Generator => self.client(&mut route, 0, &StationLaw::default()),
            Cut::MemoryCopy => {
                let law = StationLaw { per_op_ns: Nanos(0), ..self.profile.client_cpu.clone() };
                self.client(&mut route, payload, &law);
            }
            Cut::PageCache => self.client_whole(&mut route, payload),
            // A simulated machine has no proxy.
            Cut::NetworkStream | Cut::DirectStream => {
                self.stream(&mut route, &RequestCall { bytes: payload, ..call });
            }
            Cut::ServerMemory | Cut::HotBlocks => {
                self.served(&mut route, &RequestCall { bytes: payload, ..call }, false);
            }
            Cut::RoundTrip => self.served(&mut route, &RequestCall { bytes: 0, ..call }, false),
            Cut::ServerStorage => self.server_storage(&mut route, &RequestCall { bytes: payload, ..call }),
            Cut::LocalDevice => {
                self.client_whole(&mut route, payload);
                self.device(&mut route, &RequestCall { bytes: payload, ..call });
            }
            Cut::EarlyPath => self.path(&mut route, &RequestCall { bytes: payload, durable: false, ..call }),
            Cut::DirectPath | Cut::MoreConnections | Cut::UserClient | Cut::ChangedPath | Cut::Path => {
                self.path(&mut route, &RequestCall { bytes: payload, ..call });
            }
        }
        route
    }

    fn path(&mut self, route: &mut RequestRoute, call: &RequestCall) {
        let cached = self.profile.cache.client_hit_ratio;
        if is_read(call.op) && call.access == Access::Buffered && self.randomness.happens(cached) {
            return self.client_whole(route, call.bytes);
        }
        if self.profile.network.is_some() {
            return self.served(route, call, true);
        }
        self.client_whole(route, call.bytes);
        self.device(route, call);
    }

    /// Client, network there, server, perhaps its device, network back.
    fn served(&mut self, route: &mut RequestRoute, call: &RequestCall, with_device: bool) {
        let (up_bytes, down_bytes) =
            if call.op.moves_towards_device() { (call.bytes, 0) } else { (0, call.bytes) };
        let half_ns = self.profile.network.as_ref().map_or(0, |network| network.rtt_ns.0 / 2);
        let other_half_ns = self.profile.network.as_ref().map_or(0, |network| network.rtt_ns.0 - half_ns);
        self.client_whole(route, call.bytes);
        self.connection(route, call.connection, up_bytes);
        self.wire(route, StationId::NetworkUp, up_bytes);
        route.delay(half_ns);
        let law = &self.profile.server_cpu;
        self.server(route, self.profile.server_cpu.per_op_ns.as_f64(), call.bytes, law.variation);
        if with_device && !(is_read(call.op) && self.randomness.happens(self.profile.cache.server_hit_ratio))
        {
            self.worked(route, call);
        }
        self.connection(route, call.connection, down_bytes);
        self.wire(route, StationId::NetworkDown, down_bytes);
        route.delay(other_half_ns);
        route.moved.exchange = self.profile.network.is_some();
    }

    /// A one-way stream: the round-trip time delays its start, not its blocks.
    fn stream(&mut self, route: &mut RequestRoute, call: &RequestCall) {
        let RequestCall { op, bytes, connection, .. } = *call;
        let variation = self.profile.server_cpu.variation;
        if op.moves_towards_device() {
            self.client_whole(route, bytes);
            self.connection(route, connection, bytes);
            self.wire(route, StationId::NetworkUp, bytes);
            self.server(route, 0.0, bytes, variation);
        } else {
            self.server(route, 0.0, bytes, variation);
            self.connection(route, connection, bytes);
            self.wire(route, StationId::NetworkDown, bytes);
            self.client_whole(route, bytes);
        }
    }

    /// The server's own file system and device; the load runs on the server, whose cache direct access bypasses.
    fn server_storage(&mut self, route: &mut RequestRoute, call: &RequestCall) {
        let law = &self.profile.server_cpu;
        self.server(route, law.per_op_ns.as_f64(), call.bytes, law.variation);
        let hit = is_read(call.op)
            && call.access == Access::Buffered
            && self.randomness.happens(self.profile.cache.server_hit_ratio);
        if !hit {
            self.device(route, call);
        }
    }

    fn client_whole(&mut self, route: &mut RequestRoute, bytes: u64) {
        let law = &self.profile.client_cpu;
        self.client(route, bytes, law);
    }

    fn client(&mut self, route: &mut RequestRoute, bytes: u64, law: &StationLaw) {
        let generator = &self.profile.generator;
        let generator_ns = self.randomness.service_ns(mean_ns(generator, bytes), generator.variation);
        let client_ns = self.randomness.service_ns(mean_ns(law, bytes), law.variation);
        let service_ns = round_to_u64((generator_ns + client_ns) * self.slowdown.client);
        route.visit(StationId::ClientCpu, service_ns, CpuCharge { generator_ns, client_ns, server_ns: 0.0 });
    }

    fn server(&mut self, route: &mut RequestRoute, per_op_ns: f64, bytes: u64, variation: f64) {
        let mean_ns = per_op_ns + bytes_ns(self.profile.server_cpu.bytes_per_s.map(|rate| rate.0), bytes);
        let server_ns = self.randomness.service_ns(mean_ns, variation);
        let service_ns = round_to_u64(server_ns * self.slowdown.server);
        route.visit(StationId::ServerCpu, service_ns, CpuCharge { server_ns, ..CpuCharge::default() });
    }

    fn wire(&mut self, route: &mut RequestRoute, station: StationId, bytes: u64) {
        let Some(network) = &self.profile.network else { return };
        route.visit(
            station,
            round_to_u64(bytes_ns(Some(network.bytes_per_s.0), bytes)),
            CpuCharge::default(),
        );
        match station {
            StationId::NetworkUp => route.moved.up_bytes += bytes,
            _ => route.moved.down_bytes += bytes,
        }
    }

    /// What one connection may have under way: a request takes its turn there, and leaves as soon as it has come.
    fn connection(&mut self, route: &mut RequestRoute, connection: u32, bytes: u64) {
        let Some(rate) = self.profile.network.as_ref().and_then(connection_bytes_per_s) else { return };
        let turn_ns = round_to_u64(bytes_ns(Some(rate), bytes));
        route.visit_unit((StationId::Connection, connection), turn_ns, CpuCharge::default());
    }

    /// The device by way of a worker thread of the server, which is occupied until the device is done.
    fn worked(&mut self, route: &mut RequestRoute, call: &RequestCall) {
        let service_ns = self.device_ns(call);
        if self.profile.server_cpu.threads.is_some() && !call.fails {
            route.visit(StationId::ServerThread, service_ns, CpuCharge::default());
        }
        self.device_for(route, call, service_ns);
    }

    fn device(&mut self, route: &mut RequestRoute, call: &RequestCall) {
        let service_ns = self.device_ns(call);
        self.device_for(route, call, service_ns);
    }

    /// Time that the device takes for a request, its flush included.
    fn device_ns(&mut self, call: &RequestCall) -> u64 {
        let law = &self.profile.device;
        let flush_ns = if call.durable && call.op.moves_towards_device() { law.flush_ns } else { Nanos(0) };
        let mean_ns = mean_ns(law, call.bytes) + flush_ns.as_f64();
        round_to_u64(self.randomness.service_ns(mean_ns, law.variation))
    }

    fn device_for(&mut self, route: &mut RequestRoute, call: &RequestCall, service_ns: u64) {
        if call.fails {
            return;
        }
        if let Some(rate) = self.profile.device_ops_per_s {
            let turn_ns = round_to_u64(NANOS_PER_SEC as f64 / rate.0);
            route.visit(StationId::DeviceTurn, turn_ns, CpuCharge::default());
        }
        let bus = self.profile.device.bus_bytes_per_s.map(|rate| rate.0);
        route.visit(StationId::DeviceBus, round_to_u64(bytes_ns(bus, call.bytes)), CpuCharge::default());
        route.visit_unit((StationId::Device, call.target), service_ns, CpuCharge::default());
        if call.op.moves_towards_device() {
            route.moved.flushed = call.durable && self.profile.device.flush_ns.0 > 0;
            route.moved.device_write_bytes = Some(call.bytes);
        } else {
            route.moved.device_read_bytes = Some(call.bytes);
        }
    }
}

fn is_read(op: Op) -> bool {
    matches!(op, Op::Read | Op::Get | Op::Receive)
}

fn mean_ns(law: &StationLaw, bytes: u64) -> f64 {
    law.per_op_ns.as_f64() + bytes_ns(law.bytes_per_s.map(|rate| rate.0), bytes)
}

fn bytes_ns(rate_bytes_per_s: Option<f64>, bytes: u64) -> f64 {
    rate_bytes_per_s.map_or(0.0, |rate| bytes as f64 / rate * NANOS_PER_SEC as f64)
}

/// The rate limit of one connection: the lower of its window per round trip and the limit that loss sets; `None` where
/// neither limits it.
///
/// # Source
/// X <= W / RTT; Mathis et al., ACM Computer Communication Review 27 (1997): X = 1.22 x MSS / (RTT x sqrt(p)).
pub(crate) fn connection_bytes_per_s(network: &NetworkLaw) -> Option<f64> {
    const SEGMENT_BYTES: f64 = 1448.0;
    const MATHIS: f64 = 1.22;
    let round_trip_s = network.rtt_ns.as_secs_f64().max(1e-6);
    let window = network.window_bytes.map(|window| window.as_f64() / round_trip_s);
    let loss = (network.loss_ratio > 0.0)
        .then(|| MATHIS * SEGMENT_BYTES / (round_trip_s * network.loss_ratio.sqrt()));
    window.into_iter().chain(loss).reduce(f64::min)
}
