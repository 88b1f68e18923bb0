//! Bytes of every rank, known to all ranks. All of them call it together, and it waits for all.

use mpi::collective::{CommunicatorCollectives as _, Root as _};
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

/// `N` numbers of every rank, in the order of ranks, of which `own` are this rank's.
pub(crate) fn gathered_numbers<const N: usize>(world: &SimpleCommunicator, own: [u64; N]) -> Vec<[u64; N]> {
    let mut all = vec![0_u64; N * usize::try_from(world.size()).unwrap_or_default()];
    world.all_gather_into(&own[..], &mut all[..]);
    all.chunks_exact(N).map(|numbers| numbers.try_into().unwrap_or([0; N])).collect()
}

/// The bytes that rank 0 has, on all of them.
pub(crate) fn bytes_of_first(world: &SimpleCommunicator, own: Vec<u8>) -> Vec<u8> {
    let first = world.process_at_rank(0);
    let mut length = own.len() as u64;
    first.broadcast_into(&mut length);
    let mut bytes = own;
    bytes.resize(usize::try_from(length).unwrap_or_default(), 0);
    if !bytes.is_empty() {
        first.broadcast_into(&mut bytes[..]);
    }
    bytes
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
