//! The life of a client process: take an assignment from stdin, run it, answer on stdout.
//!
//! Messages are JSON in the frames of `wire`. The process ends when its parent closes the pipe.

use crate::assignment::{FromClient, OwnPlaceFacts, ToClient, WindowTimes};
use crate::caches;
use crate::error::RunError;
use crate::group::{GroupHooks, run_process};
use crate::host_identity::HostIdentity;
use crate::stop::{StopFlag, StopRequest};
use narrows_engines::{Clock, EngineRegistry};
use narrows_model::trial::IntervalSample;
use narrows_sys::file::open_place;
use narrows_wire::frame::{self, Decoder, Frame};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// The one kind of frame on these pipes.
pub(crate) const MESSAGE: u8 = 1;
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
    identity: &IdentityFn<'_>,
) -> std::io::Result<()> {
    let (sender, inbox) = channel();
    let stop = StopFlag::default();
    std::thread::spawn(move || {
        // A parent that ended, however, must end the load too.
        drop(read_messages(input, |message: ToClient| {
            if message == ToClient::Stop {
                stop.ask(StopRequest::Now);
            }
            sender.send(ClientOrder { trial: 0, message, stop: stop.clone() }).is_ok()
        }));
        stop.ask(StopRequest::Now);
    });
    serve_orders(inbox, &mut |_, answer| send(&mut output, &answer), registry, clock, identity)
}

/// A message to a client, with what belongs to its trial.
#[derive(Debug)]
pub struct ClientOrder {
    /// The trial that it is about, by a number of its sender's choice.
    pub trial: u64,
    /// The message.
    pub message: ToClient,
    /// The request to stop that trial at once, which its sender makes beside the message.
    pub stop: StopFlag,
}

/// Where the answers to the orders of a trial are sent.
pub type AnswerFn<'a> = dyn FnMut(u64, FromClient) -> std::io::Result<()> + Send + 'a;

/// What runs this client and where, read when it is asked for.
pub type IdentityFn<'a> = dyn Fn() -> HostIdentity + 'a;

/// Runs the assignments among `inbox` until it closes; each answer is given to `answer` with the number of its trial.
///
/// # Errors
/// When an answer could not be sent; failures of an assignment are sent as such.
pub fn serve_orders(
    inbox: Receiver<ClientOrder>,
    answer: &mut AnswerFn<'_>,
    registry: &EngineRegistry,
    clock: &Arc<dyn Clock>,
    identity: &IdentityFn<'_>,
) -> std::io::Result<()> {
    let mut inbox = OrderInbox { inbox, next: None };
    while let Some(order) = inbox.next() {
        let ClientOrder { trial, message, stop } = order;
        let (assignment, folders) = match message {
            ToClient::Prepare(assignment, folders) => (assignment, folders),
            ToClient::Identify => {
                answer(trial, FromClient::Identity(Box::new(identity())))?;
                continue;
            }
            ToClient::ReadClock => {
                answer(trial, FromClient::Clock { at_ns: clock.now().0, pid: std::process::id() })?;
                continue;
            }
            ToClient::FindFolders(folders) => {
                let missing = folders.into_iter().filter(|folder| open_place(folder).is_err()).collect();
                answer(trial, FromClient::Missing(missing))?;
                continue;
            }
            ToClient::Go(_) | ToClient::Stop => continue,
        };
        folders.into_iter().for_each(OwnPlaceFacts::add);
        let result = registry
            .factory(assignment.target(), assignment.cell.workload.engine)
            .map_err(RunError::from)
            .and_then(|factory| {
                caches::bring_own(&assignment, factory.as_ref())?;
                let mut hooks = ToParent { inbox: &mut inbox, answer, trial, clock, said_at_ns: 0 };
                run_process(&assignment, factory.as_ref(), clock, &stop, &mut hooks)
            });
        let done = match result {
            Ok(done) => FromClient::Done(Box::new(done)),
            Err(error) => FromClient::Failed(error.into()),
        };
        answer(trial, done)?;
    }
    Ok(())
}

/// The orders of a client; one that was looked at and is for later stays.
struct OrderInbox {
    inbox: Receiver<ClientOrder>,
    next: Option<ClientOrder>,
}

impl OrderInbox {
    fn next(&mut self) -> Option<ClientOrder> {
        self.next.take().or_else(|| self.inbox.recv().ok())
    }

    /// Times for `trial` that have come since the last look.
    fn moved(&mut self, trial: u64) -> Option<WindowTimes> {
        // A stop is heeded beside the inbox; another trial begins after this one.
        let order = self.next.take().or_else(|| self.inbox.try_recv().ok())?;
        match order.message {
            ToClient::Go(times) if order.trial == trial => Some(times),
            ToClient::Prepare(..) => {
                self.next = Some(order);
                None
            }
            _ => None,
        }
    }
}

struct ToParent<'a, 'f> {
    inbox: &'a mut OrderInbox,
    answer: &'a mut AnswerFn<'f>,
    trial: u64,
    clock: &'a Arc<dyn Clock>,
    /// When it last said that it lives.
    said_at_ns: u64,
}

impl ToParent<'_, '_> {
    /// A parent that is gone asks for the stop beside the inbox.
    fn say(&mut self, message: FromClient) {
        drop((self.answer)(self.trial, message));
    }
}

impl GroupHooks for ToParent<'_, '_> {
    fn ready(&mut self) -> Option<WindowTimes> {
        (self.answer)(self.trial, FromClient::Ready).ok()?;
        let order = self.inbox.next()?;
        match order.message {
            ToClient::Go(times) if order.trial == self.trial => Some(times),
            ToClient::Prepare(..) => {
                self.inbox.next = Some(order);
                None
            }
            _ => None,
        }
    }

    fn interval(&mut self, sample: &IntervalSample) {
        self.say(FromClient::Interval(Box::new(sample.clone())));
    }

    fn turned(&mut self) {
        self.say(FromClient::Turned);
    }

    fn load_ended(&mut self, at_ns: u64) {
        self.say(FromClient::LoadEnded { at_ns });
    }

    fn poll(&mut self) -> bool {
        let now_ns = self.clock.now().0;
        if now_ns.saturating_sub(self.said_at_ns) >= ALIVE_NS {
            self.said_at_ns = now_ns;
            self.say(FromClient::Alive);
        }
        false
    }

    fn moved(&mut self) -> Option<WindowTimes> {
        self.inbox.moved(self.trial)
    }
}
