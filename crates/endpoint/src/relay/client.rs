//! The client: writes its buffer, and nothing but its buffer, until the trial's bytes are written.
//!
//! Hot path: no allocation, no lock, no log, no clock between the first write and the last.

use super::content::Content;
use super::meter::{Meter, Segments, granted, host_name, machine};
use super::patience::Patience;
use super::socket::{Stream, join};
use super::{RoleError, RoleSite, TellReady};
use crate::forward::{CallTable, Calls};
use narrows_model::Bytes;
use narrows_model::counters::Role;
use narrows_model::relay::{CallSizes, RelayRoleOutput};
use narrows_model::units::saturate_usize;
use narrows_wire::relay::{Prepare, RoleDone, Word};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

/// Key of the bytes that nobody verifies: any will do.
const ANY_KEY: u64 = 0x6e61_7272_6f77_7331;

/// See [`super::play`].
pub(super) fn play(
    asked: &Prepare,
    site: &RoleSite<'_>,
    ready: TellReady<'_>,
) -> Result<RoleDone, RoleError> {
    let hop = asked.next.as_ref().ok_or_else(|| RoleError::failed("the client was given no next hop"))?;
    let mut patience = Patience::new(site.stop, asked.silence_ns);
    let mut buffer = vec![0; saturate_usize(asked.buffer.0)];
    Content::new(ANY_KEY).fill(0, &mut buffer);
    let mut table = CallTable::new(buffer.len());
    let stream = join(hop, &asked.sockets, &mut patience)?;
    let granted_send_buffer = granted(stream.send_buffer());
    ready(None)?;
    let segments = Segments::start(None, Some(&stream));
    let meter = Meter::start(site.clock);
    let content = asked.content_key.map(Content::new);
    write_all(&stream, &mut buffer, asked.total, content.as_ref(), &mut table, &mut patience)?;
    let span = meter.span();
    stream.end()?;
    let word = stream.hear("the server's word that it holds the last byte", &mut patience)?;
    let trial_elapsed_ns = Some(meter.elapsed());
    if word != Word::Held(asked.total) {
        return Err(RoleError::failed(format!(
            "the server was sent {} bytes and {}",
            asked.total.0,
            match word {
                Word::Held(Bytes(bytes)) => format!("holds {bytes}"),
                Word::Ready => "did not say how many it holds".to_owned(),
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
    Ok(RoleDone { output, trial_elapsed_ns, content_fault: None })
}

fn write_all(
    stream: &Stream,
    buffer: &mut [u8],
    total: Bytes,
    content: Option<&Content>,
    table: &mut CallTable,
    patience: &mut Patience<'_>,
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
                Err(Errno::AGAIN) => patience.waited("the next hop to take more", sent)?,
                Err(errno) => {
                    let message =
                        format!("write after {sent} of {} bytes: {errno}; the next hop may say why", total.0);
                    return Err(RoleError::failed(message));
                }
            }
        }
    }
    Ok(())
}
