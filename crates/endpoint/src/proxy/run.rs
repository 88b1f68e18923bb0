//! The proxy: it listens, starts a thread for each connection, watches silence, and ends them all.

use super::address::{check_not_own, look_up_forward};
use super::connect::{set_buffers, set_stream};
use super::journal::{FaultKind, Journal};
use super::options::ProxyOptions;
use super::pairs::{ConnectionPairs, ProxyTotals};
use super::shared::{CountedSlot, ProxyState};
use super::{full, refusal, serve};
use crate::connections::{ConnectionLimits, Connections};
use crate::error::{ServeError, ServeErrorKind};
use crate::life::{SIGN_OF_LIFE_S, SessionLives};
use crate::live_connection::TimeLimits;
use crate::session::Sessions;
use crate::{descriptors, forward, threads};
use narrows_model::units::saturate_usize;
use narrows_run::{StopFlag, StopRequest};
use narrows_wire::token::TokenKey;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::{Domain, SockRef, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::Scope;

/// How often silence and the request to stop are looked at.
const WATCH: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// Longest silence before a conversation's hello is through.
const HELLO_SILENCE_S: u64 = 10;

/// Most memory of the roles that are played here for others: two of the largest buffers with `io_uring`.
const ROLE_BYTES_MAX: u64 = 256 << 20;

/// Descriptors of one connection: two sockets, and two pipes or two rings with clones of both sockets each.
const DESCRIPTORS: u64 = 8;

/// Descriptors of the proxy itself: the standard ones, the listener, what counters are read from.
const OWN_DESCRIPTORS: u64 = 64;

/// A proxy that listens.
pub struct Proxy {
    listener: TcpListener,
    shared: ProxyState,
    notices: Vec<String>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy")
            .field("local", &self.shared.local)
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}

impl Proxy {
    /// Listens at the address of `options`; connections are forwarded once [`Proxy::run`] runs. Whether anybody
    /// listens where they go is not tried: a server that takes one connection would lose it.
    ///
    /// # Errors
    /// `Options` for what is refused of them, for a way of moving bytes that this machine forbids, and for a next hop
    /// that has no address or is the proxy itself; `Address` when the address cannot be listened at.
    pub fn bind(options: ProxyOptions, stop: StopFlag) -> Result<Self, ServeError> {
        options.check()?;
        forward::check(options.mode).map_err(|why| {
            let mode = format!("{:?}", options.mode).to_lowercase();
            ServeError::new(ServeErrorKind::System, "forward by", mode, why, "choose another --mode")
        })?;
        let to = look_up_forward(&options.to)?;
        check_not_own(options.listen, &to)?;
        let mut notices = Vec::new();
        let (listener, local) = listen(&options, &mut notices)?;
        check_not_own(local, &to)?;
        notices.extend(raise_descriptors(options.connections_max));
        let conversations_max = full::conversations_max(options.connections_max);
        let limits = ConnectionLimits {
            connections: conversations_max,
            times: TimeLimits { lifetime_s: None, silence_s: HELLO_SILENCE_S },
            greetings: conversations_max as usize,
        };
        let shared = ProxyState {
            key: options.token.as_deref().map(TokenKey::from_token),
            buffer_bytes: saturate_usize(options.buffer.0),
            local,
            to,
            pairs: ConnectionPairs::default(),
            conversations: Connections::new(limits),
            lives: SessionLives::default(),
            memory: Sessions::new(ROLE_BYTES_MAX, 0),
            journal: Journal::new(options.journal.clone(), options.clock.clone()),
            stop,
            alive_count: AtomicU32::new(0),
            refusing_count: AtomicU32::new(0),
            options,
        };
        Ok(Self { listener, shared, notices })
    }

    /// Where it listens, with the port that was taken.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.shared.local
    }

    /// What the starter of the proxy should know: what the machine grants less of than was asked for.
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Forwards until a stop is asked for, then resets what is still open; what has passed.
    ///
    /// # Errors
    /// `System` when waiting for connections fails.
    pub fn run(&self) -> Result<ProxyTotals, ServeError> {
        let shared = &self.shared;
        std::thread::scope(|scope| {
            let accepted = self.accept_until_stopped(scope);
            // Threads look at the stop too where an error ended the loop.
            shared.stop.ask(StopRequest::Now);
            let cut_count = shared.pairs.end_all();
            shared.conversations.cut_all("the proxy has ended");
            if cut_count > 0 {
                (shared.options.journal)(&format!("{cut_count} connections were open and have been reset"));
            }
            accepted
        })?;
        Ok(shared.pairs.totals())
    }

    fn accept_until_stopped<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
    ) -> Result<(), ServeError> {
        let shared = &self.shared;
        let mut is_short = false;
        while shared.stop.request() == StopRequest::None {
            // Short of descriptors, connections wait where the kernel keeps them until the next look.
            let events = if is_short { PollFlags::empty() } else { PollFlags::IN };
            match poll(&mut [PollFd::new(&self.listener, events)], Some(&WATCH)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => {
                    let (kind, local) = (ServeErrorKind::System, shared.local.to_string());
                    let hint = "start the proxy again";
                    return Err(ServeError::io(kind, "wait for connections at", local, hint, errno.into()));
                }
            }
            is_short = self.accept_all(scope);
            let now_ns = shared.options.clock.now().0;
            shared.conversations.enforce_limits(now_ns);
            shared.pairs.end_abandoned(SIGN_OF_LIFE_S * 1_000_000_000, now_ns);
            if let Some(idle_ns_max) = shared.options.idle_ns_max {
                self.end_silent(idle_ns_max, now_ns);
            }
        }
        Ok(())
    }

    fn end_silent(&self, idle_ns_max: u64, now_ns: u64) {
        let count = self.shared.pairs.end_silent(idle_ns_max, now_ns);
        if count > 0 {
            let line =
                format!("{count} connections were silent for longer than --idle-seconds and have been reset");
            self.shared.journal.report(FaultKind::Idle, &line);
        }
    }

    /// Takes the connections that wait; whether the machine has nothing left to take one with.
    fn accept_all<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> bool {
        let mut left = BACKLOG;
        while left > 0 {
            match self.listener.accept() {
                Ok((socket, _)) => self.start_connection(socket, scope),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                // It broke before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let line =
                        format!("no connection can be accepted: {error}; raise ulimit -n or close some");
                    self.shared.journal.report(FaultKind::Machine, &line);
                    return true;
                }
            }
            left -= 1;
        }
        false
    }

    fn start_connection<'scope>(&'scope self, socket: TcpStream, scope: &'scope Scope<'scope, '_>) {
        let shared = &self.shared;
        let is_full = shared.alive_count.load(Ordering::Acquire) >= shared.options.connections_max;
        if is_full && !full::make_room(shared) {
            return full::refuse(socket, shared, scope);
        }
        let prepared =
            socket.set_nonblocking(false).and_then(|()| set_stream(&SockRef::from(&socket), &shared.options));
        if prepared.is_err() {
            return refusal::reset(&socket);
        }
        let alive = CountedSlot::take(&shared.alive_count);
        let started = threads::spawn(scope, "there", move || {
            let _alive = alive;
            serve::serve_connection(socket, shared);
        });
        // The socket went with the closure, which closed it.
        if let Err(error) = started {
            shared.journal.report(FaultKind::Machine, &error.to_string());
        }
    }
}

fn listen(
    options: &ProxyOptions,
    notices: &mut Vec<String>,
) -> Result<(TcpListener, SocketAddr), ServeError> {
    let address = options.listen;
    let bound = Socket::new(Domain::for_address(address), Type::STREAM, None).and_then(|socket| {
        // Connections of a proxy that ended a moment ago must not keep the next one from its port.
        socket.set_reuse_address(true)?;
        set_buffers(&socket, options)?;
        notices.extend(reduced_buffers(&socket, options)?);
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        let listener = TcpListener::from(socket);
        let local = listener.local_addr()?;
        Ok((listener, local))
    });
    bound.map_err(|source| {
        let hint = "choose another port or address, or stop the process that listens there";
        ServeError::io(ServeErrorKind::Address, "listen at", address.to_string(), hint, source)
    })
}

/// Which socket buffers the kernel makes smaller than asked for. It reports twice the size, which includes room for its
/// own needs.
fn reduced_buffers(socket: &Socket, options: &ProxyOptions) -> io::Result<Vec<String>> {
    let sizes = [
        ("--send-buffer", options.send_buffer, socket.send_buffer_size()?, "net.core.wmem_max"),
        ("--receive-buffer", options.receive_buffer, socket.recv_buffer_size()?, "net.core.rmem_max"),
    ];
    let less = sizes.into_iter().filter_map(|(option, asked, reported, setting)| {
        let (asked, granted) = (asked?.0, reported as u64 / 2);
        (granted < asked).then(|| {
            format!("{option}: {asked} bytes were requested and the kernel grants {granted} ({setting})")
        })
    });
    Ok(less.collect())
}

/// Raises this process's limit of descriptors to what so many connections need; returns what to report if it stays
/// lower.
fn raise_descriptors(connections_max: u32) -> Option<String> {
    let needed = u64::from(connections_max) * DESCRIPTORS + OWN_DESCRIPTORS;
    let granted = descriptors::raise(needed);
    let connections = granted.saturating_sub(OWN_DESCRIPTORS) / DESCRIPTORS;
    (granted < needed).then(|| {
        format!(
            "this process may open {granted} files, enough for about {connections} of {connections_max} connections; \
             raise ulimit -n"
        )
    })
}
