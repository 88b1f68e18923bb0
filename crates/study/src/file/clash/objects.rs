//! What loads of whole objects take.

use super::{Clash, Subject, text};
use crate::file::fields::marks;
use narrows_model::Op;
use narrows_model::workload::{ObjectSync, Order, SYNCED_FOLDERS_MAX};

pub(super) fn order_of_objects(subject: &Subject<'_>) -> Option<Clash> {
    let order = subject.load.order;
    let (allowed, hint): (&str, &str) = match &subject.load.objects {
        None if order == Order::Listing => (
            "order = \"listing\" with op = \"stat\" or \"delete\"",
            "write order = \"sequential\" for blocks",
        ),
        None => return None,
        Some(set) if set.transactions.is_some() => match order {
            Order::Sequential => return None,
            _ => ("no order with transactions, which choose objects at random", "omit order"),
        },
        Some(_) => match order {
            Order::Sequential | Order::Random => return None,
            Order::Listing if matches!(subject.load.op, Op::Stat | Op::Delete) => return None,
            _ => (
                "\"sequential\" or \"random\" for objects, \"listing\" for stat and delete",
                "write order = \"random\"",
            ),
        },
    };
    let text = text(format!("order = \"{order}\" with op = \"{}\"", subject.load.op), allowed, hint);
    Some(subject.clash("order_of_objects", &marks!(subject.keys; workload.order, workload.op), text))
}

/// A folder is listed to one reader at a time.
pub(super) fn listing_of_workers(subject: &Subject<'_>) -> Option<Clash> {
    let workers = subject.load.workers;
    if subject.load.order != Order::Listing || workers <= 1 || subject.load.objects.is_none() {
        return None;
    }
    let text = text(
        format!("order = \"listing\" with {workers} workers"),
        "one worker, which visits everything that the folder lists",
        format!("write clients = {workers} instead: each has its own objects"),
    );
    Some(subject.clash("listing_of_workers", &marks!(subject.keys; workload.order, workload.workers), text))
}

pub(super) fn worker_without_object(subject: &Subject<'_>) -> Option<Clash> {
    let (count, workers) = (subject.load.objects?.count, subject.load.workers);
    if count >= u64::from(workers) {
        return None;
    }
    let text = text(
        format!("{count} objects for {workers} workers"),
        "at least one object for each worker",
        format!("write count = {workers} or more in [workload.objects], or fewer workers"),
    );
    Some(subject.clash("worker_without_object", &marks!(subject.keys; objects.count, workload.workers), text))
}

pub(super) fn sizes_of_objects(subject: &Subject<'_>) -> Option<Clash> {
    let set = subject.load.objects?;
    if set.min_bytes <= set.max_bytes {
        return None;
    }
    let text = text(
        format!("objects of at least {} and at most {}", set.min_bytes, set.max_bytes),
        "max equal to min or more",
        format!("write max = \"{}\" or more, or a smaller min", set.min_bytes),
    );
    Some(subject.clash("sizes_of_objects", &marks!(subject.keys; objects.max, objects.min), text))
}

pub(super) fn synced_folders(subject: &Subject<'_>) -> Option<Clash> {
    let set = subject.load.objects?;
    if set.sync != ObjectSync::DataAndFolder || set.folders <= SYNCED_FOLDERS_MAX {
        return None;
    }
    let text = text(
        format!("{} folders that are synced, each of which stays open", set.folders),
        format!("up to {SYNCED_FOLDERS_MAX} folders with sync = \"data_and_folder\""),
        format!("write folders = {SYNCED_FOLDERS_MAX} or fewer, or sync = \"data\""),
    );
    Some(subject.clash("synced_folders", &marks!(subject.keys; objects.folders, objects.sync), text))
}

/// Engines with one request in flight have a rule of their own, which says more of engines.
pub(super) fn depth_of_objects(subject: &Subject<'_>) -> Option<Clash> {
    let (depth, batch) = (subject.load.queue_depth, subject.load.batch);
    if subject.load.objects.is_none() || (depth <= 1 && batch <= 1) || subject.engine().is_synchronous() {
        return None;
    }
    let text = text(
        format!("a depth of {depth} and a batch of {batch} with whole objects"),
        "a depth of 1: a worker handles one object after the other",
        format!("write workers = {} instead", depth.max(batch)),
    );
    Some(subject.clash("depth_of_objects", &marks!(subject.keys; workload.depth, workload.batch), text))
}

pub(super) fn window_of_objects(subject: &Subject<'_>) -> Option<Clash> {
    let stop = subject.keys.trial_stop();
    if subject.load.objects.is_none() || (stop.warm_up_ns.0 == 0 && stop.bytes_max.is_none()) {
        return None;
    }
    let text = text(
        "a warm-up, or a bound in bytes, with whole objects",
        "neither: a trial ends when each object was visited once, by ops, or by its time",
        "omit warm_up and bytes",
    );
    Some(subject.clash("window_of_objects", &marks!(subject.keys; stop.warm_up, stop.bytes), text))
}
