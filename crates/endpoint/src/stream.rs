//! The raw streams: a sink that drops what it receives, and a source that sends bytes from memory.
//!
//! Hot path: no allocation, one clock read per system call.

use crate::channel::{Channel, is_retryable, linger, refused};
use crate::grant;
use crate::live_connection::LiveConnection;
use crate::sending::send_both;
use crate::session::SessionMember;
use crate::shared::ServerState;
use narrows_engines::Clock;
use narrows_model::Layer;
use narrows_sys::buffer::AlignedBuffer;
use narrows_wire::open::{OpenRequest, encode_total};
use narrows_wire::{Refusal, refuse};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{Read, Write};
use std::net::TcpStream;

/// What one system call moves at most: large enough that calls cost little, small enough to stay in a cache.
const BLOCK_BYTES: usize = 256 << 10;

/// Seed of the source's bytes: any will do, since nothing is read back.
const SEED: u64 = 0x6e61_7272_6f77_7331;

/// Serves a stream until its end.
pub(crate) fn serve(channel: Channel, shared: &ServerState, open: &OpenRequest, _member: &SessionMember) {
    let memory = shared.sessions.reserve_memory(grant::conversation_bytes(open) + BLOCK_BYTES as u64);
    let (granted, _memory) = match memory {
        Ok(memory) => (Ok(grant::grant_stream(open)), Some(memory)),
        Err(error) => (Err(error), None),
    };
    let Some((channel, _)) = grant::answer(channel, granted) else { return };
    let (mut socket, rest, live) = channel.into_parts();
    let clock = shared.clock();
    let already = u64::try_from(rest.len()).unwrap_or(0);
    match open.layer {
        Layer::Sink => sink(&mut socket, &live, clock, already),
        _ => source(&mut socket, &live, clock),
    }
    linger(&mut socket, &live, clock);
}

fn sink(socket: &mut TcpStream, live: &LiveConnection, clock: &dyn Clock, already_bytes: u64) {
    let mut total_bytes = already_bytes;
    let mut dropped = vec![0; BLOCK_BYTES];
    loop {
        match socket.read(&mut dropped) {
            Ok(0) => break,
            Ok(length) => total_bytes += u64::try_from(length).unwrap_or(0),
            Err(error) if is_retryable(&error) => {}
            Err(_) => return,
        }
        live.note_activity(clock.now().0);
    }
    let last = match live.ending() {
        Some(why) => refuse::encode(&refused(Refusal::Ended, why)),
        None => encode_total(total_bytes),
    };
    // A client that is gone needs no total.
    let _ = socket.write_all(&last);
}

fn source(socket: &mut TcpStream, live: &LiveConnection, clock: &dyn Clock) {
    let Ok(block) = AlignedBuffer::with_entropy(BLOCK_BYTES, SEED) else { return };
    let mut total_bytes: u64 = 0;
    let mut at = 0;
    while !should_stop(socket) {
        match socket.write(&block[at..]) {
            Ok(length) => {
                total_bytes += u64::try_from(length).unwrap_or(0);
                at = (at + length) % BLOCK_BYTES;
                live.note_activity(clock.now().0);
            }
            Err(error) if is_retryable(&error) => {}
            Err(_) => return,
        }
        if live.ending().is_some() {
            // The stream ends without a total, which the client reports as the end of the connection.
            return;
        }
    }
    // It waits behind what a slow client has yet to take.
    let _ = send_both(socket, &encode_total(total_bytes), &[]);
}

/// Whether the client has closed its sending side, or sent what has no place in a stream.
fn should_stop(socket: &TcpStream) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
}
