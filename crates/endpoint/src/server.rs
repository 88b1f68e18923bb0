//! The server: it listens, starts a thread for each connection, watches their limits, and ends them all.

use crate::channel::refused;
use crate::connections::{ConnectionLimits, Connections};
use crate::error::{ServeError, ServeErrorKind};
use crate::options::ServeOptions;
use crate::owner::{self, ServeNotice};
use crate::session::Sessions;
use crate::store::Root;
use crate::workers::Workers;
use crate::{serve, threads};
use narrows_engines::Clock;
use narrows_run::{StopFlag, StopRequest};
use narrows_wire::token::Key;
use narrows_wire::{Error, Refusal, refuse};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;

/// How often limits and the request to stop are looked at.
const WATCH: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// What all connections of a server share.
pub(crate) struct Shared {
    pub(crate) options: ServeOptions,
    pub(crate) key: Option<Key>,
    pub(crate) root: Option<Root>,
    pub(crate) sessions: Sessions,
    pub(crate) connections: Connections,
    pub(crate) workers: Arc<Workers>,
}

impl Shared {
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
            format!("{bytes} bytes were asked for and the store's file system has {free} free; ask for less");
        Err(refused(Refusal::NoSpace, message))
    }
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    local: SocketAddr,
    shared: Shared,
    notice: Option<ServeNotice>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("local", &self.local)
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Listens at the address of `options`; connections are served once [`Server::run`] runs.
    ///
    /// # Errors
    /// `Options` for an address that others can reach without a token, or a token that is too short; `Root` when the
    /// root is no folder that can be opened; `Address` when the address cannot be listened at.
    pub fn bind(options: ServeOptions) -> Result<Self, ServeError> {
        options.check()?;
        let root = options.root.as_ref().map(|path| open_root(path)).transpose()?;
        let (listener, local) = listen(options.listen)?;
        let limits = ConnectionLimits {
            connections: options.connections_max,
            lifetime_s: options.seconds_max,
            silence_s: options.idle_seconds_max,
        };
        let shared = Shared {
            key: options.token.as_deref().map(Key::from_token),
            root,
            sessions: Sessions::new(options.memory_bytes_max, options.quota_bytes.unwrap_or(u64::MAX)),
            connections: Connections::new(limits),
            workers: Arc::new(Workers::new(options.disk_threads_max)),
            options,
        };
        let notice = shared.root.as_ref().and_then(|root| owner::left_behind(&root.folder, &root.path));
        Ok(Self { listener, local, shared, notice })
    }

    /// Where it listens, with the port that was taken.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// What the starter of the server should know: folders below the root that a killed server left behind.
    #[must_use]
    pub fn notice(&self) -> Option<&ServeNotice> {
        self.notice.as_ref()
    }

    /// Serves until a stop is asked for, then cuts all connections and removes what was stored.
    ///
    /// # Errors
    /// `System` when waiting for connections fails; `Leftover` names folders that could not be removed.
    pub fn run(&self, stop: &StopFlag) -> Result<(), ServeError> {
        let served = std::thread::scope(|scope| {
            let served = self.accept_until(stop, scope);
            self.shared.connections.cut_all("the server has ended");
            served
        });
        served?;
        let leftovers = self.shared.root.as_ref().map(|root| Arc::clone(&root.leftovers));
        let leftovers = leftovers.map(|all| all.lock().unwrap_or_else(PoisonError::into_inner).join("; "));
        match leftovers {
            Some(names) if !names.is_empty() => Err(ServeError::new(
                ServeErrorKind::Leftover,
                "remove",
                "a session's folder",
                names,
                "remove it by hand",
            )),
            _ => Ok(()),
        }
    }

    fn accept_until<'scope>(
        &'scope self,
        stop: &StopFlag,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<(), ServeError> {
        while stop.request() == StopRequest::None {
            let has_room = self.shared.connections.has_room(self.shared.clock().now().0);
            // Without room connections wait where the kernel keeps them.
            let events = if has_room { PollFlags::IN } else { PollFlags::empty() };
            match poll(&mut [PollFd::new(&self.listener, events)], Some(&WATCH)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => {
                    let hint = "start the server again";
                    let (kind, local) = (ServeErrorKind::System, self.local.to_string());
                    return Err(ServeError::io(kind, "wait for connections at", local, hint, errno.into()));
                }
            }
            // A connection that broke before it was accepted, or a lack of descriptors, is over at the next look.
            if has_room && let Ok((socket, _)) = self.listener.accept() {
                self.welcome(socket, scope);
            }
            self.shared.connections.watch(self.shared.clock().now().0);
        }
        Ok(())
    }

    fn welcome<'scope>(&'scope self, socket: TcpStream, scope: &'scope Scope<'scope, '_>) {
        let shared = &self.shared;
        if socket.set_nonblocking(false).is_err() {
            return;
        }
        // A connection for which there are no descriptors is dropped.
        let Ok(place) = shared.connections.admit(&socket, shared.clock().now().0) else { return };
        let live = Arc::clone(&place.live);
        if let Err(error) = threads::spawn(scope, "connection", move || serve::serve(socket, &place, shared))
        {
            live.tell(&refuse::encode(&error));
        }
    }
}

fn open_root(path: &std::path::Path) -> Result<Root, ServeError> {
    let failed = |source: io::Error| {
        let hint = "give a folder that exists and that this user may read and write";
        ServeError::io(ServeErrorKind::Root, "serve the folder", path.display().to_string(), hint, source)
    };
    let resolved = std::fs::canonicalize(path).map_err(failed)?;
    let folder = File::open(&resolved).map_err(failed)?;
    if !folder.metadata().map_err(failed)?.is_dir() {
        return Err(failed(io::ErrorKind::NotADirectory.into()));
    }
    Ok(Root { path: resolved, folder: Arc::new(folder), leftovers: Arc::new(Mutex::default()) })
}

fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let local = listener.local_addr()?;
        Ok((listener, local))
    });
    bound.map_err(|source| {
        let hint = "choose another port or address, or end what listens there";
        ServeError::io(ServeErrorKind::Address, "listen at", address.to_string(), hint, source)
    })
}
