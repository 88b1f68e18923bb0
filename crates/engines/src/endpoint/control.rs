//! The client's end of a control connection: facts, clock, counters, cells that run at the server.

use super::connect::Conversation;
use super::peer::Peer;
use crate::clock::Clock;
use crate::error::{EngineError, ErrorKind};
use crate::stop::StopFlag;
use narrows_model::server::ServerFacts;
use narrows_model::{Cell, CounterSample, Event, Inventory, Nanos, Via};
use narrows_wire::control::{Answer, CacheWork, ControlRequest, SCAN_BYTES_MAX};
use narrows_wire::{Error as WireError, ErrorKind as WireKind};
use std::sync::Arc;
use std::time::Duration;

/// Exchanges of clocks at the opening: the smallest of a few round trips is close to the path's own.
const CLOCK_PROBES: u32 = 16;

/// How often a wish to stop a cell at the server is looked at while it runs.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// Longest wait for the end of a cell that was asked to stop: a server that lives needs as long as its devices' slow
/// moments, and one that hangs is not waited for.
const STOP_TIMEOUT_NS: u64 = 2_000_000_000;

/// What a run says of every cell that a server runs for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteCellParams {
    /// Time between samples.
    pub interval_ns: Nanos,
    /// The run's seed: with it, the same cell has the same offsets, kinds and arrivals there.
    pub seed: u64,
    /// Time that is left; a cell whose preparation takes it is not loaded.
    pub left_ns: Nanos,
}

/// A control connection: it owns the session whose store data connections use.
#[derive(Debug)]
pub struct ControlClient {
    conversation: Conversation,
    facts: ServerFacts,
    inventory: Inventory,
    session: String,
}

impl ControlClient {
    /// Connects, proves the token, learns the server's facts and estimates its clock.
    ///
    /// # Errors
    /// `Refused` when nothing listens there, `Token`, `Protocol` when another program or version answers, `PeerGone`
    /// when nothing comes within `timeout_ns`.
    ///
    /// # Cost
    /// About 20 round trips.
    pub fn connect(
        host: &str,
        port: u16,
        token: Option<&[u8]>,
        clock: Arc<dyn Clock>,
        timeout_ns: u64,
    ) -> Result<Self, EngineError> {
        Self::connect_via((host, port), None, token, clock, timeout_ns)
    }

    /// As [`ControlClient::connect`], through a proxy.
    ///
    /// # Errors
    /// See there; what the proxy cannot pass on it resets.
    pub fn connect_via(
        (host, port): (&str, u16),
        via: Option<&Via>,
        token: Option<&[u8]>,
        clock: Arc<dyn Clock>,
        timeout_ns: u64,
    ) -> Result<Self, EngineError> {
        let peer = Peer::new(host, port, clock, timeout_ns).through(via);
        Self::begin(Conversation::open_control(peer, token)?)
    }

    /// As [`ControlClient::connect`], to a proxy itself and not to what is behind it: it has facts, a clock and
    /// counters, and neither store nor cells.
    ///
    /// # Errors
    /// See there; a server that is no proxy refuses.
    pub fn connect_proxy(
        host: &str,
        port: u16,
        token: Option<&[u8]>,
        clock: Arc<dyn Clock>,
        timeout_ns: u64,
    ) -> Result<Self, EngineError> {
        let peer = Peer::new(host, port, clock, timeout_ns);
        Self::begin(Conversation::open_proxy(peer, token)?)
    }

    /// Learns the facts of who was connected to.
    fn begin(mut conversation: Conversation) -> Result<Self, EngineError> {
        let answer = ask(&mut conversation, &ControlRequest::Facts)?;
        let Answer::Facts { facts, inventory, session } = answer else {
            return Err(unexpected(&conversation));
        };
        let mut facts = *facts;
        facts.address = conversation.peer().address();
        facts.shares_machine = own_boot_id().is_some_and(|own| own == facts.boot_id);
        let clocks = probe_clock(&mut conversation)?;
        facts.clock_offset_ns = clocks.offset_ns;
        facts.clock_offset_error_ns = Nanos(clocks.round_trip_ns.div_ceil(2));
        facts.round_trip_ns = Nanos(clocks.round_trip_ns);
        Ok(Self { conversation, facts, inventory: *inventory, session })
    }

    /// Gives up waiting for answers from now on when `stop` asks to stop now; the conversation is over then.
    pub fn set_stop_flag(&mut self, stop: StopFlag) {
        self.conversation.set_stop_flag(stop);
    }

    /// What the server reported about itself, and how its clock relates to this one.
    #[must_use]
    pub fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    /// The server's inventory, the path of its store included.
    #[must_use]
    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// The session that data connections join; see [`crate::OpenSpec::session`].
    #[must_use]
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The server's counters now, `at_ns` on the server's clock.
    ///
    /// # Errors
    /// When the server is gone or could not read them.
    pub fn counters(&mut self) -> Result<CounterSample, EngineError> {
        match ask(&mut self.conversation, &ControlRequest::Counters)? {
            Answer::Counters(sample) => Ok(*sample),
            _ => Err(unexpected(&self.conversation)),
        }
    }

    /// Whether a file below the server's root contains exactly `nonce`: a client that wrote it through its mount knows
    /// then that the server serves that mount.
    ///
    /// # Errors
    /// `Permission` when the name leads out of the root, `NotFound` when the server has no root.
    pub fn stores_file(&mut self, name: &str, nonce: &str) -> Result<bool, EngineError> {
        let question = ControlRequest::StoreCheck { name: name.to_owned(), nonce: nonce.to_owned() };
        match ask(&mut self.conversation, &question)? {
            Answer::StoreCheck { holds } => Ok(holds),
            _ => Err(unexpected(&self.conversation)),
        }
    }

    /// Whether a file below the server's root is what a logical unit of `length_bytes` consists of, to which a claim with `nonce`
    /// has put its mark.
    ///
    /// # Errors
    /// As [`ControlClient::stores_file`].
    pub fn stores_unit(&mut self, length_bytes: u64, nonce: u64) -> Result<bool, EngineError> {
        match ask(&mut self.conversation, &ControlRequest::UnitCheck { length_bytes, nonce })? {
            Answer::StoreCheck { holds } => Ok(holds),
            _ => Err(unexpected(&self.conversation)),
        }
    }

    /// What share of `objects` of the disk store is in the server's page cache once `work` is done; `None` where it
    /// does not report that.
    ///
    /// # Errors
    /// When the server is gone, has no such objects, or could not do it.
    pub fn cache(&mut self, objects: &[String], work: CacheWork) -> Result<Option<f64>, EngineError> {
        match ask(&mut self.conversation, &ControlRequest::Cache { objects: objects.to_vec(), work })? {
            Answer::Cached { resident_ratio } => Ok(resident_ratio),
            _ => Err(unexpected(&self.conversation)),
        }
    }

    /// Has the server read a dummy file of `file_bytes`, part by part, so that its pages take the place of others.
    ///
    /// # Errors
    /// As [`ControlClient::cache`].
    pub fn displace_cache(&mut self, file_bytes: u64) -> Result<(), EngineError> {
        let mut from_bytes = 0;
        while from_bytes < file_bytes {
            let length_bytes = SCAN_BYTES_MAX.min(file_bytes - from_bytes);
            self.cache(&[], CacheWork::Scan { file_bytes, from_bytes, length_bytes })?;
            from_bytes += length_bytes;
        }
        Ok(())
    }

    /// Runs a cell on the server, gives each of its events to `event`, and asks it to stop once `stop` is true.
    ///
    /// # Errors
    /// When the cell could not run or the server is gone.
    pub fn run_cell(
        &mut self,
        cell: &Cell,
        params: RemoteCellParams,
        event: &mut dyn FnMut(Event),
        stop: &dyn Fn() -> bool,
    ) -> Result<(), EngineError> {
        let conversation = &mut self.conversation;
        let request = ControlRequest::RunCell {
            cell: Box::new(cell.clone()),
            interval_ns: params.interval_ns.0,
            seed: params.seed,
            left_ns: params.left_ns.0,
        };
        send(conversation, &request)?;
        let mut stop_asked = None;
        let mut last_received = conversation.peer().clock().now();
        // A cell may be silent for as long as one of its phases; the answer timeout counts on top.
        let silence_ns = cell.planned_ns().0.saturating_add(conversation.peer().timeout_ns());
        loop {
            if stop_asked.is_none() && stop() {
                send(conversation, &ControlRequest::StopCell)?;
                stop_asked = Some(conversation.peer().clock().now());
            }
            let frame = conversation.receive_within("run a cell", STOP_CHECK)?;
            let now = conversation.peer().clock().now();
            if stop_asked.is_some_and(|asked| now.since(asked) > STOP_TIMEOUT_NS) {
                // What still came would be taken for the answer to another question.
                conversation.hang_up();
                return Err(conversation.peer().stopped("run a cell"));
            }
            let Some(frame) = frame else {
                if now.since(last_received) > silence_ns {
                    return Err(conversation.peer().silent("run a cell"));
                }
                continue;
            };
            last_received = now;
            let answer = Answer::decode(frame)
                .map_err(|error| conversation.peer().wire_error("run a cell", &error))?;
            match checked(conversation, answer)? {
                Answer::Event(received) => event(*received),
                Answer::CellDone => return Ok(()),
                _ => return Err(unexpected(conversation)),
            }
        }
    }

    /// Whom it talks to.
    pub(super) fn peer(&self) -> &Peer {
        self.conversation.peer()
    }

    /// The bare conversation, for another one than this client's; the session ends with it.
    pub(super) fn into_conversation(self) -> Conversation {
        self.conversation
    }

    /// Ends the session; what it stored at the server is removed.
    ///
    /// # Errors
    /// When the server is gone; the session ends there too then.
    pub fn end(mut self) -> Result<(), EngineError> {
        // This is what is done on a stop, too.
        self.conversation.set_stop_flag(StopFlag::default());
        match ask(&mut self.conversation, &ControlRequest::End)? {
            Answer::Ended => Ok(()),
            _ => Err(unexpected(&self.conversation)),
        }
    }
}

/// What an exchange of clocks shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClockEstimate {
    offset_ns: i64,
    round_trip_ns: u64,
}

/// The offset by the exchange with the smallest round trip, whose error is at most half of that.
///
/// # Source
/// The clock filter of NTP (RFC 5905, section 10), with one server time stamp instead of two.
fn probe_clock(conversation: &mut Conversation) -> Result<ClockEstimate, EngineError> {
    let mut best: Option<ClockEstimate> = None;
    for _ in 0..CLOCK_PROBES {
        let estimate = probe_round_trip(conversation, None)?;
        if best.is_none_or(|best| estimate.round_trip_ns < best.round_trip_ns) {
            best = Some(estimate);
        }
    }
    best.ok_or_else(|| unexpected(conversation))
}

/// One exchange of clocks; where it names a `session`, it is a sign of life of that session's client.
pub(super) fn probe_round_trip(
    conversation: &mut Conversation,
    session: Option<&str>,
) -> Result<ClockEstimate, EngineError> {
    let sent_ns = conversation.peer().clock().now().0;
    let question = ControlRequest::ClockProbe { sent_ns, session: session.map(str::to_owned) };
    let answer = ask(conversation, &question)?;
    let received_ns = conversation.peer().clock().now().0;
    let Answer::Clock { sent_ns: echoed, server_ns } = answer else {
        return Err(unexpected(conversation));
    };
    if echoed != sent_ns {
        return Err(unexpected(conversation));
    }
    let round_trip_ns = received_ns.saturating_sub(sent_ns);
    let offset = i128::from(server_ns) - i128::from(sent_ns) - i128::from(round_trip_ns / 2);
    let offset_ns = i64::try_from(offset).unwrap_or(if offset < 0 { i64::MIN } else { i64::MAX });
    Ok(ClockEstimate { offset_ns, round_trip_ns })
}

fn send(conversation: &mut Conversation, request: &ControlRequest) -> Result<(), EngineError> {
    let bytes = request.encode().map_err(|error| conversation.peer().wire_error("ask", &error))?;
    conversation.send("ask", &bytes)
}

fn ask(conversation: &mut Conversation, request: &ControlRequest) -> Result<Answer, EngineError> {
    send(conversation, request)?;
    // An answer that came later would be taken for that of the next question.
    let frame = conversation.receive("ask").inspect_err(|_| conversation.hang_up())?;
    let answer = Answer::decode(frame).map_err(|error| conversation.peer().wire_error("ask", &error))?;
    checked(conversation, answer)
}

/// The answer, or the error that it reports.
fn checked(conversation: &Conversation, answer: Answer) -> Result<Answer, EngineError> {
    match answer {
        Answer::Failed { reason, message } => {
            Err(conversation.peer().wire_error("ask", &WireError::new(WireKind::Refused(reason), message)))
        }
        other => Ok(other),
    }
}

fn unexpected(conversation: &Conversation) -> EngineError {
    EngineError::new(ErrorKind::Protocol, "ask", conversation.peer().name())
        .detail("the server sent the answer to another request")
        .hint("use the same version of narrows on both sides")
}

/// This machine's boot id; `None` where the kernel does not report it.
fn own_boot_id() -> Option<String> {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}
