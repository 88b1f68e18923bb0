//! Addresses of hosts by their names, waited for within a deadline, which the system's resolver does not take.
//!
//! A lookup that is given up goes on in its thread until the resolver returns; how many do so at once is bounded.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long a lookup may take where nothing else bounds it.
pub const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);

/// How often a wish to stop is looked at while a name server is waited for.
const SLICE: Duration = Duration::from_millis(50);

/// Lookups that wait at once in this process: more than the workers of any load.
const LOOKUP_COUNT_MAX: usize = 1024;

static LOOKUP_COUNT: AtomicUsize = AtomicUsize::new(0);

/// The addresses of `host` with `port`, in the order of the system's choice; an address in words is its own.
///
/// # Errors
/// `TimedOut` without an answer within `timeout`, to the next 50 ms; `Interrupted` once `is_stopped`; `QuotaExceeded` where
/// a thousand lookups wait already; otherwise as the resolver says.
///
/// # Source
/// getaddrinfo(3), which waits as long as resolv.conf(5) says.
pub fn look_up(
    host: &str,
    port: u16,
    timeout: Duration,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<Vec<SocketAddr>> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let host = host.to_owned();
    wait_for(move || Ok((host.as_str(), port).to_socket_addrs()?.collect()), timeout, is_stopped)
}

/// One of the lookups that wait, until it is dropped.
struct WaitingLookup;

impl WaitingLookup {
    fn start() -> io::Result<Self> {
        let grow = |count| (count < LOOKUP_COUNT_MAX).then_some(count + 1);
        match LOOKUP_COUNT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow) {
            Ok(_) => Ok(Self),
            Err(count) => {
                let message =
                    format!("{count} lookups wait for name servers already; check those of this machine");
                Err(io::Error::new(io::ErrorKind::QuotaExceeded, message))
            }
        }
    }
}

impl Drop for WaitingLookup {
    fn drop(&mut self) {
        LOOKUP_COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

fn wait_for(
    ask: impl FnOnce() -> io::Result<Vec<SocketAddr>> + Send + 'static,
    timeout: Duration,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<Vec<SocketAddr>> {
    let waiting = WaitingLookup::start()?;
    let (sender, answer) = channel();
    std::thread::Builder::new().name("lookup".to_owned()).spawn(move || {
        let found = ask();
        drop(waiting);
        // Nobody waits for an answer that comes late.
        let _ = sender.send(found);
    })?;
    let slice_count = timeout.as_nanos().div_ceil(SLICE.as_nanos()).max(1);
    for _ in 0..slice_count {
        match answer.recv_timeout(SLICE.min(timeout)) {
            Ok(found) => return found,
            Err(RecvTimeoutError::Timeout) if is_stopped() => return Err(io::ErrorKind::Interrupted.into()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the resolver failed")),
        }
    }
    let message = format!("no name server answered within {} ms", timeout.as_millis());
    Err(io::Error::new(io::ErrorKind::TimedOut, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for an answer that arrives only when this function returns.
    fn unanswered(timeout: Duration, is_stopped: bool) -> io::Error {
        let (end, ends) = channel::<()>();
        let ask = move || {
            let _ = ends.recv();
            Ok(Vec::new())
        };
        let error = wait_for(ask, timeout, &|| is_stopped).unwrap_err();
        drop(end);
        error
    }

    #[test]
    fn a_name_that_no_server_answers_is_given_up_at_its_deadline() {
        let error = unanswered(Duration::from_millis(120), false);
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "no name server answered within 120 ms");
    }

    #[test]
    fn a_wish_to_stop_ends_the_wait_before_its_deadline() {
        assert_eq!(unanswered(Duration::from_hours(1), true).kind(), io::ErrorKind::Interrupted);
    }

    #[test]
    fn what_the_resolver_says_is_the_answer() {
        let found = look_up("localhost", 7300, Duration::from_secs(20), &|| false).unwrap();
        assert!(
            found.iter().all(|address| address.ip().is_loopback() && address.port() == 7300),
            "{found:?}"
        );
        let refused = wait_for(|| Err(io::ErrorKind::NotFound.into()), Duration::from_secs(20), &|| false);
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_address_is_its_own() {
        for (host, ip) in [("::1", "[::1]:1"), ("127.0.0.1", "127.0.0.1:1")] {
            let found = look_up(host, 1, Duration::ZERO, &|| true).unwrap();
            assert_eq!(found, [ip.parse().unwrap()]);
        }
    }
}
