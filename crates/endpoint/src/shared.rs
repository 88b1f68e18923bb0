//! What all connections of a server share, and what they ask of it.

use crate::channel::refused;
use crate::connections::Connections;
use crate::descriptors::Descriptors;
use crate::options::ServeOptions;
use crate::session::Sessions;
use crate::store::StoreRoot;
use crate::workers::Workers;
use narrows_engines::Clock;
use narrows_wire::token::TokenKey;
use narrows_wire::{Error, Refusal};
use std::sync::Arc;

/// What all connections of a server share.
pub(crate) struct ServerState {
    pub(crate) options: ServeOptions,
    pub(crate) key: Option<TokenKey>,
    pub(crate) root: Option<StoreRoot>,
    pub(crate) sessions: Sessions,
    pub(crate) connections: Connections,
    pub(crate) workers: Arc<Workers>,
    pub(crate) descriptors: Descriptors,
}

impl ServerState {
    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.options.clock
    }

    /// Whether the root's file system has room for `bytes` more.
    pub(crate) fn check_free_space(&self, bytes: u64) -> Result<(), Error> {
        let Some(root) = &self.root else { return Ok(()) };
        let status = rustix::fs::fstatvfs(&root.folder).map_err(|errno| {
            refused(Refusal::Io, format!("the store's free space cannot be read: {errno}"))
        })?;
        let free = status.f_bavail.saturating_mul(status.f_frsize);
        if bytes <= free {
            return Ok(());
        }
        let message =
            format!("{bytes} bytes were requested and the store's file system has {free} free; use less");
        Err(refused(Refusal::NoSpace, message))
    }
}
