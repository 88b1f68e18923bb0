//! TCP connections that are the path's and not the load's own: those of the kernel's client of a mount, and of the process
//! that serves a file system (FUSE).
//!
//! They are found once, and again when one of them is gone. What a connection has counted that is gone stays in the sums.
//! Not here: what their counters say of the path.

use narrows_engines::socket::{ConnectionLocality, counters_of};
use narrows_model::Nanos;
use narrows_model::counters::{Combine as _, TcpCounters};
use narrows_probe::Root;
use narrows_sys::tcp_diag::{TcpConnection, TcpConnectionId, TcpDiag};
use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;

/// Most connections that are counted: a client of a parallel file system has one to each of its servers.
const CONNECTIONS_MAX: usize = 256;

/// Whose connections are the path's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathPeers {
    /// Servers that the kernel itself is connected to, for file systems that it mounts.
    pub servers_of_kernel: Vec<SocketAddr>,
    /// A process of which all connections are the path's, with those that it started.
    pub daemon_pid: Option<u32>,
}

impl PathPeers {
    /// The connections that there are now; `None` where there are none, or the kernel does not list them.
    pub(crate) fn open(&self) -> Option<PathConnections> {
        if *self == Self::default() {
            return None;
        }
        let mut diag = TcpDiag::open().ok()?;
        let open = self.find(&mut diag).ok()?;
        let any = !open.is_empty();
        let seen = open.iter().map(|one| (one.id, (*one, TcpCounters::default()))).collect();
        any.then(|| PathConnections { peers: self.clone(), diag, open: seen, closed: TcpCounters::default() })
    }

    fn find(&self, diag: &mut TcpDiag) -> narrows_sys::Result<Vec<TcpConnection>> {
        let root = Root::system();
        let all = diag.connections()?;
        let of_daemon = self
            .daemon_pid
            .map(|pid| narrows_probe::socket_inodes(&root, &narrows_probe::with_descendants(&root, pid)));
        let to_servers = |one: &&TcpConnection| self.servers_of_kernel.contains(&one.remote);
        // What a process has open is not the kernel's own.
        let any_to_servers = all.iter().any(|one| to_servers(&one));
        let of_others =
            if any_to_servers { narrows_probe::all_socket_inodes(&root) } else { BTreeSet::new() };
        let is_of_path = |one: &&TcpConnection| {
            let of_kernel = to_servers(one) && !of_others.contains(&one.inode);
            of_kernel || of_daemon.as_ref().is_some_and(|inodes| inodes.contains(&one.inode))
        };
        Ok(all.iter().filter(is_of_path).take(CONNECTIONS_MAX).copied().collect())
    }
}

/// The connections of a path.
#[derive(Debug)]
pub(crate) struct PathConnections {
    peers: PathPeers,
    diag: TcpDiag,
    /// Those that are open, with what they counted when they were read last.
    open: HashMap<TcpConnectionId, (TcpConnection, TcpCounters)>,
    /// What those had counted that are closed.
    closed: TcpCounters,
}

impl PathConnections {
    /// Their counters now, summed; `None` where the kernel does not report them.
    pub(crate) fn read(&mut self, at_ns: Nanos) -> Option<TcpCounters> {
        let ids: Vec<TcpConnectionId> = self.open.keys().copied().collect();
        let mut is_closed = false;
        for id in ids {
            is_closed |= !self.read_one(id)?;
        }
        if is_closed {
            for connection in self.peers.find(&mut self.diag).ok()? {
                self.open.entry(connection.id).or_insert((connection, TcpCounters::default()));
                self.read_one(connection.id)?;
            }
        }
        let mut sum = TcpCounters::default();
        for (_, counters) in self.open.values() {
            sum.add_beside(counters);
        }
        sum.add_beside(&TcpCounters { connection_count: 0, ..self.closed.clone() });
        Some(TcpCounters { at_ns, ..sum })
    }

    /// Reads one connection; whether it is still open.
    fn read_one(&mut self, id: TcpConnectionId) -> Option<bool> {
        let info = self.diag.info(id).ok()?;
        let (connection, counters) = self.open.get_mut(&id)?;
        let Some(info) = info else {
            self.closed.add_beside(&self.open.remove(&id)?.1);
            return Some(false);
        };
        let ends = ConnectionLocality::from_addresses(connection.local.ip(), connection.remote.ip());
        *counters = counters_of(&info, ends);
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Bytes;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    fn connected(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    fn send(from: &mut TcpStream, to: &mut TcpStream, length: usize) {
        from.write_all(&vec![1; length]).unwrap();
        to.read_exact(&mut vec![0; length]).unwrap();
    }

    #[test]
    fn connections_of_a_process_are_summed_also_after_one_was_closed_and_another_one_made() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut near, mut far) = connected(&listener);
        let peers = PathPeers { daemon_pid: Some(std::process::id()), ..PathPeers::default() };
        let mut connections = peers.open().unwrap();
        let acked = |connections: &mut PathConnections| connections.read(Nanos(1)).unwrap().acked_bytes;
        let before = acked(&mut connections);
        send(&mut near, &mut far, 40_000);
        let once = acked(&mut connections);
        assert!(once >= before.saturating_add(Bytes(40_000)), "{before:?} {once:?}");
        drop((near, far));
        let (mut near, mut far) = connected(&listener);
        send(&mut near, &mut far, 30_000);
        let all = once.saturating_add(Bytes(30_000));
        let is_counted = (0..100_000).any(|_| {
            std::thread::yield_now();
            acked(&mut connections) >= all
        });
        assert!(is_counted, "{:?}", connections.read(Nanos(1)));
        let sum = connections.read(Nanos(9)).unwrap();
        assert!(sum.loopback_bytes >= Bytes(70_000) && sum.at_ns == Nanos(9), "{sum:?}");
    }

    #[test]
    fn what_a_process_has_open_is_not_the_kernels_connection_to_a_server() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _open = connected(&listener);
        let servers_of_kernel = vec![listener.local_addr().unwrap()];
        assert!(PathPeers { servers_of_kernel, daemon_pid: None }.open().is_none());
        assert!(PathPeers::default().open().is_none());
    }
}
