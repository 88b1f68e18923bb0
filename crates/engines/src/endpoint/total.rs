//! The end of a raw stream, where the server reports how many bytes it counted.

use super::peer::Peer;
use super::silence::SilenceTimer;
use crate::error::EngineError;
use narrows_wire::frame::Decoder;
use narrows_wire::open::{TOTAL_FRAME_BYTES, decode_total};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::net::TcpStream;

/// Largest frame at a stream's end: a total, or a refusal with its text.
pub(super) const END_FRAME_BYTES_MAX: usize = 1024;

/// The total of a stream into the server's sink, once this side has closed its sending half.
pub(super) fn of_sink(peer: &Peer, socket: &TcpStream, buffer: &mut [u8]) -> Result<u64, EngineError> {
    let mut decoder = Decoder::new(END_FRAME_BYTES_MAX);
    loop {
        if let Some(total) = total_in(peer, &mut decoder)? {
            return Ok(total);
        }
        match read(peer, socket, buffer)? {
            0 => return Err(peer.gone("close")),
            length => decoder.push(&buffer[..length]),
        }
    }
}

/// Takes the rest of a stream out of the server's source, which began with `tail`, and returns the server's total and
/// how many bytes of the stream came here since.
pub(super) fn of_source(
    peer: &Peer,
    socket: &TcpStream,
    buffer: &mut [u8],
    mut tail: Vec<u8>,
) -> Result<(u64, u64), EngineError> {
    let mut more_bytes = 0;
    loop {
        let surplus = tail.len().saturating_sub(TOTAL_FRAME_BYTES);
        more_bytes += u64::try_from(surplus).unwrap_or(0);
        tail.drain(..surplus);
        match read(peer, socket, buffer)? {
            0 => break,
            length => tail.extend_from_slice(&buffer[..length]),
        }
    }
    let mut decoder = Decoder::new(END_FRAME_BYTES_MAX);
    decoder.push(&tail);
    match total_in(peer, &mut decoder)? {
        Some(total) => Ok((total, more_bytes)),
        None => Err(peer.gone("close")),
    }
}

fn total_in(peer: &Peer, decoder: &mut Decoder) -> Result<Option<u64>, EngineError> {
    let frame = decoder.next().map_err(|error| peer.wire_error("close", &error))?;
    let total = frame.map(decode_total).transpose();
    total.map_err(|error| peer.wire_error("close", &error))
}

/// What comes next; the peer may be slow to send it, as long as it acknowledges what it was sent before.
fn read(peer: &Peer, socket: &TcpStream, buffer: &mut [u8]) -> Result<usize, EngineError> {
    let mut silence = SilenceTimer::new(peer.clock().now(), peer.timeout_ns());
    loop {
        if peer.is_ready_by(silence.next_look(), "close", socket, PollFlags::IN)? {
            match rustix::net::recv(socket, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((length, _)) => return Ok(length),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(errno) => return Err(peer.io_error("close", errno.into())),
            }
        } else if silence.is_over(peer.clock().now(), socket) {
            return Err(peer.silent("close"));
        }
    }
}
