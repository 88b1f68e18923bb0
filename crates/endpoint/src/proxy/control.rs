//! What a proxy answers itself: who it is, its clock, its counters, and its role in the buffer experiment.

use super::connect::close_in_order;
use super::full;
use super::journal::FaultKind;
use super::pairs::ConnectionPairs;
use super::refusal::close_with_reason;
use super::shared::ProxyState;
use crate::channel::{Channel, ConversationEnd, refused};
use crate::connections;
use crate::facts::{machine_facts, machine_inventory};
use crate::random;
use crate::relay::RoleHost;
use narrows_model::server::ServerFacts;
use narrows_model::{CounterSample, Role};
use narrows_probe::Root as ProbeRoot;
use narrows_probe::counters::{CounterReader, CounterScope};
use narrows_wire::control::{Answer, ControlRequest};
use narrows_wire::frame::Frame;
use narrows_wire::hello::Purpose;
use narrows_wire::relay::{HopAddress, ROLE_COMMAND, RoleSpec};
use narrows_wire::{Error, Refusal};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;

/// Answers a connection that asks the proxy itself, to its end.
pub(super) fn serve(client: TcpStream, shared: &ProxyState) {
    let clock = &shared.options.clock;
    if !shared.conversations.has_room(clock.now().0) {
        let error = full::too_many_conversations(shared);
        shared.journal.report(FaultKind::Full, &error.to_string());
        return close_with_reason(client, &error, shared);
    }
    close_in_order(&client);
    // A connection for which there are no descriptors is dropped.
    let Ok(permit) = shared.conversations.admit(&client, clock.now().0) else { return };
    let Ok(mut channel) = Channel::new(client, Arc::clone(&permit.live), Arc::clone(clock)) else { return };
    match accept_hello(&mut channel, &permit, shared) {
        Ok(()) => {
            let session = match random::session_id() {
                Ok(id) => id,
                Err(error) => return channel.close_with(&error),
            };
            let life = shared.lives.begin(&session);
            channel.live.set_life(&life);
            let mut control = ProxyControl { channel, shared, session, sampler: None };
            if let ConversationEnd::Failed(error) = control.answer_all() {
                control.channel.close_with(&error);
            }
        }
        Err(ConversationEnd::Failed(error)) => {
            shared
                .journal
                .report(FaultKind::Refused, &format!("refused to answer for the proxy itself: {error}"));
            channel.close_with(&error);
        }
        Err(ConversationEnd::Gone) => {}
    }
}

fn accept_hello(
    channel: &mut Channel,
    permit: &connections::ConnectionPermit<'_>,
    shared: &ProxyState,
) -> Result<(), ConversationEnd> {
    let is_open = shared.key.is_none() && !shared.local.ip().is_loopback();
    let purpose = channel.accept_hello(random::nonce()?, shared.key.clone())?;
    if is_open {
        return Err(ConversationEnd::Failed(refused(
            Refusal::Permission,
            "this proxy was started with --open and answers no queries; start it with --token-file FILE",
        )));
    }
    if purpose != Purpose::Proxy {
        return Err(ConversationEnd::Failed(Error::protocol("a hello changed its purpose")));
    }
    let too_many = |_| ConversationEnd::Failed(full::too_many_conversations(shared));
    shared.conversations.establish(&permit.live).map_err(too_many)?;
    channel.live.mark_open_silent();
    channel.watch_peer()?;
    Ok(())
}

struct ProxyControl<'a> {
    channel: Channel,
    shared: &'a ProxyState,
    /// Names this conversation, for another one on which its client asks all the while.
    session: String,
    sampler: Option<ProxySampler>,
}

impl ProxyControl<'_> {
    /// Answers until the client ends or disconnects, and returns which.
    fn answer_all(&mut self) -> ConversationEnd {
        loop {
            let answered = self.channel.receive().and_then(|frame| match frame.kind {
                ROLE_COMMAND => self.play(frame),
                _ => self.answer(&ControlRequest::decode(frame)?),
            });
            if let Err(end) = answered {
                return end;
            }
        }
    }

    /// Plays the proxy of the buffer experiment, to the host that this proxy forwards to and no other.
    fn play(&mut self, frame: Frame) -> Result<(), ConversationEnd> {
        let shared = self.shared;
        let may = |asked: &RoleSpec| may_play(asked, shared);
        let stage = RoleHost { clock: &*shared.options.clock, sessions: &shared.memory, may: &may };
        stage.answer(&mut self.channel, frame)
    }

    fn answer(&mut self, request: &ControlRequest) -> Result<(), ConversationEnd> {
        let clock = &self.shared.options.clock;
        let answer = match request {
            ControlRequest::Facts => facts(self.shared, &self.session),
            ControlRequest::ClockProbe { sent_ns, session } => {
                let now_ns = clock.now().0;
                let life = session.as_deref().and_then(|id| self.shared.lives.find(id));
                self.channel.live.watch(life, now_ns);
                Answer::Clock { sent_ns: *sent_ns, server_ns: now_ns }
            }
            ControlRequest::Counters => {
                let sampler = self.sampler.get_or_insert_with(ProxySampler::new);
                Answer::Counters(Box::new(sampler.sample(&self.shared.pairs, clock.now().0)))
            }
            ControlRequest::End => {
                self.channel.send(&Answer::Ended.encode()?)?;
                return Err(ConversationEnd::Gone);
            }
            // Nothing runs: there is nothing to stop, and this request has no answer.
            ControlRequest::StopCell => return Ok(()),
            ControlRequest::RunCell { .. }
            | ControlRequest::StoreCheck { .. }
            | ControlRequest::UnitCheck { .. }
            | ControlRequest::Cache { .. } => Answer::Failed {
                reason: Refusal::Unsupported,
                message: "a proxy stores nothing and runs no cells; ask the endpoint behind it".to_owned(),
            },
        };
        self.channel.send(&answer.encode()?)
    }
}

fn may_play(asked: &RoleSpec, shared: &ProxyState) -> Result<(), Error> {
    if asked.role != Role::Proxy {
        let message = "a proxy can only be the proxy of the buffer experiment";
        return Err(refused(Refusal::Unsupported, message));
    }
    let host = asked.next.as_ref().and_then(|hop| match &hop.place {
        HopAddress::Tcp { host, .. } => Some(host.as_str()),
        HopAddress::Unix { .. } => None,
    });
    // An address alone: a name could lead elsewhere at the next look-up.
    let address = host.and_then(|host| host.parse::<IpAddr>().ok());
    let known = |ip: IpAddr| shared.to.iter().any(|to| to.ip().to_canonical() == ip.to_canonical());
    if address.is_some_and(known) {
        return Ok(());
    }
    let message = format!(
        "this proxy forwards to {} and is not part of a path to {}; start it with --to an address of that host",
        shared.options.to,
        host.unwrap_or("nowhere")
    );
    Err(refused(Refusal::Unsupported, message))
}

fn facts(shared: &ProxyState, session: &str) -> Answer {
    let inventory = machine_inventory(None);
    let addresses = shared.to.iter().map(ToString::to_string);
    let forwards_to = std::iter::once(shared.options.to.clone()).chain(addresses).collect();
    let facts = Box::new(ServerFacts { forwards_to, ..machine_facts(&inventory) });
    Answer::Facts { facts, inventory: Box::new(inventory), session: session.to_owned() }
}

/// Reads the counters of the proxy's machine, process and connections.
struct ProxySampler {
    reader: CounterReader,
}

impl ProxySampler {
    fn new() -> Self {
        let path_pids = Some(Vec::new());
        let scope = CounterScope { pids: vec![std::process::id()], devices: Vec::new(), path_pids };
        Self { reader: CounterReader::new(&ProbeRoot::system(), Role::Proxy, &scope) }
    }

    fn sample(&mut self, pairs: &ConnectionPairs, at_ns: u64) -> CounterSample {
        CounterSample { tcp: pairs.tcp(), ..self.reader.read(at_ns) }
    }
}
