//! Requests underway: each slot of a closed loop from submission to completion, in the order of time.
//!
//! Hot path: nothing is allocated per request that succeeds.
//!
//! Deliberately absent: which completions count, which is the trial's.

use crate::facts::Packets;
use crate::ledger::SimLedger;
use crate::machine::{Machine, RequestOutcome, departure};
use crate::route::{CpuCharge, RequestCall, RequestRoute, StationId};
use crate::station::{ServiceSpan, Station};
use narrows_model::trial::InFlightAtEnd;
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::{Cell, Nanos};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// State that is kept from trial to trial.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) machine: Machine,
    pub(crate) ledger: SimLedger,
    pub(crate) packets: Packets,
    /// The client's clock.
    pub(crate) now_ns: u64,
}

/// A finished request.
#[derive(Debug)]
pub(crate) struct SimCompletion {
    pub(crate) slot: usize,
    pub(crate) at_ns: u64,
    pub(crate) response_ns: u64,
    pub(crate) outcome: RequestOutcome,
    /// CPU time that it used.
    pub(crate) cpu: CpuCharge,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotState {
    /// Contains no request.
    Empty,
    /// Waits for its turn to be submitted.
    Pending,
    /// On its way.
    Underway,
    /// Will never complete.
    Hung,
}

#[derive(Debug, Clone)]
struct SimRequest {
    state: SlotState,
    submitted_ns: u64,
    route: RequestRoute,
    outcome: RequestOutcome,
    /// Stages entered so far.
    entered: usize,
    /// Service in the stage entered last.
    span: ServiceSpan,
    device_stay_ns: u64,
}

/// The slots of one trial.
#[derive(Debug)]
pub(crate) struct SimRequests {
    slots: Vec<SimRequest>,
    queue: BinaryHeap<Reverse<(u64, u64, usize)>>,
    sequence: u64,
    call: RequestCall,
    /// Requests that one connection keeps in flight: neighbouring slots.
    queue_depth: usize,
    /// Requests that one client keeps in flight.
    client_slots: usize,
    /// Targets between which the clients alternate.
    target_count: usize,
    /// Turns of a capped load, and the time each takes; `None` without a cap.
    pace: Option<(Station, u64)>,
}

impl SimRequests {
    /// Empty slots for the requests of `cell`, each like `call`, submitted `pace_ns` apart at the least.
    pub(crate) fn new(cell: &Cell, call: RequestCall, pace_ns: Option<u64>) -> Self {
        let load = &cell.workload;
        let slot_count = saturate_usize(load.in_flight_configured());
        let empty = SimRequest {
            state: SlotState::Empty,
            submitted_ns: 0,
            route: RequestRoute::default(),
            outcome: RequestOutcome::Done,
            entered: 0,
            span: ServiceSpan::default(),
            device_stay_ns: 0,
        };
        Self {
            slots: vec![empty; slot_count],
            queue: BinaryHeap::with_capacity(slot_count),
            sequence: 0,
            call,
            queue_depth: load.queue_depth.max(1) as usize,
            client_slots: slot_count.div_ceil(load.clients.max(1) as usize).max(1),
            target_count: cell.more_targets.len() + 1,
            pace: pace_ns.map(|pace_ns| (Station::new(1), pace_ns)),
        }
    }

    /// When the next thing happens; `None` when nothing is underway.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.queue.peek().map(|Reverse((at_ns, _, _))| *at_ns)
    }

    /// Requests that will never complete.
    pub(crate) fn hung_count(&self) -> u64 {
        self.slots.iter().filter(|flight| flight.state == SlotState::Hung).count() as u64
    }

    /// What has been submitted before `at_ns` and has not completed.
    pub(crate) fn in_flight_at(&self, at_ns: u64) -> InFlightAtEnd {
        let away = |flight: &&SimRequest| matches!(flight.state, SlotState::Underway | SlotState::Hung);
        let mut all = InFlightAtEnd::default();
        for flight in self.slots.iter().filter(away).filter(|flight| flight.submitted_ns < at_ns) {
            let age_ns = Nanos(at_ns - flight.submitted_ns);
            all.add(&InFlightAtEnd { count: 1, longest_in_flight_ns: age_ns, longest_response_ns: age_ns });
        }
        all
    }

    /// Gives a slot its next request, `from_ns` on at its turn.
    pub(crate) fn submit(&mut self, slot: usize, from_ns: u64) {
        let at_ns = match &mut self.pace {
            Some((station, pace_ns)) => station.serve(from_ns, *pace_ns, from_ns).start_ns,
            None => from_ns,
        };
        self.slots[slot].state = SlotState::Pending;
        self.push(at_ns, slot);
    }

    /// Lets the next thing happen; the request that is finished by it, if any.
    pub(crate) fn step(&mut self, world: &mut World) -> Option<SimCompletion> {
        let Reverse((at_ns, _, slot)) = self.queue.pop()?;
        world.now_ns = at_ns;
        if self.slots[slot].state == SlotState::Pending {
            self.start_request(world, slot);
            return None;
        }
        let flight = &self.slots[slot];
        if let Some(left) = flight.entered.checked_sub(1).and_then(|index| flight.route.stages().get(index)) {
            world.ledger.use_cpu(&left.cpu, 1.0, at_ns);
        }
        if flight.entered < flight.route.stages().len() {
            self.enter(world, slot);
            return None;
        }
        Some(self.complete(world, slot))
    }

    /// The ledger with the services underway booked as far as they have come at `at_ns`.
    pub(crate) fn ledger_at(&self, ledger: &SimLedger, at_ns: u64) -> SimLedger {
        let mut ledger = ledger.clone();
        for flight in self.slots.iter().filter(|flight| flight.state == SlotState::Underway) {
            let ServiceSpan { start_ns, finish_ns } = flight.span;
            let entered = flight.entered.checked_sub(1).and_then(|index| flight.route.stages().get(index));
            if let Some(stage) = entered.filter(|_| at_ns > start_ns) {
                let done_ns = at_ns.min(finish_ns) - start_ns;
                ledger.use_cpu(&stage.cpu, done_ns as f64 / (finish_ns - start_ns) as f64, at_ns);
            }
        }
        ledger.end_periods(at_ns);
        ledger
    }

    fn push(&mut self, at_ns: u64, slot: usize) {
        self.sequence += 1;
        self.queue.push(Reverse((at_ns, self.sequence, slot)));
    }

    fn start_request(&mut self, world: &mut World, slot: usize) {
        let (route, outcome) = world.machine.admit(RequestCall {
            connection: saturate_u32((slot / self.queue_depth) as u64),
            target: saturate_u32((slot / self.client_slots % self.target_count) as u64),
            ..self.call
        });
        let flight = &mut self.slots[slot];
        if outcome == RequestOutcome::Never {
            (flight.state, flight.submitted_ns) = (SlotState::Hung, world.now_ns);
            return;
        }
        let first_delay_ns = route.first_delay_ns;
        *flight = SimRequest {
            state: SlotState::Underway,
            submitted_ns: world.now_ns,
            route,
            outcome,
            entered: 0,
            span: ServiceSpan::default(),
            device_stay_ns: 0,
        };
        if first_delay_ns > 0 {
            self.push(world.now_ns.saturating_add(first_delay_ns), slot);
        } else {
            self.enter(world, slot);
        }
    }

    fn enter(&mut self, world: &mut World, slot: usize) {
        let now_ns = world.now_ns;
        let flight = &mut self.slots[slot];
        let stage = flight.route.stages()[flight.entered];
        let span = world.machine.serve(&stage, now_ns, now_ns);
        match stage.station {
            StationId::NetworkUp => world.ledger.on_wire_up.stay(now_ns, span.finish_ns),
            StationId::NetworkDown => world.ledger.on_wire_down.stay(now_ns, span.finish_ns),
            StationId::Device => {
                world.ledger.at_device.stay(now_ns, span.finish_ns);
                flight.device_stay_ns += span.finish_ns - now_ns;
            }
            StationId::Connection => world.ledger.in_window.stay(now_ns, span.finish_ns),
            StationId::ServerThread => world.ledger.threads.book(now_ns, span.start_ns, span.finish_ns),
            StationId::ClientCpu | StationId::ServerCpu | StationId::DeviceTurn | StationId::DeviceBus => {}
        }
        flight.entered += 1;
        flight.span = span;
        self.push(departure(&stage, span), slot);
    }

    fn complete(&mut self, world: &mut World, slot: usize) -> SimCompletion {
        let flight = &mut self.slots[slot];
        flight.state = SlotState::Empty;
        world.ledger.book(&flight.route.moved, flight.device_stay_ns, &world.packets);
        let mut cpu = CpuCharge::default();
        for stage in flight.route.stages() {
            cpu.add(&stage.cpu, 1.0);
        }
        SimCompletion {
            slot,
            at_ns: world.now_ns,
            response_ns: world.now_ns - flight.submitted_ns,
            outcome: std::mem::replace(&mut flight.outcome, RequestOutcome::Done),
            cpu,
        }
    }
}
