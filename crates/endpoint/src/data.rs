//! The opening of a data connection: what is granted, and what is refused with its reason.

use crate::channel::{Channel, End, READ_BYTES, refused};
use crate::server::Shared;
use crate::session::{Member, Session};
use crate::{disk, memory, random, stream};
use narrows_model::Layer;
use narrows_model::capabilities::Completion;
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::{Access, Acknowledgement, SyncPolicy};
use narrows_wire::open::{Credits, Granted, Open};
use narrows_wire::request::Limits;
use narrows_wire::{Error, Refusal};
use std::sync::Arc;

/// Most bytes in flight on one connection: what a server is willing to hold for it.
const IN_FLIGHT_BYTES_MAX: u64 = 256 << 20;

/// Serves one data connection from its opening to its end.
pub(crate) fn serve(mut channel: Channel, shared: &Shared) {
    let opened = channel.receive().and_then(|frame| Ok(Open::decode(frame)?)).and_then(|open| {
        let session = match &open.session {
            Some(id) => shared.sessions.find(id)?,
            None => shared.sessions.open(random::session_id()?),
        };
        let member = session.join(&channel.live)?;
        channel.live.opened();
        Ok((open, member))
    });
    let (open, member) = match opened {
        Ok(opened) => opened,
        Err(End::Told(error)) => return channel.part(&error),
        Err(End::Gone) => return,
    };
    match open.layer {
        Layer::Sink | Layer::Source => stream::serve(channel, shared, &open, &member),
        Layer::Memory => memory::serve(channel, shared, &open, &member),
        Layer::Disk => disk::serve(channel, shared, &open, &member),
    }
}

/// Memory that any data connection takes: what it reads into, and the names that it asked for.
pub(crate) fn conversation_bytes(open: &Open) -> u64 {
    let names = open.objects.iter().map(|name| name.len() + size_of::<String>());
    u64::try_from(names.sum::<usize>() + READ_BYTES).unwrap_or(u64::MAX)
}

/// What of a queue is granted: as many requests as are asked for, unless their blocks are too much to hold.
pub(crate) fn credits(open: &Open) -> Credits {
    let requests = u64::from(open.depth).min((IN_FLIGHT_BYTES_MAX / open.block_bytes).max(1));
    Credits { requests: saturate_u32(requests), bytes: requests.saturating_mul(open.block_bytes) }
}

/// The limits of the connection's requests.
pub(crate) fn limits(open: &Open, credits: Credits) -> Limits {
    Limits {
        objects: saturate_u32(u64::try_from(open.objects.len()).unwrap_or(u64::MAX)),
        block_bytes: saturate_u32(open.block_bytes),
        credits,
    }
}

/// The grant of a stream.
pub(crate) fn grant_stream(open: &Open) -> Granted {
    let towards_server = open.layer == Layer::Sink;
    Granted {
        access: None,
        alignment_bytes: 1,
        acknowledgement: None,
        sync: SyncPolicy::None,
        write_completion: if towards_server { Completion::InSocketBuffer } else { Completion::Nothing },
        credits: credits(open),
    }
}

/// The grant of a store in memory, or why it cannot be what was asked for.
pub(crate) fn grant_memory(open: &Open) -> Result<Granted, Error> {
    let cannot = |what: &str| {
        let message = format!("a store in memory {what}; ask for the disk layer, or leave it out");
        Err(refused(Refusal::Unsupported, message))
    };
    if open.access == Access::Direct {
        return cannot("has no page cache to bypass (direct access)");
    }
    if open.acknowledgement == Acknowledgement::Late || open.sync == SyncPolicy::Dsync {
        return cannot("makes nothing durable (late acknowledgement, dsync)");
    }
    Ok(Granted {
        access: None,
        alignment_bytes: 1,
        acknowledgement: Some(Acknowledgement::Early),
        sync: open.sync,
        write_completion: Completion::InServerMemory,
        credits: credits(open),
    })
}

/// The grant of a store on disk whose files need this alignment, or why it cannot be what was asked for.
pub(crate) fn grant_disk(open: &Open, alignment_bytes: u64) -> Result<Granted, Error> {
    let late = open.acknowledgement == Acknowledgement::Late;
    if open.sync == SyncPolicy::Dsync && !late {
        let message = "writes that are durable one by one (dsync) and acknowledged before they are written (early) \
                       contradict each other; ask for late acknowledgement";
        return Err(refused(Refusal::Unsupported, message));
    }
    if !open.block_bytes.is_multiple_of(alignment_bytes) {
        let message = format!(
            "direct access at the server needs blocks of a multiple of {alignment_bytes} bytes, not {}",
            open.block_bytes
        );
        return Err(refused(Refusal::Unsupported, message));
    }
    Ok(Granted {
        access: Some(open.access),
        alignment_bytes,
        acknowledgement: Some(open.acknowledgement),
        sync: open.sync,
        write_completion: if late { Completion::Durable } else { Completion::InServerMemory },
        credits: credits(open),
    })
}

/// Tells the client of its grant, or of its refusal; `None` ends the connection.
pub(crate) fn answer(mut channel: Channel, granted: Result<Granted, Error>) -> Option<(Channel, Granted)> {
    match granted.and_then(|granted| Ok((granted.encode()?, granted))) {
        Ok((bytes, granted)) => channel.send(&bytes).is_ok().then_some((channel, granted)),
        Err(error) => {
            channel.part(&error);
            None
        }
    }
}

/// Whether a request lies in an object of this length; the system's error number where it does not.
pub(crate) fn in_range(offset_bytes: u64, length_bytes: u32, object_bytes: u64) -> Result<(), u32> {
    const EFBIG: u32 = 27;
    let end = offset_bytes.checked_add(u64::from(length_bytes));
    if end.is_some_and(|end| end <= object_bytes) { Ok(()) } else { Err(EFBIG) }
}

/// An index or length of the wire as one of memory.
pub(crate) fn index(value: u32) -> usize {
    saturate_usize(u64::from(value))
}

/// The session that a connection works for.
pub(crate) fn session(member: &Member) -> &Arc<Session> {
    &member.session
}
