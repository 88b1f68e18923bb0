//! The proxy: reads with its buffer and writes all of what it read, by `forward`, the same as `narrows proxy` does.

use super::deadline::ProgressDeadline;
use super::meter::{Meter, SegmentCounter, host_name, machine, reported_buffer};
use super::socket::{Listener, join, read_flags};
use super::{ReportReady, RoleError, RoleSite};
use crate::forward::{CallTable, ForwardError, copy, forward};
use narrows_model::counters::Role;
use narrows_model::relay::{ForwardMode, RelayRoleOutput};
use narrows_model::units::saturate_usize;
use narrows_wire::relay::{RelaySignal, RoleReport, RoleSpec};
use rustix::event::PollFlags;
use std::os::fd::AsFd;

/// See [`super::play`].
pub(super) fn play(
    asked: &RoleSpec,
    site: &RoleSite<'_>,
    ready: ReportReady<'_>,
) -> Result<RoleReport, RoleError> {
    let hop = asked.next.as_ref().ok_or_else(|| RoleError::failed("the proxy was given no next hop"))?;
    let mut deadline = ProgressDeadline::new(site.stop, asked.silence_ns);
    let buffer_bytes = saturate_usize(asked.buffer.0);
    let mut table = CallTable::new(buffer_bytes);
    // The next hop first: one that refuses is reported before anybody connects.
    let to = join(hop, &asked.sockets, &mut deadline)?;
    let listener = Listener::open(&asked.sockets, site.listen)?;
    ready(Some(listener.hop()))?;
    let from = listener.admit(&mut deadline)?;
    let (granted_send_buffer, granted_receive_buffer) =
        (reported_buffer(to.send_buffer()), reported_buffer(from.receive_buffer()));
    let segments = SegmentCounter::start(Some(&from), Some(&to));
    from.send_signal(RelaySignal::Ready, &mut deadline)?;
    deadline.wait_ready(&from, PollFlags::IN, "the first byte")?;
    let meter = Meter::start(site.clock);
    let (source, sink) = (from.as_fd(), to.as_fd());
    let moved = match asked.forward {
        ForwardMode::Copy => {
            copy(source, sink, read_flags(&asked.sockets), buffer_bytes, &mut table, site.stop)
        }
        mode => forward(source, sink, mode, buffer_bytes, &mut table, site.stop),
    };
    moved.map_err(|error| role_error(error, &table))?;
    let span = meter.span();
    to.end()?;
    let word = to.receive_signal("the server's message that it has the last byte", &mut deadline)?;
    let output = RelayRoleOutput {
        role: Role::Proxy,
        host: host_name(),
        machine: Some(machine()),
        reads: table.reads(),
        writes: table.writes(),
        elapsed_ns: span.elapsed,
        user_ns: span.user,
        system_ns: span.system,
        segments: segments.since(),
        granted_send_buffer,
        granted_receive_buffer,
    };
    from.send_signal(word, &mut deadline)?;
    Ok(RoleReport { output, trial_elapsed_ns: None, content_fault: None })
}

fn role_error(error: ForwardError, table: &CallTable) -> RoleError {
    match error {
        ForwardError::Stopped => RoleError::Stopped,
        other => {
            let passed = table.writes().total().0;
            RoleError::failed(format!(
                "{other}, after {passed} bytes; see the messages of the hop on that side"
            ))
        }
    }
}
