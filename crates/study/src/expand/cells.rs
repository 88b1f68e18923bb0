//! The path cells of a study's points, and the points that this machine does not let be measured.

use super::StudyFacts;
use super::facts::TargetFacts;
use crate::cut;
use crate::file::{Study, StudyPoint, StudyProblems};
use crate::schema::Complaint;
use narrows_model::capabilities::{Capabilities, Support};
use narrows_model::plan::SkippedCell;
use narrows_model::workload::{Access, CacheState, SyncPolicy};
use narrows_model::{Bytes, Cell, CellId, Cut, EngineId, Layer, Nanos, Site, Stop, Target};

/// Test files never take more of the free space: a file system that is full hurts everybody on it.
const FREE_SHARE_MAX: (u64, u64) = (9, 10);
/// Factors that are in the name of every cell.
const NAMED: &[&str] = &["op", "block", "depth", "workers", "clients"];

/// Cells in the order of the sweep, and the skips.
pub(super) struct StudyCells {
    pub(super) cells: Vec<Cell>,
    pub(super) skipped: Vec<SkippedCell>,
}

/// The cells of a study's points.
///
/// # Errors
/// When a file that exists would be written by every point of it.
pub(super) fn cells(study: &Study, facts: &StudyFacts) -> Result<StudyCells, StudyProblems> {
    written_files(study, facts)?;
    let mut planned = StudyCells { cells: Vec::new(), skipped: Vec::new() };
    for point in &study.points {
        let cell = cell(point, facts);
        match point.left_out.clone().or_else(|| refusal(point, &cell, facts)) {
            None => planned.cells.push(cell),
            Some(reason) => planned.skipped.push(SkippedCell { cell: cell.id, reason }),
        }
    }
    Ok(planned)
}

/// Targets that exist are read, never written.
fn written_files(study: &Study, facts: &StudyFacts) -> Result<(), StudyProblems> {
    for target in facts.targets.iter().filter(|target| target.existing_file.is_some()) {
        let points = || study.points.iter().filter(|point| point.target == target.target);
        if points().next().is_none() {
            continue;
        }
        if points().all(|point| point.workload.verify) {
            let complaint = Complaint::new(
                "workload.verify",
                format!("verify = true at {}, which exists", target.target),
                match &target.read_only_reason {
                    Some(reason) => format!("what narrows has written itself: {reason}"),
                    None => "a folder: only what narrows has written can be verified".to_owned(),
                },
                match &target.read_only_reason {
                    Some(_) => "omit verify, or allow it to be written",
                    None => "name its folder as the target: narrows creates a test file there",
                },
            );
            return Err(super::problem(study, &study.positions.verify, complaint));
        }
        if !points().all(|point| cut::writes(&point.workload)) {
            continue;
        }
        if let Some(reason) = &target.read_only_reason {
            let complaint = Complaint::new(
                "workload.op",
                format!("writes to {}", target.target),
                format!("reading it: {reason}"),
                "read it, or allow it to be written",
            );
            return Err(super::problem(study, &study.positions.op, complaint));
        }
        let complaint = Complaint::new(
            "workload.op",
            format!("writes to {}, which exists", target.target),
            "reading it: narrows never changes files that it did not create",
            "name its folder as the target: narrows creates a test file there",
        );
        return Err(super::problem(study, &study.positions.op, complaint));
    }
    Ok(())
}

fn cell(point: &StudyPoint, facts: &StudyFacts) -> Cell {
    // Of several files that are read together the shortest is read whole.
    let lengths = std::iter::once(&point.target).chain(&point.more_targets);
    let existing_file = lengths.filter_map(|target| facts.target_facts(target)?.existing_file).min();
    let mut workload = point.workload.clone();
    if let (Some(length), false) = (existing_file, point.file_given) {
        workload.file_bytes = length;
    }
    let mut stop = point.stop;
    if let Some(length) = existing_file {
        once_if_cold(&mut stop, point, length);
    }
    Cell {
        id: id(point),
        cut: Cut::Path,
        site: Site::Client,
        target: point.target.clone(),
        workload,
        stop,
        trials: point.trials,
        repeat: point.repeat,
        more_targets: point.more_targets.clone(),
        factors: point.factors.clone(),
        confirms: None,
        refines: false,
        read_only: existing_file.is_some(),
    }
}

/// A second pass over a file finds it in the page cache: a cold load visits it once, from the first request on.
fn once_if_cold(stop: &mut Stop, point: &StudyPoint, length: Bytes) {
    let load = &point.workload;
    if load.cache != CacheState::Cold || load.access != Access::Buffered {
        return;
    }
    let once = Bytes(length.0.saturating_mul(point.more_targets.len() as u64 + 1));
    stop.bytes_max = Some(stop.bytes_max.map_or(once, |bound| bound.min(once)));
    if !point.warm_up_given {
        stop.warm_up_ns = Nanos(0);
    }
}

/// The cell's name with every factor that is not part of it anyway and applies to the cell; where one does not apply, only
/// the first of its values is measured.
fn id(point: &StudyPoint) -> CellId {
    let mut parts = vec![Cell::name(Cut::Path, &point.workload).0];
    let is_idle = |factor: &str| {
        let names = |path: &&str| path.strip_prefix("workload.").unwrap_or(path) == factor;
        point.left_out.is_none() && point.idle.iter().any(names)
    };
    let others = point.words.iter().filter(|(factor, _)| !NAMED.contains(factor) && !is_idle(factor));
    parts.extend(others.map(|(factor, words)| format!("{factor}={words}")));
    CellId(parts.join("/"))
}

/// Why a point cannot be measured here; `None` when it can.
fn refusal(point: &StudyPoint, cell: &Cell, facts: &StudyFacts) -> Option<String> {
    let exists =
        |target: &Target| facts.target_facts(target).is_some_and(|facts| facts.existing_file.is_some());
    if cell.more_targets.iter().any(|target| exists(target) != exists(&cell.target)) {
        return Some("one cell cannot load both an existing file and a folder for test files".to_owned());
    }
    std::iter::once(&cell.target).chain(&cell.more_targets).find_map(|target| {
        by_engine(cell, target, facts).or_else(|| by_place(point, cell, facts.target_facts(target)?))
    })
}

fn by_engine(cell: &Cell, target: &Target, facts: &StudyFacts) -> Option<String> {
    let engine = cell.workload.engine;
    match facts.answer(target, engine)? {
        Err(reason) => {
            let engine = engine.or_else(|| target.default_engine());
            let name = engine.map_or("", |engine| engine.name());
            Some(format!("the engine {name} cannot be used with {target}: {reason}"))
        }
        Ok(capabilities) => by_capability(cell, capabilities).or_else(|| {
            let reason = facts.refused_rings(&cell.workload, target)?;
            Some(format!("the engine {} cannot be used for this load: {reason}", capabilities.engine))
        }),
    }
}

fn by_capability(cell: &Cell, capabilities: &Capabilities) -> Option<String> {
    let load = &cell.workload;
    let engine = &capabilities.engine;
    if let Some(share) = load.ops().iter().find(|share| !capabilities.ops.contains(&share.op)) {
        return Some(format!("the engine {engine} cannot {} here", share.op));
    }
    if load.queue_depth > capabilities.queue_depth_max {
        let most = capabilities.queue_depth_max;
        return Some(format!(
            "a worker of {engine} has at most {most} requests in flight, not {}",
            load.queue_depth
        ));
    }
    if let (SyncPolicy::Dsync, Support::No { reason }) = (load.sync, &capabilities.durable_writes) {
        return Some(format!("writes cannot be made durable one by one: {reason}"));
    }
    let polls = load.ring.completion_polling && load.engine == Some(EngineId::Uring);
    if let (true, Support::No { reason }) = (polls, &capabilities.completion_polling) {
        return Some(format!("completions cannot be polled for: {reason}"));
    }
    if load.access == Access::Direct {
        let refused = |block| cut::direct(Some(capabilities), block).err();
        return load.blocks().iter().find_map(|share| refused(share.block_bytes));
    }
    None
}

fn by_place(point: &StudyPoint, cell: &Cell, known: &TargetFacts) -> Option<String> {
    let load = &cell.workload;
    let Some(length) = known.existing_file else { return no_room(cell, known) };
    if let Some(reason) = known.read_only_reason.as_ref().filter(|_| cut::writes(load)) {
        return Some(reason.clone());
    }
    if cut::writes(load) {
        return Some(format!("{} exists already and is only read", known.target));
    }
    if load.objects.is_some() {
        return Some(format!("{} is a file, and whole files need a folder", known.target));
    }
    if load.verify {
        let target = &known.target;
        return Some(format!(
            "{target} exists already: its content was not written by narrows and cannot be verified"
        ));
    }
    if point.file_given && load.file_bytes > length {
        return Some(format!("{} has {length}, less than the {} requested", known.target, load.file_bytes));
    }
    let workers = u64::from(load.workers).saturating_mul(clients_at_each(cell));
    let least = Bytes(load.block_bytes.0.saturating_mul(workers));
    (length < least).then(|| format!("{} has {length}, less than a block for each worker", known.target))
}

fn no_room(cell: &Cell, known: &TargetFacts) -> Option<String> {
    let stores = matches!(
        known.target.form(),
        Target::File { .. }
            | Target::Block(_)
            | Target::Tcp { layer: Layer::Memory | Layer::Disk, .. }
            | Target::Scheme { .. }
    );
    let free = known.free_bytes.filter(|_| stores)?;
    let (part, whole) = FREE_SHARE_MAX;
    let limit = Bytes(free.0 / whole * part);
    let needed = Bytes(cell.workload.file_bytes.0.saturating_mul(clients_at_each(cell)));
    (needed > limit).then(|| {
        format!(
            "needs files of {needed} in {}, and nine tenths of the free space are {}",
            known.target,
            readable(limit)
        )
    })
}

/// A size that is no round number, as people read it.
fn readable(bytes: Bytes) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    match bytes.0 as f64 / MIB {
        mib if mib >= 1024.0 => format!("{:.1} GiB", mib / 1024.0),
        mib if mib >= 1.0 => format!("{mib:.1} MiB"),
        _ => bytes.to_string(),
    }
}

/// Clients at each of the cell's targets.
pub(super) fn clients_at_each(cell: &Cell) -> u64 {
    let targets = cell.more_targets.len() as u64 + 1;
    u64::from(cell.workload.clients).div_ceil(targets)
}
