//! How long requests waited in the block layer's queue and how long the device had them, by the kernel's tracepoints.
//!
//! Sums since tracing began, of the requests that were seen from their issue to their completion: under a high rate only a part
//! of the time is traced, so that counts are no rates, while means are those of the load.

use crate::Nanos;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times of requests by device, or why there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct BlockTrace {
    /// Devices under the path that have a queue of requests, the one that the file system is on first. Those that only pass
    /// requests on (device mapper, RAID) serve none.
    pub devices: Vec<BlockTimes>,
    /// Events that found no room to be recorded.
    pub lost_count: u64,
    /// Why nothing was measured, for people; `None` where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_reason: Option<String>,
}

impl BlockTrace {
    /// Nothing, with the reason for people.
    #[must_use]
    pub fn missing(reason: impl Into<String>) -> Self {
        Self { missing_reason: Some(reason.into()), ..Self::default() }
    }

    /// The share of the time of requests below the file system in which they waited in the queue, of the first device that served
    /// any: 0 to 1; `None` without requests of which the time in the queue is known. Kinds of which it is not are left out.
    #[must_use]
    pub fn queue_share_ratio(&self) -> Option<f64> {
        let device = self.devices.iter().find(|device| device.served_count() > 0)?;
        let kinds = [device.read, device.write, device.flush];
        let known = kinds.iter().filter(|kind| kind.queued_count > 0);
        let (mut queue_ns, mut device_ns) = (0.0, 0.0);
        for kind in known {
            // Requests of which the start was not seen waited as long as the others.
            queue_ns += kind.queue_ns.as_f64() * ratio(kind.served_count, kind.queued_count)?;
            device_ns += kind.device_ns.as_f64();
        }
        crate::units::ratio(queue_ns, queue_ns + device_ns)
    }
}

/// Times of the requests of one device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct BlockTimes {
    /// Kernel name.
    pub name: String,
    /// Reads.
    pub read: RequestTimes,
    /// Writes.
    pub write: RequestTimes,
    /// Flushes of the device's cache, each for all that wait for it.
    pub flush: RequestTimes,
    /// Requests for a flush without data, which the kernel's disk counters count among the writes.
    #[serde(default)]
    pub flush_request_count: u64,
    /// Completions whose issue was not seen: it was lost, or before tracing began or went on.
    #[serde(default)]
    pub unpaired_count: u64,
}

impl BlockTimes {
    /// No request of the device with this kernel name.
    #[must_use]
    pub fn of_device(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Requests of all kinds that were seen from issue to completion.
    #[must_use]
    pub fn served_count(&self) -> u64 {
        let kinds = [&self.read, &self.write, &self.flush];
        kinds.iter().fold(0, |sum: u64, kind| sum.saturating_add(kind.served_count))
    }
}

/// Times of one kind of request, summed over requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RequestTimes {
    /// Requests that the device completed, several of a program in one where they were merged.
    pub served_count: u64,
    /// Time from their issue to the device to their completion.
    pub device_ns: Nanos,
    /// Those of them of which it is known when they came into the queue.
    pub queued_count: u64,
    /// Time of these from then to their issue to the device.
    pub queue_ns: Nanos,
}

impl RequestTimes {
    /// Mean time at the device; `None` without requests.
    #[must_use]
    pub fn device_mean_ns(&self) -> Option<Nanos> {
        mean(self.device_ns, self.served_count)
    }

    /// Mean time in the queue; `None` where it is not known of any request.
    #[must_use]
    pub fn queue_mean_ns(&self) -> Option<Nanos> {
        mean(self.queue_ns, self.queued_count)
    }
}

fn ratio(count: u64, of_count: u64) -> Option<f64> {
    crate::units::ratio(count as f64, of_count as f64)
}

fn mean(sum: Nanos, count: u64) -> Option<Nanos> {
    sum.0.checked_div(count).map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_queue_is_of_the_first_device_that_served_requests() {
        let read =
            RequestTimes { served_count: 4, device_ns: Nanos(100), queued_count: 2, queue_ns: Nanos(150) };
        let served = BlockTimes { read, ..BlockTimes::of_device("sda") };
        let idle = BlockTimes::of_device("dm-0");
        let mut trace = BlockTrace { devices: vec![idle, served], ..BlockTrace::default() };
        assert_eq!(trace.queue_share_ratio(), Some(0.75));
        // Of flushes it is not known.
        let flush = RequestTimes { served_count: 1, device_ns: Nanos(5), ..RequestTimes::default() };
        trace.devices[1].flush = flush;
        assert_eq!(trace.queue_share_ratio(), Some(0.75));
        trace.devices[1].read = RequestTimes::default();
        assert_eq!(trace.queue_share_ratio(), None);
        assert_eq!(BlockTrace::missing("no right").queue_share_ratio(), None);
    }
}
