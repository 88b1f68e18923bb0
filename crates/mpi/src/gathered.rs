//! Bytes of every rank, known to all ranks. All of them call it together, and it waits for all.

use mpi::collective::CommunicatorCollectives as _;
use mpi::topology::{Communicator as _, SimpleCommunicator};

/// The bytes of all ranks, in their order, of which `own` are this rank's.
pub(crate) fn gathered(world: &SimpleCommunicator, own: Vec<u8>) -> Vec<Vec<u8>> {
    let length = i32::try_from(own.len()).unwrap_or(i32::MAX);
    let mut lengths = vec![0_i32; usize::try_from(world.size()).unwrap_or_default()];
    world.all_gather_into(&length, &mut lengths[..]);
    let lengths: Vec<usize> =
        lengths.into_iter().map(|length| usize::try_from(length).unwrap_or_default()).collect();
    let longest = lengths.iter().copied().max().unwrap_or_default();
    if longest == 0 {
        return vec![Vec::new(); lengths.len()];
    }
    let mut padded = own;
    padded.resize(longest, 0);
    let mut all = vec![0_u8; longest * lengths.len()];
    world.all_gather_into(&padded[..], &mut all[..]);
    all.chunks(longest).zip(lengths).map(|(bytes, length)| bytes[..length.min(longest)].to_vec()).collect()
}

/// `own`, unless a rank has failed: then the first failure, with its rank, on all of them.
///
/// # Errors
/// That failure.
pub(crate) fn agreed<T>(world: &SimpleCommunicator, own: Result<T, String>) -> Result<T, String> {
    let (own, problem) = match own {
        Ok(value) => (Some(value), String::new()),
        Err(problem) => (None, problem),
    };
    let problems = gathered(world, problem.into_bytes());
    let first = problems.iter().enumerate().find(|(_, problem)| !problem.is_empty());
    match (first, own) {
        (None, Some(value)) => Ok(value),
        (Some((rank, problem)), _) => Err(format!("rank {rank}: {}", String::from_utf8_lossy(problem))),
        (None, None) => Err("a rank failed without a reason".to_owned()),
    }
}
