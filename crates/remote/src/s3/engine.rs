//! Requests of a worker: executed by itself where one is in flight, else by threads with a connection each.
//!
//! The HTTP library allocates for every request; nothing beyond that is allocated per request but the two ends of a queue.

use super::counts::S3Counts;
use super::failure::S3Failure;
use super::perform::S3Performer;
use super::pool::{SlotDone, SlotJob, SlotPool};
use super::wire::Wire;
use narrows_engines::arrivals::SharedArrivals;
use narrows_engines::request::{Errno, IoCompletion};
use narrows_engines::{
    Clock, Completions, Engine, EngineError, ErrorKind, IoRequest, ProtocolCounters, Slot, Tick,
};
use narrows_model::counters::Combine;
use narrows_model::{Effective, Op, RpcCounters};
use narrows_sys::buffer::AlignedBuffer;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// One wait for a completion.
const SLICE_NS: u64 = 50_000_000;

/// Who executes requests.
pub(super) enum S3Workers {
    /// The worker's own thread.
    Own(Box<S3Performer>),
    /// Threads.
    Threads(SlotPool),
}

/// What a client shares with the engine.
pub(super) struct ClientGauges {
    pub(super) wire: Arc<Wire>,
    pub(super) counts: Arc<Mutex<S3Counts>>,
}

/// An engine of requests to a bucket.
pub(super) struct S3Engine {
    pub(super) effective: Effective,
    pub(super) server: String,
    pub(super) ops: &'static [Op],
    pub(super) clock: Arc<dyn Clock>,
    pub(super) workers: S3Workers,
    pub(super) gauges: Vec<ClientGauges>,
    pub(super) arrivals: Arc<Mutex<SharedArrivals>>,
    /// One for each slot; absent while a request has it.
    pub(super) blocks: Vec<Option<AlignedBuffer>>,
    pub(super) queued: Vec<IoRequest>,
    pub(super) done: Vec<IoCompletion>,
    /// Requests that were committed and have not completed.
    pub(super) started_count: usize,
    /// Why requests of the last reap failed, by tag.
    pub(super) failures: Vec<(u32, String)>,
    pub(super) fatal: Option<EngineError>,
}

impl S3Engine {
    fn note(&mut self, tag: u32, result: Result<u32, S3Failure>) {
        let result = result.map_err(|failure| {
            self.failures.push((tag, failure.detail.clone()));
            if failure.is_fatal {
                self.fatal.get_or_insert(failure.to_error("request", &self.server));
            }
            Errno(failure.errno.raw_os_error())
        });
        self.done.push(IoCompletion { tag, result });
    }

    fn take_back(&mut self, done: SlotDone) {
        let SlotDone { job: SlotJob { request, block }, result } = done;
        if let Some(place) = self.blocks.get_mut(request.slot.0 as usize) {
            *place = Some(block);
        }
        self.note(request.tag, result);
    }

    /// Completions that are there; waits for one more within `within`.
    fn collect(&mut self, within: Duration) {
        let mut within = within;
        while let S3Workers::Threads(pool) = &self.workers {
            let Some(done) = pool.next_done(within) else { return };
            self.take_back(done);
            within = Duration::ZERO;
        }
    }

    fn move_done(&mut self, out: &mut Completions) {
        self.started_count -= self.done.len();
        out.extend_from_slice(&self.done);
        self.done.clear();
    }
}

impl Engine for S3Engine {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        match &mut self.blocks[slot.0 as usize] {
            Some(block) => block,
            None => &mut [],
        }
    }

    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        for (taken, request) in requests.iter().enumerate() {
            if self.queued.len() + self.started_count >= self.blocks.len() {
                return Ok(taken);
            }
            if !self.ops.contains(&request.op) {
                return Err(EngineError::new(ErrorKind::Unsupported, "queue", self.server.clone())
                    .detail(format!("{} is no operation on the objects of a bucket", request.op)));
            }
            let block_bytes = self.effective.alignment_bytes.0.max(1);
            debug_assert_eq!(block_bytes, 1, "any place and any length can be asked for");
            self.queued.push(*request);
        }
        Ok(requests.len())
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        self.started_count += self.queued.len();
        let queued = std::mem::take(&mut self.queued);
        for request in &queued {
            let place = self.blocks.get_mut(request.slot.0 as usize);
            let Some(mut block) = place.and_then(Option::take) else {
                self.note(request.tag, Err(S3Failure::unsupported("its slot is in use")));
                continue;
            };
            match &mut self.workers {
                S3Workers::Threads(pool) => pool.push(SlotJob { request: *request, block }),
                S3Workers::Own(performer) => {
                    let length = block.len();
                    let result = performer.perform(request, &mut block[..length]);
                    self.take_back(SlotDone { job: SlotJob { request: *request, block }, result });
                }
            }
        }
        self.queued = queued;
        self.queued.clear();
        Ok(())
    }

    fn reap(&mut self, min: u32, until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        let enough = out.len().saturating_add(min as usize);
        if self.done.is_empty() {
            self.failures.clear();
        }
        let mut within = Duration::ZERO;
        loop {
            self.collect(within);
            self.move_done(out);
            if let Some(fatal) = self.fatal.take() {
                return Err(fatal);
            }
            if out.len() >= enough || self.started_count == 0 {
                return Ok(());
            }
            let now = self.clock.now();
            if now >= until {
                return Ok(());
            }
            within = Duration::from_nanos(until.since(now).min(SLICE_NS));
        }
    }

    fn failure_detail(&mut self, tag: u32) -> Option<String> {
        let place = self.failures.iter().position(|(known, _)| *known == tag)?;
        Some(self.failures.swap_remove(place).1)
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        let mut rpc = RpcCounters::default();
        (out.request_count, out.reply_count, out.tcp) = (0, 0, None);
        for gauges in &self.gauges {
            let counts = gauges.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let (sent, answered) = counts.totals();
            out.request_count += sent;
            out.reply_count += answered;
            rpc.add(&counts.to_model());
            match (&mut out.tcp, gauges.wire.tcp()) {
                (Some(sum), Some(more)) => sum.add_beside(&more),
                (sum, Some(first)) => *sum = Some(first),
                (_, None) => {}
            }
        }
        rpc.arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).to_model();
        out.rpc = Some(rpc);
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        Ok(())
    }
}
