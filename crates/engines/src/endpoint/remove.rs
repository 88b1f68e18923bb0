//! Removing an object from a session's store.

use super::ask;
use super::connect::Conversation;
use super::peer::Peer;
use crate::contract::OpenSpec;
use crate::error::{EngineError, ErrorKind};
use narrows_model::workload::{Access, Acknowledgement, SyncPolicy};
use narrows_wire::open::OpenRequest;
use narrows_wire::reply::{ReplyDecoder, ReplyPiece};
use narrows_wire::request::{RequestHeader, RequestKind};
use std::io::{self, Read, Write};

/// Smallest block that makes sense: a removal moves none, and a server reserves memory for what may be in flight.
const BLOCK_BYTES: u64 = 4096;

/// The opening for a removal: of what exists, however it was made, and with next to nothing in flight.
pub(super) fn opening(open: OpenRequest) -> OpenRequest {
    OpenRequest {
        object_bytes: 0,
        create: false,
        access: Access::Buffered,
        acknowledgement: Acknowledgement::Early,
        sync: SyncPolicy::None,
        block_bytes: BLOCK_BYTES,
        depth: 1,
        ..open
    }
}

/// Removes the only object of `spec`; one that is not there counts as removed.
pub(super) fn remove_one(peer: Peer, spec: &OpenSpec, open: &OpenRequest) -> Result<(), EngineError> {
    let mut conversation = Conversation::open_data(peer, spec.token.as_deref())?;
    match ask(&mut conversation, open) {
        Err(error) if error.kind == ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    let (peer, mut socket, mut kept) = conversation.into_parts();
    let mut decoder = ReplyDecoder::new(1);
    let tag = decoder.sent(RequestKind::Remove, 0).unwrap_or(0);
    let header =
        RequestHeader { kind: RequestKind::Remove, tag, object: 0, length_bytes: 0, offset_bytes: 0 };
    socket.write_all(&header.encode()).map_err(|error| peer.io_error("remove", error))?;
    let mut arrived = [0; 512];
    loop {
        let piece = decoder.next(&mut kept.as_slice()).map_err(|error| peer.wire_error("remove", &error))?;
        if let Some(ReplyPiece::Reply { header, .. }) = piece {
            return match header.status {
                0 => Ok(()),
                status => {
                    let source = io::Error::from_raw_os_error(i32::try_from(status).unwrap_or(i32::MAX));
                    Err(EngineError::from_io("remove", spec.target.to_string(), source))
                }
            };
        }
        match socket.read(&mut arrived) {
            Ok(0) => return Err(peer.gone("remove")),
            Ok(length) => kept.extend_from_slice(&arrived[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(peer.io_error("remove", error)),
        }
    }
}
