//! What the kernel reports about a connection: its facts as granted, and its counters.

use narrows_model::counters::TcpCounters;
use narrows_model::effective::ConnectionFacts;
use narrows_model::{Bytes, Nanos};
use narrows_sys::tcp_info::TcpInfo;
use rustix::net::SocketAddrAny;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd;

/// Facts of a connection, as granted.
///
/// # Errors
/// When the kernel does not report them.
pub fn connection_facts(socket: &TcpStream) -> io::Result<ConnectionFacts> {
    let (local, remote) = (socket.local_addr()?, socket.peer_addr()?);
    let options = socket2::SockRef::from(socket);
    let segment = TcpInfo::read(socket).map_or(0, |facts| u64::from(facts.snd_mss_bytes));
    Ok(ConnectionFacts {
        local: local.to_string(),
        remote: remote.to_string(),
        loopback: is_one_host(local.ip(), remote.ip()),
        nodelay: socket.nodelay()?,
        send_buffer_bytes: Bytes(length(options.send_buffer_size()?)),
        receive_buffer_bytes: Bytes(length(options.recv_buffer_size()?)),
        segment_bytes: Bytes(segment),
        congestion_control: rustix::net::sockopt::tcp_congestion(socket).ok(),
    })
}

/// Where the two ends of a connection are. Queried while it lives: a closed socket no longer reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionLocality {
    /// On one host, so that no network transfers its data.
    OneHost,
    /// On two hosts, or the kernel does not report it.
    TwoHosts,
}

impl ConnectionLocality {
    /// Where the ends of a connected socket are.
    #[must_use]
    pub fn from_socket(socket: impl AsFd) -> Self {
        let address = |known: Option<SocketAddrAny>| known.and_then(|any| SocketAddr::try_from(any).ok());
        let local = address(rustix::net::getsockname(&socket).ok());
        let remote = address(rustix::net::getpeername(&socket).ok().flatten());
        let ends = local.zip(remote).map(|(local, remote)| (local.ip(), remote.ip()));
        ends.map_or(Self::TwoHosts, |(local, remote)| Self::from_addresses(local, remote))
    }

    /// Where two ends with these addresses are.
    #[must_use]
    pub fn from_addresses(local: IpAddr, remote: IpAddr) -> Self {
        if is_one_host(local, remote) { Self::OneHost } else { Self::TwoHosts }
    }
}

/// The counters of one connection, also of one that was closed; `None` where the kernel does not report them.
///
/// # Cost
/// One system call, of a microsecond.
#[must_use]
pub fn tcp_counters(socket: impl AsFd, ends: ConnectionLocality) -> Option<TcpCounters> {
    Some(counters_of(&TcpInfo::read(&socket).ok()?, ends))
}

/// The counters in one reading of a connection whose ends are there.
#[must_use]
pub fn counters_of(now: &TcpInfo, ends: ConnectionLocality) -> TcpCounters {
    let micros = |value: u64| Nanos(value.saturating_mul(1000));
    let (acked, received) = (now.bytes_acked.unwrap_or(0), now.bytes_received.unwrap_or(0));
    let loopback = ends == ConnectionLocality::OneHost;
    let times = |value: Option<u64>| micros(value.filter(|_| !loopback).unwrap_or(0));
    TcpCounters {
        // Whoever reads knows the time.
        at_ns: Nanos(0),
        connection_count: 1,
        acked_bytes: Bytes(acked),
        received_bytes: Bytes(received),
        loopback_bytes: Bytes(if loopback { acked.saturating_add(received) } else { 0 }),
        segments_out_count: u64::from(now.segs_out.unwrap_or(0)),
        segments_in_count: u64::from(now.segs_in.unwrap_or(0)),
        retransmit_count: u64::from(now.retrans_segs_total),
        // The largest value of the field means "no sample yet".
        rtt_min_ns: micros(now.min_rtt_us.filter(|rtt| *rtt != u32::MAX).map_or(0, u64::from)),
        rtt_ns: micros(u64::from(now.rtt_us)),
        congestion_window_bytes: Bytes(u64::from(now.snd_cwnd_segs) * u64::from(now.snd_mss_bytes)),
        busy_ns: times(now.busy_time_us),
        receive_window_limited_ns: times(now.rwnd_limited_us),
        send_buffer_limited_ns: times(now.sndbuf_limited_us),
    }
}

/// Whether two addresses of a connection's ends are those of one host.
fn is_one_host(local: IpAddr, remote: IpAddr) -> bool {
    remote.is_loopback() || local == remote
}

fn length(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn what_a_connection_within_a_host_transfers_is_counted_as_such_and_no_time_of_a_network() {
        const BYTES: usize = 100_000;
        let (mut sender, mut receiver) = narrows_testkit::tcp_pair().unwrap();
        let (near, far) =
            (ConnectionLocality::from_socket(&sender), ConnectionLocality::from_socket(&receiver));
        let sent = std::thread::spawn(move || {
            sender.write_all(&vec![1; BYTES]).unwrap();
            sender
        });
        receiver.read_exact(&mut vec![0; BYTES]).unwrap();
        let counters = tcp_counters(&receiver, far).unwrap();
        assert_eq!((counters.received_bytes, counters.loopback_bytes), (Bytes(100_000), Bytes(100_000)));
        let sender = sent.join().unwrap();
        // A connection that is gone still reports what it transferred, but no longer where its ends were.
        receiver.shutdown(std::net::Shutdown::Both).unwrap();
        sender.shutdown(std::net::Shutdown::Both).unwrap();
        assert_eq!(ConnectionLocality::from_socket(&sender), ConnectionLocality::TwoHosts);
        let counters = tcp_counters(sender, near).unwrap();
        assert!(counters.acked_bytes >= Bytes(100_000), "{counters:?}");
        let all = counters.acked_bytes.saturating_add(counters.received_bytes);
        assert_eq!(counters.loopback_bytes, all);
        assert_eq!((counters.busy_ns, counters.receive_window_limited_ns), (Nanos(0), Nanos(0)));
    }

    #[test]
    fn ends_are_on_one_host_where_their_addresses_are_equal_or_the_loopbacks() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(is_one_host(address("10.0.0.1"), address("10.0.0.1")));
        assert!(is_one_host(address("::1"), address("::1")));
        assert!(!is_one_host(address("10.0.0.1"), address("10.0.0.2")));
    }
}
