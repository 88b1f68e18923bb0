//! A data connection whose requests are served from files of its session's folder.
//!
//! This thread reads requests; workers do them (`pool`), so that the queue's depth reaches the device. Hot path: no
//! allocation once all buffers are made, one clock read per read.

use crate::channel::{Channel, is_retryable, linger};
use crate::live_connection::LiveConnection;
use crate::pool::{Job, JobPool, PoolContext};
use crate::session::{Session, SessionMember};
use crate::shared::ServerState;
use crate::{grant, open_files, threads};
use narrows_engines::Clock;
use narrows_model::units::saturate_usize;
use narrows_model::workload::Acknowledgement;
use narrows_sys::buffer::AlignedBuffer;
use narrows_wire::Error;
use narrows_wire::open::OpenRequest;
use narrows_wire::reply::{ReplyHeader, encode_farewell};
use narrows_wire::request::{RequestDecoder, RequestHeader, RequestKind, RequestPiece};
use std::io::{IoSliceMut, Read};
use std::net::TcpStream;
use std::sync::Arc;

/// What one read takes beyond a write's payload.
const ARRIVED_BYTES: usize = 256 << 10;

/// Serves the connection until its end.
pub(crate) fn serve(channel: Channel, shared: &ServerState, open: &OpenRequest, member: &SessionMember) {
    let session = &member.session;
    let opened = open_files::prepare(shared, open, session, ARRIVED_BYTES);
    let (opened, sender) = match opened.and_then(|opened| Ok((opened, channel.sender()?))) {
        Ok(both) => both,
        Err(error) => return drop(grant::answer(channel, Err(error))),
    };
    let granted = &opened.granted;
    let workers = open_files::worker_count(granted);
    let pool_context = PoolContext { workers: &shared.workers, clock: shared.clock() };
    let unwritten = session.unwritten.join(&open.objects);
    let block_bytes = saturate_usize(open.block_bytes);
    let pool = JobPool::new(
        &opened.files,
        pool_context,
        unwritten,
        sender,
        block_bytes,
        open_files::buffer_count(granted),
    );
    std::thread::scope(|scope| {
        let _closing = pool.close_guard();
        let started = (0..workers).try_for_each(|_| threads::spawn(scope, "disk", || pool.work()).map(drop));
        let answered = grant::answer(channel, started.map(|()| granted.clone()));
        let Some((channel, granted)) = answered else { return };
        let (socket, rest, live) = channel.into_parts();
        let reader = DiskReader {
            socket,
            live: &live,
            session,
            open,
            pool: &pool,
            early: open.acknowledgement == Acknowledgement::Early,
            decoder: RequestDecoder::new(grant::limits(open, granted.credits)),
            writing: None,
            replies: Vec::new(),
        };
        reader.run(shared.clock(), rest);
        if live.is_cut() {
            pool.abandon();
        }
    });
}

struct DiskReader<'a> {
    socket: TcpStream,
    live: &'a LiveConnection,
    session: &'a Arc<Session>,
    open: &'a OpenRequest,
    pool: &'a JobPool<'a>,
    early: bool,
    decoder: RequestDecoder,
    /// The write whose payload is arriving, its status, and the buffer for it.
    writing: Option<(RequestHeader, u32, AlignedBuffer)>,
    /// Replies that this thread makes itself.
    replies: Vec<u8>,
}

/// Why reading ends.
enum ReadStop {
    /// The client is gone.
    Gone,
    /// The client must be sent the reason.
    Failed(String),
}

impl From<Error> for ReadStop {
    fn from(error: Error) -> Self {
        ReadStop::Failed(error.to_string())
    }
}

impl DiskReader<'_> {
    fn run(mut self, clock: &dyn Clock, rest: Vec<u8>) {
        if let Err(ReadStop::Failed(text)) = self.read_all(clock, rest) {
            self.pool.send(&encode_farewell(&text));
            linger(&mut self.socket, self.live, clock);
        }
    }

    fn read_all(&mut self, clock: &dyn Clock, mut arrived: Vec<u8>) -> Result<(), ReadStop> {
        let live = self.live;
        let mut filled = arrived.len();
        arrived.resize(ARRIVED_BYTES.max(filled), 0);
        loop {
            let mut input = &arrived[..filled];
            self.answer_all(&mut input)?;
            let left = input.len();
            arrived.copy_within(filled - left..filled, 0);
            filled = left;
            let length = match self.read(&mut arrived[filled..]) {
                Ok((0, 0)) => return Err(live.ending().map_or(ReadStop::Gone, ReadStop::Failed)),
                Ok((direct, more)) => {
                    filled += more;
                    direct
                }
                Err(error) if is_retryable(&error) => 0,
                Err(_) => return Err(ReadStop::Gone),
            };
            live.note_activity(clock.now().0);
            if length > 0 && self.decoder.payload_arrived(length).1 {
                self.payload_complete();
            }
        }
    }

    /// Reads into the rest of the present payload, then into `free`; returns how much was read into each.
    fn read(&mut self, free: &mut [u8]) -> std::io::Result<(usize, usize)> {
        let left = grant::index(self.decoder.payload_left_bytes());
        let Some((header, _, buffer)) = self.writing.as_mut().filter(|_| left > 0) else {
            return Ok((0, self.socket.read(free)?));
        };
        let end = grant::index(header.length_bytes);
        let slices = &mut [IoSliceMut::new(&mut buffer[end - left..end]), IoSliceMut::new(free)];
        let length = self.socket.read_vectored(slices)?;
        Ok((length.min(left), length.saturating_sub(left)))
    }

    fn answer_all(&mut self, input: &mut &[u8]) -> Result<(), ReadStop> {
        loop {
            let answered = self.pool.take_answered();
            self.decoder.answered(answered);
            match self.decoder.next(input)? {
                None => return self.flush(),
                Some(RequestPiece::Request(header)) => self.begin(header)?,
                Some(RequestPiece::Payload { bytes, at_bytes, last }) => {
                    if let Some((_, _, buffer)) = &mut self.writing {
                        let at = grant::index(at_bytes);
                        buffer[at..at + bytes.len()].copy_from_slice(bytes);
                    }
                    if last {
                        self.payload_complete();
                    }
                }
            }
        }
    }

    fn begin(&mut self, header: RequestHeader) -> Result<(), ReadStop> {
        let in_range = grant::in_range(header.offset_bytes, header.length_bytes, self.open.object_bytes);
        // Another connection of the session may acknowledge early where this one does not.
        if self.pool.must_wait(&header) {
            self.flush()?;
            self.pool.wait_for_early(&header);
        }
        match (header.kind, in_range) {
            (RequestKind::Write, in_range) if header.length_bytes > 0 => {
                let buffer = self.buffer()?;
                self.writing = Some((header, in_range.err().unwrap_or(0), buffer));
            }
            (RequestKind::Read | RequestKind::Write, Err(status)) => self.reply(&header, status, 0),
            (RequestKind::Read, Ok(())) => {
                let buffer = Some(self.buffer()?);
                self.pool.push(Job { header, buffer, acknowledged: false, queued_at_ns: 0 });
            }
            (RequestKind::Write, Ok(())) => self.reply(&header, 0, 0),
            (RequestKind::Sync, _) => match self.pool.take_early_status() {
                0 => self.pool.push(Job { header, buffer: None, acknowledged: false, queued_at_ns: 0 }),
                status => self.reply(&header, status, 0),
            },
            (RequestKind::Remove, _) => self.remove(&header)?,
        }
        Ok(())
    }

    fn payload_complete(&mut self) {
        let Some((header, mut status, buffer)) = self.writing.take() else { return };
        if self.early && status == 0 {
            // A write that was acknowledged has failed since: this is the next reply, so it reports the failure.
            status = self.pool.take_early_status();
        }
        if status != 0 {
            self.pool.give_back(buffer);
            self.reply(&header, status, 0);
            return;
        }
        let acknowledged = self.early;
        self.pool.push(Job { header, buffer: Some(buffer), acknowledged, queued_at_ns: 0 });
        if acknowledged {
            self.reply(&header, 0, header.length_bytes);
        }
    }

    /// Removes an object; one that is somebody else's by now ends the connection with the reason.
    fn remove(&mut self, header: &RequestHeader) -> Result<(), ReadStop> {
        let name = &self.open.objects[grant::index(header.object)];
        self.session.stores().remove_disk_object(name)?;
        self.reply(header, 0, 0);
        Ok(())
    }

    /// A buffer; what was answered is sent before this thread waits for one.
    fn buffer(&mut self) -> Result<AlignedBuffer, ReadStop> {
        loop {
            let buffer = self.pool.try_buffer();
            let no_memory =
                |error| ReadStop::Failed(format!("the server has no memory for a block: {error}"));
            if let Some(buffer) = buffer.map_err(no_memory)? {
                return Ok(buffer);
            }
            self.flush()?;
            self.pool.wait_for_buffer();
            if self.live.is_cut() {
                return Err(ReadStop::Gone);
            }
        }
    }

    fn reply(&mut self, header: &RequestHeader, status: u32, length_bytes: u32) {
        let reply = ReplyHeader { kind: header.kind, tag: header.tag, status, length_bytes };
        self.replies.extend_from_slice(&reply.encode());
        self.pool.count_answer(header);
    }

    fn flush(&mut self) -> Result<(), ReadStop> {
        let sent = self.pool.send(&self.replies);
        self.replies.clear();
        if sent { Ok(()) } else { Err(ReadStop::Gone) }
    }
}
