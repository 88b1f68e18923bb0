//! A control connection: it holds a session and answers one question at a time.

use crate::cells::CellRun;
use crate::channel::{Channel, End, READ_BYTES, refused};
use crate::facts::{Sampler, read_inventory, server_facts};
use crate::relay::Stage;
use crate::server::Shared;
use crate::session::Session;
use crate::{page_cache, random, threads};
use narrows_engines::endpoint::CellTerms;
use narrows_engines::page_cache::Dummy;
use narrows_model::counters::Role;
use narrows_model::{Cell, Nanos};
use narrows_run::{Prepared, StopFlag, StopRequest};
use narrows_wire::control::{Answer, REQUEST_BYTES_MAX, Request};
use narrows_wire::frame::Frame;
use narrows_wire::relay::{Prepare, TO_ROLE};
use narrows_wire::{Error, ErrorKind, Refusal};
use std::sync::Arc;
use std::time::Duration;

/// How often a running cell's end is looked for while the client is listened to.
const LISTEN: Duration = Duration::from_millis(20);

/// Memory of a control connection: what it reads into, one request, and as much for its parts.
const CONVERSATION_BYTES: u64 = (READ_BYTES + 2 * REQUEST_BYTES_MAX) as u64;

/// Serves the connection, and ends its session after it.
pub(crate) fn serve(channel: Channel, shared: &Shared) {
    let opened = random::session_id().and_then(|id| {
        let memory = shared.sessions.reserve_memory(CONVERSATION_BYTES)?;
        Ok((shared.sessions.open(id), memory))
    });
    let (session, _memory) = match opened {
        Ok(opened) => opened,
        Err(error) => return channel.part(&error),
    };
    let mut control =
        Control { channel, shared, session, sampler: None, prepared: Prepared::default(), dummy: None };
    let end = control.answer_all();
    control.session.end("the session has ended");
    if let End::Told(error) = end {
        control.channel.part(&error);
    }
}

struct Control<'a> {
    channel: Channel,
    shared: &'a Shared,
    session: Arc<Session>,
    sampler: Option<Sampler>,
    prepared: Prepared,
    /// The file that is being read to displace what is cached.
    dummy: Option<Dummy>,
}

impl Control<'_> {
    /// Answers until the client ends or goes, and tells which.
    fn answer_all(&mut self) -> End {
        loop {
            let answered = self.channel.receive().and_then(|frame| match frame.kind {
                TO_ROLE => self.play(frame),
                _ => self.answer(Request::decode(frame)?),
            });
            if let Err(end) = answered {
                return end;
            }
        }
    }

    fn answer(&mut self, request: Request) -> Result<(), End> {
        let answer = match request {
            Request::Facts => self.facts(),
            Request::ClockProbe { sent_ns } => {
                Answer::Clock { sent_ns, server_ns: self.shared.clock().now().0 }
            }
            Request::Counters => self.counters(),
            Request::RunCell { cell, interval_ns, seed, left_ns } => {
                let (interval_ns, left_ns) = (Nanos(interval_ns), Nanos(left_ns));
                self.run_cell(&cell, CellTerms { interval_ns, seed, left_ns })?
            }
            // Nothing runs: there is nothing to stop, and this request has no answer.
            Request::StopCell => return Ok(()),
            Request::StoreCheck { name, nonce } => self.store_check(&name, &nonce),
            Request::Cache { objects, work } => {
                let dummy = &mut self.dummy;
                match page_cache::perform(self.shared, &self.session, &objects, work, dummy) {
                    Ok(resident_ratio) => Answer::Cached { resident_ratio },
                    Err(error) => failed(&error),
                }
            }
            Request::End => {
                self.session.end("the session has ended");
                self.channel.send(&Answer::Ended.encode()?)?;
                return Err(End::Gone);
            }
        };
        self.channel.send(&answer.encode()?)
    }

    /// Plays the server of the buffer experiment, and nothing else of it.
    fn play(&mut self, frame: Frame) -> Result<(), End> {
        let may = |asked: &Prepare| match asked.role {
            Role::Server => Ok(()),
            _ => Err(refused(
                Refusal::Unsupported,
                "an endpoint plays the server of the buffer experiment alone",
            )),
        };
        let stage = Stage { clock: self.shared.clock(), sessions: &self.shared.sessions, may: &may };
        stage.answer(&mut self.channel, frame)
    }

    fn facts(&self) -> Answer {
        let inventory = read_inventory(self.shared);
        let facts = Box::new(server_facts(self.shared, &inventory));
        Answer::Facts { facts, inventory: Box::new(inventory), session: self.session.id.clone() }
    }

    fn counters(&mut self) -> Answer {
        let (shared, session) = (self.shared, &self.session);
        let sampler = self
            .sampler
            .get_or_insert_with(|| Sampler::new(&read_inventory(shared), session, &shared.workers));
        Answer::Counters(Box::new(sampler.sample(shared.clock().now().0)))
    }

    fn store_check(&self, name: &str, nonce: &str) -> Answer {
        let root = self.shared.root.as_ref().ok_or_else(|| {
            refused(Refusal::NotFound, "this server has no disk store; start it with --root FOLDER")
        });
        match root.and_then(|root| root.holds(name, nonce)) {
            Ok(holds) => Answer::StoreCheck { holds },
            Err(error) => failed(&error),
        }
    }

    /// Runs a cell while listening for the client's wish to stop it.
    fn run_cell(&mut self, cell: &Cell, terms: CellTerms) -> Result<Answer, End> {
        let stop = StopFlag::default();
        let sender = match self.channel.sender() {
            Ok(sender) => sender,
            Err(error) => return Ok(failed(&error)),
        };
        let run = CellRun { shared: self.shared, session: &self.session, stop: &stop, terms };
        let (channel, prepared) = (&mut self.channel, &mut self.prepared);
        let (outcome, heard) = std::thread::scope(|scope| {
            let runner = match threads::spawn(scope, "cell", move || run.run(cell, prepared, &sender)) {
                Ok(runner) => runner,
                Err(error) => return (Ok(Err(error)), Ok(())),
            };
            let mut heard = Ok(());
            while !runner.is_finished() && heard.is_ok() {
                heard = listen(channel, &stop);
            }
            if heard.is_err() {
                stop.ask(StopRequest::Now);
            }
            (runner.join(), heard)
        });
        heard?;
        Ok(match outcome {
            Ok(Ok(())) => Answer::CellDone,
            Ok(Err(error)) => failed(&error),
            Err(_) => {
                failed(&refused(Refusal::Io, "the cell failed inside the server; its own messages say more"))
            }
        })
    }
}

/// Takes a wish to stop, if one comes soon.
fn listen(channel: &mut Channel, stop: &StopFlag) -> Result<(), End> {
    let Some(frame) = channel.receive_within(LISTEN)? else { return Ok(()) };
    match Request::decode(frame)? {
        Request::StopCell => {
            stop.ask(StopRequest::Now);
            Ok(())
        }
        Request::End => Err(End::Gone),
        _ => Err(End::Told(Error::protocol("a question was asked while a cell runs"))),
    }
}

fn failed(error: &Error) -> Answer {
    let reason = match error.kind() {
        ErrorKind::Refused(reason) => reason,
        _ => Refusal::Protocol,
    };
    Answer::Failed { reason, message: error.to_string() }
}
