//! One repetition of a cell: warm-up, the measured window, the drain, and what they gave.

use crate::facts::{effective, hostname};
use crate::flight::{SimRequests, World};
use crate::ledger::{LedgerReader, SimLedger};
use crate::limits::TrialLimits;
use crate::route::RequestCall;
use crate::tally::TrialTally;
use narrows_model::event::Phase;
use narrows_model::sim_profile::SimProfile;
use narrows_model::trial::{CounterPair, InFlightAtEnd, TrialOutput};
use narrows_model::units::{NANOS_PER_SEC, round_to_u64, saturate_u32, saturate_usize};
use narrows_model::workload::{Access, Acknowledgement, Op, SyncPolicy};
use narrows_model::{Bytes, Cell, Cut, Event, Nanos, Role};

/// The state of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrialStage {
    WarmUp,
    /// The window opens after all that happens at this time.
    Opening(u64),
    Measuring,
    /// The window closes after all that happens at this time.
    Closing(u64),
    Draining,
}

/// The measured window as it came to be.
#[derive(Debug, Default)]
struct MeasuredWindow {
    start_ns: u64,
    end_ns: u64,
    before: SimLedger,
    after: SimLedger,
    in_flight_at_end: InFlightAtEnd,
}

struct SimTrial<'a> {
    world: &'a mut World,
    events: &'a mut Vec<Event>,
    cell: &'a Cell,
    index: u32,
    flights: SimRequests,
    tally: TrialTally<'a>,
    stage: TrialStage,
    window: MeasuredWindow,
    start_ns: u64,
    interval_end_ns: u64,
    limits: TrialLimits,
    submitted_count: u64,
    completed_count: u64,
}

/// Runs repetition `index` of `cell` and adds its events; whether all its requests completed.
pub(crate) fn run(
    world: &mut World,
    cell: &Cell,
    index: u32,
    interval_ns: Nanos,
    events: &mut Vec<Event>,
) -> bool {
    let start_ns = world.now_ns;
    let workload = &cell.workload;
    let call = RequestCall {
        op: workload.op,
        bytes: workload.block_bytes.0,
        cut: cell.cut,
        access: workload.access,
        fails: false,
        durable: workload.sync == SyncPolicy::Dsync || workload.acknowledgement == Acknowledgement::Late,
        connection: 0,
        target: 0,
    };
    let pace_ns = workload
        .max_bytes_per_s
        .map(|rate| round_to_u64(call.bytes as f64 * NANOS_PER_SEC as f64 / rate.max(1) as f64));
    let mut trial = SimTrial {
        flights: SimRequests::new(cell, call, pace_ns),
        tally: TrialTally::new(cell, index, start_ns),
        stage: TrialStage::WarmUp,
        window: MeasuredWindow::default(),
        start_ns,
        interval_end_ns: start_ns,
        limits: TrialLimits::for_cell(cell, interval_ns),
        submitted_count: 0,
        completed_count: 0,
        world,
        events,
        cell,
        index,
    };
    trial.run()
}

impl SimTrial<'_> {
    fn run(&mut self) -> bool {
        self.interval_end_ns += self.limits.interval_ns;
        self.phase(Phase::Prepare, self.start_ns);
        self.phase(Phase::WarmUp, self.start_ns);
        if self.cell.stop.warm_up_ns.0 == 0 || self.limits.warm_up_count == 0 {
            self.open(self.start_ns);
        }
        for slot in 0..saturate_usize(self.cell.workload.in_flight_configured()) {
            self.submit(slot, Nanos(0));
        }
        // Bounded: the window closes at its time or count, and what is underway then is finite.
        while let Some(next_ns) = self.flights.next_ns() {
            self.turn(next_ns);
            if let Some(completion) = self.flights.step(self.world) {
                self.completed_count += 1;
                self.tally.count(&completion);
                self.look(completion.at_ns);
                self.submit(completion.slot, self.cell.workload.think_ns);
            }
        }
        self.run_out();
        self.finish()
    }

    /// Gives a slot its next request, `think` from now, unless there are to be no more.
    fn submit(&mut self, slot: usize, think: Nanos) {
        if self.stage != TrialStage::Draining && self.submitted_count < self.limits.allowed_count {
            self.submitted_count += 1;
            self.flights.submit(slot, self.world.now_ns.saturating_add(think.0));
        }
    }

    /// Sees whether a completion opens or closes the window.
    fn look(&mut self, now_ns: u64) {
        let warm_ns = self.start_ns.saturating_add(self.cell.stop.warm_up_ns.0);
        match self.stage {
            TrialStage::WarmUp if now_ns >= warm_ns || self.completed_count >= self.limits.warm_up_count => {
                self.stage = TrialStage::Opening(now_ns);
            }
            TrialStage::Measuring if self.completed_count >= self.limits.enough_count => {
                self.stage = TrialStage::Closing(now_ns);
            }
            _ => {}
        }
    }

    /// Does what is due before the next event: opens or closes the window, ends intervals.
    fn turn(&mut self, next_ns: u64) {
        if let TrialStage::Opening(at_ns) = self.stage
            && next_ns > at_ns
        {
            self.open(at_ns);
        }
        match self.stage {
            TrialStage::Closing(at_ns) if next_ns > at_ns => self.close(at_ns),
            TrialStage::Measuring if next_ns > self.deadline_ns() => self.close(self.deadline_ns()),
            _ => {}
        }
        self.end_intervals_before(next_ns);
    }

    fn deadline_ns(&self) -> u64 {
        self.window.start_ns.saturating_add(self.cell.stop.measure_ns.0)
    }

    fn end_intervals_before(&mut self, next_ns: u64) {
        while self.stage != TrialStage::Draining && self.interval_end_ns < next_ns {
            self.tally.end_interval(self.interval_end_ns, self.events);
            self.interval_end_ns = self.interval_end_ns.saturating_add(self.limits.interval_ns);
        }
    }

    fn open(&mut self, at_ns: u64) {
        self.end_intervals_before(at_ns);
        self.tally.end_interval(at_ns, self.events);
        self.interval_end_ns = at_ns.saturating_add(self.limits.interval_ns);
        self.phase(Phase::Measure, at_ns);
        self.window.start_ns = at_ns;
        self.window.before = self.flights.ledger_at(&self.world.ledger, at_ns);
        self.tally.measuring = true;
        self.stage = TrialStage::Measuring;
    }

    fn close(&mut self, at_ns: u64) {
        self.end_intervals_before(at_ns);
        self.tally.end_interval(at_ns, self.events);
        self.phase(Phase::CoolDown, at_ns);
        self.window.end_ns = at_ns;
        self.window.in_flight_at_end = self.flights.in_flight_at(at_ns);
        self.window.after = self.flights.ledger_at(&self.world.ledger, at_ns);
        self.tally.measuring = false;
        self.stage = TrialStage::Draining;
    }

    /// Nothing is underway any more: the window ends where its requests did, or at its time when some hang.
    fn run_out(&mut self) {
        let hung = self.flights.hung_count() > 0;
        if matches!(self.stage, TrialStage::WarmUp | TrialStage::Opening(_)) {
            let warm_ns = self.start_ns.saturating_add(self.cell.stop.warm_up_ns.0);
            self.open(if hung { self.world.now_ns.max(warm_ns) } else { self.world.now_ns });
        }
        if self.stage != TrialStage::Draining {
            self.close(if hung { self.deadline_ns() } else { self.world.now_ns });
        }
        self.world.now_ns = self.world.now_ns.max(self.window.end_ns);
    }

    fn phase(&mut self, phase: Phase, at_ns: u64) {
        let cell = self.cell.id.clone();
        self.events.push(Event::PhaseStarted { cell, trial: self.index, phase, at_ns: Nanos(at_ns) });
    }

    fn finish(&mut self) -> bool {
        let hung_count = self.flights.hung_count();
        for _ in 0..hung_count {
            self.tally.error("ETIMEDOUT", "it never completed");
        }
        let output = self.output(hung_count == 0);
        self.events.push(Event::TrialFinished(Box::new(output)));
        hung_count == 0
    }

    fn output(&mut self, complete: bool) -> TrialOutput {
        let profile = self.world.machine.profile();
        let start_ns = self.window.start_ns;
        let op_count = self.tally.op_count();
        let (first_ns, last_ns) = self.tally.done_ns().unwrap_or((self.window.end_ns, self.window.end_ns));
        TrialOutput {
            cell: self.cell.id.clone(),
            trial: self.index,
            complete,
            start_ns: Nanos(start_ns),
            first_done_ns: Nanos(first_ns - start_ns),
            last_done_ns: Nanos(last_ns - start_ns),
            ended_ns: None,
            op_count,
            bytes: Bytes(op_count * self.cell.workload.block_bytes.0),
            response: std::mem::take(&mut self.tally.response),
            response_sum_ns: self.tally.response_sum_ns,
            by_kind: Vec::new(),
            open_loop: None,
            in_flight_at_end: Some(self.window.in_flight_at_end),
            effective: Some(effective(profile, self.cell)),
            clients: self.tally.clients(&hostname(profile, load_role(self.cell)), start_ns),
            errors: std::mem::take(&mut self.tally.errors),
            counters: self.counters(),
            file_bytes: self.cell.workload.file_bytes.min(profile.file_bytes),
            resident_ratio: resident_ratio(profile, self.cell),
            verification: None,
            rpc: None,
            syncs: None,
        }
    }

    fn counters(&self) -> Vec<CounterPair> {
        let profile = self.world.machine.profile();
        let workload = &self.cell.workload;
        let remote = matches!(
            self.cell.cut,
            Cut::NetworkStream
                | Cut::DirectStream
                | Cut::ServerMemory
                | Cut::RoundTrip
                | Cut::HotBlocks
                | Cut::MoreConnections
                | Cut::UserClient
                | Cut::DirectPath
                | Cut::EarlyPath
                | Cut::ChangedPath
                | Cut::Path
        );
        let connections = u64::from(workload.clients) * u64::from(workload.workers);
        let reader = LedgerReader {
            profile,
            slowdown: self.world.machine.slowdown(),
            connection_count: if remote && profile.network.is_some() { saturate_u32(connections) } else { 0 },
        };
        let roles: &[Role] =
            if profile.network.is_some() { &[Role::Client, Role::Server] } else { &[Role::Client] };
        let pair = |role: &Role| CounterPair {
            before: reader.sample(&self.window.before, *role, self.window.start_ns),
            after: reader.sample(&self.window.after, *role, self.window.end_ns),
        };
        roles.iter().map(pair).collect()
    }
}

/// The role of the machine on which a cell's load runs.
fn load_role(cell: &Cell) -> Role {
    if cell.cut == Cut::ServerStorage { Role::Server } else { Role::Client }
}

/// Share of the file in the page cache of the load's machine, where the cut has one.
fn resident_ratio(profile: &SimProfile, cell: &Cell) -> Option<f64> {
    let buffered_read = cell.workload.op == Op::Read && cell.workload.access == Access::Buffered;
    match cell.cut {
        Cut::PageCache => Some(1.0),
        Cut::DirectPath | Cut::MoreConnections | Cut::ChangedPath | Cut::Path if buffered_read => {
            Some(profile.cache.client_hit_ratio)
        }
        Cut::ServerStorage if buffered_read => Some(profile.cache.server_hit_ratio),
        Cut::DirectPath
        | Cut::MoreConnections
        | Cut::UserClient
        | Cut::ChangedPath
        | Cut::Path
        | Cut::EarlyPath
        | Cut::ServerStorage
        | Cut::LocalDevice => Some(0.0),
        Cut::Generator
        | Cut::MemoryCopy
        | Cut::NetworkStream
        | Cut::DirectStream
        | Cut::ServerMemory
        | Cut::RoundTrip
        | Cut::HotBlocks => None,
    }
}
