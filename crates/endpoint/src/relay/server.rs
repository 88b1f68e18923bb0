//! The server: reads with its buffer, and nothing but its buffer, until it holds the trial's bytes.
//!
//! Hot path: no allocation, no lock, no log, no clock between the first read and the last.

use super::content::Verifier;
use super::meter::{Meter, Segments, granted, host_name, machine};
use super::patience::Patience;
use super::socket::{Listener, Stream};
use super::{RoleError, RoleSite, TellReady};
use crate::forward::{CallTable, Calls};
use narrows_model::Bytes;
use narrows_model::counters::Role;
use narrows_model::relay::{CallSizes, RelayRoleOutput};
use narrows_model::units::saturate_usize;
use narrows_wire::relay::{Prepare, RoleDone, Word};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

/// See [`super::play`].
pub(super) fn play(
    asked: &Prepare,
    site: &RoleSite<'_>,
    ready: TellReady<'_>,
) -> Result<RoleDone, RoleError> {
    let mut patience = Patience::new(site.stop, asked.silence_ns);
    let mut buffer = vec![0; saturate_usize(asked.buffer.0)];
    let mut table = CallTable::new(buffer.len());
    let mut verifier = asked.content_key.map(|key| Verifier::new(key, asked.total));
    let listener = Listener::open(&asked.sockets, site.listen)?;
    ready(Some(listener.hop()))?;
    let stream = listener.admit(&mut patience)?;
    let granted_receive_buffer = granted(stream.receive_buffer());
    let segments = Segments::start(Some(&stream), None);
    stream.say(Word::Ready, &mut patience)?;
    patience.until(&stream, PollFlags::IN, "the first byte")?;
    let meter = Meter::start(site.clock);
    let received = read_all(&stream, &mut buffer, asked.total, verifier.as_mut(), &mut table, &mut patience)?;
    let span = meter.span();
    // The word ends the published time: what follows is not waited for by anybody.
    stream.say(Word::Held(received), &mut patience)?;
    let output = RelayRoleOutput {
        role: Role::Server,
        host: host_name(),
        machine: Some(machine()),
        reads: table.reads(),
        writes: CallSizes::default(),
        elapsed_ns: span.elapsed,
        user_ns: span.user,
        system_ns: span.system,
        segments: segments.since(),
        granted_send_buffer: None,
        granted_receive_buffer,
    };
    if received == asked.total {
        expect_end(&stream, &mut patience)?;
    }
    let content_fault = verifier.and_then(|verifier| verifier.fault());
    Ok(RoleDone { output, trial_elapsed_ns: None, content_fault })
}

/// Reads until `total` bytes are there or the stream ends; how many came.
fn read_all(
    stream: &Stream,
    buffer: &mut [u8],
    total: Bytes,
    mut verifier: Option<&mut Verifier>,
    table: &mut CallTable,
    patience: &mut Patience<'_>,
) -> Result<Bytes, RoleError> {
    let mut received: u64 = 0;
    while received < total.0 {
        match recv(stream, &mut *buffer, RecvFlags::empty()) {
            Ok((_, 0)) => break,
            Ok((_, length)) => {
                table.read(length);
                if let Some(verifier) = &mut verifier {
                    verifier.check(&buffer[..length]);
                }
                received += length as u64;
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => patience.waited("the next byte", received)?,
            Err(errno) => {
                let message = format!(
                    "read after {received} of {} bytes: {errno}; the hop before may say why",
                    total.0
                );
                return Err(RoleError::failed(message));
            }
        }
    }
    Ok(Bytes(received))
}

/// Waits for the end of the stream: a byte beyond the trial's is no result.
fn expect_end(stream: &Stream, patience: &mut Patience<'_>) -> Result<(), RoleError> {
    loop {
        match recv(stream, &mut [0; 1][..], RecvFlags::empty()) {
            Ok((_, 0)) => return Ok(()),
            Ok(_) => {
                return Err(RoleError::failed("more bytes came than the trial has: some were sent twice"));
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => patience.waited("the end of the stream", 0)?,
            Err(errno) => return Err(RoleError::failed(format!("wait for the end of the stream: {errno}"))),
        }
    }
}
