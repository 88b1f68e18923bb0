//! What a role used between its first byte and its last: time, CPU time of its thread, segments of its sockets.

use super::socket::RelayStream;
use narrows_engines::Clock;
use narrows_model::relay::{RelayMachine, RelaySegments};
use narrows_model::{Bytes, Nanos};
use narrows_sys::process::{CpuScope, CpuTimes, affinity, cpu_times};
use narrows_sys::tcp_info::TcpInfo;

/// A span that has begun.
pub(super) struct Meter<'a> {
    clock: &'a dyn Clock,
    cpu: CpuTimes,
    started_ns: u64,
}

/// A span that is over.
#[derive(Debug, Clone, Copy)]
pub(super) struct CpuSpan {
    pub(super) elapsed: Nanos,
    pub(super) user: Nanos,
    pub(super) system: Nanos,
}

impl<'a> Meter<'a> {
    pub(super) fn start(clock: &'a dyn Clock) -> Self {
        let cpu = cpu_times(CpuScope::Thread);
        Self { clock, cpu, started_ns: clock.now().0 }
    }

    /// Time since the start.
    pub(super) fn elapsed(&self) -> Nanos {
        Nanos(self.clock.now().0.saturating_sub(self.started_ns))
    }

    /// The span up to now.
    pub(super) fn span(&self) -> CpuSpan {
        let elapsed = self.elapsed();
        let used = cpu_times(CpuScope::Thread).since(self.cpu);
        CpuSpan { elapsed, user: Nanos(used.user_ns), system: Nanos(used.system_ns) }
    }
}

/// Segments before the first byte, of the sockets that a role reads from and writes to.
pub(super) struct SegmentCounter<'a> {
    reads_from: Option<&'a RelayStream>,
    writes_to: Option<&'a RelayStream>,
    before: Option<RelaySegments>,
}

impl<'a> SegmentCounter<'a> {
    pub(super) fn start(reads_from: Option<&'a RelayStream>, writes_to: Option<&'a RelayStream>) -> Self {
        Self { reads_from, writes_to, before: read_segments(reads_from, writes_to) }
    }

    /// Segments since the start; `None` where the kernel does not report them.
    pub(super) fn since(&self) -> Option<RelaySegments> {
        let (before, now) = (self.before?, read_segments(self.reads_from, self.writes_to)?);
        Some(RelaySegments {
            data_out_count: now.data_out_count.saturating_sub(before.data_out_count),
            data_in_count: now.data_in_count.saturating_sub(before.data_in_count),
            retransmitted_count: now.retransmitted_count.saturating_sub(before.retransmitted_count),
        })
    }
}

fn read_segments(reads_from: Option<&RelayStream>, writes_to: Option<&RelayStream>) -> Option<RelaySegments> {
    let read = |stream: &RelayStream| stream.is_tcp().then(|| TcpInfo::read(stream).ok()).flatten();
    let mut sum = RelaySegments::default();
    if let Some(stream) = reads_from {
        sum.data_in_count = read(stream)?.data_segs_in?.into();
    }
    if let Some(stream) = writes_to {
        let counters = read(stream)?;
        sum.data_out_count = counters.data_segs_out?.into();
        sum.retransmitted_count = counters.retrans_segs_total.into();
    }
    Some(sum)
}

/// The name of this host.
pub(super) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// This machine, as seen by the calling thread.
pub(super) fn machine() -> RelayMachine {
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let cpus = affinity().unwrap_or_default();
    RelayMachine {
        boot_id: boot_id.map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()),
        affinity_cpus: cpus.into_iter().filter_map(|cpu| u32::try_from(cpu).ok()).collect(),
    }
}

/// What the kernel says of a socket's buffer.
pub(super) fn reported_buffer(reported: std::io::Result<usize>) -> Option<Bytes> {
    reported.ok().and_then(|bytes| u64::try_from(bytes).ok()).map(Bytes)
}
