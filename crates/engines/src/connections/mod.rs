//! Connections to a server of a storage protocol with many calls in flight: what the engines of such protocols share.
//!
//! Not here: any protocol, and which call is sent next over which connection.

mod load;
mod load_socket;
mod peer;
mod turns;

pub(crate) use load::ConnectionLoad;
pub(crate) use load_socket::{BrokenConnection, LoadConnection, LoadSocket, add_parts};
pub(crate) use peer::{PeerWords, StoragePeer};
pub(crate) use turns::{ConnectionEngine, next_in_turn};
