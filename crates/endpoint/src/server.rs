//! The server: it listens, starts a thread for each connection, watches their limits, and ends them all.

use crate::connections::{ConnectionLimits, Connections};
use crate::descriptors::Descriptors;
use crate::error::{ServeError, ServeErrorKind};
use crate::live_connection::TimeLimits;
use crate::options::ServeOptions;
use crate::owner::{self, ServeNotice};
use crate::session::Sessions;
use crate::shared::ServerState;
use crate::store::StoreRoot;
use crate::workers::Workers;
use crate::{serve, threads};
use narrows_run::{StopFlag, StopRequest};
use narrows_wire::refuse;
use narrows_wire::token::TokenKey;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;

/// How often limits and the request to stop are looked at.
const WATCH: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    local: SocketAddr,
    shared: ServerState,
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
        let descriptors = Descriptors::raised(options.connections_max);
        let limits = ConnectionLimits {
            connections: options.connections_max,
            times: TimeLimits { lifetime_s: options.seconds_max, silence_s: options.idle_seconds_max },
            greetings: descriptors.greetings_max(),
        };
        let shared = ServerState {
            key: options.token.as_deref().map(TokenKey::from_token),
            root,
            sessions: Sessions::new(options.memory_bytes_max, options.quota_bytes.unwrap_or(u64::MAX)),
            connections: Connections::new(limits),
            workers: Arc::new(Workers::new(options.disk_threads_max)),
            descriptors,
            options,
        };
        let now_s = shared.options.started_at_s;
        let notice =
            shared.root.as_ref().and_then(|root| owner::find_leftovers(&root.folder, &root.path, now_s));
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
        let mut is_short = false;
        while stop.request() == StopRequest::None {
            // Nor without a descriptor: who asked at once again would be refused at once again.
            let has_room = !std::mem::take(&mut is_short)
                && self.shared.connections.has_room(self.shared.clock().now().0);
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
            if has_room {
                match self.listener.accept() {
                    Ok((socket, _)) => self.start_connection(socket, scope),
                    Err(error) => is_short = !is_over_soon(&error),
                }
            }
            self.shared.connections.enforce_limits(self.shared.clock().now().0);
        }
        Ok(())
    }

    fn start_connection<'scope>(&'scope self, socket: TcpStream, scope: &'scope Scope<'scope, '_>) {
        let shared = &self.shared;
        if socket.set_nonblocking(false).is_err() {
            return;
        }
        // A connection for which there are no descriptors is dropped.
        let Ok(permit) = shared.connections.admit(&socket, shared.clock().now().0) else { return };
        let live = Arc::clone(&permit.live);
        if let Err(error) = threads::spawn(scope, "connection", move || serve::serve(socket, &permit, shared))
        {
            live.try_send(&refuse::encode(&error));
        }
    }
}

/// Whether accepting failed for the one connection alone: there is none after all, or it broke meanwhile.
fn is_over_soon(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock)
}

fn open_root(path: &std::path::Path) -> Result<StoreRoot, ServeError> {
    let failed = |source: io::Error| {
        let hint = "give a folder that exists and that this user may read and write";
        ServeError::io(ServeErrorKind::Root, "serve the folder", path.display().to_string(), hint, source)
    };
    let resolved = std::fs::canonicalize(path).map_err(failed)?;
    let folder = File::open(&resolved).map_err(failed)?;
    if !folder.metadata().map_err(failed)?.is_dir() {
        return Err(failed(io::ErrorKind::NotADirectory.into()));
    }
    Ok(StoreRoot { path: resolved, folder: Arc::new(folder), leftovers: Arc::new(Mutex::default()) })
}

fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let local = listener.local_addr()?;
        Ok((listener, local))
    });
    bound.map_err(|source| {
        let hint = "choose another port or address, or stop the process that listens there";
        ServeError::io(ServeErrorKind::Address, "listen at", address.to_string(), hint, source)
    })
}
