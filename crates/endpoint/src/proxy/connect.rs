//! The connection to the next hop: each of its addresses in turn, without outliving a stop.

use super::options::ProxyOptions;
use narrows_run::StopFlag;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How often a stop is looked for while an address answers nothing.
const SLICE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Slices in which an address must answer: ten seconds allow for three lost requests.
const SLICES_MAX: u32 = 100;

/// A peer that vanished without a word is asked after this silence.
const KEEPALIVE: Duration = Duration::from_mins(1);

/// A connection to the first of `to` that takes one.
///
/// # Errors
/// Why the last of them did not.
pub(super) fn connect(to: &[SocketAddr], options: &ProxyOptions, stop: &StopFlag) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in to {
        match connect_one(*address, options, stop) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = io::Error::new(error.kind(), format!("{address}: {error}")),
        }
        if stop.is_now() {
            break;
        }
    }
    Err(last)
}

fn connect_one(address: SocketAddr, options: &ProxyOptions, stop: &StopFlag) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    set_buffers(&socket, options)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => {
            wait_connected(&socket, stop)?;
        }
        Err(error) => return Err(error),
    }
    socket.set_nonblocking(false)?;
    set_stream(&socket, options)?;
    Ok(socket.into())
}

fn wait_connected(socket: &Socket, stop: &StopFlag) -> io::Result<()> {
    for _ in 0..SLICES_MAX {
        if stop.is_now() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the proxy ends"));
        }
        match poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&SLICE)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return socket.take_error()?.map_or(Ok(()), Err),
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// Sets what must be set before a connection is made: its window is agreed then.
pub(super) fn set_buffers(socket: &Socket, options: &ProxyOptions) -> io::Result<()> {
    let asked = |size: narrows_model::Bytes| usize::try_from(size.0).map_err(io::Error::other);
    if let Some(size) = options.send_buffer {
        socket.set_send_buffer_size(asked(size)?)?;
    }
    if let Some(size) = options.receive_buffer {
        socket.set_recv_buffer_size(asked(size)?)?;
    }
    Ok(())
}

/// Sets what a connected socket needs, of either side. Until [`close_in_order`] its close is a reset, also the one that
/// the kernel makes when this process is killed: nobody then takes what has passed for all there is.
pub(super) fn set_stream(socket: &Socket, options: &ProxyOptions) -> io::Result<()> {
    socket.set_linger(Some(Duration::ZERO))?;
    socket.set_tcp_nodelay(options.no_delay)?;
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))
}

/// Lets the kernel deliver what was sent to `socket`, and its end, however it is closed from now on.
pub(super) fn close_in_order(socket: &TcpStream) {
    // A connection that is gone has nothing to deliver.
    let _ = SockRef::from(socket).set_linger(None);
}
