//! Counts one worker's completions by interval and hands each interval over without waiting.
//!
//! Hot path: recording a completion allocates nothing and takes no lock; at an interval's end one boxed value is sent
//! through a bounded channel and comes back empty through another. When the collector is behind, the interval simply
//! grows: no count is lost.

use narrows_model::trial::{IntervalSample, OpTotals};
use narrows_model::{Bytes, CellId, Histogram, Nanos, Op};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Intervals in flight between a worker and the collector; two are in use when it keeps up.
const INTERVALS_IN_FLIGHT: usize = 4;

/// Response times that are kept until they are put into the histogram together: each by itself would have to fetch the
/// histogram's code and counts anew after the system's have taken their place in the processor's caches.
const TIMES_TOGETHER: usize = 32;

/// Whose samples they are.
#[derive(Debug, Clone)]
pub(crate) struct SampleLabel {
    pub(crate) cell: CellId,
    pub(crate) trial: u32,
    pub(crate) client_index: u32,
    pub(crate) worker_index: u32,
}

/// The collector's end: full intervals are received, empty ones are returned.
#[derive(Debug)]
pub(crate) struct IntervalStream {
    pub(crate) full: Receiver<Box<IntervalSample>>,
    pub(crate) empty: SyncSender<Box<IntervalSample>>,
}

/// The worker's end.
#[derive(Debug)]
pub(crate) struct Recorder {
    current: Box<IntervalSample>,
    /// Times of single operations of the present interval that are not in its histogram yet, and how many.
    times_ns: [u64; TIMES_TOGETHER],
    time_count: usize,
    interval_ns: u64,
    interval_end_ns: u64,
    full: SyncSender<Box<IntervalSample>>,
    empty: Receiver<Box<IntervalSample>>,
    total: Histogram,
    total_ops: u64,
    total_bytes: u64,
    total_response_ns: u64,
    by_kind: Vec<OpTotals>,
    arrivals: Option<ArrivalTimes>,
}

/// Times of requests that are due in the window by a schedule.
#[derive(Debug, Default)]
pub(crate) struct ArrivalTimes {
    /// From the scheduled start, of those that completed, whenever that was.
    response: Histogram,
    /// From the submission, of the same.
    pub(crate) service: Histogram,
    /// Sum of the service times of what completed in the window.
    pub(crate) service_sum_ns: u64,
    /// What those that did not complete had waited when they were given up.
    pub(crate) censored: Histogram,
}

/// Counts of the whole measured window.
#[derive(Debug)]
pub(crate) struct RecorderTotals {
    pub(crate) by_kind: Vec<OpTotals>,
    pub(crate) arrivals: Option<ArrivalTimes>,
    pub(crate) op_count: u64,
    pub(crate) bytes: u64,
    pub(crate) response: Histogram,
    pub(crate) response_sum_ns: u64,
}

/// A worker's recorder and the collector's end of its stream.
pub(crate) fn recorder(label: &SampleLabel, interval_ns: u64) -> (Recorder, IntervalStream) {
    let (full, full_receiver) = sync_channel(INTERVALS_IN_FLIGHT);
    let (empty_sender, empty) = sync_channel(INTERVALS_IN_FLIGHT);
    for _ in 1..INTERVALS_IN_FLIGHT {
        // The channel has just been made with room for all of them.
        drop(empty_sender.try_send(Box::new(blank(label))));
    }
    let recorder = Recorder {
        current: Box::new(blank(label)),
        times_ns: [0; TIMES_TOGETHER],
        time_count: 0,
        interval_ns: interval_ns.max(1),
        interval_end_ns: u64::MAX,
        full,
        empty,
        total: Histogram::new(),
        total_ops: 0,
        total_bytes: 0,
        total_response_ns: 0,
        by_kind: Vec::new(),
        arrivals: None,
    };
    (recorder, IntervalStream { full: full_receiver, empty: empty_sender })
}

fn blank(label: &SampleLabel) -> IntervalSample {
    IntervalSample {
        cell: label.cell.clone(),
        trial: label.trial,
        measured: false,
        client_index: label.client_index,
        worker_index: label.worker_index,
        start_ns: Nanos(0),
        end_ns: Nanos(0),
        op_count: 0,
        bytes: Bytes(0),
        error_count: 0,
        response: Histogram::new(),
    }
}

impl Recorder {
    /// Starts counting at `now_ns`, in or before the measured window.
    pub(crate) fn begin(&mut self, now_ns: u64, measured: bool) {
        self.current.start_ns = Nanos(now_ns);
        self.current.measured = measured;
        self.interval_end_ns = now_ns.saturating_add(self.interval_ns);
    }

    /// Counts by kind too; before anything is counted.
    pub(crate) fn count_kinds(&mut self, kinds: &[(Op, Bytes)]) {
        let blank = |(op, block_bytes): &(Op, Bytes)| OpTotals {
            op: *op,
            block_bytes: *block_bytes,
            op_count: 0,
            bytes: Bytes(0),
            response: Histogram::new(),
        };
        self.by_kind = kinds.iter().map(blank).collect();
    }

    /// Accounts times by arrival; before anything is counted.
    pub(crate) fn count_arrivals(&mut self) {
        self.arrivals = Some(ArrivalTimes::default());
    }

    /// Whether [`Recorder::detail`] counts anything.
    #[inline]
    pub(crate) fn is_detailed(&self) -> bool {
        self.arrivals.is_some() || !self.by_kind.is_empty()
    }

    /// Counts `op_count` completed operations that moved `bytes` together and took `response_ns` each.
    #[inline]
    pub(crate) fn completed(&mut self, op_count: u64, bytes: u64, response_ns: u64) {
        if op_count == 0 {
            return;
        }
        let current = &mut self.current;
        current.op_count += op_count;
        current.bytes.0 += bytes;
        if current.measured {
            self.total_response_ns =
                self.total_response_ns.saturating_add(response_ns.saturating_mul(op_count));
        }
        if op_count > 1 {
            current.response.record_n(response_ns, op_count);
            return;
        }
        if self.time_count == TIMES_TOGETHER {
            self.put_times();
        }
        self.times_ns[self.time_count] = response_ns;
        self.time_count += 1;
    }

    /// Puts the times that were kept into their histogram where there is no room for more; whether it did, which takes as
    /// long as a fast operation: who times the next one from here on reads the clock anew.
    #[inline]
    pub(crate) fn make_room(&mut self) -> bool {
        let is_full = self.time_count == TIMES_TOGETHER;
        if is_full {
            self.put_times();
        }
        is_full
    }

    /// Puts the times that were kept into the present interval's histogram.
    #[inline(never)]
    fn put_times(&mut self) {
        for response_ns in &self.times_ns[..self.time_count] {
            self.current.response.record(*response_ns);
        }
        self.time_count = 0;
    }

    /// Counts one operation that completed in the window under its kind, with its service time.
    pub(crate) fn detail(&mut self, kind: u32, bytes: u64, response_ns: u64, service_ns: u64) {
        if !self.current.measured {
            return;
        }
        if let Some(totals) = self.by_kind.get_mut(kind as usize) {
            totals.op_count += 1;
            totals.bytes.0 += bytes;
            if self.arrivals.is_none() {
                totals.response.record(response_ns);
            }
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.service_sum_ns = arrivals.service_sum_ns.saturating_add(service_ns);
        }
    }

    /// Counts the times of one completed operation that was due in the window.
    pub(crate) fn arrived(&mut self, kind: u32, response_ns: u64, service_ns: u64) {
        let Some(arrivals) = &mut self.arrivals else { return };
        arrivals.response.record(response_ns);
        arrivals.service.record(service_ns);
        if let Some(totals) = self.by_kind.get_mut(kind as usize) {
            totals.response.record(response_ns);
        }
    }

    /// Counts `count` operations that were due in the window and are given up after about `waited_ns` each.
    pub(crate) fn given_up(&mut self, waited_ns: u64, count: u64) {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.censored.record_n(waited_ns, count);
        }
    }

    /// Counts a failed operation.
    pub(crate) fn failed(&mut self) {
        self.current.error_count += 1;
    }

    /// When the present interval is over.
    pub(crate) fn interval_end_ns(&self) -> u64 {
        self.interval_end_ns
    }

    /// Ends the interval if it is over; `now_ns` is the stamp of the completions counted last.
    pub(crate) fn tick(&mut self, now_ns: u64) {
        if now_ns >= self.interval_end_ns {
            self.hand_over(now_ns);
        }
    }

    /// Ends the present interval at `now_ns` and starts the next, in or before the measured window.
    pub(crate) fn cut(&mut self, now_ns: u64, measured: bool) {
        self.finish_interval(now_ns);
        self.begin(now_ns, measured);
    }

    /// Ends the last interval and returns the totals of the measured window.
    pub(crate) fn end(mut self, now_ns: u64) -> RecorderTotals {
        self.finish_interval(now_ns);
        let by_arrival = self.arrivals.as_mut().map(|arrivals| std::mem::take(&mut arrivals.response));
        RecorderTotals {
            op_count: self.total_ops,
            bytes: self.total_bytes,
            response: by_arrival.unwrap_or(self.total),
            response_sum_ns: self.total_response_ns,
            by_kind: self.by_kind,
            arrivals: self.arrivals,
        }
    }

    fn hand_over(&mut self, now_ns: u64) {
        let Ok(mut next) = self.empty.try_recv() else { return };
        next.measured = self.current.measured;
        next.start_ns = Nanos(now_ns);
        self.close_current(now_ns);
        std::mem::swap(&mut self.current, &mut next);
        // There are no more boxes than places in the channel.
        drop(self.full.try_send(next));
        self.interval_end_ns =
            self.interval_end_ns.max(now_ns.saturating_sub(self.interval_ns)) + self.interval_ns;
    }

    /// As `hand_over`, but waits for an empty box: the window's border must be exact.
    fn finish_interval(&mut self, now_ns: u64) {
        let is_empty = self.current.op_count == 0 && self.current.error_count == 0;
        if is_empty && self.current.start_ns.0 == now_ns {
            // An interval ended at this very moment: what follows it has no length and nothing in it.
            return;
        }
        let measured = self.current.measured;
        self.close_current(now_ns);
        match self.empty.recv() {
            Ok(mut next) => {
                next.measured = measured;
                std::mem::swap(&mut self.current, &mut next);
                drop(self.full.try_send(next));
            }
            // The collector is gone: the totals still count.
            Err(_) => clear(&mut self.current),
        }
    }

    fn close_current(&mut self, now_ns: u64) {
        self.put_times();
        self.current.end_ns = Nanos(now_ns);
        if self.current.measured {
            self.total.merge(&self.current.response);
            self.total_ops += self.current.op_count;
            self.total_bytes += self.current.bytes.0;
        }
    }
}

/// Makes a box ready to be filled again; its label and memory stay.
pub(crate) fn clear(sample: &mut IntervalSample) {
    sample.op_count = 0;
    sample.bytes = Bytes(0);
    sample.error_count = 0;
    sample.response.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label() -> SampleLabel {
        SampleLabel { cell: CellId("c".into()), trial: 0, client_index: 0, worker_index: 0 }
    }

    #[test]
    fn only_the_measured_window_is_in_the_totals() {
        let (mut recorder, stream) = recorder(&label(), 100);
        recorder.begin(0, false);
        recorder.completed(1, 10, 5);
        recorder.cut(50, true);
        recorder.completed(1, 20, 7);
        recorder.completed(1, 20, 7);
        let totals = recorder.end(90);
        assert_eq!((totals.op_count, totals.bytes, totals.response_sum_ns), (2, 40, 14));
        assert_eq!(totals.response.count(), 2);
        let samples: Vec<_> = stream.full.iter().collect();
        assert_eq!(
            samples.iter().map(|s| (s.measured, s.op_count)).collect::<Vec<_>>(),
            [(false, 1), (true, 2)]
        );
    }

    #[test]
    fn times_that_are_put_together_are_those_of_their_own_interval() {
        let (mut recorder, stream) = recorder(&label(), 1_000_000);
        recorder.begin(0, true);
        let many = TIMES_TOGETHER as u64 * 2 + 5;
        (1..=many).for_each(|response_ns| recorder.completed(1, 0, response_ns));
        recorder.completed(3, 0, 100);
        recorder.tick(1_000_000);
        recorder.completed(1, 0, 120);
        let totals = recorder.end(1_500_000);
        let counts: Vec<_> = stream.full.iter().map(|s| (s.response.count(), s.response.max_ns())).collect();
        assert_eq!(counts, [(many + 3, Some(100)), (1, Some(120))]);
        assert_eq!((totals.response.count(), totals.op_count), (many + 4, many + 4));
        assert_eq!(totals.response_sum_ns, many * (many + 1) / 2 + 3 * 100 + 120);
    }

    #[test]
    fn a_border_on_an_intervals_end_makes_no_empty_sample() {
        let (mut recorder, stream) = recorder(&label(), 100);
        recorder.begin(0, true);
        recorder.completed(1, 1, 1);
        recorder.tick(100);
        recorder.cut(100, false);
        recorder.completed(1, 1, 1);
        let totals = recorder.end(150);
        let samples: Vec<_> = stream.full.iter().map(|s| (s.measured, s.start_ns.0, s.end_ns.0)).collect();
        assert_eq!(samples, [(true, 0, 100), (false, 100, 150)]);
        assert_eq!(totals.op_count, 1);
    }

    #[test]
    fn a_collector_that_is_behind_makes_intervals_longer_and_loses_nothing() {
        let (mut recorder, stream) = recorder(&label(), 1);
        recorder.begin(0, true);
        for now in 1..=100 {
            recorder.completed(1, 1, 1);
            recorder.tick(now);
        }
        let mut taken = Vec::new();
        while let Ok(mut sample) = stream.full.try_recv() {
            assert_eq!(sample.op_count, sample.response.count());
            taken.push(sample.op_count);
            clear(&mut sample);
            drop(stream.empty.try_send(sample));
        }
        let totals = recorder.end(101);
        taken.extend(stream.full.iter().map(|sample| sample.op_count));
        assert_eq!(totals.op_count, 100);
        assert_eq!(taken.iter().sum::<u64>(), 100);
    }
}
