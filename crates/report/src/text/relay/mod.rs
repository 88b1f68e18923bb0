//! The buffer experiment: the published table of each sweep, what narrows saw beyond it, and the verdict.

mod buffers;
mod native;
mod own;
mod published;

#[cfg(test)]
mod tests;

use super::evidence::PageContext;
use super::names::CellNames;
use super::units::counted_len;
use super::wrap::{Indent, paragraph};
use super::{Style, headline, lists, remarks};
use narrows_model::Summary;
use narrows_model::quantity::amount;
use narrows_model::relay::{ForwardMode, RelaySweep, RelayTransport};
use narrows_model::summary::{RelayPointSummary, RelaySummary};

/// The results of the experiment in `summary`; empty where none was run.
///
/// # Shape
/// Two rows a point, and the verdict in about thirty lines.
pub(super) fn relay(summary: &Summary, style: &Style) -> String {
    let Some(relay) = &summary.relay else { return String::new() };
    let names = CellNames::from_summary(summary);
    let page = PageContext { names: &names, style };
    let mut out = headline::warnings(summary, style);
    out.push_str(&statement(relay, style));
    for line in buffers::less_than_asked(relay) {
        out.push_str(&paragraph(&line, Indent { first: "! ", rest: "  " }, style.width));
    }
    for (sweep, points) in measured_sweeps(relay) {
        out.push_str(&style.heading(&heading(sweep), ""));
        out.push_str(&paragraph(native::explained(sweep), Indent { first: "  ", rest: "  " }, style.width));
        out.push_str(&native::table(sweep, &points, style));
    }
    out.push_str(&own::tables(relay, style));
    out.push_str(&problems(relay, style));
    if !summary.diagnosis.limiting.is_empty() || !summary.diagnosis.findings.is_empty() {
        out.push_str(&style.heading("VERDICT", ""));
        out.push_str(&headline::regimes(summary, style));
        out.push_str(&lists::render(summary, page));
    }
    out.push_str(&remarks::render(summary, page));
    out.push_str(&headline::origin(summary, style));
    out
}

/// What was run, in a sentence or two.
fn statement(relay: &RelaySummary, style: &Style) -> String {
    let joined = match (relay.sockets.transport, relay.sockets.no_delay) {
        (RelayTransport::Unix, _) => "Unix sockets",
        (RelayTransport::Tcp, false) => "TCP, small writes delayed by Nagle's algorithm",
        (RelayTransport::Tcp, true) => "TCP with TCP_NODELAY",
    };
    let has_proxy = relay.points.iter().any(|point| point.buffers.proxy.is_some());
    let forwards = match relay.forward {
        _ if !has_proxy => "",
        ForwardMode::Copy => "; the proxy copies",
        ForwardMode::Splice => "; the proxy splices",
        ForwardMode::Uring => "; the proxy forwards through io_uring",
    };
    let waits = if relay.sockets.wait_all { "; reads wait for a full buffer (MSG_WAITALL)" } else { "" };
    let verified = if relay.verify { "; every byte verified" } else { "" };
    let text = format!(
        "{} through client{} and server in each trial, {} of buffer sizes: {joined}{forwards}{waits}{verified}.",
        amount(relay.total),
        if has_proxy { ", proxy" } else { "" },
        counted_len(relay.points.len(), "point"),
    );
    paragraph(&text, Indent { first: "", rest: "" }, style.width)
}

/// The points by sweep, in the order of the published tables, the largest buffers first.
fn sweeps(relay: &RelaySummary) -> Vec<(RelaySweep, Vec<&RelayPointSummary>)> {
    RelaySweep::ALL
        .into_iter()
        .filter_map(|sweep| {
            let mut points: Vec<_> = relay.points.iter().filter(|point| point.sweep == sweep).collect();
            points.sort_by_key(|point| std::cmp::Reverse(point.shrunk));
            (!points.is_empty()).then_some((sweep, points))
        })
        .collect()
}

/// Of these, the sweeps that have a figure.
fn measured_sweeps(relay: &RelaySummary) -> Vec<(RelaySweep, Vec<&RelayPointSummary>)> {
    let has_figure = |points: &[&RelayPointSummary]| points.iter().any(|point| point.is_measured());
    sweeps(relay).into_iter().filter(|(_, points)| has_figure(points)).collect()
}

fn heading(sweep: RelaySweep) -> String {
    let nodes = if sweep.has_proxy() { "THREE" } else { "TWO" };
    format!("{nodes} NODES, SWEEP {}", sweep.name())
}

/// Trials that are no results, and why.
fn problems(relay: &RelaySummary, style: &Style) -> String {
    const SHOWN_MAX: usize = 8;
    let all: Vec<String> = relay
        .points
        .iter()
        .flat_map(|point| point.problems.iter().map(move |problem| format!("{}: {problem}", point.cell)))
        .collect();
    if all.is_empty() {
        return String::new();
    }
    let mut out = style.heading("NO RESULTS", "trials not included in the figures above");
    let indent = Indent { first: "  ", rest: "    " };
    for problem in all.iter().take(if style.detail { usize::MAX } else { SHOWN_MAX }) {
        out.push_str(&paragraph(problem, indent, style.width));
    }
    if !style.detail && all.len() > SHOWN_MAX {
        let more = format!("and {} more (--detail)", all.len() - SHOWN_MAX);
        out.push_str(&paragraph(&more, indent, style.width));
    }
    out
}
