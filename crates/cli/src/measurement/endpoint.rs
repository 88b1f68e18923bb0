//! The control connection to an endpoint that takes part.

use crate::exit::CommandFailure;
use narrows_engines::Clock;
use narrows_engines::endpoint::{ControlClient, PeerProbe};
use narrows_run::peer_monitor::PEER_TIMEOUT_NS;
use narrows_run::{PeerLoss, PeerMonitor, StopFlag};
use std::sync::Arc;

/// Longest wait for the endpoint's answers before load is put on.
pub(crate) const CONNECT_TIMEOUT_NS: u64 = 5_000_000_000;

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

/// Asks `peers` from now on whether they still answer; the first that does not is noted in `loss`, and `stop` asks to stop.
///
/// # Errors
/// When one of them takes no second connection, or the machine starts no thread.
pub(crate) fn monitor(
    peers: &[&ControlClient],
    token: Option<&[u8]>,
    stop: &StopFlag,
    loss: &PeerLoss,
) -> Result<PeerMonitor, CommandFailure> {
    let probes = |ending: &StopFlag| {
        peers.iter().map(|client| PeerProbe::beside(client, token, PEER_TIMEOUT_NS, ending)).collect()
    };
    Ok(PeerMonitor::start(probes, stop, loss)?)
}
