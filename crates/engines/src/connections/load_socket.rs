//! The socket of a connection with many calls in flight, with the buffer of what has arrived on it.
//!
//! What arrives is read in large pieces, and the rest of a payload straight into its slot. Hot path: no allocation, one
//! clock read per read of the socket.

use super::load::ConnectionLoad;
use super::peer::StoragePeer;
use crate::clock::Tick;
use crate::error::EngineError;
use crate::request::Completions;
use crate::socket::{DataSocket, WaitMode};
use narrows_model::counters::{Combine, TcpCounters};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Shutdown, TcpStream};

/// What one read takes at least beyond a payload: the replies of many small calls.
const ARRIVED_BYTES: usize = 256 << 10;
/// Reads in a row, so that a peer which sends without end cannot keep this side from looking at its deadline.
const READS_MAX: usize = 64;

/// Why a connection cannot be used at present.
#[derive(Debug)]
pub(crate) struct BrokenConnection {
    pub(crate) retry_at: Tick,
    pub(crate) why: EngineError,
}

/// A socket, what has arrived on it, and what it has counted.
#[derive(Debug)]
pub(crate) struct LoadSocket {
    pub(crate) socket: Result<DataSocket, BrokenConnection>,
    arrived: Box<[u8]>,
    arrived_bytes: usize,
    /// What connections that ended have counted.
    past: Option<TcpCounters>,
}

impl LoadSocket {
    /// The connection over `socket`, of which `kept` has arrived already and messages have up to `message_bytes_max`.
    pub(crate) fn new(socket: TcpStream, kept: &[u8], message_bytes_max: usize) -> io::Result<Self> {
        let arrived = vec![0; message_bytes_max.max(ARRIVED_BYTES)].into_boxed_slice();
        let mut new = Self { socket: Ok(DataSocket::new(socket)?), arrived, arrived_bytes: 0, past: None };
        new.keep(kept)?;
        Ok(new)
    }

    /// Goes on with what has arrived already.
    fn keep(&mut self, kept: &[u8]) -> io::Result<()> {
        let room = self.arrived.get_mut(..kept.len()).ok_or(io::ErrorKind::InvalidData)?;
        room.copy_from_slice(kept);
        self.arrived_bytes = kept.len();
        Ok(())
    }

    pub(crate) fn is_open(&self) -> bool {
        self.socket.is_ok()
    }

    /// The connection was made again.
    pub(crate) fn reopen(&mut self, socket: TcpStream, kept: &[u8]) -> io::Result<()> {
        self.keep(kept)?;
        self.socket = Ok(DataSocket::new(socket)?);
        Ok(())
    }

    /// What the kernel counts, connections that ended included.
    pub(crate) fn counters(&self) -> Option<TcpCounters> {
        let now = self.socket.as_ref().ok().and_then(DataSocket::counters);
        match (now, &self.past) {
            (Some(mut now), Some(past)) => {
                now.add_interval(past);
                Some(now)
            }
            (now, past) => now.or_else(|| past.clone()),
        }
    }

    /// The connection has ended, with what had arrived of it.
    pub(crate) fn break_off(&mut self, broken: BrokenConnection) {
        self.past = self.counters();
        self.socket = Err(broken);
        self.arrived_bytes = 0;
    }

    /// Closes it in both directions.
    pub(crate) fn shut_down(&self) {
        if let Ok(socket) = &self.socket {
            // One that is closed already is as it should be.
            drop(socket.tcp_stream().shutdown(Shutdown::Both));
        }
    }

    /// Sends what the socket takes at once of `parts`; `None` where it takes nothing at present.
    pub(crate) fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        let Ok(socket) = &self.socket else { return Ok(None) };
        match socket.send(parts, WaitMode::Never) {
            Ok(sent) => Ok(Some(sent)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Some(0)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Receives what comes behind what has arrived already; how many bytes came, 0 at the peer's end.
    pub(crate) fn receive(&mut self, wait_mode: WaitMode) -> io::Result<usize> {
        let (received, _) = self.read(None, wait_mode);
        self.arrived_bytes += *received.as_ref().unwrap_or(&0);
        received
    }

    /// What has arrived and was not taken.
    pub(crate) fn arrived(&self) -> &[u8] {
        &self.arrived[..self.arrived_bytes]
    }

    /// Takes `count` bytes off the front of what has arrived.
    pub(crate) fn take_arrived(&mut self, count: usize) {
        self.arrived.copy_within(count..self.arrived_bytes, 0);
        self.arrived_bytes -= count;
    }

    /// Whether the rest of a payload may be read past the buffer.
    fn is_empty(&self) -> bool {
        self.arrived_bytes == 0
    }

    /// Reads into `slot`, where there is one, then into the buffer; the bytes read, and those that were asked for.
    fn read(&mut self, slot: Option<&mut [u8]>, wait_mode: WaitMode) -> (io::Result<usize>, usize) {
        let Ok(socket) = &self.socket else { return (Err(io::ErrorKind::WouldBlock.into()), 0) };
        let free = &mut self.arrived[self.arrived_bytes..];
        if let Some(slot) = slot {
            let offered = slot.len() + free.len();
            return (socket.receive(&mut [IoSliceMut::new(slot), IoSliceMut::new(free)], wait_mode), offered);
        }
        let offered = free.len();
        (socket.receive(&mut [IoSliceMut::new(free)], wait_mode), offered)
    }
}

/// Adds what is left of `parts` behind their first `skip_bytes` to `slices`, from `used` on; how many are used then.
pub(crate) fn add_parts<'a>(
    slices: &mut [IoSlice<'a>],
    mut used: usize,
    parts: [&'a [u8]; 3],
    mut skip_bytes: usize,
) -> usize {
    for part in parts {
        let rest = &part[skip_bytes.min(part.len())..];
        skip_bytes = skip_bytes.saturating_sub(part.len());
        if !rest.is_empty() {
            slices[used] = IoSlice::new(rest);
            used += 1;
        }
    }
    used
}

/// A connection with many calls in flight.
pub(crate) trait LoadConnection {
    /// What its calls are of.
    type Load: ConnectionLoad;

    fn line(&self) -> &LoadSocket;

    fn line_mut(&mut self) -> &mut LoadSocket;

    /// Whether calls wait for room in the socket.
    fn is_sending(&self) -> bool;

    /// Sends what the socket takes at once.
    fn flush(&mut self, load: &mut Self::Load);

    /// The connection has ended: what it had in flight is sent again, by whichever connection.
    fn break_off(&mut self, load: &mut Self::Load, why: EngineError);

    /// Where the rest of the payload belongs that arrives at present.
    fn payload_rest<'a>(&self, load: &'a mut Self::Load) -> Option<&'a mut [u8]>;

    /// `count` bytes of that rest have arrived there.
    fn payload_moved(&mut self, count: usize);

    /// Takes whole messages off the front of `input`.
    ///
    /// # Errors
    /// What arrived is no answer to what was asked.
    fn parse(
        &mut self,
        input: &mut &[u8],
        load: &mut Self::Load,
        out: &mut Completions,
    ) -> Result<(), EngineError>;

    /// Reads what has arrived, and completes what it answers; `wait_mode` is that of the first read.
    ///
    /// # Errors
    /// What arrived is no answer to what was asked.
    fn receive(
        &mut self,
        mut wait_mode: WaitMode,
        load: &mut Self::Load,
        out: &mut Completions,
    ) -> Result<(), EngineError> {
        for _ in 0..READS_MAX {
            if !self.line().is_open() {
                return Ok(());
            }
            let slot = if self.line().is_empty() { self.payload_rest(load) } else { None };
            let slot_bytes = slot.as_ref().map_or(0, |slot| slot.len());
            let (read, offered) = self.line_mut().read(slot, wait_mode);
            wait_mode = WaitMode::Never;
            let length = match read {
                Ok(0) => {
                    let why = load.peer().gone("receive");
                    self.break_off(load, why);
                    return Ok(());
                }
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    let why = load.peer().io_error("receive", error);
                    self.break_off(load, why);
                    return Ok(());
                }
            };
            load.read_clock();
            let in_slot = length.min(slot_bytes);
            if in_slot > 0 {
                self.payload_moved(in_slot);
            }
            self.line_mut().arrived_bytes += length - in_slot;
            self.parse_arrived(load, out)?;
            if length < offered {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes the messages out of what has arrived.
    ///
    /// # Errors
    /// As those of [`Self::parse`].
    fn parse_arrived(&mut self, load: &mut Self::Load, out: &mut Completions) -> Result<(), EngineError> {
        let arrived = std::mem::take(&mut self.line_mut().arrived);
        let total = self.line().arrived_bytes;
        let mut input = &arrived[..total];
        let parsed = self.parse(&mut input, load, out);
        let left = input.len();
        let is_open = self.line().is_open();
        let line = self.line_mut();
        line.arrived = arrived;
        line.arrived_bytes = if is_open { left } else { 0 };
        if is_open {
            line.arrived.copy_within(total - left..total, 0);
        }
        parsed
    }
}
