//! How a connection ends that is not served: with a reason where its protocol has room for one, else by a reset.

use super::connect;
use super::shared::ProxyState;
use narrows_wire::{Error, refuse};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Longest wait for a peer that was sent last words to close its side.
const DRAIN_NS: u64 = 2_000_000_000;

/// Most bytes of a peer that are dropped after the last words to it.
const DROPPED_BYTES_MAX: usize = 1 << 20;

/// Ends a connection of narrows' own protocol with a reason.
pub(super) fn close_with_reason(mut client: TcpStream, error: &Error, shared: &ProxyState) {
    connect::close_in_order(&client);
    // A peer that misses it finds the connection closed.
    let _ = client.write_all(&refuse::encode(error));
    // What has arrived and is not read would make the kernel take the reason back.
    drain(&mut client, shared);
}

/// Closes the sending side and drops what still comes, within bounds.
fn drain(client: &mut TcpStream, shared: &ProxyState) {
    let timeout = Some(Duration::from_nanos(DRAIN_NS));
    let prepared = client.shutdown(Shutdown::Write).and_then(|()| client.set_read_timeout(timeout));
    let until_ns = shared.options.clock.now().0 + DRAIN_NS;
    let mut dropped = [0; 4096];
    let mut left = if prepared.is_ok() { DROPPED_BYTES_MAX } else { 0 };
    // One that sends a byte at a time is not waited for.
    while left > 0 && shared.options.clock.now().0 < until_ns {
        match client.read(&mut dropped) {
            Ok(length) if length > 0 => left = left.saturating_sub(length),
            _ => return,
        }
    }
}

/// Closes a connection so that its peer cannot take it for complete.
pub(super) fn reset(client: &TcpStream) {
    // A connection that is gone is at rest.
    let _ = rustix::net::connect_unspec(client);
}
