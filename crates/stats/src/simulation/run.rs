//! The run of a closed path: every request from step to step, and the rate at which they are done.
//!
//! Hot path: nothing is allocated per request.

use super::batches::Batches;
use super::flat::{FlatPath, FlatStep};
use super::lists::{EventQueue, PathEvent, TokenLinks, TokenList};
use super::{ClosedLoad, MemoryFull, ServiceLaw, ServiceStation, SimulatedRate, SimulationPlan};
use crate::error::StatsError;
use crate::resample::Resampler;

/// Servers that are busy, and the tokens that wait for one.
#[derive(Debug, Clone, Default)]
struct StationQueue {
    busy_count: u32,
    waiting: TokenList,
}

/// One client's part of a window.
#[derive(Debug, Clone, Copy)]
struct ClientWindow {
    free_count: u32,
    waiting: TokenList,
}

/// How full a memory is.
#[derive(Debug, Clone, Default)]
struct MemoryLevel {
    stored_len: u64,
    busy_count: u32,
    waiting: TokenList,
}

/// A path underway.
#[derive(Debug)]
pub(super) struct PathRun<'p> {
    path: &'p FlatPath,
    load: ClosedLoad,
    plan: SimulationPlan,
    now_s: f64,
    events: EventQueue,
    links: TokenLinks,
    /// The step that each request is at.
    positions: Vec<usize>,
    /// Parts of each request that are not served yet.
    parts_left: Vec<usize>,
    stations: Vec<StationQueue>,
    /// By window, then by client.
    windows: Vec<Vec<ClientWindow>>,
    memories: Vec<MemoryLevel>,
    /// Requests that may continue now.
    ready: Vec<usize>,
    draws: Resampler,
    batches: Batches,
    completion_count: u64,
    memory_full: Option<MemoryFull>,
}

impl<'p> PathRun<'p> {
    /// The path before its first event.
    pub(super) fn new(path: &'p FlatPath, load: ClosedLoad, plan: SimulationPlan) -> Self {
        let in_flight = load.in_flight();
        let window = |most: &u32| {
            let open = ClientWindow { free_count: *most, waiting: TokenList::default() };
            vec![open; load.clients.get() as usize]
        };
        Self {
            path,
            load,
            plan,
            now_s: 0.0,
            events: EventQueue::default(),
            links: TokenLinks::new(in_flight * (1 + path.parts_max)),
            positions: vec![0; in_flight],
            parts_left: vec![0; if path.parts_max > 0 { in_flight } else { 0 }],
            stations: vec![StationQueue::default(); path.stations.len()],
            windows: path.windows.iter().map(window).collect(),
            memories: vec![MemoryLevel::default(); path.memories.len()],
            ready: Vec::new(),
            draws: Resampler::new(plan.seed),
            batches: Batches::new(in_flight, plan),
            completion_count: 0,
            memory_full: None,
        }
    }

    /// Runs it until the rate is measured.
    ///
    /// # Errors
    /// [`StatsError::Degenerate`] where completions take no time, or no finite one.
    pub(super) fn measured(mut self) -> Result<SimulatedRate, StatsError> {
        self.start();
        // Bounded: every request is done again and again, and memory that fills begins the measurement anew only once.
        while !self.batches.is_complete()
            && let Some((at_s, event)) = self.events.pop()
        {
            self.now_s = at_s;
            self.happen(event);
            while let Some(request) = self.ready.pop() {
                self.advance(request);
            }
        }
        let (rate_per_s, relative_error) = self.batches.rate()?;
        Ok(SimulatedRate { rate_per_s, relative_error, memory_full: self.memory_full })
    }

    /// Requests enter one by one in the time of one alone; what is in memory is being emptied.
    fn start(&mut self) {
        let in_flight = self.positions.len();
        for request in 0..in_flight {
            let share = (request as f64 + self.draws.uniform()) / in_flight as f64;
            self.events.push(share * self.path.alone_s, PathEvent::Passed { request });
        }
        for (number, memory) in self.path.memories.iter().enumerate() {
            self.memories[number].stored_len = memory.stored_len;
            self.empty(number);
        }
    }

    fn happen(&mut self, event: PathEvent) {
        match event {
            PathEvent::Passed { request } => self.ready.push(request),
            PathEvent::Served { station, token } => {
                match self.links.pop(&mut self.stations[station].waiting) {
                    Some(next) => self.serve(station, next),
                    None => self.stations[station].busy_count -= 1,
                }
                self.release(token);
            }
            PathEvent::Emptied { memory } => self.make_room(memory),
        }
    }

    /// Takes a request as far as it comes now.
    fn advance(&mut self, request: usize) {
        loop {
            let Some(step) = self.path.steps.get(self.positions[request]).copied() else {
                self.complete(request);
                continue;
            };
            match step {
                FlatStep::Delay(delay_s) => {
                    self.positions[request] += 1;
                    if delay_s > 0.0 {
                        return self.events.push(self.now_s + delay_s, PathEvent::Passed { request });
                    }
                }
                FlatStep::Visit(station) => return self.arrive(station, request),
                FlatStep::Divide { first, count, parts } => {
                    return self.divide(request, (first, count), parts);
                }
                FlatStep::Open(window) => {
                    let client = self.client(request);
                    let window = &mut self.windows[window][client];
                    if window.free_count == 0 {
                        return self.links.push(&mut window.waiting, request);
                    }
                    window.free_count -= 1;
                    self.positions[request] += 1;
                }
                FlatStep::Close(window) => {
                    self.leave(window, self.client(request));
                    self.positions[request] += 1;
                }
                FlatStep::Store(memory) => {
                    let level = &mut self.memories[memory];
                    if level.stored_len >= self.path.memories[memory].room_len {
                        self.links.push(&mut level.waiting, request);
                        return self.note_full();
                    }
                    level.stored_len += 1;
                    self.empty(memory);
                    self.positions[request] += 1;
                }
            }
        }
    }

    fn client(&self, request: usize) -> usize {
        request / self.load.depth.get() as usize
    }

    fn complete(&mut self, request: usize) {
        self.positions[request] = 0;
        self.completion_count += 1;
        self.batches.count(self.now_s);
    }

    /// Gives the place in a window to the client's next request.
    fn leave(&mut self, window: usize, client: usize) {
        let window = &mut self.windows[window][client];
        match self.links.pop(&mut window.waiting) {
            Some(next) => {
                self.positions[next] += 1;
                self.ready.push(next);
            }
            None => window.free_count += 1,
        }
    }

    fn arrive(&mut self, station: usize, token: usize) {
        let queue = &mut self.stations[station];
        if queue.busy_count >= self.path.stations[station].servers.get() {
            return self.links.push(&mut queue.waiting, token);
        }
        queue.busy_count += 1;
        self.serve(station, token);
    }

    fn serve(&mut self, station: usize, token: usize) {
        let service_s = service_s(&self.path.stations[station], &mut self.draws);
        self.events.push(self.now_s + service_s, PathEvent::Served { station, token });
    }

    /// A request, or a part of one, leaves a station.
    fn release(&mut self, token: usize) {
        let in_flight = self.positions.len();
        let request = match token.checked_sub(in_flight) {
            None => token,
            Some(part) => {
                let request = part / self.path.parts_max;
                self.parts_left[request] -= 1;
                if self.parts_left[request] > 0 {
                    return;
                }
                request
            }
        };
        self.positions[request] += 1;
        self.ready.push(request);
    }

    fn divide(&mut self, request: usize, (first, count): (usize, usize), parts: usize) {
        let start = self.draws.index_below(count).unwrap_or(0);
        self.parts_left[request] = parts;
        let token = self.positions.len() + request * self.path.parts_max;
        for part in 0..parts {
            self.arrive(first + (start + part) % count, token + part);
        }
    }

    /// Lets the device of a memory take what is stored, as far as it has servers.
    fn empty(&mut self, memory: usize) {
        let device = &self.path.memories[memory].device;
        let level = &mut self.memories[memory];
        while level.busy_count < device.servers.get() && u64::from(level.busy_count) < level.stored_len {
            level.busy_count += 1;
            let at_s = self.now_s + service_s(device, &mut self.draws);
            self.events.push(at_s, PathEvent::Emptied { memory });
        }
    }

    fn make_room(&mut self, memory: usize) {
        let level = &mut self.memories[memory];
        level.busy_count -= 1;
        level.stored_len -= 1;
        if let Some(next) = self.links.pop(&mut level.waiting) {
            level.stored_len += 1;
            self.positions[next] += 1;
            self.ready.push(next);
        }
        self.empty(memory);
    }

    /// Notes the first time that memory is full, from which on the rate is measured.
    fn note_full(&mut self) {
        if self.memory_full.is_some() {
            return;
        }
        self.memory_full = Some(MemoryFull { after_s: self.now_s, completion_count: self.completion_count });
        self.batches = Batches::new(self.positions.len(), self.plan);
    }
}

fn service_s(station: &ServiceStation, draws: &mut Resampler) -> f64 {
    match station.law {
        ServiceLaw::Constant => station.mean_s,
        ServiceLaw::Exponential => -station.mean_s * draws.uniform().ln(),
    }
}
