//! A simulated machine: its stations, its faults, and the due time of each request.
//!
//! Hot path: [`Machine::submit`] allocates for a failing request alone, and where a request's way crosses idle time
//! that an earlier one left.
//!
//! Deliberately absent: a clock. Times are passed in.

use crate::check;
use crate::error::SimError;
use crate::random::Randomness;
use crate::route::{RequestCall, RequestRoute, RouteBuilder, Slowdown, StationId, StationVisit};
use crate::station::{ServiceSpan, Station};
use narrows_model::Cut;
use narrows_model::sim_profile::{Fault, SimProfile};
use narrows_model::units::{round_to_u64, saturate_u32};
use narrows_model::workload::{Access, Op};

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestOutcome {
    /// It completes.
    Done,
    /// It fails with the error of this name, such as `EIO`, and moves no bytes.
    Failed(String),
    /// It never completes.
    Never,
}

/// When a request completes, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueCompletion {
    /// When, on the clock of the submission; the largest value for a request that never completes.
    pub due_ns: u64,
    /// How.
    pub outcome: RequestOutcome,
}

/// A simulated machine, shared by all workers that load it.
#[derive(Debug, Clone)]
pub struct Machine {
    profile: SimProfile,
    access: Access,
    randomness: Randomness,
    slowdown: Slowdown,
    client_cpu: Station,
    server_cpu: Station,
    connections: Vec<Station>,
    network_up: Station,
    network_down: Station,
    server_threads: Station,
    device_turn: Station,
    device_bus: Station,
    devices: Vec<Station>,
    /// Requests so far that could meet a fault.
    exposed_count: u64,
}

impl Machine {
    /// The machine of `profile`; its random choices follow from `seed`.
    ///
    /// # Errors
    /// When a value of the profile is outside what a machine can have.
    pub fn new(profile: SimProfile, seed: u64) -> Result<Self, SimError> {
        check::profile(&profile)?;
        let (client_servers, client) = cpus(profile.client_cpus);
        let (server_servers, server) = cpus(profile.server_cpus);
        let shared = profile.shared_machine;
        Ok(Self {
            access: Access::Buffered,
            randomness: Randomness::new(seed),
            slowdown: if shared {
                Slowdown { client: 1.0, server: 1.0 }
            } else {
                Slowdown { client, server }
            },
            client_cpu: Station::new(if shared { profile.machine_cpus } else { client_servers }),
            server_cpu: Station::new(server_servers),
            connections: Vec::new(),
            network_up: Station::new(1),
            network_down: Station::new(1),
            server_threads: Station::new(profile.server_cpu.threads.unwrap_or(1)),
            device_turn: Station::new(1),
            device_bus: Station::new(1),
            devices: Vec::new(),
            exposed_count: 0,
            profile,
        })
    }

    /// The same machine asked through the page cache or past it; new machines are asked through it.
    #[must_use]
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// The profile it was made from.
    #[must_use]
    pub fn profile(&self) -> &SimProfile {
        &self.profile
    }

    /// When a request submitted at `now_ns` completes, and how. The times of several workers may
    /// cross a little; idle time before the latest of them may then be lost.
    ///
    /// The request's whole way is laid out now: it takes its place at every station before requests that are
    /// submitted later, whichever arrives there first, and later ones use the idle time that it leaves. Where
    /// nothing overtakes (stations of one server) this is exactly what [`crate::simulate()`] does; elsewhere rates
    /// agree within a few per cent.
    ///
    /// # Cost
    /// Linear in the servers of the stations visited and in the requests underway: 0.3 to 1.2 microseconds up to 16
    /// in flight, up to 5 at 256 (release build, every named machine).
    pub fn submit(&mut self, op: Op, bytes: u64, cut: Cut, now_ns: u64) -> DueCompletion {
        let (route, outcome) = self.admit(RequestCall {
            op,
            bytes,
            cut,
            access: self.access,
            fails: false,
            durable: false,
            connection: 0,
            target: 0,
        });
        if outcome == RequestOutcome::Never {
            return DueCompletion { due_ns: u64::MAX, outcome };
        }
        let mut at_ns = now_ns.saturating_add(route.first_delay_ns);
        for stage in route.stages() {
            let span = self.serve(stage, at_ns, now_ns);
            at_ns = departure(stage, span);
        }
        DueCompletion { due_ns: at_ns, outcome }
    }

    /// How much longer CPU service takes than the CPU time it uses, on either side.
    pub(crate) fn slowdown(&self) -> Slowdown {
        self.slowdown
    }

    /// The way and the fate of the next request; no station is occupied yet.
    pub(crate) fn admit(&mut self, call: RequestCall) -> (RequestRoute, RequestOutcome) {
        let (outcome, extra_ns) = self.next_outcome(call.cut);
        let fails = matches!(outcome, RequestOutcome::Failed(_));
        let mut builder = RouteBuilder {
            profile: &self.profile,
            slowdown: self.slowdown,
            randomness: &mut self.randomness,
        };
        let mut route = builder.route(RequestCall { fails, ..call });
        route.delay(extra_ns);
        // A way of no length would let a closed loop turn for ever at one moment.
        route.delay(u64::from(route.stages().is_empty() && route.first_delay_ns == 0));
        (route, outcome)
    }

    /// Serves one stage of a way; nothing announced later arrives before `horizon_ns`.
    pub(crate) fn serve(&mut self, stage: &StationVisit, arrival_ns: u64, horizon_ns: u64) -> ServiceSpan {
        let station = match stage.station {
            StationId::ServerCpu if !self.profile.shared_machine => &mut self.server_cpu,
            StationId::ClientCpu | StationId::ServerCpu => &mut self.client_cpu,
            StationId::Connection => station_unit(&mut self.connections, stage.unit, 1),
            StationId::ServerThread => &mut self.server_threads,
            StationId::NetworkUp => &mut self.network_up,
            StationId::NetworkDown => &mut self.network_down,
            StationId::DeviceTurn => &mut self.device_turn,
            StationId::DeviceBus => &mut self.device_bus,
            StationId::Device => station_unit(&mut self.devices, stage.unit, self.profile.device.parallel),
        };
        station.serve(arrival_ns, stage.service_ns, horizon_ns)
    }

    /// What the declared faults do to the next request: only cuts that reach the storage meet them.
    fn next_outcome(&mut self, cut: Cut) -> (RequestOutcome, u64) {
        if !matches!(
            cut,
            Cut::Path | Cut::DirectPath | Cut::EarlyPath | Cut::LocalDevice | Cut::ServerStorage
        ) {
            return (RequestOutcome::Done, 0);
        }
        self.exposed_count += 1;
        let (mut outcome, mut extra_ns) = (RequestOutcome::Done, 0_u64);
        for fault in &self.profile.faults {
            match fault {
                Fault::Hang { after } if self.exposed_count > *after => return (RequestOutcome::Never, 0),
                Fault::Error { every, errno } if self.exposed_count.is_multiple_of(*every) => {
                    outcome = RequestOutcome::Failed(errno.clone());
                }
                Fault::Stall { every, extra_ns: more } if self.exposed_count.is_multiple_of(*every) => {
                    extra_ns = extra_ns.saturating_add(more.0);
                }
                _ => {}
            }
        }
        (outcome, extra_ns)
    }
}

/// One of several equal stations, made when it is first visited.
fn station_unit(stations: &mut Vec<Station>, index: u32, server_count: u32) -> &mut Station {
    let index = index as usize;
    if stations.len() <= index {
        stations.resize_with(index + 1, || Station::new(server_count));
    }
    &mut stations[index]
}

/// When a request leaves a stage: at the end of its service, or as soon as its turn has come.
pub(crate) fn departure(stage: &StationVisit, span: ServiceSpan) -> u64 {
    let turn =
        matches!(stage.station, StationId::Connection | StationId::ServerThread | StationId::DeviceTurn);
    let left_ns = if turn { span.start_ns } else { span.finish_ns };
    left_ns.saturating_add(stage.delay_ns)
}

/// Servers of a CPU station and how much each is slowed so that together they give `cpus`.
pub(crate) fn cpus(cpus: f64) -> (u32, f64) {
    let servers = saturate_u32(round_to_u64(cpus.ceil())).max(1);
    (servers, if cpus > 0.0 { f64::from(servers) / cpus } else { 1.0 })
}
