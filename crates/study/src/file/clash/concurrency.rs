//! What can be in flight together.

use super::{Clash, Subject, text};
use crate::file::fields::marks;
use narrows_model::{Bytes, Target};

/// Most requests in flight of one cell: buffers and, in a simulation, the events of a trial grow with them.
const IN_FLIGHT_MAX: u64 = 65_536;
/// Most memory for the buffers of one cell's requests in flight.
const BUFFER_BYTES_MAX: u64 = 8 << 30;

pub(super) fn depth_of_synchronous(subject: &Subject<'_>) -> Option<Clash> {
    let (engine, depth) = (subject.engine(), subject.load.queue_depth);
    if depth <= 1 || !engine.is_synchronous() {
        return None;
    }
    let text = text(
        format!("a depth of {depth} with the synchronous engine {engine}"),
        format!("a depth of 1 with {engine}: a worker waits for its request"),
        format!("write workers = {depth} instead, or engine = \"uring\""),
    );
    Some(subject.clash("depth_of_synchronous", &marks!(subject.keys; workload.depth, workload.engine), text))
}

pub(super) fn batch_over_depth(subject: &Subject<'_>) -> Option<Clash> {
    let (batch, depth) = (subject.load.batch, subject.load.queue_depth);
    if batch <= depth {
        return None;
    }
    let text = text(
        format!("a batch of {batch} at a depth of {depth}"),
        format!("a batch from 1 to {depth}"),
        format!("write depth = {batch} or more, or a smaller batch"),
    );
    Some(subject.clash("batch_over_depth", &marks!(subject.keys; workload.batch, workload.depth), text))
}

/// Kept apart from the depth's rule, which says the same of a deep queue already.
pub(super) fn batch_of_synchronous(subject: &Subject<'_>) -> Option<Clash> {
    let engine = subject.engine();
    let batch = subject.load.batch;
    if batch <= 1 || subject.load.queue_depth > 1 || !engine.is_synchronous() {
        return None;
    }
    let text = text(
        format!("a batch of {batch} with the synchronous engine {engine}"),
        format!("a batch of 1 with {engine}"),
        "omit batch, or write engine = \"uring\" with a depth",
    );
    Some(subject.clash("batch_of_synchronous", &marks!(subject.keys; workload.batch), text))
}

/// A machine is simulated within a process, and what clients share of a path cannot be.
pub(super) fn clients_of_simulated(subject: &Subject<'_>) -> Option<Clash> {
    let clients = subject.load.clients;
    if clients <= 1 || !matches!(subject.target.form(), Target::Sim { .. }) {
        return None;
    }
    let target = subject.target;
    let text = text(
        format!("{clients} clients of {target}: each is a process with its own simulated machine"),
        format!("1 client of {target} with any number of workers, which share the machine"),
        format!("write workers = {clients} instead, or give a real target"),
    );
    Some(subject.clash("clients_of_simulated", &marks!(subject.keys; workload.clients, head.target), text))
}

pub(super) fn in_flight(subject: &Subject<'_>) -> Option<Clash> {
    let in_flight = subject.load.in_flight_configured();
    let buffers = in_flight.saturating_mul(subject.load.block_bytes.0);
    if in_flight <= IN_FLIGHT_MAX && buffers <= BUFFER_BYTES_MAX {
        return None;
    }
    let text = text(
        format!("{in_flight} requests in flight with buffers of {}", Bytes(buffers)),
        format!(
            "clients x workers x depth up to {IN_FLIGHT_MAX}, and buffers up to {}",
            Bytes(BUFFER_BYTES_MAX)
        ),
        "lower clients, workers, depth or block",
    );
    Some(subject.clash(
        "in_flight",
        &marks!(subject.keys; workload.depth, workload.workers, workload.clients),
        text,
    ))
}
