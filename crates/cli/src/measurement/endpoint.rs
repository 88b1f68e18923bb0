//! The control connection to an endpoint that takes part.

use crate::exit::CommandFailure;
use narrows_engines::Clock;
use narrows_engines::endpoint::ControlClient;
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
) -> Result<ControlClient, CommandFailure> {
    Ok(ControlClient::connect(host, port, token, clock, CONNECT_TIMEOUT_NS)?)
}
