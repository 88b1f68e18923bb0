//! The server of `narrows serve`, a far end at which a path can be cut, and the proxy of `narrows proxy`.
//!
//! Each connection has a thread, and a disk connection a bounded pool of them. Layers are the raw streams sink and
//! source, a store in memory and a store on disk; a control connection reports facts and counters and runs cells here.
//! What is stored belongs to a session, is in a folder that the session made below the server's root, and is removed
//! with it. Deliberately absent: encryption, and any way to name a file outside that folder.
#![forbid(unsafe_code)]

mod admission;
mod cells;
mod channel;
mod connections;
mod control;
mod data;
mod descriptors;
mod disk;
mod error;
mod facts;
mod folder;
mod forward;
mod grant;
mod life;
mod live_connection;
mod memory;
mod objects;
mod open_files;
mod options;
mod owner;
mod page_cache;
mod pool;
mod proxy;
mod quota;
mod random;
pub mod relay;
mod sending;
mod serve;
mod server;
mod session;
mod shared;
mod store;
mod stores;
mod stream;
mod threads;
mod transfer;
mod unit_file;
mod unwritten;
mod workers;

pub use error::{ServeError, ServeErrorKind};
pub use options::ServeOptions;
pub use owner::{SESSION_MARKER, ServeNotice, session_state};
pub use proxy::{Proxy, ProxyOptions, ProxyTotals};
pub use server::Server;
