//! What was granted to a worker.

use super::INFO;
use super::peer::Peer;
use crate::error::EngineError;
use crate::socket::connection_facts;
use narrows_model::{Bytes, Effective};
use narrows_wire::open::Grant;
use std::net::TcpStream;

/// What was granted to a worker.
pub(super) fn effective(
    peer: &Peer,
    socket: &TcpStream,
    granted: &Grant,
    queue_depth: u32,
) -> Result<Effective, EngineError> {
    Ok(Effective {
        engine: INFO.name().to_owned(),
        access: granted.access,
        queue_depth,
        sync: granted.sync,
        acknowledgement: granted.acknowledgement,
        write_completion: granted.write_completion,
        alignment_bytes: Bytes(granted.alignment_bytes),
        connection: Some(connection_facts(socket).map_err(|error| peer.io_error("open", error))?),
        ring: None,
        has_own_file_table: false,
    })
}
