//! `mpi-io-test`: each rank writes and reads blocks, one an iteration, and the slowest rank's time counts.
//!
//! # Source
//! `mpi-io-test.c` of PVFS2: options, order of calls, formulas and output lines. Two of its faults are not repeated: the
//! name that `-I` reads again, and the overflow of `-b`. `--scaling` is ours.

mod arguments;
mod iterations;

pub(super) use arguments::MpiIoTestArguments;

use super::phase::{MEGABYTE, TimeSpread, megabytes_per_s, wrong_count};
use super::room::{check_costs, check_room};
use super::suite_file::{check_absent, check_existing, check_folder};
use super::{SuiteFailure, SuiteOutput, folder_of, rank_count};
use crate::gathered::{agreed, bytes_of_first};
use crate::raw::StartedBarrier;
use arguments::{IoPoint, RankBlocks};
use iterations::IoTest;
use mpi::topology::{Color, Communicator as _, SimpleCommunicator};
use narrows_model::Op;
use narrows_model::collective::{CollectivePhase, CollectivePoint};
use narrows_sys::clock::wait_ns;
use std::path::Path;

/// Ranks without a part in a point look for its end after so long each time: their processors may be the others'.
const IDLE_LOOK_NS: u64 = 1_000_000;

/// Runs the test on all ranks of `world`.
pub(super) fn run(
    world: &SimpleCommunicator,
    arguments: &MpiIoTestArguments,
) -> Result<SuiteOutput, SuiteFailure> {
    let points = arguments.points(rank_count(world)).map_err(SuiteFailure::BadInput)?;
    let rank = u64::try_from(world.rank()).unwrap_or_default();
    let of_rank = |point: &IoPoint| RankBlocks { rank, point: *point };
    let path = arguments.path(world.rank());
    check_places(world, arguments, &path)?;
    // One point after the other has a file.
    let made_bytes = points.iter().map(|point| arguments.made_bytes(of_rank(point))).max();
    check_room(world, folder_of(&path), made_bytes.unwrap_or_default())?;
    if !arguments.options.yes {
        let moved = points.iter().map(|point| arguments.moved_bytes(of_rank(point)));
        check_costs(world, moved.fold(0, u64::saturating_add))?;
    }
    let mut measured = Vec::new();
    for point in &points {
        measured.push(measured_point(world, arguments, *point)?);
    }
    Ok(output(arguments, &points, measured))
}

/// Refuses files that exist where they would be written, and folders that do not.
fn check_places(
    world: &SimpleCommunicator,
    arguments: &MpiIoTestArguments,
    path: &Path,
) -> Result<(), SuiteFailure> {
    let looks = arguments.own_files || world.rank() == 0;
    let own = if arguments.read_only {
        check_existing(path)
    } else {
        check_folder(path).and_then(|()| if looks { check_absent(path) } else { Ok(()) })
    };
    agreed(world, own).map_err(SuiteFailure::BadInput)
}

/// What the first ranks of the job measure, while all others wait; known to all of them.
fn measured_point(
    world: &SimpleCommunicator,
    arguments: &MpiIoTestArguments,
    point: IoPoint,
) -> Result<CollectivePoint, SuiteFailure> {
    let rank = u64::try_from(world.rank()).unwrap_or_default();
    let blocks = RankBlocks { rank, point };
    if point.rank_count == rank_count(world) {
        return IoTest::new(world, arguments, blocks)?.measured();
    }
    let has_part = rank < u64::from(point.rank_count);
    let color = if has_part { Color::with_value(0) } else { Color::undefined() };
    let group = world.split_by_color_with_key(color, world.rank());
    let own = group.map(|group| IoTest::new(&group, arguments, blocks)?.measured());
    wait_for_all(world);
    // Rank 0 has a part in every point.
    let known = bytes_of_first(world, serde_json::to_vec(&own).unwrap_or_default());
    let known: Option<Result<CollectivePoint, SuiteFailure>> =
        serde_json::from_slice(&known).unwrap_or_default();
    known.unwrap_or_else(|| {
        Err(SuiteFailure::CouldNotRun("rank 0 did not say what the ranks of a point measured".to_owned()))
    })
}

/// Waits until all ranks are here, without a processor.
fn wait_for_all(world: &SimpleCommunicator) {
    // Where the library refuses, the call that follows waits.
    let Some(mut barrier) = StartedBarrier::enter(world) else { return };
    while !barrier.is_over() {
        // One that ends early looks again.
        let _ = wait_ns(IDLE_LOOK_NS);
    }
}

fn output(arguments: &MpiIoTestArguments, planned: &[IoPoint], points: Vec<CollectivePoint>) -> SuiteOutput {
    let is_scaling = !arguments.scaling.is_empty();
    let wrong = wrong_count(points.iter().flat_map(|point| &point.phases));
    let mut text = "# Using mpi-io calls.\n".to_owned();
    if is_scaling {
        text.push_str(&plot_data(arguments, planned, &points));
    } else {
        text.extend(planned.iter().zip(&points).map(|(planned, point)| lines(arguments, *planned, point)));
    }
    if wrong == Some(0) {
        text.push_str(if is_scaling { "# Correctness test passed.\n" } else { "Correctness test passed.\n" });
    }
    let mismatch = wrong.filter(|count| *count > 0).map(|count| {
        format!("Correctness test failed: {count} bytes of those read differ from those written")
    });
    SuiteOutput { text, points, mismatch }
}

/// The lines of the original.
fn lines(arguments: &MpiIoTestArguments, planned: IoPoint, point: &CollectivePoint) -> String {
    let mut text = format!(
        "nr_procs = {}, nr_iter = {}, blk_sz = {}, coll = {}\n# total_size = {}\n",
        planned.rank_count,
        arguments.iterations,
        planned.block_bytes,
        u8::from(arguments.collective),
        total_bytes(point),
    );
    for phase in &point.phases {
        let name = if phase.op == Op::Write { "Write:" } else { "Read: " };
        text.push_str(&TimeSpread::from_ranks(phase, |rank| rank.transfer_ns).line(name));
    }
    for phase in &point.phases {
        let name = if phase.op == Op::Write { "Write" } else { "Read" };
        let line = format!("{name} bandwidth = {:.6} Mbytes/sec\n", megabytes_per_s(phase, MEGABYTE));
        text.push_str(&line);
    }
    text
}

/// A line for each point, in columns, and two empty lines between blocks, by which gnuplot knows one curve from the next.
fn plot_data(arguments: &MpiIoTestArguments, planned: &[IoPoint], points: &[CollectivePoint]) -> String {
    let mut text = format!(
        "# nr_iter = {}, coll = {}\n# nr_procs blk_sz total_size write_Mbytes/sec read_Mbytes/sec write_max_t read_max_t\n",
        arguments.iterations,
        u8::from(arguments.collective)
    );
    let mut before = None;
    for (planned, point) in planned.iter().zip(points) {
        let IoPoint { rank_count, block_bytes } = *planned;
        if before.is_some_and(|before| before != block_bytes) {
            text.push_str("\n\n");
        }
        before = Some(block_bytes);
        let rates = each(point, |phase| megabytes_per_s(phase, MEGABYTE));
        let seconds = each(point, |phase| phase.slowest_ns().as_secs_f64());
        let line = format!("{rank_count} {block_bytes} {} {rates} {seconds}\n", total_bytes(point));
        text.push_str(&line);
    }
    text
}

/// A number of each phase.
fn each(point: &CollectivePoint, number: impl Fn(&CollectivePhase) -> f64) -> String {
    point.phases.iter().map(|phase| format!("{:.6}", number(phase))).collect::<Vec<String>>().join(" ")
}

/// Bytes that a phase moves.
fn total_bytes(point: &CollectivePoint) -> u64 {
    point.phases.first().map_or(0, |phase| phase.bytes.0)
}
