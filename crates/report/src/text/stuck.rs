//! Requests that were in flight for longer than any that completed took: the largest time that was measured is not the
//! largest there was.

use super::units::{NO_FIGURE, counted, counted_len};
use narrows_model::Nanos;
use narrows_model::quantity::span;
use narrows_model::summary::CellSummary;

/// The largest response time of a cell: as measured, or what it is at least.
pub(crate) fn largest(cell: &CellSummary) -> String {
    match (cell.response_ns_at_least(), cell.latency_ns.max) {
        (Some(at_least), _) => format!(">= {}", span(Nanos(at_least))),
        (None, Some(largest)) => span(Nanos(largest)),
        (None, None) => NO_FIGURE.to_owned(),
    }
}

/// A quantile of a cell's response time: as measured, or what it is at least.
pub(crate) fn response(cell: &CellSummary, quantile: Option<u64>) -> String {
    match quantile {
        Some(ns) if cell.is_at_least(ns) => format!(">= {}", span(Nanos(ns))),
        Some(ns) => span(Nanos(ns)),
        None => NO_FIGURE.to_owned(),
    }
}

/// A line on the cell of `cells` with the oldest such request; `None` where no cell is flagged for one.
pub(crate) fn note(cells: &[&CellSummary]) -> Option<String> {
    let stuck = |cell: &&&CellSummary| cell.flags.iter().any(|flag| flag == "stuck_requests");
    let age = |cell: &&&CellSummary| cell.in_flight.at_end.map(|at_end| at_end.longest_in_flight_ns);
    let worst = cells.iter().filter(stuck).max_by_key(age)?;
    let at_end = worst.in_flight.at_end?;
    let (most, measured) = match worst.service_ns {
        // Response times may have begun long before: the time from the submission is what is beyond all others.
        Some(service) => {
            (format!("the largest service time is >= {}", span(at_end.longest_in_flight_ns)), service.max)
        }
        None => (format!("max {}", largest(worst)), worst.latency_ns.max),
    };
    let measured = measured.map_or_else(
        || "none completed".to_owned(),
        |largest| format!("{} of those that completed", span(Nanos(largest))),
    );
    let others = match cells.iter().filter(stuck).count() - 1 {
        0 => String::new(),
        count => format!("; likewise in {}", counted_len(count, "other cell")),
    };
    Some(format!(
        "stuck: {} left in flight in {}, the oldest for {}: {most} ({measured}){others}",
        counted(at_end.count, "request"),
        worst.id,
        span(at_end.longest_in_flight_ns),
    ))
}
