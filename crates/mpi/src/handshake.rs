//! The start of a job: all ranks learn who they are, whether they run the same, and how far their clocks are apart.
//!
//! The calls here wait for all ranks, as the start of MPI itself does; nothing is measured yet.

use crate::BAD_INPUT;
use crate::gathered::gathered;
use crate::identity::{RankIdentity, difference};
use mpi::collective::Root as _;
use mpi::point_to_point::{Destination as _, Source as _};
use mpi::topology::{Communicator as _, SimpleCommunicator};
use narrows_model::Nanos;
use narrows_model::rank::RankFacts;
use narrows_sys::clock::Monotonic;

/// Round trips by which an offset between clocks is measured; the shortest counts.
const ROUND_TRIPS: u32 = 16;
/// Tag of those.
const CLOCK_TAG: i32 = 7702;

/// What a rank knows of its job.
pub(crate) struct MpiJob {
    /// This rank.
    pub(crate) rank: u32,
    /// All ranks, as the record names them; only rank 0 knows their offsets.
    pub(crate) ranks: Vec<RankFacts>,
    /// Where each rank is, seen from here.
    pub(crate) places: Vec<RankPlace>,
}

/// Where a rank is, seen from rank 0.
#[derive(Debug, Clone)]
pub(crate) struct RankPlace {
    /// The name of its host.
    pub(crate) host: String,
    /// Its process and when that was started, where both are known here by their numbers: it then has the paths and devices
    /// of rank 0 too.
    pub(crate) process: Option<(u32, u64)>,
    /// Whether it has the page cache of rank 0: [`RankFacts::shares_machine`].
    pub(crate) shares_machine: bool,
}

/// Why a job does not begin.
pub(crate) struct JobRefusal {
    /// Why, on the one rank that says so.
    pub(crate) message: Option<String>,
    /// The exit code of that rank; the others end with 0, because launchers kill all ranks once one has ended with another.
    pub(crate) code: u8,
}

/// Joins the job.
///
/// # Errors
/// When ranks differ in what they run.
pub(crate) fn join(world: &SimpleCommunicator) -> Result<MpiJob, JobRefusal> {
    let all = exchange(world, &RankIdentity::of_this_process());
    let rank = u32::try_from(world.rank()).unwrap_or_default();
    let expected = usize::try_from(world.size()).unwrap_or_default();
    let problem = if all.len() == expected { difference(&all) } else { Some(unreadable()) };
    if let Some(problem) = problem {
        return Err(JobRefusal { message: (rank == 0).then_some(problem), code: BAD_INPUT });
    }
    let offsets = clock_offsets(world, &all);
    let facts = |(number, (identity, offset)): (u32, (&RankIdentity, &ClockOffset))| RankFacts {
        rank: number,
        host: identity.host.clone(),
        pid: identity.pid,
        cpus: identity.cpus.clone(),
        memory_bytes: identity.memory_bytes,
        clock_offset_ns: offset.offset_ns,
        clock_uncertainty_ns: Nanos(offset.uncertainty_ns),
    };
    let first = &all[0];
    let place = |(identity, facts): (&RankIdentity, &RankFacts)| RankPlace {
        host: identity.host.clone(),
        process: first.knows_process_of(identity).then_some((identity.pid, identity.started_ticks)),
        shares_machine: facts.shares_machine(),
    };
    let ranks: Vec<RankFacts> = (0..).zip(all.iter().zip(&offsets)).map(facts).collect();
    let places = all.iter().zip(&ranks).map(place).collect();
    Ok(MpiJob { rank, ranks, places })
}

fn unreadable() -> String {
    "the ranks of this job cannot read what the others say of themselves; install one build of narrows-mpi on all hosts"
        .to_owned()
}

/// What all ranks say of themselves, in their order; fewer where one cannot be read.
fn exchange(world: &SimpleCommunicator, own: &RankIdentity) -> Vec<RankIdentity> {
    let all = gathered(world, serde_json::to_vec(own).unwrap_or_default());
    all.iter().filter_map(|one| serde_json::from_slice(one).ok()).collect()
}

/// How far a rank's clock is before that of rank 0.
#[derive(Debug, Clone, Copy, Default)]
struct ClockOffset {
    offset_ns: i64,
    uncertainty_ns: u64,
}

/// The offsets of all ranks, known to all of them afterwards. Ranks with the clock of rank 0 have none.
///
/// # Source
/// Cristian, Probabilistic clock synchronization (1989): the reading is taken to be of the middle of the round trip.
fn clock_offsets(world: &SimpleCommunicator, all: &[RankIdentity]) -> Vec<ClockOffset> {
    let clock = Monotonic::new();
    let first = &all[0];
    let mut flat = vec![0_i64; all.len() * 2];
    for (number, identity) in all.iter().enumerate().filter(|(_, identity)| identity.clock != first.clock) {
        let number = i32::try_from(number).unwrap_or_default();
        if world.rank() == 0 {
            let measured = measure(world, number, &clock);
            let index = usize::try_from(number).unwrap_or_default() * 2;
            flat[index] = measured.offset_ns;
            flat[index + 1] = i64::try_from(measured.uncertainty_ns).unwrap_or(i64::MAX);
        } else if world.rank() == number {
            let _ = identity;
            answer(world, &clock);
        }
    }
    world.process_at_rank(0).broadcast_into(&mut flat[..]);
    let pair = |pair: &[i64]| ClockOffset { offset_ns: pair[0], uncertainty_ns: pair[1].unsigned_abs() };
    flat.chunks_exact(2).map(pair).collect()
}

fn measure(world: &SimpleCommunicator, rank: i32, clock: &Monotonic) -> ClockOffset {
    let peer = world.process_at_rank(rank);
    let mut best: Option<ClockOffset> = None;
    for _ in 0..ROUND_TRIPS {
        let before_ns = clock.now_ns();
        peer.send_with_tag(&0_i64, CLOCK_TAG);
        let (theirs_ns, _) = peer.receive_with_tag::<i64>(CLOCK_TAG);
        // Never 0, by which the same clock is known.
        let half_ns = (clock.now_ns().saturating_sub(before_ns) / 2).max(1);
        let middle_ns = i64::try_from(before_ns + half_ns).unwrap_or(i64::MAX);
        let one = ClockOffset { offset_ns: theirs_ns.saturating_sub(middle_ns), uncertainty_ns: half_ns };
        if best.is_none_or(|best| one.uncertainty_ns < best.uncertainty_ns) {
            best = Some(one);
        }
    }
    best.unwrap_or_default()
}

fn answer(world: &SimpleCommunicator, clock: &Monotonic) {
    let first = world.process_at_rank(0);
    for _ in 0..ROUND_TRIPS {
        let _ = first.receive_with_tag::<i64>(CLOCK_TAG);
        let now_ns = i64::try_from(clock.now_ns()).unwrap_or(i64::MAX);
        first.send_with_tag(&now_ns, CLOCK_TAG);
    }
}
