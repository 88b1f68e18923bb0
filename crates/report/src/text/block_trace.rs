//! How long requests were in the block layer's queue and how long the device had them, by the kernel's tracepoints.

use super::names::CellNames;
use super::style::Style;
use super::wrap::{Indent, paragraph};
use narrows_model::Summary;
use narrows_model::counters::{BlockTimes, BlockTrace, RequestTimes};
use narrows_model::printable::one_line;
use narrows_model::quantity::span;

/// The section, only with detail; empty where no request of the path reached a device of this machine.
pub(crate) fn render(summary: &Summary, names: &CellNames<'_>, style: &Style) -> String {
    let traced: Vec<(&str, &BlockTrace)> = summary
        .cells
        .iter()
        .filter(|_| style.detail)
        .filter_map(|cell| Some((names.name(&cell.id), cell.block_trace.as_ref()?)))
        .collect();
    let lines = match common_reason(&traced) {
        Some(reason) => vec![format!("not measured: {}", one_line(reason))],
        None => traced.iter().flat_map(|(name, trace)| of_cell(name, trace)).collect(),
    };
    if lines.is_empty() {
        return String::new();
    }
    let mut out =
        style.heading("DEVICE AND QUEUE", "mean times of requests, by the kernel's block tracepoints");
    for line in lines {
        out.push_str(&paragraph(&line, Indent { first: "  ", rest: "    " }, style.width));
    }
    out
}

/// Why nothing was measured in any cell, where it is one reason.
fn common_reason<'t>(traced: &[(&str, &'t BlockTrace)]) -> Option<&'t str> {
    let (_, first) = traced.first()?;
    let reason = first.missing_reason.as_deref()?;
    traced.iter().all(|(_, trace)| trace.missing_reason.as_deref() == Some(reason)).then_some(reason)
}

/// A line for each device that served requests, or the reason why there is none.
fn of_cell(name: &str, trace: &BlockTrace) -> Vec<String> {
    if let Some(reason) = &trace.missing_reason {
        return vec![format!("{name}: not measured: {}", one_line(reason))];
    }
    let lost = match trace.lost_count {
        0 => String::new(),
        count => format!("; {count} events were lost"),
    };
    trace.devices.iter().map(|device| format!("{name}: {}{lost}", of_device(device))).collect()
}

/// `Device sda: 412 us in the device, 1.9 ms in the block layer's queue (3000 reads)`.
fn of_device(device: &BlockTimes) -> String {
    let kinds = [(&device.read, "read"), (&device.write, "write"), (&device.flush, "flush")];
    let each: Vec<String> = kinds.into_iter().filter_map(|(times, kind)| of_kind(times, kind)).collect();
    format!("device {}: {}", one_line(&device.name), each.join("; "))
}

fn of_kind(times: &RequestTimes, kind: &str) -> Option<String> {
    let at_device = span(times.device_mean_ns()?);
    let queue = match times.queue_mean_ns() {
        Some(queue) => format!("{} in the block layer's queue", span(queue)),
        None => "the block layer's queue not measured".to_owned(),
    };
    let plural = match (times.served_count, kind) {
        (1, kind) => kind.to_owned(),
        (_, "flush") => "flushes".to_owned(),
        (_, kind) => format!("{kind}s"),
    };
    Some(format!("{at_device} in the device, {queue} ({} {plural})", times.served_count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;

    #[test]
    fn a_device_has_its_times_by_kind_and_lost_events_are_counted() {
        let read = RequestTimes {
            served_count: 2,
            device_ns: Nanos(824_000),
            queued_count: 2,
            queue_ns: Nanos(3_800_000),
        };
        let flush = RequestTimes { served_count: 1, device_ns: Nanos(5000), ..RequestTimes::default() };
        let device = BlockTimes { read, flush, ..BlockTimes::of_device("sda") };
        let trace = BlockTrace { devices: vec![device], lost_count: 3, missing_reason: None };
        let expected = "random read: device sda: 412 us in the device, 1.90 ms in the block layer's queue (2 reads); \
                        5.00 us in the device, the block layer's queue not measured (1 flush); 3 events were lost";
        assert_eq!(of_cell("random read", &trace), [expected]);
    }

    #[test]
    fn what_was_not_measured_has_its_reason() {
        let (refused, other) = (BlockTrace::missing("no right"), BlockTrace::missing("lost"));
        assert_eq!(common_reason(&[("a", &refused), ("b", &refused)]), Some("no right"));
        assert_eq!(common_reason(&[("a", &refused), ("b", &other)]), None);
        assert_eq!(of_cell("x", &BlockTrace::missing("no right")), ["x: not measured: no right"]);
    }
}
