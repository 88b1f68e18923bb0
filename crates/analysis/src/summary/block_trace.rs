//! How long a cell's requests were in the block layer's queue and at the device, as far as that can be relied on.
//!
//! Not here: what a long time in the queue means.

use super::bytes::reaches_device;
use crate::collect::CellData;
use narrows_model::Role;
use narrows_model::counters::{BlockTimes, BlockTrace};
use narrows_model::units::ratio;

/// From this share of lost events on the times are those of some requests, and of others than the slow ones.
const LOST_MAX_RATIO: f64 = 0.05;
/// From this share of requests of which only the end was seen on the times are those of the short ones.
const UNPAIRED_MAX_RATIO: f64 = 0.2;
/// Events of a request: it is queued, issued, and completed.
const EVENTS_PER_REQUEST: u64 = 3;

/// The times by device; `None` where no request of the cell reached a device that is traced.
pub(super) fn of_cell(data: &CellData) -> Option<BlockTrace> {
    if !reaches_device(data.cell.cut, &data.cell.target) {
        return None;
    }
    let delta = data.deltas.iter().find(|delta| delta.role == Role::Client)?;
    checked(delta.block_trace.clone()?)
}

/// The trace with devices that served requests alone; without its figures where too much is missing.
fn checked(mut trace: BlockTrace) -> Option<BlockTrace> {
    if trace.missing_reason.is_some() {
        return Some(BlockTrace { devices: Vec::new(), ..trace });
    }
    let sum = |count: fn(&BlockTimes) -> u64| trace.devices.iter().map(count).fold(0, u64::saturating_add);
    let (served, unpaired) = (sum(BlockTimes::served_count), sum(|device| device.unpaired_count));
    let share = |part: u64, others: u64| ratio(part as f64, part.saturating_add(others) as f64);
    let lost = share(trace.lost_count, served.saturating_mul(EVENTS_PER_REQUEST)).unwrap_or(0.0);
    if lost > LOST_MAX_RATIO {
        return Some(missing(
            &trace,
            format!("{:.0} % of the kernel's trace events were lost", lost * 100.0),
        ));
    }
    if share(unpaired, served).is_some_and(|share| share > UNPAIRED_MAX_RATIO) {
        let reason = format!(
            "only {served} requests were traced from beginning to end, and the end of {unpaired} others"
        );
        return Some(missing(&trace, reason));
    }
    trace.devices.retain(|device| device.served_count() > 0);
    (!trace.devices.is_empty()).then_some(trace)
}

fn missing(trace: &BlockTrace, reason: String) -> BlockTrace {
    BlockTrace { lost_count: trace.lost_count, ..BlockTrace::missing(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;
    use narrows_model::counters::RequestTimes;

    fn trace(served_count: u64, unpaired_count: u64, lost_count: u64) -> BlockTrace {
        let read =
            RequestTimes { served_count, device_ns: Nanos(served_count * 7), ..RequestTimes::default() };
        let device = BlockTimes { read, unpaired_count, ..BlockTimes::of_device("sda") };
        BlockTrace { devices: vec![BlockTimes::of_device("dm-0"), device], lost_count, missing_reason: None }
    }

    #[test]
    fn devices_that_served_requests_are_kept() {
        let kept = checked(trace(100, 3, 10)).unwrap();
        assert_eq!(kept.devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>(), ["sda"]);
        assert_eq!(kept.lost_count, 10);
        assert_eq!(checked(trace(0, 0, 0)), None);
    }

    #[test]
    fn figures_are_dropped_with_a_reason_where_more_than_a_twentieth_of_the_events_was_lost() {
        let dropped = checked(trace(100, 0, 30)).unwrap();
        assert!(dropped.devices.is_empty() && dropped.lost_count == 30);
        assert!(dropped.missing_reason.unwrap().contains("9 %"));
        let short = checked(trace(3, 2, 0)).unwrap();
        assert!(short.missing_reason.unwrap().contains("only 3 requests"));
    }

    #[test]
    fn a_reason_of_the_kernel_is_kept_without_figures() {
        let refused = BlockTrace { missing_reason: Some("no right".into()), ..trace(4, 0, 0) };
        let kept = checked(refused).unwrap();
        assert!(kept.devices.is_empty() && kept.missing_reason.as_deref() == Some("no right"));
    }
}
