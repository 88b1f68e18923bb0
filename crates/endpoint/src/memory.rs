//! A data connection whose requests are served from memory, in the thread that reads them.
//!
//! All requests that one read brought are answered with one write: a deep queue costs as few system calls as a
//! shallow one. Large payloads leave from the object itself, small ones by way of the replies that they wait with. Hot path: no allocation once the buffers have grown, one clock read per read.

use crate::channel::{Channel, linger, not_yet, takes_more};
use crate::connections::Live;
use crate::data;
use crate::objects::MemoryObject;
use crate::quota::Reservation;
use crate::server::Shared;
use crate::session::{Member, Session};
use narrows_engines::Clock;
use narrows_model::units::saturate_usize;
use narrows_wire::Error;
use narrows_wire::open::{Credits, Granted, Open};
use narrows_wire::reply::{HEADER_BYTES, Header as ReplyHeader, encode_farewell};
use narrows_wire::request::{Header, Kind, Piece, RequestDecoder};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use std::io::{IoSlice, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// What one read takes at most.
const ARRIVED_BYTES: usize = 512 << 10;

/// Replies are sent once they are this long even if more requests wait.
const REPLIES_BYTES: usize = 512 << 10;

/// Payloads from this size on are sent from where they lie: a copy of fewer bytes costs less than a system call more.
const IN_PLACE_BYTES: usize = 64 << 10;

/// Serves the connection until its end.
pub(crate) fn serve(channel: Channel, shared: &Shared, open: &Open, member: &Member) {
    let session = data::session(member);
    let (granted, opened) = match prepare(shared, open, session) {
        Ok((granted, opened)) => (Ok(granted), Some(opened)),
        Err(error) => (Err(error), None),
    };
    let Some((channel, granted)) = data::answer(channel, granted) else { return };
    let Some(Opened { objects, _memory }) = opened else { return };
    let (socket, rest, live) = channel.into_parts();
    let decoder = RequestDecoder::new(data::limits(open, granted.credits));
    let server = MemoryServer {
        socket,
        session,
        names: &open.objects,
        objects,
        object_bytes: open.object_bytes,
        decoder,
        writing: None,
        replies: Replies { bytes: Vec::new(), filled: 0, bytes_max: replies_bytes_max(open) },
    };
    server.run(&live, shared.clock(), &rest);
}

/// What a connection holds as long as it lives.
struct Opened {
    objects: Vec<Arc<MemoryObject>>,
    _memory: Reservation,
}

fn prepare(shared: &Shared, open: &Open, session: &Arc<Session>) -> Result<(Granted, Opened), Error> {
    let granted = data::grant_memory(open)?;
    let buffers = (ARRIVED_BYTES + replies_bytes_max(open)) as u64;
    let memory = shared.sessions.reserve_memory(data::conversation_bytes(open) + buffers)?;
    let objects = session.stores().memory_objects(open)?;
    Ok((granted, Opened { objects, _memory: memory }))
}

/// Replies wait until they are long enough to be sent; the one that makes them so is the longest that waits.
fn replies_bytes_max(open: &Open) -> usize {
    REPLIES_BYTES + HEADER_BYTES + saturate_usize(open.block_bytes).min(IN_PLACE_BYTES)
}

struct MemoryServer<'a> {
    socket: TcpStream,
    session: &'a Arc<Session>,
    names: &'a [String],
    objects: Vec<Arc<MemoryObject>>,
    object_bytes: u64,
    decoder: RequestDecoder,
    /// The write whose payload is arriving, and the status it will have.
    writing: Option<(Header, u32)>,
    replies: Replies,
}

/// Replies that wait to be sent, in memory that is kept and never cleared anew.
struct Replies {
    bytes: Vec<u8>,
    filled: usize,
    bytes_max: usize,
}

impl Replies {
    /// Room for `length` more bytes, whose content is left over from before.
    fn extend(&mut self, length: usize) -> &mut [u8] {
        let start = self.filled;
        self.filled += length;
        if self.bytes.len() < self.filled {
            let needed = self.filled.next_power_of_two().min(self.bytes_max).max(self.filled);
            self.bytes.reserve_exact(needed - self.bytes.len());
            self.bytes.resize(needed, 0);
        }
        &mut self.bytes[start..self.filled]
    }
}

impl MemoryServer<'_> {
    fn run(mut self, live: &Live, clock: &dyn Clock, rest: &[u8]) {
        let mut arrived = vec![0; ARRIVED_BYTES.max(rest.len())];
        arrived[..rest.len()].copy_from_slice(rest);
        let mut filled = rest.len();
        let last_words = loop {
            let left = match self.answer_all(&arrived[..filled]) {
                Ok(Some(left)) => left,
                Ok(None) => break None,
                Err(error) => break Some(error.to_string()),
            };
            arrived.copy_within(filled - left..filled, 0);
            filled = left;
            match self.socket.read(&mut arrived[filled..]) {
                Ok(0) => break live.ending(),
                Ok(length) => filled += length,
                Err(error) if not_yet(&error) => {}
                Err(_) => break None,
            }
            live.heard(clock.now().0);
        };
        if let Some(text) = last_words {
            // A client that is gone needs no last words.
            let _ = self.socket.write_all(&encode_farewell(&text));
            linger(&mut self.socket, live, clock);
        }
    }

    /// Answers all requests in `input` and tells how many bytes at its end are none yet; `None` when the client is
    /// gone.
    fn answer_all(&mut self, mut input: &[u8]) -> Result<Option<usize>, Error> {
        while let Some(piece) = self.decoder.next(&mut input)? {
            let taken = match piece {
                Piece::Request(header) => self.begin(header),
                Piece::Payload { bytes, at_bytes, last } => {
                    self.store(bytes, at_bytes, last);
                    true
                }
            };
            if !taken || (self.replies.filled >= REPLIES_BYTES && !self.flush()) {
                return Ok(None);
            }
        }
        Ok(self.flush().then_some(input.len()))
    }

    /// Answers a request, or begins a write; whether the client took what was sent on the way.
    fn begin(&mut self, header: Header) -> bool {
        let status =
            data::in_range(header.offset_bytes, header.length_bytes, self.object_bytes).err().unwrap_or(0);
        match header.kind {
            Kind::Write if header.length_bytes > 0 => self.writing = Some((header, status)),
            Kind::Read if status == 0 => {
                self.reply(&header, 0, header.length_bytes);
                if data::index(header.length_bytes) >= IN_PLACE_BYTES {
                    return self.send_in_place(&header);
                }
                let place = self.replies.extend(data::index(header.length_bytes));
                self.objects[data::index(header.object)].read(header.offset_bytes, place);
            }
            Kind::Read | Kind::Write => self.reply(&header, status, 0),
            // What was acknowledged is in memory already: there is nothing more to do for a sync.
            Kind::Sync => self.reply(&header, 0, 0),
            Kind::Remove => {
                self.session.stores().remove_memory_object(&self.names[data::index(header.object)]);
                self.reply(&header, 0, 0);
            }
        }
        true
    }

    /// Sends all replies, and behind the last of them its payload from where it lies; whether the client took them.
    fn send_in_place(&mut self, header: &Header) -> bool {
        let object = &self.objects[data::index(header.object)];
        let mut replies = &self.replies.bytes[..std::mem::take(&mut self.replies.filled)];
        let (mut at_bytes, mut left) = (header.offset_bytes, data::index(header.length_bytes));
        while left > 0 {
            // Nobody may wait for this client, so what holds a part of the object does not wait.
            let sent = object.show(at_bytes, left, |payload| {
                let parts = [IoSlice::new(replies), IoSlice::new(payload)];
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                sendmsg(&self.socket, &parts, &mut SendAncillaryBuffer::default(), flags)
            });
            match sent {
                Ok(sent) => {
                    let of_replies = sent.min(replies.len());
                    replies = &replies[of_replies..];
                    at_bytes += (sent - of_replies) as u64;
                    left -= sent - of_replies;
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) if takes_more(&self.socket) => {}
                Err(_) => return false,
            }
        }
        true
    }

    fn store(&mut self, bytes: &[u8], at_bytes: u32, last: bool) {
        let Some((header, status)) = self.writing else { return };
        if status == 0 {
            let offset_bytes = header.offset_bytes + u64::from(at_bytes);
            self.objects[data::index(header.object)].write(offset_bytes, bytes);
        }
        if last {
            self.writing = None;
            self.reply(&header, status, if status == 0 { header.length_bytes } else { 0 });
        }
    }

    fn reply(&mut self, header: &Header, status: u32, length_bytes: u32) {
        let reply = ReplyHeader { kind: header.kind, tag: header.tag, status, length_bytes };
        self.replies.extend(HEADER_BYTES).copy_from_slice(&reply.encode());
        self.decoder.answered(Credits { requests: 1, bytes: u64::from(header.length_bytes) });
    }

    /// Sends all replies; whether the client took them.
    fn flush(&mut self) -> bool {
        let filled = std::mem::take(&mut self.replies.filled);
        filled == 0 || self.socket.write_all(&self.replies.bytes[..filled]).is_ok()
    }
}
