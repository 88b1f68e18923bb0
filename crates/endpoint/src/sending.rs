//! Sends to a peer that may be slow: it is waited for as long as it acknowledges some of what it was sent.
//!
//! A stream has no end of its own and waits for ever; messages of a conversation are short.

use narrows_sys::tcp_info::TcpInfo;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::io::{self, IoSlice};
use std::net::TcpStream;

/// A wait after which is asked what the peer acknowledges. Most are shorter.
const FIRST_WAIT_S: i64 = 1;
/// Longest wait for a peer that acknowledges nothing.
const WAIT_S_MAX: i64 = 5;

/// Sends `header` and `payload`, with one system call if they fit.
///
/// # Errors
/// A connection that is over, or a peer that acknowledged nothing for [`WAIT_S_MAX`] though its buffer is full.
pub(crate) fn send_both(socket: &TcpStream, header: &[u8], payload: &[u8]) -> io::Result<()> {
    let (mut header, mut payload) = (header, payload);
    while !header.is_empty() || !payload.is_empty() {
        match send_now(socket, header, payload) {
            Ok(sent) => {
                let of_header = sent.min(header.len());
                header = &header[of_header..];
                payload = &payload[sent - of_header..];
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if wait_writable(socket) => {}
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

/// Waits until the connection has room again; not, when the peer has acknowledged nothing for [`WAIT_S_MAX`].
///
/// Room is not reported before a third of a full buffer is acknowledged, for which many connections on a slow link need
/// longer than that.
pub(crate) fn wait_writable(socket: &TcpStream) -> bool {
    let mut seen: Option<Option<u64>> = None;
    loop {
        let wait = Timespec { tv_sec: if seen.is_some() { WAIT_S_MAX } else { FIRST_WAIT_S }, tv_nsec: 0 };
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

    /// A connection whose sender has a small buffer, with both its ends.
    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        receiver.set_recv_buffer_size(16 << 10).unwrap();
        receiver.connect(&listener.local_addr().unwrap().into()).unwrap();
        let (sender, _) = listener.accept().unwrap();
        socket2::SockRef::from(&sender).set_send_buffer_size(1 << 20).unwrap();
        (sender, receiver.into())
    }

    #[test]
    fn a_peer_that_takes_little_at_a_time_gets_all_of_it() {
        let (sender, mut receiver) = connection();
        let sent = vec![7; 3 << 20];
        let arrived = std::thread::spawn(move || {
            let mut arrived = 0;
            let mut part = vec![0; 48 << 10];
            // A third of the buffer takes longer than a peer that acknowledges nothing is waited for.
            for _ in 0..12 {
                arrived += receiver.read(&mut part).unwrap();
                let _ = narrows_sys::clock::wait_ns(700_000_000);
            }
            let mut rest = Vec::new();
            arrived + receiver.read_to_end(&mut rest).unwrap()
        });
        send_both(&sender, b"header", &sent).unwrap();
        drop(sender);
        assert_eq!(arrived.join().unwrap(), 6 + (3 << 20));
    }

    #[test]
    fn a_peer_that_takes_nothing_is_given_up() {
        let (sender, receiver) = connection();
        let error = send_both(&sender, &[], &vec![7; 8 << 20]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(receiver);
        assert!(send_both(&sender, &[], &vec![7; 8 << 20]).is_err());
    }
}
