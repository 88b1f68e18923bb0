//! An endpoint that takes part: its control connection, and the room in its store.

use crate::exit::Failure;
use narrows_engines::Clock;
use narrows_engines::endpoint::ControlClient;
use narrows_model::Bytes;
use std::sync::Arc;

/// Longest wait for the endpoint's answers before load is put on.
pub(crate) const CONNECT_TIMEOUT_NS: u64 = 10_000_000_000;

/// The control connection to the endpoint at `host` and `port`.
///
/// # Errors
/// When nothing answers there, what answers is no endpoint of this version, or the token is wrong.
pub(crate) fn connect(
    host: &str,
    port: u16,
    token: Option<&[u8]>,
    clock: Arc<dyn Clock>,
) -> Result<ControlClient, Failure> {
    Ok(ControlClient::connect(host, port, token, clock, CONNECT_TIMEOUT_NS)?)
}

/// Free space in the store of the endpoint that `client` speaks to: the file system's, or what its quota leaves.
pub(crate) fn store_free_bytes(client: &ControlClient) -> Option<Bytes> {
    let free = client.inventory().path.as_ref().and_then(|path| path.free_bytes);
    match (free, client.facts().quota_bytes) {
        (Some(free), Some(quota)) => Some(free.min(quota)),
        (free, quota) => free.or(quota),
    }
}
