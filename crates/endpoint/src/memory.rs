//! A data connection whose requests are served from memory, in the thread that reads them.
//!
//! All requests that one read brought are answered with one write: a deep queue costs as few system calls as a
//! shallow one. Large payloads leave from the object itself, small ones by way of the replies that they wait with. Hot path: no allocation once the buffers have grown, one clock read per read.

use crate::channel::{Channel, is_retryable, linger};
use crate::grant;
use crate::live_connection::LiveConnection;
use crate::objects::MemoryObject;
use crate::quota::Reservation;
use crate::sending::{send_both, send_now, wait_writable};
use crate::session::{Session, SessionMember};
use crate::shared::ServerState;
use narrows_engines::Clock;
use narrows_model::units::saturate_usize;
use narrows_wire::Error;
use narrows_wire::open::{Credits, Grant, OpenRequest};
use narrows_wire::reply::{HEADER_BYTES, ReplyHeader, encode_farewell};
use narrows_wire::request::{RequestDecoder, RequestHeader, RequestKind, RequestPiece};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// What one read takes at most.
const ARRIVED_BYTES: usize = 512 << 10;

/// Replies are sent once they are this long even if more requests wait.
const REPLIES_BYTES: usize = 512 << 10;

/// Payloads from this size on are sent in place: copying fewer bytes costs less than one more system call.
const IN_PLACE_BYTES: usize = 64 << 10;

/// Serves the connection until its end.
pub(crate) fn serve(channel: Channel, shared: &ServerState, open: &OpenRequest, member: &SessionMember) {
    let session = &member.session;
    let (granted, opened) = match prepare(shared, open, session) {
        Ok((granted, opened)) => (Ok(granted), Some(opened)),
        Err(error) => (Err(error), None),
    };
    let Some((channel, granted)) = grant::answer(channel, granted) else { return };
    let Some(OpenObjects { objects, _memory }) = opened else { return };
    let (socket, rest, live) = channel.into_parts();
    let decoder = RequestDecoder::new(grant::limits(open, granted.credits));
    let server = MemoryServer {
        socket,
        session,
        names: &open.objects,
        objects,
        object_bytes: open.object_bytes,
        decoder,
        writing: None,
        replies: ReplyBuffer { bytes: Vec::new(), filled: 0, bytes_max: replies_bytes_max(open) },
    };
    server.run(&live, shared.clock(), &rest);
}

/// What a connection owns for its lifetime.
struct OpenObjects {
    objects: Vec<Arc<MemoryObject>>,
    _memory: Reservation,
}

fn prepare(
    shared: &ServerState,
    open: &OpenRequest,
    session: &Arc<Session>,
) -> Result<(Grant, OpenObjects), Error> {
    let granted = grant::grant_memory(open)?;
    let buffers = (ARRIVED_BYTES + replies_bytes_max(open)) as u64;
    let memory = shared.sessions.reserve_memory(grant::conversation_bytes(open) + buffers)?;
    let objects = session.stores().memory_objects(open)?;
    Ok((granted, OpenObjects { objects, _memory: memory }))
}

/// Replies wait until they are long enough to be sent; the one that makes them so is the longest that waits.
fn replies_bytes_max(open: &OpenRequest) -> usize {
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
    writing: Option<(RequestHeader, u32)>,
    replies: ReplyBuffer,
}

/// Replies that wait to be sent, in memory that is kept and never cleared anew.
struct ReplyBuffer {
    bytes: Vec<u8>,
    filled: usize,
    bytes_max: usize,
}

impl ReplyBuffer {
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
    fn run(mut self, live: &LiveConnection, clock: &dyn Clock, rest: &[u8]) {
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
                Err(error) if is_retryable(&error) => {}
                Err(_) => break None,
            }
            live.note_activity(clock.now().0);
        };
        if let Some(text) = last_words {
            // A client that is gone needs no last words.
            let _ = self.socket.write_all(&encode_farewell(&text));
            linger(&mut self.socket, live, clock);
        }
    }

    /// Answers all requests in `input` and returns how many bytes at its end are not yet a request; `None` when the
    /// client is gone.
    fn answer_all(&mut self, mut input: &[u8]) -> Result<Option<usize>, Error> {
        while let Some(piece) = self.decoder.next(&mut input)? {
            let taken = match piece {
                RequestPiece::Request(header) => self.begin(header),
                RequestPiece::Payload { bytes, at_bytes, last } => {
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
    fn begin(&mut self, header: RequestHeader) -> bool {
        let status =
            grant::in_range(header.offset_bytes, header.length_bytes, self.object_bytes).err().unwrap_or(0);
        match header.kind {
            RequestKind::Write if header.length_bytes > 0 => self.writing = Some((header, status)),
            RequestKind::Read if status == 0 => {
                self.reply(&header, 0, header.length_bytes);
                if grant::index(header.length_bytes) >= IN_PLACE_BYTES {
                    return self.send_in_place(&header);
                }
                let place = self.replies.extend(grant::index(header.length_bytes));
                self.objects[grant::index(header.object)].read(header.offset_bytes, place);
            }
            RequestKind::Read | RequestKind::Write => self.reply(&header, status, 0),
            // What was acknowledged is in memory already: there is nothing more to do for a sync.
            RequestKind::Sync => self.reply(&header, 0, 0),
            RequestKind::Remove => {
                self.session.stores().remove_memory_object(&self.names[grant::index(header.object)]);
                self.reply(&header, 0, 0);
            }
        }
        true
    }

    /// Sends all replies, then the payload of the last of them in place; returns whether the client took them.
    fn send_in_place(&mut self, header: &RequestHeader) -> bool {
        let object = &self.objects[grant::index(header.object)];
        let mut replies = &self.replies.bytes[..std::mem::take(&mut self.replies.filled)];
        let (mut at_bytes, mut left) = (header.offset_bytes, grant::index(header.length_bytes));
        while left > 0 {
            // Nobody may wait for this client, so a call that locks a part of the object does not block.
            let sent = object.with_bytes(at_bytes, left, |payload| send_now(&self.socket, replies, payload));
            match sent {
                Ok(sent) => {
                    let of_replies = sent.min(replies.len());
                    replies = &replies[of_replies..];
                    at_bytes += (sent - of_replies) as u64;
                    left -= sent - of_replies;
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) if wait_writable(&self.socket) => {}
                Err(_) => return false,
            }
        }
        true
    }

    fn store(&mut self, bytes: &[u8], at_bytes: u32, last: bool) {
        let Some((header, status)) = self.writing else { return };
        if status == 0 {
            let offset_bytes = header.offset_bytes + u64::from(at_bytes);
            self.objects[grant::index(header.object)].write(offset_bytes, bytes);
        }
        if last {
            self.writing = None;
            self.reply(&header, status, if status == 0 { header.length_bytes } else { 0 });
        }
    }

    fn reply(&mut self, header: &RequestHeader, status: u32, length_bytes: u32) {
        let reply = ReplyHeader { kind: header.kind, tag: header.tag, status, length_bytes };
        self.replies.extend(HEADER_BYTES).copy_from_slice(&reply.encode());
        self.decoder.answered(Credits { requests: 1, bytes: u64::from(header.length_bytes) });
    }

    /// Sends all replies; whether the client took them.
    fn flush(&mut self) -> bool {
        let filled = std::mem::take(&mut self.replies.filled);
        filled == 0 || send_both(&self.socket, &self.replies.bytes[..filled], &[]).is_ok()
    }
}
