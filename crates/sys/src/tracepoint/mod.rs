//! Tracepoints of the kernel, recorded by `perf_event_open` into a ring of each CPU.
//!
//! Nothing of it is global: events are recorded for the holder of the descriptors alone, and all of it ends with them, also when
//! the process is killed. Not here: which tracepoints are of interest, and what their fields mean.

mod attributes;
mod ring;
#[cfg(test)]
mod tests;

use std::ffi::CString;

use rustix::fd::{AsFd, AsRawFd, FromRawFd as _, OwnedFd};
use rustix::ioctl::{IntegerSetter, opcode};

use crate::clock;
use crate::error::{Error, Result, SysErrno};
use attributes::TracepointAttributes;
use ring::EventRing;

const ENABLE: rustix::ioctl::Opcode = opcode::none(b'$', 0);
const DISABLE: rustix::ioctl::Opcode = opcode::none(b'$', 1);
const SET_OUTPUT: rustix::ioctl::Opcode = opcode::none(b'$', 5);
const SET_FILTER: rustix::ioctl::Opcode = opcode::write::<*const u8>(b'$', 6);

/// What all rings together take of memory that cannot be swapped.
const RINGS_BYTES_MAX: usize = 32 << 20;
/// The largest ring of a CPU: ten thousand events of a hundred bytes.
const RING_BYTES_MAX: usize = 1 << 20;
/// The smallest ring is this many pages.
const RING_PAGES_MIN: usize = 4;

/// A tracepoint to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracepoint {
    /// Its number, as `id` in its folder of tracefs says; samples begin with it.
    pub id: u64,
    /// Which of its events are recorded, in the kernel's filter language; empty: all.
    pub filter: String,
}

/// What was read from a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceRecord<'r> {
    /// An event.
    Sample {
        /// When it happened, on the monotonic clock.
        at_ns: u64,
        /// Its fields as the tracepoint's `format` describes them, the common ones first; some bytes may follow them.
        fields: &'r [u8],
    },
    /// So many events were lost, because a ring was full.
    Lost(u64),
}

/// Recorded tracepoints, with a ring of each CPU; they begin disabled.
#[derive(Debug)]
pub struct TracepointRings {
    cpus: Vec<CpuEvents>,
    buffer: Vec<u8>,
}

/// The events of one CPU: the first one's descriptor has the ring, and switches the others with it.
#[derive(Debug)]
struct CpuEvents {
    leader: OwnedFd,
    ring: EventRing,
    /// They end when they are closed.
    _others: Vec<OwnedFd>,
}

impl TracepointRings {
    /// Rings of these CPUs, which are online, for `points`.
    ///
    /// # Errors
    /// `Denied` without `CAP_PERFMON` or `CAP_SYS_ADMIN`; `Missing` for a CPU that is offline or an unknown tracepoint;
    /// `Invalid` without any CPU or tracepoint and for a filter that the kernel does not understand; `Exhausted` beyond the
    /// limit of descriptors or of locked memory.
    ///
    /// # Cost
    /// A descriptor for each tracepoint and CPU, and 16 KiB to 1 MiB of memory for each CPU, 32 MiB for all together.
    ///
    /// # Source
    /// `perf_event_open(2)`.
    pub fn open(cpus: &[u32], points: &[Tracepoint]) -> Result<Self> {
        if cpus.is_empty() || points.is_empty() {
            return Err(Error::invalid("record", "tracepoints", "name a CPU and a tracepoint at least"));
        }
        let page_bytes = rustix::param::page_size();
        let most = (RINGS_BYTES_MAX / cpus.len()).min(RING_BYTES_MAX) / page_bytes;
        // The kernel wants a power of two.
        let pages = 1 << most.max(RING_PAGES_MIN).ilog2();
        let open = |cpu: &u32| CpuEvents::open(*cpu, points, pages * page_bytes);
        Ok(Self { cpus: cpus.iter().map(open).collect::<Result<_>>()?, buffer: Vec::new() })
    }

    /// Begins or ends the recording; what is in the rings stays there.
    ///
    /// # Errors
    /// The kernel's number.
    ///
    /// # Cost
    /// An interrupt of each CPU.
    pub fn set_enabled(&self, is_enabled: bool) -> Result<()> {
        for cpu in &self.cpus {
            let switched =
                if is_enabled { set::<ENABLE>(&cpu.leader, 0) } else { set::<DISABLE>(&cpu.leader, 0) };
            switched.map_err(|errno| errno.during("switch", "the recording of tracepoints"))?;
        }
        Ok(())
    }

    /// Takes what the rings contain, of one CPU after the other, each in the order of time; returns a time on the monotonic clock
    /// up to which everything recorded has been taken.
    pub fn take(&mut self, use_record: &mut dyn FnMut(TraceRecord<'_>)) -> u64 {
        let until_ns = clock::read_ns();
        for cpu in &mut self.cpus {
            cpu.ring.take(&mut self.buffer);
            for_each_record(&self.buffer, use_record);
        }
        until_ns
    }
}

impl CpuEvents {
    fn open(cpu: u32, points: &[Tracepoint], ring_bytes: usize) -> Result<Self> {
        let mut opened: Vec<OwnedFd> = Vec::new();
        for point in points {
            let leader = opened.first();
            let failed = |errno: SysErrno| refused(errno, point, cpu);
            let event = event(cpu, point, leader).map_err(failed)?;
            if !point.filter.is_empty() {
                set_filter(&event, &point.filter).map_err(failed)?;
            }
            opened.push(event);
        }
        let mut all = opened.into_iter();
        let leader =
            all.next().ok_or_else(|| Error::invalid("record", "tracepoints", "name one at least"))?;
        let failed = |errno: SysErrno| errno.during("map", format!("the ring of trace events of CPU {cpu}"));
        let ring = EventRing::map(&leader, ring_bytes).map_err(failed)?;
        let others: Vec<OwnedFd> = all.collect();
        for other in &others {
            set_output(other, &leader).map_err(failed)?;
        }
        Ok(Self { leader, ring, _others: others })
    }
}

fn refused(errno: SysErrno, point: &Tracepoint, cpu: u32) -> Error {
    let error = errno.during("record", format!("tracepoint {} on CPU {cpu}", point.id));
    match errno.raw() {
        libc::EACCES | libc::EPERM => {
            error.advising("it needs root (CAP_PERFMON), outside of a container that forbids it")
        }
        libc::EMFILE => error.advising("raise the limit of open files (ulimit -n)"),
        _ => error,
    }
}

/// One tracepoint on one CPU, of all processes; the first one is disabled, the others follow it.
fn event(cpu: u32, point: &Tracepoint, leader: Option<&OwnedFd>) -> std::result::Result<OwnedFd, SysErrno> {
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    const ANY_PROCESS: libc::c_int = -1;
    let attributes = TracepointAttributes::tracepoint(point.id, leader.is_none());
    let group = leader.map_or(-1, AsRawFd::as_raw_fd);
    let cpu = libc::c_int::try_from(cpu).map_err(|_| SysErrno::from_raw(libc::EINVAL))?;
    // SAFETY: `attributes` is a `struct perf_event_attr` whose size is written in it, and lives for the call, which only
    // reads it; the other arguments are plain numbers.
    let opened = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(&attributes),
            ANY_PROCESS,
            cpu,
            group,
            CLOSE_ON_EXEC,
        )
    };
    let opened = i32::try_from(opened).ok().filter(|number| *number >= 0).ok_or_else(SysErrno::last)?;
    // SAFETY: the kernel has just returned this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

fn set<const OPCODE: rustix::ioctl::Opcode>(
    event: &impl AsFd,
    value: usize,
) -> std::result::Result<(), SysErrno> {
    // SAFETY: this is called with opcodes of perf events alone that take a number and no pointer.
    unsafe { rustix::ioctl::ioctl(event, IntegerSetter::<OPCODE>::new_usize(value)) }?;
    Ok(())
}

/// Makes `event` write into the ring of `leader`.
fn set_output(event: &OwnedFd, leader: &OwnedFd) -> std::result::Result<(), SysErrno> {
    let leader = usize::try_from(leader.as_raw_fd()).map_err(|_| SysErrno::from_raw(libc::EBADF))?;
    set::<SET_OUTPUT>(event, leader)
}

fn set_filter(event: &OwnedFd, filter: &str) -> std::result::Result<(), SysErrno> {
    let text = CString::new(filter).map_err(|_| SysErrno::from_raw(libc::EINVAL))?;
    // SAFETY: the opcode takes a string that ends with a zero, which lives for the call; the kernel only reads it.
    let set = unsafe {
        rustix::ioctl::ioctl(event, IntegerSetter::<SET_FILTER>::new_pointer(text.as_ptr().cast_mut().cast()))
    };
    Ok(set?)
}

// Numbers of include/uapi/linux/perf_event.h.
const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
/// `struct perf_event_header`: type, misc, size.
const HEADER_BYTES: usize = 8;

/// The records that `bytes` contain whole; others than samples and losses are left out.
fn for_each_record(mut bytes: &[u8], use_record: &mut dyn FnMut(TraceRecord<'_>)) {
    while let (Some(kind), Some(size)) = (number_u32(bytes, 0), number_u16(bytes, 6)) {
        let size = usize::from(size);
        let Some(body) = bytes.get(HEADER_BYTES..size) else { return };
        let record = match kind {
            RECORD_SAMPLE => sample(body),
            // The id of the event, then how many.
            RECORD_LOST => number_u64(body, 8).map(TraceRecord::Lost),
            _ => None,
        };
        if let Some(record) = record {
            use_record(record);
        }
        bytes = bytes.get(size..).unwrap_or_default();
    }
}

/// The time, the length of the fields, and the fields: in the order of `PERF_SAMPLE_TIME` and `PERF_SAMPLE_RAW`.
fn sample(body: &[u8]) -> Option<TraceRecord<'_>> {
    let length = usize::try_from(number_u32(body, 8)?).ok()?;
    Some(TraceRecord::Sample { at_ns: number_u64(body, 0)?, fields: body.get(12..)?.get(..length)? })
}

fn number_u16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn number_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn number_u64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
