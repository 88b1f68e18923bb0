//! One repetition of a cell: prepare, start the clients, read counters around the window, report.

use crate::assignment::{Assignment, ClientOutput, WindowTimes, data_seed_of, seed_of, target_count};
use crate::caches;
use crate::coordinator::{Coordinator, LocalContext, TrialHooks};
use crate::error::RunError;
use crate::gather::{tcp_sums, trial_output};
use crate::link::{CounterSource, OptionalServer};
use crate::prepare::{ObjectPrepareContext, PrepareContext, PrepareLimit, object_names};
use crate::server_metrics::{self, ServerMetrics};
use crate::site::CellSite;
use crate::stop::StopFlag;
use narrows_engines::Clock;
use narrows_model::counters::TcpCounters;
use narrows_model::event::Phase;
use narrows_model::fault::{ErrorCount, merge_errors};
use narrows_model::trial::{CounterPair, IntervalSample};
use narrows_model::workload::CacheState;
use narrows_model::{Bytes, Cell, CounterSample, Event, Nanos, Role, Sink, SinkError};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// Time between "all are ready" and the start of load for one worker of this process: it wakes in less than a tenth of it, and
/// short cells are made by the hundred.
const LONE_START_DELAY_NS: u64 = 500_000;

/// The window is put off by this much at a time while a queue has not turned over once.
const PUT_OFF_NS: u64 = 100_000_000;
/// The warm-up lasts at most so many times as long as planned: 1.5 s of 0.25 s, and 1.8 s of the 0.3 s of a study, in which 16 blocks of 1 MiB
/// cross 100 Mbit/s once.
const WARM_UPS_MAX: u64 = 6;
/// So long before the window it is decided whether to put it off: the looks at the trial are 20 ms apart.
const DECIDE_NS: u64 = 100_000_000;
/// After the run's time and the window's, clients may take so long for what they have in flight and for the last sync.
const DRAIN_TIMEOUT_NS: u64 = 30_000_000_000;
/// By this time before the window the slowest client has been notified.
const NOTICE_NS: u64 = 40_000_000;

/// One repetition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrialTurn {
    /// Its number, from 0.
    pub(crate) trial: u32,
    /// Where preparation lasts beyond this, on the site's clock, the load is not put on any more.
    pub(crate) start_by_ns: u64,
    /// When the time of the whole run is over.
    pub(crate) limit_ns: u64,
}

/// Runs one repetition of `cell` and reports it.
pub(crate) fn run_trial(
    cell: &Cell,
    turn: TrialTurn,
    site: &mut CellSite,
    mut server: OptionalServer<'_>,
    sink: &mut dyn Sink,
) -> Result<(), RunError> {
    let trial = turn.trial;
    crate::workable::check(cell)?;
    announce(sink, cell, trial, Phase::Prepare, site.clock.as_ref())?;
    let mut assignments =
        assignments(cell, trial, site, server.as_ref().map(|server| server.session()).as_deref());
    let (object_bytes, resident_ratio) = prepare(&mut assignments, turn, site, &mut server)?;
    for assignment in &mut assignments {
        assignment.object_bytes = object_bytes;
        bound_to_once(assignment);
    }
    let mut hooks = TrialObserver {
        cell,
        trial,
        coordinator: site.coordinator.as_ref(),
        limit_ns: turn.limit_ns,
        clock: Arc::clone(&site.clock),
        stop: site.stop.clone(),
        counters: site.counters.as_mut(),
        metrics: site.server_metrics.as_deref_mut(),
        server,
        sink: &mut *sink,
        child_pids: Vec::new(),
        times: None,
        moved: false,
        turned_count: 0,
        before: None,
        after: None,
        sink_error: None,
    };
    let began_ns = site.clock.now().0;
    let local = LocalContext { registry: &site.registry, clock: &site.clock, stop: &site.stop };
    let clients = site.coordinator.run(&loading(&assignments), &local, &mut hooks);
    let (times, pairs) = hooks.finish()?;
    site.prepared.note_objects(&assignments, clients.as_deref().ok());
    site.prepared.note_writes(&assignments, clients.as_deref().ok());
    let is_loaded = clients.is_ok() && times.is_some();
    let synced = if is_loaded { sync_after(&assignments, site) } else { Ok(Vec::new()) };
    site.overruns.note(cell, Nanos(site.clock.now().0.saturating_sub(began_ns)));
    let (clients, synced) = (clients?, synced?);
    let Some(times) = times else { return Err(RunError::Stopped) };
    let mut output = trial_output(cell, trial, times, &clients, &site.hostname);
    output.file_bytes = object_bytes;
    output.resident_ratio = resident_ratio;
    output.counters = with_tcp(pairs, &clients);
    merge_errors(&mut output.errors, &synced);
    sink.event(&Event::TrialFinished(Box::new(output)))?;
    Ok(())
}

fn announce(
    sink: &mut dyn Sink,
    cell: &Cell,
    trial: u32,
    phase: Phase,
    clock: &dyn Clock,
) -> Result<(), SinkError> {
    sink.event(&Event::PhaseStarted { cell: cell.id.clone(), trial, phase, at_ns: Nanos(clock.now().0) })
}

fn assignments(cell: &Cell, trial: u32, site: &CellSite, session: Option<&str>) -> Vec<Assignment> {
    (0..cell.workload.clients.max(1))
        .map(|client_index| Assignment {
            cell: cell.clone(),
            trial,
            client_index,
            seed: seed_of(site.seed, &cell.id, trial, client_index),
            data_seed: data_seed_of(site.seed, &cell.id, trial),
            objects: object_names(cell, client_index),
            object_bytes: cell.workload.file_bytes,
            interval_ns: site.interval_ns,
            token: site.token.clone(),
            session: session.map(str::to_owned),
            answer_timeout_ns: site.answer_timeout_ns,
            object_steps: Vec::new(),
            brings_cache: false,
        })
        .collect()
}

/// The assignments as the clients load them. Where opening or closing is part of the load, or files belong to clients in
/// another way than usual, a client has its one file alone; else it has those of all, of which it visits its own.
fn loading(assignments: &[Assignment]) -> Cow<'_, [Assignment]> {
    let has_own_alone = assignments.first().is_some_and(|first| {
        let workload = &first.cell.workload;
        !workload.verify && (workload.edges.times_close || !workload.client_files.are_plain())
    });
    if !has_own_alone {
        return Cow::Borrowed(assignments);
    }
    Cow::Owned(assignments.iter().map(Assignment::with_own_object_alone).collect())
}

/// A cell that makes one pass over its object covers what exists of it: on a slow device the object is only as large as
/// its preparation allows, and the cell ends in about as short a time. For an existing file, which clients share, this
/// matters where it is to be cold: a second pass finds it in the cache.
fn bound_to_once(assignment: &mut Assignment) {
    let cell = &assignment.cell;
    let objects = if cell.read_only { target_count(cell) } else { cell.workload.clients.max(1) };
    if let Some(planned) = cell.stop.bytes_max
        && (!cell.read_only || cell.workload.cache == CacheState::Cold)
    {
        let once = Bytes(assignment.object_bytes.0.saturating_mul(u64::from(objects)));
        assignment.cell.stop.bytes_max = Some(planned.min(once));
    }
}

/// Makes the objects of all targets and brings caches to their state, through the targets' own engines; returns the
/// smallest size of an object and the share that is cached.
fn prepare(
    assignments: &mut [Assignment],
    turn: TrialTurn,
    site: &mut CellSite,
    server: &mut OptionalServer<'_>,
) -> Result<(Bytes, Option<f64>), RunError> {
    let limit = PrepareLimit::starting(site.clock.now().0, turn.start_by_ns);
    let set = assignments.first().and_then(|assignment| assignment.cell.workload.objects);
    if let Some(set) = set {
        let CellSite { registry, clock, stop, prepared, .. } = site;
        prepared.ready_objects(&set, assignments, &ObjectPrepareContext { registry, clock, stop, limit })?;
        return Ok((set.expected_bytes(), None));
    }
    let mut smallest: Option<Bytes> = None;
    let mut shares = Vec::new();
    // The first clients have one target each.
    let targets = assignments.first().map_or(1, |assignment| target_count(&assignment.cell));
    let filled = assignments.get(..targets as usize).unwrap_or(assignments);
    for (index, assignment) in filled.iter().enumerate() {
        let factory = site.registry.factory(assignment.target(), None)?;
        let limit = limit.first_of(filled.len() - index);
        let context =
            PrepareContext { factory: factory.as_ref(), clock: &site.clock, stop: &site.stop, limit };
        let object_bytes = site.prepared.ensure(assignment, &context)?;
        smallest = Some(smallest.map_or(object_bytes, |smallest| smallest.min(object_bytes)));
        shares.push(caches::bring(assignment, factory.as_ref(), server)?);
    }
    let known: Option<Vec<f64>> = shares.into_iter().collect();
    let resident_ratio =
        known.filter(|known| !known.is_empty()).map(|known| known.iter().sum::<f64>() / known.len() as f64);
    Ok((smallest.unwrap_or_default(), resident_ratio))
}

/// Syncs what the trial wrote where its load asks for that; what failed.
fn sync_after(assignments: &[Assignment], site: &CellSite) -> Result<Vec<ErrorCount>, RunError> {
    let mut failed = Vec::new();
    // The first clients have one target each, and know all objects there.
    let targets = assignments.first().map_or(1, |assignment| target_count(&assignment.cell));
    for assignment in assignments.iter().take(targets as usize) {
        let factory = site.registry.factory(assignment.target(), None)?;
        let limit = PrepareLimit::starting(site.clock.now().0, u64::MAX);
        let context =
            PrepareContext { factory: factory.as_ref(), clock: &site.clock, stop: &site.stop, limit };
        failed.extend(site.prepared.sync_after(assignment, &context)?);
    }
    Ok(failed)
}

/// The trial as its clients' coordinator sees it: sets the window, reads counters at its borders.
struct TrialObserver<'a> {
    cell: &'a Cell,
    trial: u32,
    /// Knows how early clients on other machines need the start of load, once the trial has begun.
    coordinator: &'a dyn Coordinator,
    limit_ns: u64,
    clock: Arc<dyn Clock>,
    stop: StopFlag,
    counters: &'a mut dyn CounterSource,
    metrics: Option<&'a mut (dyn ServerMetrics + 'static)>,
    server: OptionalServer<'a>,
    sink: &'a mut dyn Sink,
    child_pids: Vec<u32>,
    times: Option<WindowTimes>,
    /// The times have been put off and the clients do not know yet.
    moved: bool,
    /// Clients whose queues have all turned over once.
    turned_count: u32,
    before: Option<Vec<CounterSample>>,
    after: Option<Vec<CounterSample>>,
    sink_error: Option<SinkError>,
}

impl TrialObserver<'_> {
    fn read_all(&mut self) -> Vec<CounterSample> {
        if let Some(metrics) = &mut self.metrics {
            metrics.ask();
        }
        let own = self.counters.read(Nanos(self.clock.now().0), &self.child_pids);
        // A server that does not answer shows in the load itself; its counters are then missing, not invented.
        // Nor is it waited for once all is to stop now: the trial is cut short, and the server may be what hangs.
        let asked = self.server.as_mut().filter(|_| !self.stop.is_now());
        let (server, proxy) =
            asked.map_or((None, None), |server| (server.counters().ok(), server.proxy_counters()));
        let samples: Vec<CounterSample> = own.into_iter().chain(server).chain(proxy).collect();
        for sample in &samples {
            let event = Event::Counters(Box::new(sample.clone()));
            self.keep(&event);
        }
        samples
    }

    fn keep(&mut self, event: &Event) {
        if self.sink_error.is_none()
            && let Err(error) = self.sink.event(event)
        {
            self.sink_error = Some(error);
        }
    }

    fn announce(&mut self, phase: Phase) {
        let at_ns = Nanos(self.clock.now().0);
        self.keep(&Event::PhaseStarted { cell: self.cell.id.clone(), trial: self.trial, phase, at_ns });
    }

    /// Puts the window off while a queue has not turned over once: what completes before was not met by a full queue.
    fn put_off(&mut self, now_ns: u64) {
        let warm_up_ns = self.cell.stop.warm_up_ns.0;
        let Some(times) = &mut self.times else { return };
        let turned = self.turned_count >= self.cell.workload.clients.max(1);
        let latest_ns = times.start_ns.saturating_add(warm_up_ns.saturating_mul(WARM_UPS_MAX));
        let decides =
            times.measure_from_ns.saturating_sub(DECIDE_NS)..times.measure_from_ns.saturating_sub(NOTICE_NS);
        let may = self.before.is_none() && times.measure_from_ns.saturating_add(PUT_OFF_NS) <= latest_ns;
        if may && !turned && decides.contains(&now_ns) {
            times.measure_from_ns += PUT_OFF_NS;
            times.measure_until_ns = times.measure_until_ns.saturating_add(PUT_OFF_NS);
            self.moved = true;
        }
    }

    /// Whether a count ends the trial: it has no border that could be put off.
    fn ends_by_count(&self) -> bool {
        self.cell.ends_by_count()
    }

    fn finish(mut self) -> Result<(Option<WindowTimes>, Vec<CounterPair>), RunError> {
        if self.before.is_some() && self.after.is_none() {
            self.after = Some(self.read_all());
        }
        let exported = self.server_metrics();
        if let Some(error) = self.sink_error {
            return Err(error.into());
        }
        let pairs: Vec<CounterPair> = match (self.before, self.after) {
            (Some(before), Some(after)) => before
                .into_iter()
                .filter_map(|before| {
                    let after = after.iter().find(|after| after.role == before.role)?.clone();
                    Some(CounterPair { before, after })
                })
                .collect(),
            _ => Vec::new(),
        };
        Ok((self.times, pairs.into_iter().chain(exported).collect()))
    }

    /// What was asked of a server on which nothing of ours runs; `None` where nothing was, or where it cannot be used, which is
    /// then reported.
    fn server_metrics(&mut self) -> Option<CounterPair> {
        let answers = self.metrics.as_mut()?.answers(&self.stop);
        if answers.is_empty() || self.stop.is_now() {
            return None;
        }
        for reading in answers.iter().flatten() {
            self.keep(&Event::Counters(Box::new(reading.sample.clone())));
        }
        match server_metrics::pair(answers) {
            Ok(pair) => Some(pair),
            Err(reason) => {
                let cell = self.cell.id.clone();
                self.keep(&Event::MetricsMissed { cell, trial: self.trial, reason });
                None
            }
        }
    }
}

impl TrialHooks for TrialObserver<'_> {
    fn ready(&mut self, child_pids: &[u32]) -> Option<WindowTimes> {
        if self.stop.is_now() {
            return None;
        }
        self.child_pids = child_pids.to_vec();
        let stop = &self.cell.stop;
        if stop.warm_up_ns.0 == 0 {
            self.announce(Phase::Measure);
            self.before = Some(self.read_all());
        } else {
            self.announce(Phase::WarmUp);
        }
        let load = &self.cell.workload;
        let notice_ns = self.coordinator.notice_ns();
        let is_here = child_pids.is_empty() && notice_ns == 0;
        let is_lone = is_here && load.workers <= 1 && load.clients <= 1;
        let delay_ns =
            if is_lone { LONE_START_DELAY_NS } else { self.coordinator.start_delay_ns().max(notice_ns) };
        let start_ns = self.clock.now().0 + delay_ns;
        let measure_from_ns = start_ns + stop.warm_up_ns.0;
        let times =
            WindowTimes { start_ns, measure_from_ns, measure_until_ns: measure_from_ns + stop.measure_ns.0 };
        self.times = Some(times);
        Some(times)
    }

    fn interval(&mut self, sample: &IntervalSample) {
        self.keep(&Event::Interval(Box::new(sample.clone())));
    }

    fn poll(&mut self) -> bool {
        let now_ns = self.clock.now().0;
        if !self.ends_by_count() {
            self.put_off(now_ns);
        }
        if let Some(times) = self.times {
            if self.before.is_none() && now_ns >= times.measure_from_ns {
                self.announce(Phase::Measure);
                self.before = Some(self.read_all());
            }
            if self.after.is_none() && self.cell.ends_by_time() && now_ns >= times.measure_until_ns {
                self.after = Some(self.read_all());
                self.announce(Phase::CoolDown);
            }
        }
        if self.ends_by_count() && self.cell.workload.ring.submission_polling {
            // The thread ends with its worker, before the last reading: what it used by then is seen now.
            let _ = self.counters.read(Nanos(now_ns), &self.child_pids);
        }
        self.stop.is_now() || self.sink_error.is_some()
    }

    fn turned(&mut self) {
        self.turned_count += 1;
    }

    fn moved(&mut self) -> Option<WindowTimes> {
        let moved = std::mem::take(&mut self.moved);
        self.times.filter(|_| moved)
    }

    fn pause(&self, now_ns: u64, most: Duration) -> Duration {
        self.times.map_or(most, |times| times.wait_until_end(now_ns, most))
    }

    fn is_overdue(&self) -> bool {
        let planned_ns = self.times.map_or(0, |times| times.measure_until_ns);
        self.clock.now().0 > self.limit_ns.max(planned_ns).saturating_add(DRAIN_TIMEOUT_NS)
    }
}

/// Puts the workers' `TCP_INFO` into the client's counters. Without any, connections of the path that moved nothing were not
/// used by the load.
fn with_tcp(mut pairs: Vec<CounterPair>, clients: &[ClientOutput]) -> Vec<CounterPair> {
    let moved = |tcp: &TcpCounters| tcp.acked_bytes.saturating_add(tcp.received_bytes);
    if let Some(CounterPair { before, after }) =
        pairs.iter_mut().find(|pair| pair.before.role == Role::Client)
    {
        match tcp_sums(clients) {
            Some((first, last)) => (before.tcp, after.tcp) = (Some(first), Some(last)),
            None if before.tcp.as_ref().map(moved) == after.tcp.as_ref().map(moved) => {
                (before.tcp, after.tcp) = (None, None);
            }
            None => {}
        }
    }
    pairs
}
