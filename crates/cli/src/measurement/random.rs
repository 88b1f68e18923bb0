//! Numbers that nobody chose: seeds, which are recorded, and the names of folders and records.

use crate::exit::Failure;

/// A number drawn by the system.
///
/// # Errors
/// When the system has no random numbers.
pub(crate) fn random_u64() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| Failure::could_not_run(format!("draw a seed: {error}")))?;
    Ok(u64::from_le_bytes(bytes))
}
