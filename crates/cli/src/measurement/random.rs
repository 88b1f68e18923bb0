//! Numbers that nobody chose: seeds, which are recorded, and the names of folders and records.

use crate::exit::CommandFailure;

/// A number drawn by the system.
///
/// # Errors
/// When the system has no random numbers.
pub(crate) fn random_u64() -> Result<u64, CommandFailure> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| CommandFailure::could_not_run(format!("draw a seed: {error}")))?;
    Ok(u64::from_le_bytes(bytes))
}
