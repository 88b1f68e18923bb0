//! The client: writes its buffer, and nothing but its buffer, until the trial's bytes are written.
//!
//! Hot path: no allocation, no lock, no log, no clock between the first write and the last.

use super::content::StreamContent;
use super::deadline::ProgressDeadline;
use super::meter::{Meter, SegmentCounter, host_name, machine, reported_buffer};
use super::socket::{RelayStream, join};
use super::{ReportReady, RoleError, RoleSite};
use crate::forward::{CallObserver, CallTable};
use narrows_model::Bytes;
use narrows_model::counters::Role;
use narrows_model::relay::{CallSizes, RelayRoleOutput};
use narrows_model::units::saturate_usize;
use narrows_wire::relay::{RelaySignal, RoleReport, RoleSpec};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

/// Key of the bytes that nobody verifies: any will do.
const ANY_KEY: u64 = 0x6e61_7272_6f77_7331;

/// See [`super::play`].
pub(super) fn play(
    asked: &RoleSpec,
    site: &RoleSite<'_>,
    ready: ReportReady<'_>,
) -> Result<RoleReport, RoleError> {
    let hop = asked.next.as_ref().ok_or_else(|| RoleError::failed("the client was given no next hop"))?;
    let mut deadline = ProgressDeadline::new(site.stop, asked.silence_ns);
    let mut buffer = vec![0; saturate_usize(asked.buffer.0)];
    StreamContent::new(ANY_KEY).fill(0, &mut buffer);
    let mut table = CallTable::new(buffer.len());
    let stream = join(hop, &asked.sockets, &mut deadline)?;
    let granted_send_buffer = reported_buffer(stream.send_buffer());
    ready(None)?;
    let segments = SegmentCounter::start(None, Some(&stream));
    let meter = Meter::start(site.clock);
    let content = asked.content_key.map(StreamContent::new);
    write_all(&stream, &mut buffer, asked.total, content.as_ref(), &mut table, &mut deadline)?;
    let span = meter.span();
    stream.end()?;
    let word = stream.receive_signal("the server's message that it has the last byte", &mut deadline)?;
    let trial_elapsed_ns = Some(meter.elapsed());
    if word != RelaySignal::Received(asked.total) {
        return Err(RoleError::failed(format!(
            "the server was sent {} bytes and {}",
            asked.total.0,
            match word {
                RelaySignal::Received(Bytes(bytes)) => format!("has {bytes}"),
                RelaySignal::Ready => "did not report how many it has".to_owned(),
            }
        )));
    }
    let output = RelayRoleOutput {
        role: Role::Client,
        host: host_name(),
        machine: Some(machine()),
        reads: CallSizes::default(),
        writes: table.writes(),
        elapsed_ns: span.elapsed,
        user_ns: span.user,
        system_ns: span.system,
        segments: segments.since(),
        granted_send_buffer,
        granted_receive_buffer: None,
    };
    Ok(RoleReport { output, trial_elapsed_ns, content_fault: None })
}

fn write_all(
    stream: &RelayStream,
    buffer: &mut [u8],
    total: Bytes,
    content: Option<&StreamContent>,
    table: &mut CallTable,
    deadline: &mut ProgressDeadline<'_>,
) -> Result<(), RoleError> {
    let mut sent: u64 = 0;
    while sent < total.0 {
        if let Some(content) = content {
            content.fill(sent, buffer);
        }
        let mut done = 0;
        while done < buffer.len() {
            match send(stream, &buffer[done..], SendFlags::NOSIGNAL) {
                Ok(length) => {
                    table.written(length);
                    done += length;
                    sent += length as u64;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => deadline.check_progress("the next hop to accept more", sent)?,
                Err(errno) => {
                    let message = format!(
                        "write after {sent} of {} bytes: {errno}; see the messages of the next hop",
                        total.0
                    );
                    return Err(RoleError::failed(message));
                }
            }
        }
    }
    Ok(())
}
