//! What is at an address: a folder or a file, and how much room there is.

use super::mount::{MountedFolder, mount};
use super::server::NfsServer;
use crate::clock::Clock;
use crate::connections::StoragePeer;
use crate::contract::PlaceFound;
use crate::error::{EngineError, ErrorKind};
use crate::stop::StopFlag;
use narrows_model::{Bytes, NfsAddress};
use narrows_wire::nfs::Procedure;
use narrows_wire::nfs::attributes::FileKind;
use narrows_wire::nfs::calls::put_handle;
use narrows_wire::nfs::results::read_free_bytes;
use std::sync::Arc;

/// What is at `address`.
///
/// # Errors
/// When the server cannot be reached, does not export it, or it is neither a folder nor a file with content.
pub(super) fn examine(
    address: &NfsAddress,
    clock: Arc<dyn Clock>,
    timeout_ns: u64,
) -> Result<PlaceFound, EngineError> {
    let server = NfsServer { address: address.clone(), clock, timeout_ns, stop: StopFlag::default() };
    let MountedFolder { mut session, folder } = mount(&server)?;
    let attributes = session.attributes(&folder, "")?;
    match attributes.kind {
        FileKind::Folder => {
            let space = session.call(
                "ask for space",
                Procedure::FileSystemSpace,
                |out| put_handle(out, &folder),
                read_free_bytes,
            )?;
            // A server that does not say it lets files be made all the same.
            Ok(PlaceFound::Folder { free_bytes: space.ok().map(Bytes) })
        }
        FileKind::File if attributes.length_bytes > 0 => {
            Ok(PlaceFound::File { length: Bytes(attributes.length_bytes) })
        }
        _ => Err(EngineError::new(ErrorKind::Unsupported, "examine", server.name())
            .detail("it is neither a folder nor a file with content")
            .hint("give a folder, or a file that is not empty")),
    }
}
