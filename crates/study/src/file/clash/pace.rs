//! When requests start, and what delays them.

use super::{Clash, Subject, text};
use crate::file::fields::marks;
use narrows_model::Bytes;
use narrows_model::workload::Arrivals;

pub(super) fn think_in_open_loop(subject: &Subject<'_>) -> Option<Clash> {
    if subject.load.think_ns.0 == 0 || !subject.keys.is_open() {
        return None;
    }
    let text = text(
        "think time in an open loop, where requests start by a schedule",
        "think time with arrivals = \"closed\"",
        "omit think: offered decides when requests start",
    );
    Some(subject.clash("think_in_open_loop", &marks!(subject.keys; workload.think, workload.arrivals), text))
}

pub(super) fn open_loop_without_offer(subject: &Subject<'_>) -> Option<Clash> {
    if !subject.keys.is_open() || subject.load.arrivals != Arrivals::Closed {
        return None;
    }
    let text = text(
        "an open loop without its offered load",
        "offered with arrivals = \"constant\" or \"poisson\"",
        "write offered = \"1000/s\"",
    );
    Some(subject.clash("open_loop_without_offer", &marks!(subject.keys; workload.arrivals), text))
}

pub(super) fn cap_in_open_loop(subject: &Subject<'_>) -> Option<Clash> {
    let capped = subject.load.max_bytes_per_s.is_some() || subject.load.max_ops_per_s.is_some();
    if !capped || !subject.keys.is_open() {
        return None;
    }
    let text = text(
        "a cap on the rate of an open loop, whose rate is offered",
        "max_rate and max_ops with arrivals = \"closed\"",
        "omit the cap, and offer less",
    );
    Some(subject.clash("cap_in_open_loop", &marks!(subject.keys; workload.max_rate, workload.max_ops), text))
}

/// A user who thinks for longer than the window makes one request in it or none, so that its rate says nothing.
pub(super) fn think_over_window(subject: &Subject<'_>) -> Option<Clash> {
    let (think, window) = (subject.load.think_ns, subject.keys.trial_stop().measure_ns);
    if think.0 == 0 || think < window || subject.load.arrivals != Arrivals::Closed {
        return None;
    }
    let text = text(
        format!("a think time of {} s in a window of {} s", think.as_secs_f64(), window.as_secs_f64()),
        "a think time below the window (stop.measure), in which several requests follow each other",
        "raise stop.measure, or write a shorter think time",
    );
    Some(subject.clash("think_over_window", &marks!(subject.keys; workload.think), text))
}

pub(super) fn cap_below_block(subject: &Subject<'_>) -> Option<Clash> {
    let cap = subject.load.max_bytes_per_s?;
    let window = subject.keys.trial_stop().measure_ns;
    let moved = Bytes(narrows_model::units::round_to_u64(Bytes(cap).as_f64() * window.as_secs_f64()));
    let block = subject.load.block_bytes;
    if moved >= block {
        return None;
    }
    let text = text(
        format!("a cap of {}/s, which moves {moved} in a window of {} s", Bytes(cap), window.as_secs_f64()),
        format!("a block of {block} or more in the window"),
        "raise max_rate or stop.measure, or write a smaller block",
    );
    Some(subject.clash("cap_below_block", &marks!(subject.keys; workload.max_rate), text))
}
