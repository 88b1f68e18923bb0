//! The load of the buffer experiment, stated before it starts, and its points.

use super::costs::costs_section;
use super::style::{Paint, Style};
use super::table::{Align, TextTable};
use super::units::{counted, counted_len};
use super::wrap::{Indent, paragraph};
use narrows_model::quantity::amount;
use narrows_model::relay::{ForwardMode, RelayPlan, RelayTransport};
use narrows_model::{Bytes, Plan, Target};
use std::collections::BTreeSet;

/// The load of `relay` in a few lines, and with [`Style::detail`] every point.
pub(super) fn relay_plan(plan: &Plan, relay: &RelayPlan, style: &Style) -> String {
    let indent = Indent { first: "  ", rest: "    " };
    let mut out = style.paint(Paint::Heading, "The client / proxy / server buffer experiment");
    out.push('\n');
    for line in statement(plan, relay) {
        out.push_str(&paragraph(&line, indent, style.width));
    }
    if style.detail {
        out.push_str(&costs_section(plan, style));
        out.push_str(&style.heading("POINTS", "in the order in which they run"));
        out.push_str(&points(relay, style));
    }
    out
}

fn statement(plan: &Plan, relay: &RelayPlan) -> Vec<String> {
    let sweeps: BTreeSet<_> = relay.cells.iter().map(|cell| cell.sweep).collect();
    let trials: u64 = relay.cells.iter().map(|cell| u64::from(cell.trials)).sum();
    let all = Bytes(relay.total.0.saturating_mul(trials));
    let mut lines = vec![
        format!(
            "{} of {}, {} of {} each: {} in all, at full speed",
            counted_len(relay.cells.len(), "point"),
            counted_len(sweeps.len(), "sweep"),
            counted(trials, "trial"),
            amount(relay.total),
            amount(all)
        ),
        "each trial ends when its bytes are transferred".to_owned(),
        processes(plan, relay),
        sockets(relay),
    ];
    if relay.verify {
        lines.push(
            "the client generates every byte and the server compares it: about 0.4 ns of CPU time per byte at the \
             client and 1.2 ns at the server, on a machine of 2026, in addition to a trial without --verify"
                .to_owned(),
        );
    }
    lines.push("writes no files but the record".to_owned());
    lines.push(format!("seed {} of the order of points (--seed {0} repeats it)", plan.seed));
    lines
}

fn processes(plan: &Plan, relay: &RelayPlan) -> String {
    let has_proxy = relay.cells.iter().any(|cell| cell.buffers.proxy.is_some());
    let server = match &plan.target {
        Target::Tcp { host, port, .. } => format!("server in the endpoint at {host}:{port}"),
        _ => "server".to_owned(),
    };
    let proxy = if has_proxy { ", proxy" } else { "" };
    format!("one process per role, with one thread that moves bytes: client{proxy} and {server}")
}

fn sockets(relay: &RelayPlan) -> String {
    let sockets = &relay.sockets;
    let joined = match (sockets.transport, sockets.no_delay) {
        (RelayTransport::Unix, _) => "Unix stream sockets",
        (RelayTransport::Tcp, false) => "TCP sockets with default options (TCP_NODELAY with --no-delay)",
        (RelayTransport::Tcp, true) => "TCP sockets with TCP_NODELAY",
    };
    let asked = |name: &str, size: Option<Bytes>| {
        size.map_or_else(String::new, |size| format!(", {name} {}", amount(size)))
    };
    let forward = match relay.forward {
        ForwardMode::Copy => "",
        ForwardMode::Splice => "; the proxy splices",
        ForwardMode::Uring => "; the proxy forwards through io_uring",
    };
    let waits = if sockets.wait_all { ", reads that wait for a full buffer (MSG_WAITALL)" } else { "" };
    format!(
        "{joined}{}{}{waits}{forward}",
        asked("SO_SNDBUF", sockets.send_buffer),
        asked("SO_RCVBUF", sockets.receive_buffer)
    )
}

fn points(relay: &RelayPlan, style: &Style) -> String {
    let mut table = TextTable::new(&[
        ("", Align::Right),
        ("point", Align::Left),
        ("client", Align::Right),
        ("proxy", Align::Right),
        ("server", Align::Right),
        ("trials", Align::Right),
    ]);
    for (number, cell) in (1_usize..).zip(&relay.cells) {
        let proxy = cell.buffers.proxy.map_or_else(|| "-".to_owned(), amount);
        table.row(vec![
            number.to_string().into(),
            cell.id.to_string().into(),
            amount(cell.buffers.client).into(),
            proxy.into(),
            amount(cell.buffers.server).into(),
            cell.trials.to_string().into(),
        ]);
    }
    table.render(style)
}
