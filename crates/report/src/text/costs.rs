//! What a plan costs, as far as it is known before it starts.

use super::style::Style;
use super::wrap::{Indent, paragraph};
use narrows_model::costs::{PlanCosts, SLOW_BYTES_PER_S, SLOW_FILE_OPS_PER_S};
use narrows_model::quantity::{amount, rounded_duration};
use narrows_model::{Bytes, Nanos, Plan};

/// `costs` as phrases with a verb and no subject, such as `moves at most 2.00 GiB`: bytes, time and dummy files.
///
/// # Shape
/// Two, or three where caches are displaced.
#[must_use]
pub fn costs(costs: &PlanCosts) -> Vec<String> {
    let mut phrases = vec![bytes(costs), time(costs)];
    if costs.displacing_bytes > Bytes(0) {
        let all = amount(costs.displacing_bytes);
        phrases
            .push(format!("reads dummy files of {all} in all to displace caches, at every serving machine"));
    }
    phrases
}

/// The section of a plan that states them.
pub(super) fn costs_section(plan: &Plan, style: &Style) -> String {
    let indent = Indent { first: "  ", rest: "    " };
    let mut out = style.heading("COSTS", "as far as they are known beforehand");
    for phrase in costs(&PlanCosts::from_plan(plan)) {
        out.push_str(&paragraph(&phrase, indent, style.width));
    }
    out
}

fn bytes(costs: &PlanCosts) -> String {
    let moved = amount(costs.moved_bytes());
    match (costs.has_open_bytes, costs.moved_bytes()) {
        (false, _) => format!("moves at most {moved}"),
        (true, Bytes(0)) => "moves as many bytes as the path transfers in the time".to_owned(),
        (true, _) => {
            format!("moves at most {moved}, beside what the path transfers in windows that time alone limits")
        }
    }
}

fn time(costs: &PlanCosts) -> String {
    let bounded = rounded_duration(costs.duration_ns);
    let slow = rounded_duration(costs.open_ns);
    let rates =
        format!("on a path of {} MB and {SLOW_FILE_OPS_PER_S} files a second", SLOW_BYTES_PER_S / 1_000_000);
    match (costs.open_ns, costs.duration_ns) {
        (Nanos(0), _) => format!("lasts at most {bounded}"),
        (_, Nanos(0)) => format!("lasts until its bytes are transferred: {slow} {rates}"),
        (_, _) => {
            format!("lasts at most {bounded}, beside the time for the bytes of its tests: {slow} {rates}")
        }
    }
}
