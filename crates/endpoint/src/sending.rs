//! Sends to a peer that may be slow: it is waited for as long as it acknowledges some of what it was sent.
//!
//! A stream has no end of its own and waits for ever; messages of a conversation are short.

use narrows_sys::tcp_info::TcpInfo;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::io::{self, IoSlice};
use std::net::TcpStream;

/// How long is waited for room.
#[derive(Debug, Clone, Copy)]
struct WaitLimit {
    /// The first wait, after which the count of acknowledged bytes is read. Most are shorter.
    first: Timespec,
    /// Each further wait; the last is one in which nothing was acknowledged.
    next: Timespec,
}

/// A peer that acknowledges nothing is given up 5 to 10 s later.
const LIMIT: WaitLimit =
    WaitLimit { first: Timespec { tv_sec: 1, tv_nsec: 0 }, next: Timespec { tv_sec: 5, tv_nsec: 0 } };

/// Sends `header` and `payload`, with one system call if they fit.
///
/// # Errors
/// A connection that is over, or a peer that has acknowledged nothing for 5 s while the send buffer was full.
pub(crate) fn send_both(socket: &TcpStream, header: &[u8], payload: &[u8]) -> io::Result<()> {
    send_within(LIMIT, socket, header, payload)
}

fn send_within(limit: WaitLimit, socket: &TcpStream, header: &[u8], payload: &[u8]) -> io::Result<()> {
    let (mut header, mut payload) = (header, payload);
    while !header.is_empty() || !payload.is_empty() {
        match send_now(socket, header, payload) {
            Ok(sent) => {
                let of_header = sent.min(header.len());
                header = &header[of_header..];
                payload = &payload[sent - of_header..];
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if wait_within(limit, socket) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Sends what the connection has room for at once; how many bytes of both together.
///
/// # Errors
/// `EAGAIN` where it has no room, and what ends a connection.
pub(crate) fn send_now(socket: &TcpStream, header: &[u8], payload: &[u8]) -> Result<usize, Errno> {
    let parts = [IoSlice::new(header), IoSlice::new(payload)];
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    sendmsg(socket, &parts, &mut SendAncillaryBuffer::default(), flags)
}

/// Waits until the connection has room again; not, when the peer has acknowledged nothing for 5 s.
///
/// The kernel reports room once a third of a full buffer is acknowledged, for which many connections on a slow link need
/// longer than that.
pub(crate) fn wait_writable(socket: &TcpStream) -> bool {
    wait_within(LIMIT, socket)
}

fn wait_within(limit: WaitLimit, socket: &TcpStream) -> bool {
    let mut seen: Option<Option<u64>> = None;
    loop {
        let wait = if seen.is_some() { limit.next } else { limit.first };
        match poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&wait)) {
            Ok(0) => {
                let acked_bytes = TcpInfo::read(socket).ok().and_then(|now| now.bytes_acked);
                if seen == Some(acked_bytes) {
                    return false;
                }
                seen = Some(acked_bytes);
            }
            Ok(_) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    const SHORT: WaitLimit = WaitLimit {
        first: Timespec { tv_sec: 0, tv_nsec: 100_000_000 },
        next: Timespec { tv_sec: 0, tv_nsec: 500_000_000 },
    };
    /// What the receiver takes at once.
    const PART_BYTES: usize = 16 << 10;

    /// A connection with much room at its sender and little at its receiver.
    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        receiver.set_recv_buffer_size(PART_BYTES).unwrap();
        receiver.connect(&listener.local_addr().unwrap().into()).unwrap();
        let (sender, _) = listener.accept().unwrap();
        socket2::SockRef::from(&sender).set_send_buffer_size(1 << 20).unwrap();
        (sender, receiver.into())
    }

    #[test]
    fn a_peer_that_takes_little_at_a_time_gets_all_of_it() {
        let (sender, mut receiver) = connection();
        // A third of the buffer takes twice as long as a peer that acknowledges nothing is waited for.
        let third_bytes = socket2::SockRef::from(&sender).send_buffer_size().unwrap() / 3;
        let pause_ns = 1_250_000_000 * PART_BYTES as u64 / third_bytes as u64;
        let arrived = std::thread::spawn(move || {
            let mut part = vec![0; PART_BYTES];
            let mut arrived = 0;
            while arrived < third_bytes * 2 {
                arrived += receiver.read(&mut part).unwrap();
                let _ = narrows_sys::clock::wait_ns(pause_ns);
            }
            arrived + receiver.read_to_end(&mut Vec::new()).unwrap()
        });
        send_within(SHORT, &sender, b"header", &vec![7; 3 << 20]).unwrap();
        drop(sender);
        assert_eq!(arrived.join().unwrap(), 6 + (3 << 20));
    }

    #[test]
    fn a_peer_that_takes_nothing_is_given_up() {
        let (sender, receiver) = connection();
        let payload = vec![7; 8 << 20];
        let error = send_within(SHORT, &sender, &[], &payload).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(receiver);
        let error = send_within(SHORT, &sender, &[], &payload).unwrap_err();
        assert!(
            matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe),
            "{error}"
        );
    }
}
