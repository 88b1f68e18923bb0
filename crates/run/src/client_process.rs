//! The life of a client process: take an assignment from stdin, run it, answer on stdout.
//!
//! Messages are JSON in the frames of `wire`. The process ends when its parent closes the pipe.

use crate::assignment::{FromClient, OwnFolderFacts, ToClient, WindowTimes};
use crate::error::RunError;
use crate::group::{GroupHooks, run_process};
use crate::stop::{StopFlag, StopRequest};
use narrows_engines::{Clock, EngineRegistry};
use narrows_model::trial::IntervalSample;
use narrows_wire::frame::{self, Decoder, Frame};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// The one kind of frame on these pipes.
const MESSAGE: u8 = 1;
/// Time between two words that the client lives.
const ALIVE_NS: u64 = 500_000_000;
/// Bytes read from a pipe at once.
const READ_BYTES: usize = 64 << 10;

/// Sends one message.
pub(crate) fn send(pipe: &mut dyn Write, message: &impl Serialize) -> std::io::Result<()> {
    let payload = serde_json::to_vec(message)?;
    let mut bytes = Vec::with_capacity(payload.len() + frame::HEADER_BYTES);
    frame::encode(MESSAGE, &payload, &mut bytes).map_err(std::io::Error::other)?;
    pipe.write_all(&bytes)?;
    pipe.flush()
}

/// Gives every message of `pipe` to `take` until the pipe ends or `take` returns false.
///
/// # Errors
/// What broke, for people: a damaged frame, a message that cannot be read, a pipe that ended within a message.
pub(crate) fn read_messages<M: DeserializeOwned>(
    pipe: impl Read,
    mut take: impl FnMut(M) -> bool,
) -> Result<(), String> {
    let mut unread = None;
    // As text, as records are read: another reader of all these types would be a large part of the program.
    let read = |payload: &[u8]| {
        let text = std::str::from_utf8(payload).map_err(|error| error.to_string())?;
        serde_json::from_str(text).map_err(|error| error.to_string())
    };
    read_frames(pipe, |frame| match read(&frame.payload) {
        Ok(message) => take(message),
        Err(error) => {
            unread = Some(format!("a message between narrows' processes cannot be read: {error}"));
            false
        }
    })?;
    unread.map_or(Ok(()), Err)
}

/// Gives every frame of `pipe` to `take` until the pipe ends or `take` returns false.
///
/// # Errors
/// What broke, for people: a damaged frame, a pipe that could not be read.
pub fn read_frames(mut pipe: impl Read, mut take: impl FnMut(Frame) -> bool) -> Result<(), String> {
    let mut decoder = Decoder::new(frame::PAYLOAD_BYTES_MAX);
    let mut buffer = vec![0; READ_BYTES];
    loop {
        while let Some(frame) = decoder.next().map_err(|error| error.to_string())? {
            if !take(frame) {
                return Ok(());
            }
        }
        match pipe.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => decoder.push(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("a pipe between narrows' processes broke: {error}")),
        }
    }
}

/// Serves one parent: runs the assignments that come from `input`, answers on `output`.
///
/// # Errors
/// When the pipes break; failures of an assignment are sent to the parent.
pub fn serve(
    input: impl Read + Send + 'static,
    mut output: impl Write + Send,
    registry: &EngineRegistry,
    clock: &Arc<dyn Clock>,
) -> std::io::Result<()> {
    let (sender, mut inbox) = channel();
    let stop = StopFlag::default();
    let reader_stop = stop.clone();
    std::thread::spawn(move || {
        // A parent that ended, however, must end the load too.
        drop(read_messages(input, |message: ToClient| {
            if message == ToClient::Stop {
                reader_stop.ask(StopRequest::Now);
            }
            sender.send(message).is_ok()
        }));
        reader_stop.ask(StopRequest::Now);
    });
    while let Ok(message) = inbox.recv() {
        let ToClient::Prepare(assignment, folders) = message else { continue };
        folders.into_iter().for_each(OwnFolderFacts::add);
        let result = registry
            .factory(assignment.target(), assignment.cell.workload.engine)
            .map_err(RunError::from)
            .and_then(|factory| {
                let mut hooks = ToParent { inbox: &mut inbox, output: &mut output, clock, said_at_ns: 0 };
                run_process(&assignment, factory.as_ref(), clock, &stop, &mut hooks)
            });
        let answer = match result {
            Ok(done) => FromClient::Done(Box::new(done)),
            Err(error) => {
                let errno =
                    if let RunError::Engine(engine) = &error { engine.errno() } else { String::new() };
                FromClient::Failed { message: error.to_string(), errno }
            }
        };
        send(&mut output, &answer)?;
    }
    Ok(())
}

struct ToParent<'a, W> {
    inbox: &'a mut Receiver<ToClient>,
    output: &'a mut W,
    clock: &'a Arc<dyn Clock>,
    /// When it last said that it lives.
    said_at_ns: u64,
}

impl<W: Write + Send> GroupHooks for ToParent<'_, W> {
    fn ready(&mut self) -> Option<WindowTimes> {
        send(self.output, &FromClient::Ready).ok()?;
        match self.inbox.recv() {
            Ok(ToClient::Go(times)) => Some(times),
            _ => None,
        }
    }

    fn interval(&mut self, sample: &IntervalSample) {
        // A parent that is gone asks for the stop through the reader.
        drop(send(self.output, &FromClient::Interval(Box::new(sample.clone()))));
    }

    fn turned(&mut self) {
        drop(send(self.output, &FromClient::Turned));
    }

    fn load_ended(&mut self, at_ns: u64) {
        drop(send(self.output, &FromClient::LoadEnded { at_ns }));
    }

    fn poll(&mut self) -> bool {
        let now_ns = self.clock.now().0;
        if now_ns.saturating_sub(self.said_at_ns) >= ALIVE_NS {
            self.said_at_ns = now_ns;
            drop(send(self.output, &FromClient::Alive));
        }
        false
    }

    fn moved(&mut self) -> Option<WindowTimes> {
        // A stop is heeded by the reader; nothing else comes while load runs.
        match self.inbox.try_recv() {
            Ok(ToClient::Go(times)) => Some(times),
            _ => None,
        }
    }
}
