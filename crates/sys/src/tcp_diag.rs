//! TCP connections of the whole network namespace, of other processes and of the kernel itself, with their counters.
//!
//! They are asked of the kernel by `NETLINK_SOCK_DIAG`, as ss(8) does. Not here: which of them are of interest.

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use crate::error::{Result, SysErrno};
use crate::tcp_info::TcpInfo;

/// Longer than the kernel takes to list the connections of any machine in pieces.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// The kernel fills pieces of 32 KiB at most.
const BUFFER_BYTES: usize = 64 << 10;

// Numbers of include/uapi/linux/netlink.h, sock_diag.h and inet_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const INET_DIAG_INFO: u16 = 2;
const TCP: u8 = 6;
const FAMILY_V4: u8 = 2;
const FAMILY_V6: u8 = 10;
/// Connections that can move data: established, and those of which one side has closed.
const STATES: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8;

/// `struct nlmsghdr`.
const HEADER_BYTES: usize = 16;
/// `struct inet_diag_sockid`.
const ID_BYTES: usize = 48;
/// A `struct inet_diag_req_v2` with its header.
const REQUEST_BYTES: u32 = 72;
/// Extensions of a request: none, and the counters.
const WITHOUT_INFO: u8 = 0;
const WITH_INFO: u8 = 1 << (INET_DIAG_INFO - 1);
/// `struct inet_diag_msg`, after its header.
const MESSAGE_BYTES: usize = 72;
/// The id in an `inet_diag_msg` is after family, state, timer and retransmissions.
const ID_AT: usize = 4;
/// The inode is at its end.
const INODE_AT: usize = 68;

/// By what the kernel finds one connection again; another one later on the same ports has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TcpConnectionId {
    family: u8,
    raw: [u8; ID_BYTES],
}

/// One connection of the namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpConnection {
    /// By what it is found again.
    pub id: TcpConnectionId,
    /// Its end on this machine.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// The inode by which descriptors name it (`socket:[INODE]`); 0 where no process has it.
    pub inode: u32,
}

/// Asks the kernel for connections.
#[derive(Debug)]
pub struct TcpDiag {
    socket: OwnedFd,
    buffer: Vec<u8>,
    sequence: u32,
}

impl TcpDiag {
    /// A socket to ask by.
    ///
    /// # Errors
    /// `Unsupported` where the kernel has no `sock_diag`, `Denied` where a sandbox refuses it.
    pub fn open() -> Result<Self> {
        let failed = |errno: Errno| SysErrno::from(errno).during("open", "a socket to sock_diag");
        let kind = SocketType::DGRAM;
        let family = AddressFamily::NETLINK;
        let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))
            .map_err(failed)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_TIMEOUT)).map_err(failed)?;
        Ok(Self { socket, buffer: vec![0; BUFFER_BYTES], sequence: 0 })
    }

    /// All TCP connections of this network namespace that can move data, without their counters.
    ///
    /// # Errors
    /// What the kernel answers; no answer within a second is `Retry`.
    ///
    /// # Cost
    /// About a microsecond for each connection.
    pub fn connections(&mut self) -> Result<Vec<TcpConnection>> {
        let mut found = Vec::new();
        for family in [FAMILY_V4, FAMILY_V6] {
            let any = TcpConnectionId { family, raw: [0; ID_BYTES] };
            self.ask(any, NLM_F_DUMP, WITHOUT_INFO).map_err(listing_failed)?;
            let mut add = |body: &[u8]| found.extend(connection(body));
            while !self.receive(&mut add).map_err(listing_failed)? {}
        }
        Ok(found)
    }

    /// The counters of one connection; `None` once it is gone.
    ///
    /// # Errors
    /// As [`TcpDiag::connections`].
    pub fn info(&mut self, id: TcpConnectionId) -> Result<Option<TcpInfo>> {
        let failed = |errno: SysErrno| errno.during("read", "the counters of a TCP connection");
        let mut found = None;
        self.ask(id, 0, WITH_INFO).map_err(failed)?;
        let mut keep = |body: &[u8]| found = info(body);
        loop {
            match self.receive(&mut keep) {
                Ok(true) => return Ok(found),
                Ok(false) => {}
                Err(errno) if errno == SysErrno::from(Errno::NOENT) => return Ok(None),
                Err(errno) => return Err(failed(errno)),
            }
        }
    }

    fn ask(&mut self, id: TcpConnectionId, flags: u16, extensions: u8) -> std::result::Result<(), SysErrno> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut request = Vec::new();
        request.extend(REQUEST_BYTES.to_ne_bytes());
        request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        request.extend((NLM_F_REQUEST | flags).to_ne_bytes());
        request.extend(self.sequence.to_ne_bytes());
        request.extend(0_u32.to_ne_bytes());
        request.extend([id.family, TCP, extensions, 0]);
        request.extend(STATES.to_ne_bytes());
        request.extend(id.raw);
        let sent = rustix::net::send(&self.socket, &request, SendFlags::empty())?;
        if sent == request.len() { Ok(()) } else { Err(SysErrno::from(Errno::MSGSIZE)) }
    }

    /// Receives one piece of the answer to the last question, of which `use_body` gets each connection; whether it was the last
    /// piece.
    fn receive(&mut self, use_body: &mut dyn FnMut(&[u8])) -> std::result::Result<bool, SysErrno> {
        let (length, _) = rustix::net::recv(&self.socket, &mut self.buffer[..], RecvFlags::empty())?;
        let mut rest = self.buffer.get(..length).unwrap_or_default();
        let mut is_single = true;
        while let Some(message) = Message::first(rest) {
            rest = rest.get(aligned(message.length)..).unwrap_or_default();
            if message.sequence != self.sequence {
                // The end of an answer that was given up.
                is_single = false;
                continue;
            }
            match message.kind {
                NLMSG_DONE => return Ok(true),
                NLMSG_ERROR => return Err(SysErrno::from_raw(-message.error_number())),
                SOCK_DIAG_BY_FAMILY => use_body(message.body),
                _ => {}
            }
            is_single &= !message.is_part;
        }
        Ok(is_single)
    }
}

fn listing_failed(errno: SysErrno) -> crate::Error {
    errno.during("list", "TCP connections")
}

/// One message of the kernel.
#[derive(Debug, Clone, Copy)]
struct Message<'b> {
    length: usize,
    kind: u16,
    /// Whether more follow it.
    is_part: bool,
    sequence: u32,
    body: &'b [u8],
}

impl<'b> Message<'b> {
    /// The one that `bytes` begin with; `None` at their end, and where they are cut short.
    fn first(bytes: &'b [u8]) -> Option<Self> {
        let length = usize::try_from(number(bytes, 0)?).ok()?;
        let [kind, flags] = [4, 6].map(|at| bytes.get(at..at + 2).and_then(|raw| raw.try_into().ok()));
        let body = bytes.get(HEADER_BYTES..length)?;
        let is_part = u16::from_ne_bytes(flags?) & 2 != 0;
        Some(Self { length, kind: u16::from_ne_bytes(kind?), is_part, sequence: number(bytes, 8)?, body })
    }

    /// The number of an error message, negative as the kernel has it.
    fn error_number(&self) -> i32 {
        let raw = self.body.get(..4).and_then(|raw| raw.try_into().ok());
        raw.map_or(-libc::EPROTO, i32::from_ne_bytes)
    }
}

/// The connection that an `inet_diag_msg` describes; `None` where it is cut short.
fn connection(body: &[u8]) -> Option<TcpConnection> {
    let family = *body.first()?;
    let raw: [u8; ID_BYTES] = body.get(ID_AT..ID_AT + ID_BYTES)?.try_into().ok()?;
    let port = |at: usize| u16::from_be_bytes([raw[at], raw[at + 1]]);
    let (local, remote) = (address(family, &raw[4..20])?, address(family, &raw[20..36])?);
    Some(TcpConnection {
        id: TcpConnectionId { family, raw },
        local: SocketAddr::new(local, port(0)),
        remote: SocketAddr::new(remote, port(2)),
        inode: number(body, INODE_AT)?,
    })
}

/// The counters among the attributes of an `inet_diag_msg`; `None` without any.
fn info(body: &[u8]) -> Option<TcpInfo> {
    attribute(body.get(MESSAGE_BYTES..)?, INET_DIAG_INFO).map(TcpInfo::from_bytes)
}

/// An address of a connection; one of IPv4 in its IPv6 form is that of IPv4.
fn address(family: u8, raw: &[u8]) -> Option<IpAddr> {
    match family {
        FAMILY_V4 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(raw.get(..4)?).ok()?).into()),
        FAMILY_V6 => Some(IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(raw).ok()?)).to_canonical()),
        _ => None,
    }
}

/// The content of the first attribute of this type.
fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        if kind == wanted {
            return bytes.get(4..length);
        }
        bytes = bytes.get(aligned(length).max(4)..)?;
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Messages and attributes begin at multiples of four.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp_info::TcpState;
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::MetadataExt as _;

    fn inode(socket: &std::net::TcpStream) -> u64 {
        use std::os::fd::AsRawFd as _;
        let path = format!("/proc/self/fd/{}", socket.as_raw_fd());
        std::fs::metadata(path).unwrap().ino()
    }

    #[test]
    fn a_connection_is_found_with_both_ends_and_its_counters_agree_with_the_sockets_own() {
        for host in ["127.0.0.1", "::1"] {
            let listener = std::net::TcpListener::bind((host, 0)).unwrap();
            let mut sender = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut receiver, _) = listener.accept().unwrap();
            sender.write_all(&[7; 5000]).unwrap();
            receiver.read_exact(&mut [0; 5000]).unwrap();
            let mut diag = TcpDiag::open().unwrap();
            let all = diag.connections().unwrap();
            let own: Vec<_> = all.iter().filter(|one| one.local == sender.local_addr().unwrap()).collect();
            let [found] = own.as_slice() else { panic!("{own:?}") };
            assert_eq!(found.remote, sender.peer_addr().unwrap());
            assert_eq!(u64::from(found.inode), inode(&sender));
            let seen = diag.info(found.id).unwrap().unwrap();
            let own = TcpInfo::read(&sender).unwrap();
            assert_eq!((seen.bytes_acked, seen.segs_out), (own.bytes_acked, own.segs_out));
            assert!(seen.bytes_acked.unwrap() >= 5000);
            drop((sender, receiver));
            // The other end has read everything, and both are closed: only the id of the past is left.
            let gone = found.id;
            let is_closed = |diag: &mut TcpDiag| {
                diag.info(gone).unwrap().is_none_or(|info| info.state == TcpState::TimeWait)
            };
            let closed = (0..100_000).any(|_| {
                std::thread::yield_now();
                is_closed(&mut diag)
            });
            assert!(closed, "{:?}", diag.info(gone));
        }
    }

    #[test]
    fn an_answer_that_is_cut_short_or_malformed_is_none_and_never_a_panic() {
        let mut whole = vec![0_u8; MESSAGE_BYTES];
        whole[0] = FAMILY_V4;
        assert!(connection(&whole).is_some() && info(&whole).is_none());
        for length in 0..whole.len() {
            assert!(connection(&whole[..length]).is_none());
        }
        whole[0] = 99;
        assert!(connection(&whole).is_none());
        for raw in [&[0_u8, 0, 9, 0][..], &[4, 0, 9, 0, 255, 255, 2, 0], &[1], &[]] {
            assert!(attribute(raw, INET_DIAG_INFO).is_none(), "{raw:?}");
        }
        assert!(Message::first(&[255; 16]).is_none() && Message::first(&[0; 15]).is_none());
        assert!(Message::first(&[0; 16]).is_none(), "a message is no shorter than its header");
    }
}
