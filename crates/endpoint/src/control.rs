//! A control connection: it owns a session and answers one question at a time.

use crate::cells::CellRun;
use crate::channel::{Channel, ConversationEnd, READ_BYTES, refused};
use crate::facts::{ServerSampler, read_inventory, server_facts};
use crate::relay::RoleHost;
use crate::session::Session;
use crate::shared::ServerState;
use crate::store::StoreRoot;
use crate::{page_cache, random, threads};
use narrows_engines::endpoint::RemoteCellParams;
use narrows_engines::page_cache::DummyFile;
use narrows_model::counters::Role;
use narrows_model::{Cell, Nanos};
use narrows_run::{PreparedObjects, StopFlag, StopRequest};
use narrows_wire::control::{Answer, ControlRequest, REQUEST_BYTES_MAX};
use narrows_wire::frame::Frame;
use narrows_wire::relay::{ROLE_COMMAND, RoleSpec};
use narrows_wire::{Error, ErrorKind, Refusal};
use std::sync::Arc;
use std::time::Duration;

/// How often a running cell's end is looked for while the client is listened to.
const LISTEN: Duration = Duration::from_millis(20);

/// Memory of a control connection: what it reads into, one request, and as much for its parts.
const CONVERSATION_BYTES: u64 = (READ_BYTES + 2 * REQUEST_BYTES_MAX) as u64;

/// Serves the connection, and ends its session after it.
pub(crate) fn serve(channel: Channel, shared: &ServerState) {
    let opened = random::session_id().and_then(|id| {
        channel.watch_peer()?;
        let memory = shared.sessions.reserve_memory(CONVERSATION_BYTES)?;
        Ok((shared.sessions.open(id, &shared.descriptors), memory))
    });
    let (session, _memory) = match opened {
        Ok(opened) => opened,
        Err(error) => return channel.close_with(&error),
    };
    channel.live.set_life(&session.life);
    let mut control = ServerControl {
        channel,
        shared,
        session,
        sampler: None,
        prepared: PreparedObjects::default(),
        dummy: None,
    };
    let end = control.answer_all();
    control.session.end("the session has ended");
    if let ConversationEnd::Failed(error) = end {
        control.channel.close_with(&error);
    }
}

struct ServerControl<'a> {
    channel: Channel,
    shared: &'a ServerState,
    session: Arc<Session>,
    sampler: Option<ServerSampler>,
    prepared: PreparedObjects,
    /// The file that is being read to displace what is cached.
    dummy: Option<DummyFile>,
}

impl ServerControl<'_> {
    /// Answers until the client ends or disconnects, and returns which.
    fn answer_all(&mut self) -> ConversationEnd {
        loop {
            let answered = self.channel.receive().and_then(|frame| match frame.kind {
                ROLE_COMMAND => self.play(frame),
                _ => self.answer(ControlRequest::decode(frame)?),
            });
            if let Err(end) = answered {
                return end;
            }
        }
    }

    fn answer(&mut self, request: ControlRequest) -> Result<(), ConversationEnd> {
        let answer = match request {
            ControlRequest::Facts => self.facts(),
            ControlRequest::ClockProbe { sent_ns, session } => {
                let now_ns = self.shared.clock().now().0;
                let life = session.and_then(|id| self.shared.sessions.lives().find(&id));
                self.channel.live.watch(life, now_ns);
                Answer::Clock { sent_ns, server_ns: now_ns }
            }
            ControlRequest::Counters => self.counters(),
            ControlRequest::RunCell { cell, interval_ns, seed, left_ns } => {
                let (interval_ns, left_ns) = (Nanos(interval_ns), Nanos(left_ns));
                self.run_cell(&cell, RemoteCellParams { interval_ns, seed, left_ns })?
            }
            // Nothing runs: there is nothing to stop, and this request has no answer.
            ControlRequest::StopCell => return Ok(()),
            ControlRequest::StoreCheck { name, nonce } => {
                self.store_check(|root| root.proof_matches(&name, &nonce))
            }
            ControlRequest::UnitCheck { length_bytes, nonce } => {
                self.store_check(|root| Ok(root.has_unit(length_bytes, nonce)))
            }
            ControlRequest::Cache { objects, work } => {
                let dummy = &mut self.dummy;
                match page_cache::perform(self.shared, &self.session, &objects, work, dummy) {
                    Ok(resident_ratio) => Answer::Cached { resident_ratio },
                    Err(error) => failure_answer(&error),
                }
            }
            ControlRequest::End => {
                self.session.end("the session has ended");
                self.channel.send(&Answer::Ended.encode()?)?;
                return Err(ConversationEnd::Gone);
            }
        };
        self.channel.send(&answer.encode()?)
    }

    /// Plays the server of the buffer experiment, and nothing else of it.
    fn play(&mut self, frame: Frame) -> Result<(), ConversationEnd> {
        let may = |asked: &RoleSpec| match asked.role {
            Role::Server => Ok(()),
            _ => Err(refused(
                Refusal::Unsupported,
                "an endpoint can only be the server of the buffer experiment",
            )),
        };
        let stage = RoleHost { clock: self.shared.clock(), sessions: &self.shared.sessions, may: &may };
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
            .get_or_insert_with(|| ServerSampler::new(&read_inventory(shared), session, &shared.workers));
        Answer::Counters(Box::new(sampler.sample(shared.clock().now().0)))
    }

    /// Answers whether the root is what a client says, as `is_met` finds.
    fn store_check(&self, is_met: impl FnOnce(&StoreRoot) -> Result<bool, Error>) -> Answer {
        let root = self.shared.root.as_ref().ok_or_else(|| {
            refused(Refusal::NotFound, "this server has no disk store; start it with --root FOLDER")
        });
        match root.and_then(is_met) {
            Ok(holds) => Answer::StoreCheck { holds },
            Err(error) => failure_answer(&error),
        }
    }

    /// Runs a cell while listening for the client's wish to stop it.
    fn run_cell(&mut self, cell: &Cell, terms: RemoteCellParams) -> Result<Answer, ConversationEnd> {
        let stop = StopFlag::default();
        let sender = match self.channel.sender() {
            Ok(sender) => sender,
            Err(error) => return Ok(failure_answer(&error)),
        };
        let run = CellRun { shared: self.shared, session: &self.session, stop: &stop, terms };
        let (channel, prepared) = (&mut self.channel, &mut self.prepared);
        let (outcome, received) = std::thread::scope(|scope| {
            let runner = match threads::spawn(scope, "cell", move || run.run(cell, prepared, &sender)) {
                Ok(runner) => runner,
                Err(error) => return (Ok(Err(error)), Ok(())),
            };
            let mut received = Ok(());
            while !runner.is_finished() && received.is_ok() {
                received = listen(channel, &stop);
            }
            if received.is_err() {
                stop.ask(StopRequest::Now);
            }
            (runner.join(), received)
        });
        received?;
        Ok(match outcome {
            Ok(Ok(())) => Answer::CellDone,
            Ok(Err(error)) => failure_answer(&error),
            Err(_) => failure_answer(&refused(
                Refusal::Io,
                "the cell failed inside the server; see its own messages",
            )),
        })
    }
}

/// Takes a wish to stop, if one comes soon.
fn listen(channel: &mut Channel, stop: &StopFlag) -> Result<(), ConversationEnd> {
    let Some(frame) = channel.receive_within(LISTEN)? else { return Ok(()) };
    match ControlRequest::decode(frame)? {
        ControlRequest::StopCell => {
            stop.ask(StopRequest::Now);
            Ok(())
        }
        ControlRequest::End => Err(ConversationEnd::Gone),
        _ => Err(ConversationEnd::Failed(Error::protocol("a request arrived while a cell runs"))),
    }
}

fn failure_answer(error: &Error) -> Answer {
    let reason = match error.kind() {
        ErrorKind::Refused(reason) => reason,
        _ => Refusal::Protocol,
    };
    Answer::Failed { reason, message: error.to_string() }
}
