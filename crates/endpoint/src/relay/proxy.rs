//! The proxy: reads with its buffer and writes all of what it read, by `forward`, the same as `narrows proxy` does.

use super::meter::{Meter, Segments, granted, host_name, machine};
use super::patience::Patience;
use super::socket::{Listener, join};
use super::{RoleError, RoleSite, TellReady};
use crate::forward::{CallTable, ForwardError, forward};
use narrows_model::counters::Role;
use narrows_model::relay::RelayRoleOutput;
use narrows_model::units::saturate_usize;
use narrows_wire::relay::{Prepare, RoleDone, Word};
use rustix::event::PollFlags;
use std::os::fd::AsFd;

/// See [`super::play`].
pub(super) fn play(
    asked: &Prepare,
    site: &RoleSite<'_>,
    ready: TellReady<'_>,
) -> Result<RoleDone, RoleError> {
    let hop = asked.next.as_ref().ok_or_else(|| RoleError::failed("the proxy was given no next hop"))?;
    let mut patience = Patience::new(site.stop, asked.silence_ns);
    let buffer_bytes = saturate_usize(asked.buffer.0);
    let mut table = CallTable::new(buffer_bytes);
    // The next hop first: one that refuses is told before anybody comes.
    let to = join(hop, &asked.sockets, &mut patience)?;
    let listener = Listener::open(&asked.sockets, site.listen)?;
    ready(Some(listener.hop()))?;
    let from = listener.admit(&mut patience)?;
    let (granted_send_buffer, granted_receive_buffer) =
        (granted(to.send_buffer()), granted(from.receive_buffer()));
    let segments = Segments::start(Some(&from), Some(&to));
    from.say(Word::Ready, &mut patience)?;
    patience.until(&from, PollFlags::IN, "the first byte")?;
    let meter = Meter::start(site.clock);
    forward(from.as_fd(), to.as_fd(), asked.forward, buffer_bytes, &mut table, site.stop)
        .map_err(|error| told(error, &table))?;
    let span = meter.span();
    to.end()?;
    let word = to.hear("the server's word that it holds the last byte", &mut patience)?;
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
    from.say(word, &mut patience)?;
    Ok(RoleDone { output, trial_elapsed_ns: None, content_fault: None })
}

fn told(error: ForwardError, table: &CallTable) -> RoleError {
    match error {
        ForwardError::Stopped => RoleError::Stopped,
        other => {
            let passed = table.writes().total().0;
            RoleError::failed(format!("{other}, after {passed} bytes; the hop on that side may say why"))
        }
    }
}
