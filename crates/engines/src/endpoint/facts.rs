//! What the kernel tells of a connection: what was granted, and its counters.

use super::INFO;
use super::peer::Peer;
use crate::error::EngineError;
use narrows_model::counters::TcpCounters;
use narrows_model::effective::ConnectionFacts;
use narrows_model::{Bytes, Effective, Nanos};
use narrows_sys::tcp_info::TcpInfo;
use narrows_wire::open::Granted;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;

/// What was granted to a worker.
pub(super) fn effective(
    peer: &Peer,
    socket: &TcpStream,
    granted: &Granted,
    queue_depth: u32,
) -> Result<Effective, EngineError> {
    Ok(Effective {
        engine: INFO.id.to_owned(),
        access: granted.access,
        queue_depth,
        sync: granted.sync,
        acknowledgement: granted.acknowledgement,
        write_completion: granted.write_completion,
        alignment_bytes: Bytes(granted.alignment_bytes),
        connection: Some(connection_facts(socket).map_err(|error| peer.io_error("open", error))?),
        ring: None,
    })
}

fn connection_facts(socket: &TcpStream) -> io::Result<ConnectionFacts> {
    let (local, remote) = (socket.local_addr()?, socket.peer_addr()?);
    let options = socket2::SockRef::from(socket);
    let segment = TcpInfo::read(socket).map_or(0, |facts| u64::from(facts.snd_mss_bytes));
    Ok(ConnectionFacts {
        local: local.to_string(),
        remote: remote.to_string(),
        loopback: remote.ip().is_loopback() || local.ip() == remote.ip(),
        nodelay: socket.nodelay()?,
        send_buffer_bytes: Bytes(length(options.send_buffer_size()?)),
        receive_buffer_bytes: Bytes(length(options.recv_buffer_size()?)),
        segment_bytes: Bytes(segment),
        congestion_control: rustix::net::sockopt::tcp_congestion(socket).ok(),
    })
}

/// The counters of one connection; `None` where the kernel does not tell.
///
/// # Cost
/// One system call of about a microsecond.
#[must_use]
pub fn tcp_counters(socket: impl AsFd) -> Option<TcpCounters> {
    let now = TcpInfo::read(socket).ok()?;
    let micros = |value: u64| Nanos(value.saturating_mul(1000));
    Some(TcpCounters {
        // Whoever reads knows the time.
        at_ns: Nanos(0),
        connection_count: 1,
        acked_bytes: Bytes(now.bytes_acked.unwrap_or(0)),
        received_bytes: Bytes(now.bytes_received.unwrap_or(0)),
        segments_out_count: u64::from(now.segs_out.unwrap_or(0)),
        segments_in_count: u64::from(now.segs_in.unwrap_or(0)),
        retransmit_count: u64::from(now.retrans_segs_total),
        // The largest value of the field stands for "no sample yet".
        rtt_min_ns: micros(now.min_rtt_us.filter(|rtt| *rtt != u32::MAX).map_or(0, u64::from)),
        rtt_ns: micros(u64::from(now.rtt_us)),
        congestion_window_bytes: Bytes(u64::from(now.snd_cwnd_segs) * u64::from(now.snd_mss_bytes)),
        busy_ns: micros(now.busy_time_us.unwrap_or(0)),
        receive_window_limited_ns: micros(now.rwnd_limited_us.unwrap_or(0)),
        send_buffer_limited_ns: micros(now.sndbuf_limited_us.unwrap_or(0)),
    })
}

/// Adds the counters of further connections to a sum; means are weighted by the connections behind them.
pub fn add_tcp_counters(sum: &mut TcpCounters, more: &TcpCounters) {
    let (have, add) = (u64::from(sum.connection_count), u64::from(more.connection_count));
    let mean = |a: u64, b: u64| {
        let weighted = u128::from(a) * u128::from(have) + u128::from(b) * u128::from(add);
        u64::try_from(weighted / u128::from((have + add).max(1))).unwrap_or(u64::MAX)
    };
    sum.at_ns = Nanos(mean(sum.at_ns.0, more.at_ns.0));
    sum.rtt_ns = Nanos(mean(sum.rtt_ns.0, more.rtt_ns.0));
    sum.congestion_window_bytes = Bytes(mean(sum.congestion_window_bytes.0, more.congestion_window_bytes.0));
    sum.rtt_min_ns = match (sum.rtt_min_ns.0, more.rtt_min_ns.0) {
        (0, other) | (other, 0) => Nanos(other),
        (a, b) => Nanos(a.min(b)),
    };
    sum.connection_count = sum.connection_count.saturating_add(more.connection_count);
    sum.acked_bytes = sum.acked_bytes.saturating_add(more.acked_bytes);
    sum.received_bytes = sum.received_bytes.saturating_add(more.received_bytes);
    sum.segments_out_count = sum.segments_out_count.saturating_add(more.segments_out_count);
    sum.segments_in_count = sum.segments_in_count.saturating_add(more.segments_in_count);
    sum.retransmit_count = sum.retransmit_count.saturating_add(more.retransmit_count);
    sum.busy_ns = sum.busy_ns.saturating_add(more.busy_ns);
    sum.receive_window_limited_ns =
        sum.receive_window_limited_ns.saturating_add(more.receive_window_limited_ns);
    sum.send_buffer_limited_ns = sum.send_buffer_limited_ns.saturating_add(more.send_buffer_limited_ns);
}

fn length(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
