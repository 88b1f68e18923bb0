//! A proxy on the way to an endpoint: whether one answers there, leads to the endpoint, and can be left out.

use super::endpoint::{CONNECT_TIMEOUT_NS, connect};
use crate::exit::CommandFailure;
use narrows_engines::endpoint::ControlClient;
use narrows_engines::host_lookup::{LOOKUP_TIMEOUT, look_up};
use narrows_engines::{Clock, EngineError, ErrorKind};
use narrows_model::target::host_port;
use narrows_model::{Target, Via};
use std::net::SocketAddr;
use std::sync::Arc;

/// Longest wait for the endpoint without its proxy: who cannot reach it may wait for an answer that never comes.
const PAST_TIMEOUT_NS: u64 = 2_000_000_000;

/// The endpoint at `target` and the proxy on the way to it, where it names one.
///
/// # Errors
/// As [`connect`]; what answers at the proxy's address is no `narrows proxy`, answers nobody, or leads elsewhere.
pub(crate) fn connect_through(
    host: &str,
    port: u16,
    via: Option<&Via>,
    token: Option<&[u8]>,
    clock: &Arc<dyn Clock>,
) -> Result<(ControlClient, Option<ControlClient>), CommandFailure> {
    let Some(via) = via else { return Ok((connect(host, port, token, Arc::clone(clock))?, None)) };
    let proxy =
        ControlClient::connect_proxy(&via.host, via.port, token, Arc::clone(clock), CONNECT_TIMEOUT_NS)
            .map_err(|error| no_proxy(via, &error))?;
    check_forwards_to(&proxy.facts().forwards_to, via, host, port)?;
    if is_proxy(host, port, token, Arc::clone(clock)) {
        return Err(CommandFailure::bad_input(format!(
            "another proxy answers at {host}:{port}, behind the one at {via}: a path can have only one proxy, whose \
             counters are recorded; name the endpoint itself, and one proxy with --to it"
        )));
    }
    let server =
        ControlClient::connect_via((host, port), Some(via), token, Arc::clone(clock), CONNECT_TIMEOUT_NS)?;
    Ok((server, Some(proxy)))
}

/// Whether a proxy answers for itself at `host` and `port`. An endpoint alone says that it is none; a proxy may want a token
/// of its own, or answer nobody.
pub(crate) fn is_proxy(host: &str, port: u16, token: Option<&[u8]>, clock: Arc<dyn Clock>) -> bool {
    match ControlClient::connect_proxy(host, port, token, clock, PAST_TIMEOUT_NS) {
        Ok(_) => true,
        Err(error) => matches!(error.kind, ErrorKind::Permission | ErrorKind::Token),
    }
}

/// Whether the endpoint that `server` speaks to through a proxy is reached without it too, or why not.
///
/// # Errors
/// Why not, in words: nothing answers there, or another machine does.
pub(crate) fn past_the_proxy(
    server: &ControlClient,
    target: &Target,
    token: Option<&[u8]>,
    clock: &Arc<dyn Clock>,
) -> Result<(), String> {
    let Target::Tcp { host, port, .. } = target else { return Err("it is not an endpoint".to_owned()) };
    let alone = ControlClient::connect(host, *port, token, Arc::clone(clock), PAST_TIMEOUT_NS);
    let alone =
        alone.map_err(|error| format!("the endpoint cannot be reached without the proxy: {error}"))?;
    let (ours, theirs) = (server.facts(), alone.facts());
    let same = (&ours.boot_id, &ours.hostname, &ours.store_root, &ours.store_device)
        == (&theirs.boot_id, &theirs.hostname, &theirs.store_root, &theirs.store_device);
    if same && alone.facts().forwards_to.is_empty() {
        Ok(())
    } else {
        Err(format!("without the proxy another endpoint answers at {} ({})", theirs.address, theirs.hostname))
    }
}

/// Why there is no proxy to ask, with what to do.
fn no_proxy(via: &Via, error: &EngineError) -> CommandFailure {
    let text = format!(
        "no `narrows proxy` answers at {via}: {error}; a path can only use a `narrows proxy --listen {via} --to \
         HOST:PORT`, whose counters are recorded"
    );
    match error.kind {
        // Something is there and speaks otherwise, or refuses: the address or the token must be typed otherwise.
        ErrorKind::Protocol | ErrorKind::Unsupported | ErrorKind::Permission | ErrorKind::Token => {
            CommandFailure::bad_input(text)
        }
        _ => CommandFailure::could_not_run(text),
    }
}

/// Whether one of the places that a proxy forwards to is the endpoint that was named.
fn check_forwards_to(forwards_to: &[String], via: &Via, host: &str, port: u16) -> Result<(), CommandFailure> {
    let Some(forward) = forwards_to.first() else {
        return Err(CommandFailure::bad_input(format!(
            "the proxy at {via} does not report its destination; run the same version of narrows there"
        )));
    };
    let by_name = host_port(forward).is_ok_and(|known| known == (host.to_owned(), port));
    if by_name || addresses_of(host, port).iter().any(|address| is_among(forwards_to, *address)) {
        return Ok(());
    }
    let others = forwards_to.get(1..).unwrap_or_default();
    let others = others.iter().filter(|other| *other != forward).map(|other| format!(" ({other})"));
    Err(CommandFailure::bad_input(format!(
        "the proxy at {via} forwards to {forward}{}, not to {host}:{port}; give the target as \
         tcp://{forward}/LAYER?via={via}, or start the proxy with --to {host}:{port}",
        others.collect::<String>()
    )))
}

/// The addresses of a host as this machine knows them; none where it does not.
fn addresses_of(host: &str, port: u16) -> Vec<SocketAddr> {
    look_up(host, port, LOOKUP_TIMEOUT, &|| false).unwrap_or_default()
}

fn is_among(forwards_to: &[String], address: SocketAddr) -> bool {
    let same = |known: SocketAddr| {
        known.port() == address.port() && known.ip().to_canonical() == address.ip().to_canonical()
    };
    forwards_to.iter().filter_map(|text| text.parse().ok()).any(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leads(forwards_to: &[&str], host: &str, port: u16) -> Result<(), String> {
        let via = Via { host: "relay".to_owned(), port: 7301 };
        let all: Vec<String> = forwards_to.iter().map(|text| (*text).to_owned()).collect();
        check_forwards_to(&all, &via, host, port).map_err(|failure| failure.message())
    }

    #[test]
    fn the_named_endpoint_is_known_by_its_name_or_by_an_address() {
        assert_eq!(leads(&["storage:7300", "10.0.0.2:7300"], "storage", 7300), Ok(()));
        assert_eq!(leads(&["storage:7300", "10.0.0.2:7300"], "10.0.0.2", 7300), Ok(()));
        assert_eq!(leads(&["[::ffff:10.0.0.2]:7300", "[::ffff:10.0.0.2]:7300"], "10.0.0.2", 7300), Ok(()));
    }

    #[test]
    fn another_host_or_port_is_refused_with_what_to_write() {
        for (host, port) in [("10.0.0.3", 7300), ("10.0.0.2", 7302)] {
            let text = leads(&["storage:7300", "10.0.0.2:7300"], host, port).unwrap_err();
            assert!(text.contains("forwards to storage:7300 (10.0.0.2:7300), not to"), "{text}");
            assert!(text.contains("tcp://storage:7300/LAYER?via=relay:7301"), "{text}");
        }
        assert!(leads(&[], "10.0.0.2", 7300).unwrap_err().contains("does not report its destination"));
    }
}
