//! Whose a connection is, by its first bytes, which are looked at and not taken.

use narrows_wire::first_bytes::{FirstBytes, HELLO_BYTES, classify_first_bytes};
use narrows_wire::hello::Nonce;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::net::TcpStream;
use std::time::Duration;

/// Longest wait for the rest of what begins as a hello: one comes in a single segment. Other protocols do not begin so.
const REST: Duration = Duration::from_millis(500);

/// Whose a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeerKind {
    /// Nobody has said anything.
    Unknown,
    /// Not narrows', or ended, or failed: it passes as it is.
    Foreign,
    /// The proxy's own.
    Own,
    /// A connection between narrows and what is behind the proxy.
    Passing(Nonce),
}

/// Whose `client` is by what has arrived; does not wait for the first byte.
pub(super) fn classify_now(client: &TcpStream) -> PeerKind {
    let mut bytes = [0; HELLO_BYTES];
    match recv(client, &mut bytes, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((_, 0)) => PeerKind::Foreign,
        Ok((_, length)) => classify_bytes(client, &bytes[..length]),
        Err(Errno::AGAIN | Errno::INTR) => PeerKind::Unknown,
        Err(_) => PeerKind::Foreign,
    }
}

/// Whose `client` is; waits for its first byte as long as it takes.
pub(super) fn classify(client: &TcpStream) -> PeerKind {
    let mut bytes = [0; HELLO_BYTES];
    loop {
        match recv(client, &mut bytes, RecvFlags::PEEK) {
            Ok((_, 0)) => return PeerKind::Foreign,
            Ok((_, length)) => return classify_bytes(client, &bytes[..length]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return PeerKind::Foreign,
        }
    }
}

/// Whose `client` is; waits a moment for its first byte.
pub(super) fn classify_briefly(client: &TcpStream) -> PeerKind {
    match classify_now(client) {
        PeerKind::Unknown => classify_rest(client),
        known => known,
    }
}

/// Evaluates the first bytes, with the rest of them where they may be those of a hello.
fn classify_bytes(client: &TcpStream, arrived: &[u8]) -> PeerKind {
    match classify_first_bytes(arrived) {
        FirstBytes::Other => PeerKind::Foreign,
        FirstBytes::Hello { for_proxy: true, .. } => PeerKind::Own,
        FirstBytes::Hello { for_proxy: false, nonce } => PeerKind::Passing(nonce),
        FirstBytes::Unclear => classify_rest(client),
    }
}

fn classify_rest(client: &TcpStream) -> PeerKind {
    let mut bytes = [0; HELLO_BYTES];
    let timed = client.set_read_timeout(Some(REST));
    let looked = recv(client, &mut bytes, RecvFlags::PEEK | RecvFlags::WAITALL);
    let untimed = client.set_read_timeout(None);
    // A socket that takes no timeout fails its next call too, which reports why.
    let (Ok(()), Ok(()), Ok((_, length))) = (timed, untimed, looked) else { return PeerKind::Foreign };
    match classify_first_bytes(&bytes[..length.min(HELLO_BYTES)]) {
        FirstBytes::Hello { for_proxy: true, .. } => PeerKind::Own,
        FirstBytes::Hello { for_proxy: false, nonce } => PeerKind::Passing(nonce),
        FirstBytes::Other | FirstBytes::Unclear => PeerKind::Foreign,
    }
}
