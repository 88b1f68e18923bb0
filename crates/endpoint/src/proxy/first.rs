//! Whose a connection is, by its first bytes, which are looked at and not taken.

use narrows_wire::first_bytes::{FirstBytes, HELLO_BYTES, first_bytes};
use narrows_wire::hello::Nonce;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::net::TcpStream;
use std::time::Duration;

/// Longest wait for the rest of what begins as a hello: one comes in a single segment. Other protocols do not begin so.
const REST: Duration = Duration::from_millis(500);

/// Whose a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
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
pub(super) fn glance(client: &TcpStream) -> Whose {
    let mut bytes = [0; HELLO_BYTES];
    match recv(client, &mut bytes, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((_, 0)) => Whose::Foreign,
        Ok((_, length)) => told(client, &bytes[..length]),
        Err(Errno::AGAIN | Errno::INTR) => Whose::Unknown,
        Err(_) => Whose::Foreign,
    }
}

/// Whose `client` is; waits for its first byte as long as it takes.
pub(super) fn look(client: &TcpStream) -> Whose {
    let mut bytes = [0; HELLO_BYTES];
    loop {
        match recv(client, &mut bytes, RecvFlags::PEEK) {
            Ok((_, 0)) => return Whose::Foreign,
            Ok((_, length)) => return told(client, &bytes[..length]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return Whose::Foreign,
        }
    }
}

/// Whose `client` is; waits a moment for its first byte.
pub(super) fn look_for_a_moment(client: &TcpStream) -> Whose {
    match glance(client) {
        Whose::Unknown => rest(client),
        known => known,
    }
}

/// What the first bytes tell, with the rest of them where they may be those of a hello.
fn told(client: &TcpStream, arrived: &[u8]) -> Whose {
    match first_bytes(arrived) {
        FirstBytes::Other => Whose::Foreign,
        FirstBytes::Hello { for_proxy: true, .. } => Whose::Own,
        FirstBytes::Hello { for_proxy: false, nonce } => Whose::Passing(nonce),
        FirstBytes::Unclear => rest(client),
    }
}

fn rest(client: &TcpStream) -> Whose {
    let mut bytes = [0; HELLO_BYTES];
    let timed = client.set_read_timeout(Some(REST));
    let looked = recv(client, &mut bytes, RecvFlags::PEEK | RecvFlags::WAITALL);
    let untimed = client.set_read_timeout(None);
    // A socket that takes no timeout fails its next call too, which tells why.
    let (Ok(()), Ok(()), Ok((_, length))) = (timed, untimed, looked) else { return Whose::Foreign };
    match first_bytes(&bytes[..length.min(HELLO_BYTES)]) {
        FirstBytes::Hello { for_proxy: true, .. } => Whose::Own,
        FirstBytes::Hello { for_proxy: false, nonce } => Whose::Passing(nonce),
        FirstBytes::Other | FirstBytes::Unclear => Whose::Foreign,
    }
}
