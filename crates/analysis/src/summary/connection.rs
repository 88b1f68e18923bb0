//! What the connections of a cell's load tell of themselves, as metrics of the cell: the end that sends the data.
//!
//! The receiving end sends requests or acknowledgements alone; its times and segments say nothing of the data.

use crate::collect::{CellData, TcpDelta};
use narrows_model::Role;
use narrows_model::summary::Metric;

/// Seconds with data to send.
pub(crate) const TCP_BUSY_S: &str = "tcp_busy_s";
/// Seconds held back by the peer's receive window.
pub(crate) const TCP_RECEIVE_WINDOW_LIMITED_S: &str = "tcp_receive_window_limited_s";
/// Seconds held back by the own send buffer.
pub(crate) const TCP_SEND_BUFFER_LIMITED_S: &str = "tcp_send_buffer_limited_s";
/// Segments that the sender of the data sent.
pub(crate) const TCP_SEGMENT_COUNT: &str = "tcp_segment_count";
/// Segments that the sender of the data sent again.
pub(crate) const TCP_RETRANSMIT_COUNT: &str = "tcp_retransmit_count";

/// The metrics of the sender's connections; none where its end was not read.
pub(super) fn metrics(data: &CellData) -> Vec<Metric> {
    let sender = if data.cell.workload.op.moves_towards_device() { Role::Client } else { Role::Server };
    let tcp = data.deltas.iter().find(|delta| delta.role == sender).and_then(|delta| delta.tcp);
    tcp.iter().flat_map(of_sender).collect()
}

fn of_sender(tcp: &TcpDelta) -> [Metric; 5] {
    let metric = |id: &str, value: f64, unit: &str| Metric {
        id: id.to_owned(),
        value,
        unit: unit.to_owned(),
        interval: None,
    };
    [
        metric(TCP_BUSY_S, tcp.busy.as_secs_f64(), "s"),
        metric(TCP_RECEIVE_WINDOW_LIMITED_S, tcp.receive_window_limited.as_secs_f64(), "s"),
        metric(TCP_SEND_BUFFER_LIMITED_S, tcp.send_buffer_limited.as_secs_f64(), "s"),
        metric(TCP_SEGMENT_COUNT, tcp.segments_out_count as f64, "segments"),
        metric(TCP_RETRANSMIT_COUNT, tcp.retransmit_count as f64, "segments"),
    ]
}
