//! The life of one connection: whose it is, the next hop, both directions, its end.
//!
//! What the server says first is not kept waiting: the next hop is connected to at once, and its bytes flow while the
//! client's first ones are awaited.

use super::journal::FaultKind;
use super::pair::{ConnectionPair, ForwardDirection};
use super::peer_kind::{PeerKind, classify, classify_briefly, classify_now};
use super::refusal::{close_with_reason, reset};
use super::shared::ProxyState;
use super::{connect, control};
use crate::channel::refused;
use crate::threads;
use narrows_wire::Refusal;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Serves a connection that was accepted, to its end.
pub(super) fn serve_connection(client: TcpStream, shared: &ProxyState) {
    if classify_now(&client) == PeerKind::Own {
        return control::serve(client, shared);
    }
    match connect::connect(&shared.to, &shared.options, &shared.stop) {
        Ok(server) => forward(client, server, shared),
        Err(error) => without_next_hop(client, &error, shared),
    }
}

/// The next hop takes no connection: the proxy itself can still be asked, and others are refused or reset.
fn without_next_hop(client: TcpStream, error: &std::io::Error, shared: &ProxyState) {
    let why = format!("the proxy cannot connect to {}: {error}", shared.options.to);
    match classify_briefly(&client) {
        PeerKind::Own => control::serve(client, shared),
        PeerKind::Passing(_) => {
            shared.journal.report(FaultKind::Unreachable, &why);
            close_with_reason(client, &refused(Refusal::Io, why), shared);
        }
        PeerKind::Foreign | PeerKind::Unknown => {
            shared.journal.report(FaultKind::Unreachable, &why);
            reset(&client);
        }
    }
}

fn forward(client: TcpStream, server: TcpStream, shared: &ProxyState) {
    let pair = Arc::new(ConnectionPair::new(client, server));
    let mut registration = shared.pairs.add(&pair, shared.options.clock.now().0);
    if shared.stop.is_now() {
        // Whoever ended all connections may have looked before this one was there.
        return pair.reset();
    }
    let peer = std::thread::scope(|scope| {
        let back =
            threads::spawn(scope, "back", || forward_one_way(&pair, ForwardDirection::Downstream, shared));
        let back = match back {
            Ok(back) => back,
            Err(error) => {
                shared.journal.report(FaultKind::Machine, &error.to_string());
                pair.reset();
                return PeerKind::Foreign;
            }
        };
        let peer = match classify(pair.client()) {
            PeerKind::Passing(nonce) if registration.claim_nonce(nonce) => PeerKind::Foreign,
            other => other,
        };
        match peer {
            PeerKind::Own | PeerKind::Passing(_) => pair.take_client(),
            PeerKind::Foreign | PeerKind::Unknown => {
                forward_one_way(&pair, ForwardDirection::Upstream, shared);
            }
        }
        // A direction that panicked is over like any other.
        let _ = back.join();
        peer
    });
    if matches!(peer, PeerKind::Foreign | PeerKind::Unknown) {
        return;
    }
    let has_spoken = pair.downstream.bytes.load(Ordering::Relaxed) > 0;
    let client = match pair.client().try_clone() {
        Ok(client) if !has_spoken => client,
        // A hello cannot be answered after bytes of another protocol.
        _ => return pair.reset(),
    };
    drop(registration);
    drop(pair);
    if peer == PeerKind::Own {
        return control::serve(client, shared);
    }
    let why = format!(
        "a connection returned to the proxy at {}: its destination leads back to itself; give --to the address of the \
         server at the end",
        shared.local
    );
    shared.journal.report(FaultKind::Loop, &why);
    close_with_reason(client, &refused(Refusal::Unsupported, why), shared);
}

fn forward_one_way(pair: &ConnectionPair, direction: ForwardDirection, shared: &ProxyState) {
    if let Err(why) =
        pair.forward_direction(direction, shared.options.mode, shared.buffer_bytes, &shared.stop)
    {
        shared.journal.report(FaultKind::Machine, &why);
    }
}
