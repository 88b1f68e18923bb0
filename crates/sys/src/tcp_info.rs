//! What the kernel knows of one TCP connection: the counters that distinguish wire, sender, receiver and application.
//!
//! It reads one socket of the caller; those of other processes are [`crate::tcp_diag`]'s.

use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd};

use crate::error::{Result, SysErrno};

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TcpState {
    /// Data flows both ways.
    Established,
    /// A connection asked for and not yet answered.
    SynSent,
    /// A connection answered and not yet confirmed.
    SynReceived,
    /// Closed by this side, not yet acknowledged.
    FinWait1,
    /// Closed by this side and acknowledged; the peer may still send.
    FinWait2,
    /// Closed by both; stray segments are awaited.
    TimeWait,
    /// No connection.
    Closed,
    /// Closed by the peer; this side may still send.
    CloseWait,
    /// Closed by the peer and then by this side, not yet acknowledged.
    LastAck,
    /// Waiting for connections.
    Listening,
    /// Closed by both at once.
    Closing,
    /// A number that this version does not know.
    Other(u8),
}

impl TcpState {
    /// Numbers as in `include/net/tcp_states.h` of the kernel.
    fn from_kernel(number: u8) -> Self {
        match number {
            1 => Self::Established,
            2 => Self::SynSent,
            3 => Self::SynReceived,
            4 => Self::FinWait1,
            5 => Self::FinWait2,
            6 => Self::TimeWait,
            7 => Self::Closed,
            8 => Self::CloseWait,
            9 => Self::LastAck,
            10 => Self::Listening,
            11 => Self::Closing,
            other => Self::Other(other),
        }
    }
}

/// One reading of a connection's counters. Cumulative ones count since the connection was opened.
///
/// # Shape
/// A field is `None` where the running kernel is older than the field; the version that brought it is named.
///
/// # Source
/// `struct tcp_info` of the kernel's `include/uapi/linux/tcp.h`; counters after RFC 4898.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpInfo {
    /// State of the connection.
    pub state: TcpState,
    /// Smoothed round-trip time, with the peer's delayed acknowledgements in it; 0 before the first sample.
    pub rtt_us: u32,
    /// Mean deviation of the round-trip time.
    pub rttvar_us: u32,
    /// Smallest round-trip time of the kernel's window (5 minutes by default); `u32::MAX` before the first sample.
    /// Linux 4.6.
    pub min_rtt_us: Option<u32>,
    /// Congestion window, in segments of [`Self::snd_mss_bytes`].
    pub snd_cwnd_segs: u32,
    /// Payload of a full segment sent.
    pub snd_mss_bytes: u32,
    /// Payload of a full segment received, as estimated.
    pub rcv_mss_bytes: u32,
    /// Receive window that the peer advertised last, after scaling. Linux 5.4.
    pub snd_wnd_bytes: Option<u32>,
    /// Receive window advertised to the peer, after scaling. Linux 6.2.
    pub rcv_wnd_bytes: Option<u32>,
    /// Segments sent and not acknowledged at this moment. For a listening socket: connections waiting for `accept`.
    pub unacked_segs: u32,
    /// Segments considered lost at this moment.
    pub lost_segs: u32,
    /// Segments retransmitted so far.
    pub retrans_segs_total: u32,
    /// Bytes acknowledged by the peer. The SYN counts as one on the side that connected, and a FIN counts as one.
    /// Linux 4.1.
    pub bytes_acked: Option<u64>,
    /// Bytes received in order, also those not yet read. A FIN counts as one. Linux 4.1.
    pub bytes_received: Option<u64>,
    /// Payload bytes sent, retransmissions included. Linux 4.19.
    pub bytes_sent: Option<u64>,
    /// Payload bytes sent again. Linux 4.19.
    pub bytes_retrans: Option<u64>,
    /// Segments sent. Linux 4.2.
    pub segs_out: Option<u32>,
    /// Segments received. Linux 4.2.
    pub segs_in: Option<u32>,
    /// Segments with payload sent. Linux 4.6.
    pub data_segs_out: Option<u32>,
    /// Segments with payload received. Linux 4.6.
    pub data_segs_in: Option<u32>,
    /// Latest rate at which data reached the peer. Linux 4.9.
    pub delivery_rate_bytes_per_s: Option<u64>,
    /// The delivery rate was bounded by the application, so the path may sustain more. Linux 4.9.
    pub delivery_rate_app_limited: Option<bool>,
    /// Time with data outstanding or waiting to be sent. Linux 4.10, as the two below, which are parts of it.
    pub busy_time_us: Option<u64>,
    /// Time limited by the peer's receive window.
    pub rwnd_limited_us: Option<u64>,
    /// Time limited by this side's send buffer.
    pub sndbuf_limited_us: Option<u64>,
    /// Bytes written by the application and not yet sent for the first time. Linux 4.6.
    pub notsent_bytes: Option<u32>,
}

impl TcpInfo {
    /// The counters of the connection behind `socket`, now.
    ///
    /// # Errors
    /// `Unsupported` where the socket is not TCP, `Failed` (`ENOTSOCK`) where it is none.
    ///
    /// # Cost
    /// One system call of about a microsecond, which takes the socket's lock; no allocation when it succeeds.
    pub fn read(socket: impl AsFd) -> Result<Self> {
        let fd = socket.as_fd().as_raw_fd();
        let mut raw = KernelTcpInfo::default();
        let mut length = libc::socklen_t::try_from(size_of::<KernelTcpInfo>()).unwrap_or(0);
        // SAFETY: both pointers are valid for the call, `length` is the size of what the first one points at, the
        // kernel writes at most that much, and every bit pattern is a valid `KernelTcpInfo`.
        let status = unsafe {
            libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut raw).cast(), &raw mut length)
        };
        if status != 0 {
            return Err(SysErrno::last().during("read TCP_INFO of", format_args!("descriptor {fd}")));
        }
        Ok(Self::from_kernel(&raw, usize::try_from(length).unwrap_or(0)))
    }

    /// The counters in a `struct tcp_info` that the kernel sent, of any version.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let mut raw = KernelTcpInfo::default();
        let length = bytes.len().min(size_of::<KernelTcpInfo>());
        // SAFETY: both are valid for `length` bytes and do not overlap, and every bit pattern is a valid `KernelTcpInfo`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut raw).cast::<u8>(), length) };
        Self::from_kernel(&raw, length)
    }

    /// Reads the answer of a kernel that filled in `answered_bytes` of the structure.
    fn from_kernel(raw: &KernelTcpInfo, answered_bytes: usize) -> Self {
        macro_rules! since {
            ($field:ident) => {
                (offset_of!(KernelTcpInfo, $field) + size_of_val(&raw.$field) <= answered_bytes)
                    .then_some(raw.$field)
            };
        }
        Self {
            state: TcpState::from_kernel(raw.state),
            rtt_us: raw.rtt,
            rttvar_us: raw.rttvar,
            min_rtt_us: since!(min_rtt),
            snd_cwnd_segs: raw.snd_cwnd,
            snd_mss_bytes: raw.snd_mss,
            rcv_mss_bytes: raw.rcv_mss,
            snd_wnd_bytes: since!(snd_wnd),
            rcv_wnd_bytes: since!(rcv_wnd),
            unacked_segs: raw.unacked,
            lost_segs: raw.lost,
            retrans_segs_total: raw.total_retrans,
            bytes_acked: since!(bytes_acked),
            bytes_received: since!(bytes_received),
            bytes_sent: since!(bytes_sent),
            bytes_retrans: since!(bytes_retrans),
            segs_out: since!(segs_out),
            segs_in: since!(segs_in),
            data_segs_out: since!(data_segs_out),
            data_segs_in: since!(data_segs_in),
            delivery_rate_bytes_per_s: since!(delivery_rate),
            // The flag took a bit that was padding before; it means something only where the rate is present.
            delivery_rate_app_limited: since!(delivery_rate).map(|_| raw.flags & FLAG_APP_LIMITED != 0),
            busy_time_us: since!(busy_time),
            rwnd_limited_us: since!(rwnd_limited),
            sndbuf_limited_us: since!(sndbuf_limited),
            notsent_bytes: since!(notsent_bytes),
        }
    }
}

/// The first bit of the byte after the window scales; compilers put the first bit-field lowest on little-endian
/// machines and highest on big-endian ones.
const FLAG_APP_LIMITED: u8 = if cfg!(target_endian = "little") { 0x01 } else { 0x80 };

/// `struct tcp_info` up to Linux 6.2; newer kernels cut their answer to what is asked for.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct KernelTcpInfo {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    window_scales: u8,
    flags: u8,
    rto: u32,
    ato: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last_data_sent: u32,
    last_ack_sent: u32,
    last_data_recv: u32,
    last_ack_recv: u32,
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt: u32,
    rttvar: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    snd_wnd: u32,
    rcv_wnd: u32,
    rehash: u32,
}

#[cfg(test)]
#[path = "tcp_info_tests.rs"]
mod tests;
