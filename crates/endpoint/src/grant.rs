//! What is granted to a data connection, and what is refused with its reason.

use crate::channel::{Channel, READ_BYTES, refused};
use narrows_model::Layer;
use narrows_model::capabilities::Completion;
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::{Access, Acknowledgement, SyncPolicy};
use narrows_wire::open::{Credits, Grant, OpenRequest};
use narrows_wire::request::RequestLimits;
use narrows_wire::{Error, Refusal};

/// Most bytes in flight on one connection: what a server is willing to buffer for it.
const IN_FLIGHT_BYTES_MAX: u64 = 256 << 20;

/// Memory that any data connection takes: what it reads into, and the names that it asked for.
pub(crate) fn conversation_bytes(open: &OpenRequest) -> u64 {
    let names = open.objects.iter().map(|name| name.len() + size_of::<String>());
    u64::try_from(names.sum::<usize>() + READ_BYTES).unwrap_or(u64::MAX)
}

/// The granted part of a queue: as many requests as are asked for, unless their blocks need too much memory.
pub(crate) fn credits(open: &OpenRequest) -> Credits {
    let requests = u64::from(open.depth).min((IN_FLIGHT_BYTES_MAX / open.block_bytes).max(1));
    Credits { requests: saturate_u32(requests), bytes: requests.saturating_mul(open.block_bytes) }
}

/// The limits of the connection's requests.
pub(crate) fn limits(open: &OpenRequest, credits: Credits) -> RequestLimits {
    RequestLimits {
        objects: saturate_u32(u64::try_from(open.objects.len()).unwrap_or(u64::MAX)),
        block_bytes: saturate_u32(open.block_bytes),
        credits,
    }
}

/// The grant of a stream.
pub(crate) fn grant_stream(open: &OpenRequest) -> Grant {
    let towards_server = open.layer == Layer::Sink;
    Grant {
        access: None,
        alignment_bytes: 1,
        acknowledgement: None,
        sync: SyncPolicy::None,
        write_completion: if towards_server { Completion::InSocketBuffer } else { Completion::Nothing },
        credits: credits(open),
    }
}

/// The grant of a store in memory, or why it cannot be what was asked for.
pub(crate) fn grant_memory(open: &OpenRequest) -> Result<Grant, Error> {
    let cannot = |what: &str| {
        let message = format!("a store in memory {what}; use the disk layer, or omit it");
        Err(refused(Refusal::Unsupported, message))
    };
    if open.access == Access::Direct {
        return cannot("has no page cache to bypass (direct access)");
    }
    if open.acknowledgement == Acknowledgement::Late || open.sync == SyncPolicy::Dsync {
        return cannot("cannot make data durable (late acknowledgement, dsync)");
    }
    Ok(Grant {
        access: None,
        alignment_bytes: 1,
        acknowledgement: Some(Acknowledgement::Early),
        sync: open.sync,
        write_completion: Completion::InServerMemory,
        credits: credits(open),
    })
}

/// The grant of a store on disk whose files need this alignment, or why it cannot be what was asked for.
pub(crate) fn grant_disk(open: &OpenRequest, alignment_bytes: u64) -> Result<Grant, Error> {
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
    Ok(Grant {
        access: Some(open.access),
        alignment_bytes,
        acknowledgement: Some(open.acknowledgement),
        sync: open.sync,
        write_completion: if late { Completion::Durable } else { Completion::InServerMemory },
        credits: credits(open),
    })
}

/// Sends the client its grant, or the refusal; `None` ends the connection.
pub(crate) fn answer(mut channel: Channel, granted: Result<Grant, Error>) -> Option<(Channel, Grant)> {
    match granted.and_then(|granted| Ok((granted.encode()?, granted))) {
        Ok((bytes, granted)) => channel.send(&bytes).is_ok().then_some((channel, granted)),
        Err(error) => {
            channel.close_with(&error);
            None
        }
    }
}

/// Whether a request is within an object of this length; the system's error number if it is not.
pub(crate) fn in_range(offset_bytes: u64, length_bytes: u32, object_bytes: u64) -> Result<(), u32> {
    const EFBIG: u32 = 27;
    let end = offset_bytes.checked_add(u64::from(length_bytes));
    if end.is_some_and(|end| end <= object_bytes) { Ok(()) } else { Err(EFBIG) }
}

/// An index or length of the wire as one of memory.
pub(crate) fn index(value: u32) -> usize {
    saturate_usize(u64::from(value))
}
