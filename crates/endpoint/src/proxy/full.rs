//! What a proxy does that is full: who makes room, and how a new connection is refused.

use super::journal::FaultKind;
use super::peer_kind::{PeerKind, classify_briefly};
use super::refusal::{close_with_reason, reset};
use super::shared::{CountedSlot, ProxyState};
use crate::channel::refused;
use crate::threads;
use narrows_wire::{Error, Refusal};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::thread::Scope;

/// Where all places are taken, a connection whose client has sent nothing for so long makes room for a new one.
const UNUSED_WHEN_FULL_NS: u64 = 30_000_000_000;

/// Most conversations with the proxy itself at once: a client has two, one of which only asks whether it is there.
const CONVERSATIONS_MAX: u32 = 64;

/// Connections that are sent the reason of their refusal at the same time, each for some seconds; others are reset.
const REFUSING_MAX: u32 = 16;

/// Most conversations with the proxy itself, where it has `connections_max` places: a quarter of them, and those of one
/// client at least. As many more may be at their hello, so that half of the places are left for what is forwarded.
pub(super) fn conversations_max(connections_max: u32) -> u32 {
    (connections_max / 4).clamp(2, CONVERSATIONS_MAX)
}

/// Why a conversation with the proxy itself is refused.
pub(super) fn too_many_conversations(shared: &ProxyState) -> Error {
    let max = conversations_max(shared.options.connections_max);
    refused(
        Refusal::Busy,
        format!(
            "the proxy at {} takes part in {max} conversations about itself, its limit; try again once another run has \
             ended, or start it with a larger --max-connections (a quarter of it, at most {CONVERSATIONS_MAX}, may be such)",
            shared.local
        ),
    )
}

/// Makes room for a new connection; whether there was an unused one.
pub(super) fn make_room(shared: &ProxyState) -> bool {
    let was_unused = shared.pairs.end_unused(UNUSED_WHEN_FULL_NS, shared.options.clock.now().0);
    if was_unused {
        let line = format!(
            "{} connections are open, the limit of --max-connections; one whose client had sent nothing for over 30 s \
             has been reset for a new one",
            shared.options.connections_max
        );
        shared.journal.report(FaultKind::Idle, &line);
    }
    was_unused
}

/// Refuses a connection for which there is no place: with a reason where it is narrows' own protocol, else by a reset.
pub(super) fn refuse<'scope>(
    socket: TcpStream,
    shared: &'scope ProxyState,
    scope: &'scope Scope<'scope, '_>,
) {
    let max = shared.options.connections_max;
    let line = format!(
        "{max} connections are open, the limit of --max-connections; the next one was refused: raise the limit, or \
         check that the proxies do not form a loop"
    );
    shared.journal.report(FaultKind::Full, &line);
    if shared.refusing_count.load(Ordering::Acquire) >= REFUSING_MAX {
        return reset(&socket);
    }
    let slot = CountedSlot::take(&shared.refusing_count);
    let why = format!(
        "the proxy at {} has {max} connections, its limit; try again once another run has ended, or start it with a larger \
         --max-connections",
        shared.local
    );
    let started = threads::spawn(scope, "refusal", move || {
        let _slot = slot;
        match classify_briefly(&socket) {
            PeerKind::Own | PeerKind::Passing(_) => {
                close_with_reason(socket, &refused(Refusal::Busy, why), shared);
            }
            PeerKind::Foreign | PeerKind::Unknown => reset(&socket),
        }
    });
    // The socket went with the closure, which closed it.
    if let Err(error) = started {
        shared.journal.report(FaultKind::Machine, &error.to_string());
    }
}
