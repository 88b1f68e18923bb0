//! The server: reads with its buffer, and nothing but its buffer, until it has the trial's bytes.
//!
//! Hot path: no allocation, no lock, no log, no clock between the first read and the last.

use super::content::ContentVerifier;
use super::deadline::ProgressDeadline;
use super::meter::{Meter, SegmentCounter, host_name, machine, reported_buffer};
use super::socket::{Listener, RelayStream, read_flags};
use super::{ReportReady, RoleError, RoleSite};
use crate::forward::{CallObserver, CallTable};
use narrows_model::Bytes;
use narrows_model::counters::Role;
use narrows_model::relay::{CallSizes, RelayRoleOutput};
use narrows_model::units::saturate_usize;
use narrows_wire::relay::{RelaySignal, RoleReport, RoleSpec};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

/// See [`super::play`].
pub(super) fn play(
    asked: &RoleSpec,
    site: &RoleSite<'_>,
    ready: ReportReady<'_>,
) -> Result<RoleReport, RoleError> {
    let mut deadline = ProgressDeadline::new(site.stop, asked.silence_ns);
    let mut buffer = vec![0; saturate_usize(asked.buffer.0)];
    let mut table = CallTable::new(buffer.len());
    let mut verifier = asked.content_key.map(|key| ContentVerifier::new(key, asked.total));
    let listener = Listener::open(&asked.sockets, site.listen)?;
    ready(Some(listener.hop()))?;
    let stream = listener.admit(&mut deadline)?;
    let granted_receive_buffer = reported_buffer(stream.receive_buffer());
    let segments = SegmentCounter::start(Some(&stream), None);
    stream.send_signal(RelaySignal::Ready, &mut deadline)?;
    deadline.wait_ready(&stream, PollFlags::IN, "the first byte")?;
    let meter = Meter::start(site.clock);
    let received = read_all(&stream, &mut buffer, asked, verifier.as_mut(), &mut table, &mut deadline)?;
    let span = meter.span();
    // The word ends the published time: what follows is not waited for by anybody.
    stream.send_signal(RelaySignal::Received(received), &mut deadline)?;
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
        expect_end(&stream, &mut deadline)?;
    }
    let content_fault = verifier.and_then(|verifier| verifier.fault());
    Ok(RoleReport { output, trial_elapsed_ns: None, content_fault })
}

/// Reads until the trial's bytes are there or the stream ends; how many came.
fn read_all(
    stream: &RelayStream,
    buffer: &mut [u8],
    asked: &RoleSpec,
    mut verifier: Option<&mut ContentVerifier>,
    table: &mut CallTable,
    deadline: &mut ProgressDeadline<'_>,
) -> Result<Bytes, RoleError> {
    let (total, flags) = (asked.total, read_flags(&asked.sockets));
    let mut received: u64 = 0;
    while received < total.0 {
        match recv(stream, &mut *buffer, flags) {
            Ok((_, 0)) => break,
            Ok((_, length)) => {
                table.read(length);
                if let Some(verifier) = &mut verifier {
                    verifier.check(&buffer[..length]);
                }
                received += length as u64;
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => deadline.check_progress("the next byte", received)?,
            Err(errno) => {
                let message = format!(
                    "read after {received} of {} bytes: {errno}; see the messages of the previous hop",
                    total.0
                );
                return Err(RoleError::failed(message));
            }
        }
    }
    Ok(Bytes(received))
}

/// Waits for the end of the stream: a byte beyond the trial's is no result.
fn expect_end(stream: &RelayStream, deadline: &mut ProgressDeadline<'_>) -> Result<(), RoleError> {
    loop {
        match recv(stream, &mut [0; 1][..], RecvFlags::empty()) {
            Ok((_, 0)) => return Ok(()),
            Ok(_) => {
                return Err(RoleError::failed("more bytes arrived than the trial has: some were sent twice"));
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => deadline.check_progress("the end of the stream", 0)?,
            Err(errno) => return Err(RoleError::failed(format!("wait for the end of the stream: {errno}"))),
        }
    }
}
