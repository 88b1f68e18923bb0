//! The life of one connection: whose it is, the next hop, both directions, its end.
//!
//! What the server says first is not kept waiting: the next hop is connected to at once, and its bytes flow while the
//! client's first ones are awaited.

use super::first::{Whose, glance, look, look_for_a_moment};
use super::journal::Trouble;
use super::pair::{Pair, Way};
use super::run::Shared;
use super::{connect, control};
use crate::channel::refused;
use crate::threads;
use narrows_wire::{Error, Refusal, refuse};
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Serves a connection that was accepted, to its end.
pub(super) fn live(client: TcpStream, shared: &Shared) {
    if glance(&client) == Whose::Own {
        return control::serve(client, shared);
    }
    match connect::connect(&shared.to, &shared.options, &shared.stop) {
        Ok(server) => forward(client, server, shared),
        Err(error) => without_next_hop(client, &error, shared),
    }
}

/// The next hop takes no connection: the proxy itself can still be asked, and others are told or reset.
fn without_next_hop(client: TcpStream, error: &std::io::Error, shared: &Shared) {
    let why = format!("the proxy cannot connect to {}: {error}", shared.options.to);
    match look_for_a_moment(&client) {
        Whose::Own => control::serve(client, shared),
        Whose::Passing(_) => {
            shared.journal.tell(Trouble::Unreachable, &why);
            dismiss(client, &refused(Refusal::Io, why));
        }
        Whose::Foreign | Whose::Unknown => {
            shared.journal.tell(Trouble::Unreachable, &why);
            reset(&client);
        }
    }
}

/// Ends a connection of narrows' own protocol with a reason.
fn dismiss(mut client: TcpStream, error: &Error) {
    connect::close_in_order(&client);
    // Who does not hear it finds the connection closed.
    let _ = client.write_all(&refuse::encode(error));
    // What has arrived and is not read would make the kernel take the reason back.
    control::drain(&mut client);
}

/// Closes a connection so that its peer cannot take it for complete.
pub(super) fn reset(client: &TcpStream) {
    // A connection that is gone is at rest.
    let _ = rustix::net::connect_unspec(client);
}

fn forward(client: TcpStream, server: TcpStream, shared: &Shared) {
    let pair = Arc::new(Pair::new(client, server));
    let mut place = shared.pairs.add(&pair, shared.options.clock.now().0);
    if shared.stop.is_now() {
        // Whoever ended all connections may have looked before this one was there.
        return pair.reset();
    }
    let whose = std::thread::scope(|scope| {
        let back = threads::spawn(scope, "back", || pass(&pair, Way::Back, shared));
        let back = match back {
            Ok(back) => back,
            Err(error) => {
                shared.journal.tell(Trouble::Machine, &error.to_string());
                pair.reset();
                return Whose::Foreign;
            }
        };
        let whose = match look(pair.client()) {
            Whose::Passing(nonce) if place.carries(nonce) => Whose::Foreign,
            other => other,
        };
        match whose {
            Whose::Own | Whose::Passing(_) => pair.take_client(),
            Whose::Foreign | Whose::Unknown => pass(&pair, Way::There, shared),
        }
        // A direction that panicked is over like any other.
        let _ = back.join();
        whose
    });
    if matches!(whose, Whose::Foreign | Whose::Unknown) {
        return;
    }
    let has_spoken = pair.back.bytes.load(Ordering::Relaxed) > 0;
    let client = match pair.client().try_clone() {
        Ok(client) if !has_spoken => client,
        // A hello cannot be answered after bytes of another protocol.
        _ => return pair.reset(),
    };
    drop(place);
    drop(pair);
    if whose == Whose::Own {
        return control::serve(client, shared);
    }
    let why = format!(
        "a connection came back to the proxy at {}: what it forwards to leads to itself; give --to the address of the \
         server at the end",
        shared.local
    );
    shared.journal.tell(Trouble::Loop, &why);
    dismiss(client, &refused(Refusal::Unsupported, why));
}

fn pass(pair: &Pair, way: Way, shared: &Shared) {
    if let Err(why) = pair.pass(way, shared.options.mode, shared.buffer_bytes, &shared.stop) {
        shared.journal.tell(Trouble::Machine, &why);
    }
}
