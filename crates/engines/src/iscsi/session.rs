//! A session with one command at a time: its login, and everything before and after a load.
//!
//! Each answer is waited for within the answer timeout, and until a stop is asked for.

use super::counters::{CountedPdu, PduCounts};
use super::portal::IscsiPortal;
use super::secrets::{credentials, login_entropy};
use crate::clock::Tick;
use crate::connections::StoragePeer;
use crate::error::{EngineError, ErrorKind};
use narrows_wire::iscsi::digest::{DIGEST_BYTES, Digests, digest, padding};
use narrows_wire::iscsi::header::{BasicHeader, NO_TAG, PduKind, is_before};
use narrows_wire::iscsi::login::{LOGIN_DATA_BYTES_MAX, LoginConversation, LoginRequest, LoginStep};
use narrows_wire::iscsi::negotiation::{SessionOptions, SessionParameters};
use narrows_wire::iscsi::pdu::{Pdu, read_head, whole};
use narrows_wire::iscsi::request::{
    CommandRequest, DataDirection, DataOutPart, SendNumbers, command, data_out, logout, pong,
};
use narrows_wire::iscsi::response::{
    CommandStatus, ReceivedNumbers, command_status, data_in, numbers, transfer_wish,
};
use narrows_wire::iscsi::scsi::cdb::ScsiCdb;
use narrows_wire::iscsi::scsi::sense::{GOOD, ScsiFailure, ScsiSense};
use narrows_wire::iscsi::scsi::unit::unit_bytes;
use rustix::event::PollFlags;
use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::net::TcpStream;

/// What is asked for unless a study says otherwise.
pub(super) const DEFAULT_OPTIONS: SessionOptions = SessionOptions {
    digests: Digests { header: false, data: false },
    initial_r2t: false,
    immediate_data: true,
    first_burst_bytes: 256 << 10,
    max_burst_bytes: 1 << 20,
    receive_bytes_max: 256 << 10,
};

/// The tag of a logout: its place is none of a command's.
pub(super) const LOGOUT_TAG: u32 = 0xffff;
/// Longest wait for the answer to a logout.
pub(super) const LOGOUT_NS: u64 = 1_000_000_000;
/// In waits for one answer: how long a unit is claimed or cleared beyond the time of its bytes.
const TOTAL_TIMEOUTS: u64 = 16;
/// What one receive takes.
const RECEIVE_BYTES: usize = 64 << 10;
/// Reports of what has happened to a unit that are passed over before a command.
const ATTENTIONS_MAX: u32 = 8;

/// The numbers of a session.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SessionNumbers {
    pub(super) next_command: u32,
    max_command: u32,
    next_status: u32,
}

impl SessionNumbers {
    /// The numbers that a login ended with.
    pub(super) fn new(next_command: u32, max_command: u32, next_status: u32) -> Self {
        Self { next_command, max_command, next_status }
    }

    /// Takes those of a PDU of the target.
    pub(super) fn take(&mut self, received: ReceivedNumbers) {
        // A window that ends two or more before its beginning is none, as the standard says.
        let is_window = !is_before(received.max_command, received.expected_command.wrapping_sub(1));
        if is_window && is_before(self.max_command, received.max_command) {
            self.max_command = received.max_command;
        }
        if let Some(status) = received.status.filter(|_| received.is_used)
            && !is_before(status, self.next_status)
        {
            self.next_status = status.wrapping_add(1);
        }
    }

    /// Whether the target takes another command.
    pub(super) fn is_open(&self) -> bool {
        !is_before(self.max_command, self.next_command)
    }

    /// The place of a new command.
    pub(super) fn take_command(&mut self) -> u32 {
        let number = self.next_command;
        self.next_command = number.wrapping_add(1);
        number
    }

    /// Those of a PDU to the target.
    pub(super) fn to_send(self) -> SendNumbers {
        SendNumbers { command: self.next_command, status: self.next_status }
    }
}

/// A command before or after a load.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnitCommand<'a> {
    pub(super) cdb: ScsiCdb,
    /// Most bytes that it returns.
    pub(super) returned_bytes: u32,
    /// What is sent with it.
    pub(super) data: &'a [u8],
}

/// What a command returned, or why the unit did not execute it.
pub(super) type UnitAnswer = Result<Vec<u8>, ScsiFailure>;

/// A session with a target.
#[derive(Debug)]
pub(super) struct UnitSession {
    pub(super) portal: IscsiPortal,
    pub(super) socket: TcpStream,
    pub(super) parameters: SessionParameters,
    pub(super) numbers: SessionNumbers,
    pub(super) session_id: [u8; 6],
    pub(super) unit: [u8; 8],
    pub(super) counts: PduCounts,
    digests: Digests,
    data_bytes_max: usize,
    kept: Vec<u8>,
    next_tag: u32,
    deadline: Tick,
    /// When all of what is done with it must be over.
    pub(super) ends_at: Option<Tick>,
}

/// A whole PDU of the target.
struct OwnedPdu {
    header: BasicHeader,
    data: Vec<u8>,
    whole_bytes: usize,
}

impl UnitSession {
    /// A session until `deadline`, instead of that of `session_id` where one is given.
    pub(super) fn open(
        portal: &IscsiPortal,
        options: &SessionOptions,
        session_id: Option<[u8; 6]>,
        deadline: Tick,
    ) -> Result<Self, EngineError> {
        let credentials = credentials(portal)?;
        let entropy = login_entropy(portal)?;
        let session_id = session_id.unwrap_or(entropy.session_id);
        let request = LoginRequest {
            initiator: initiator_name(portal),
            target: portal.address.target.clone(),
            session_id,
            credentials,
            entropy: entropy.chap,
            issued: entropy.issued,
            options: *options,
        };
        let mut session = Self {
            socket: portal.dial("connect", deadline)?,
            parameters: SessionParameters::offered(options),
            numbers: SessionNumbers::default(),
            session_id,
            // Parsing refuses numbers that have no bytes.
            unit: unit_bytes(portal.address.unit).unwrap_or_default(),
            counts: PduCounts::default(),
            digests: Digests::default(),
            data_bytes_max: LOGIN_DATA_BYTES_MAX,
            kept: Vec::new(),
            next_tag: 0,
            ends_at: None,
            portal: portal.clone(),
            deadline,
        };
        session.log_in(request)?;
        session.await_readiness()?;
        Ok(session)
    }

    fn log_in(&mut self, request: LoginRequest) -> Result<(), EngineError> {
        let (mut conversation, mut step) = LoginConversation::start(request);
        loop {
            match step {
                LoginStep::Send { header, text } => {
                    let started_ns = self.portal.clock.now().0;
                    let sent_bytes = self.send("log in to", &header, &text)?;
                    self.counts.sent(CountedPdu::Login, sent_bytes, false);
                    let answer = self.receive("log in to")?;
                    let latency_ns = self.portal.clock.now().0.saturating_sub(started_ns);
                    self.counts.received(CountedPdu::Login, answer.whole_bytes, latency_ns, false);
                    let pdu =
                        Pdu { header: answer.header, data: &answer.data, whole_bytes: answer.whole_bytes };
                    step = conversation.next(&pdu).map_err(|error| self.portal.login_failed(&error))?;
                }
                LoginStep::Done(outcome) => {
                    self.numbers =
                        SessionNumbers::new(outcome.next_command, outcome.max_command, outcome.next_status);
                    self.parameters = outcome.parameters;
                    self.digests = outcome.parameters.digests;
                    self.data_bytes_max = outcome.parameters.receive_bytes_max as usize;
                    return Ok(());
                }
            }
        }
    }

    /// Lets the unit report what has happened to it, such as that it was switched on.
    fn await_readiness(&mut self) -> Result<(), EngineError> {
        let ready = UnitCommand { cdb: ScsiCdb::test_ready(), returned_bytes: 0, data: &[] };
        match self.execute("log in to", &ready)? {
            // That there is no such unit is found, with those that there are, by whoever examines it.
            Err(failure) if !failure.sense.is_no_unit() => Err(self.portal.failed("log in to", failure)),
            _ => Ok(()),
        }
    }

    /// What has arrived after the last answer, for the load that goes on with the session.
    pub(super) fn take_kept(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.kept)
    }

    /// Ends the session in order, as far as the target answers in time.
    pub(super) fn log_out(mut self) {
        self.deadline = self.portal.clock.now().after(LOGOUT_NS.min(self.portal.timeout_ns));
        let header = logout(LOGOUT_TAG, self.numbers.to_send());
        let mut answer = self.send("log out of", &header, &[]).and_then(|_| self.receive("log out of"));
        for _ in 0..ATTENTIONS_MAX {
            match answer {
                Ok(pdu) if pdu.header.kind() != Some(PduKind::LogoutResponse) => {
                    answer = self.receive("log out of");
                }
                _ => break,
            }
        }
    }

    /// Starts a new span for the answers that follow.
    pub(super) fn extend_deadline(&mut self) {
        self.deadline = self.portal.deadline();
    }

    /// From now on all commands together take no longer than some waits for one answer, and a second for each MiB of the
    /// unit's first `bytes`: a target may answer each of them late.
    pub(super) fn end_within(&mut self, bytes: u64) {
        let waits_ns = self.portal.timeout_ns.saturating_mul(TOTAL_TIMEOUTS);
        let bytes_ns = (bytes >> 20).saturating_mul(1_000_000_000);
        self.ends_at = Some(self.portal.clock.now().after(waits_ns.saturating_add(bytes_ns)));
    }

    fn check_end(&self, operation: &'static str) -> Result<(), EngineError> {
        if self.ends_at.is_none_or(|end| self.portal.clock.now() < end) {
            return Ok(());
        }
        Err(EngineError::new(ErrorKind::PeerGone, operation, self.portal.name())
            .detail("all commands together took too long: less than 1 MiB a second was moved")
            .hint("see why the target answers late, or use smaller files"))
    }

    /// Executes a command; reports of what has happened to the unit before are passed over.
    pub(super) fn execute(
        &mut self,
        operation: &'static str,
        asked: &UnitCommand<'_>,
    ) -> Result<UnitAnswer, EngineError> {
        self.check_end(operation)?;
        let mut answer = self.execute_once(operation, asked)?;
        for _ in 0..ATTENTIONS_MAX {
            match answer {
                Err(failure) if failure.sense.is_attention() => {
                    answer = self.execute_once(operation, asked)?;
                }
                _ => break,
            }
        }
        Ok(answer)
    }

    fn execute_once(
        &mut self,
        operation: &'static str,
        asked: &UnitCommand<'_>,
    ) -> Result<UnitAnswer, EngineError> {
        self.next_tag = self.next_tag.wrapping_add(1) & 0xffff;
        let tag = self.next_tag;
        let started_ns = self.portal.clock.now().0;
        self.send_command(operation, asked, tag)?;
        let mut returned = Vec::new();
        loop {
            let pdu = self.receive(operation)?;
            let kind = pdu.header.kind();
            let is_own = pdu.header.task_tag() == tag;
            let status = match kind {
                Some(PduKind::ReadyToTransfer) if is_own => {
                    self.count_other(CountedPdu::ReadyToTransfer, &pdu);
                    self.send_wanted(operation, asked.data, &pdu.header)?;
                    continue;
                }
                Some(PduKind::DataIn) if is_own => {
                    let part = data_in(&pdu.header);
                    let end = returned.len() + pdu.data.len();
                    if part.offset_bytes as usize != returned.len() || end > asked.returned_bytes as usize {
                        return Err(self.portal.malformed(operation, "data was sent that nobody asked for"));
                    }
                    returned.extend_from_slice(&pdu.data);
                    let Some(status) = part.status else {
                        self.count_other(CountedPdu::DataIn, &pdu);
                        continue;
                    };
                    Some(status)
                }
                Some(PduKind::Response) if is_own => command_status(&pdu.header),
                _ => {
                    self.passed_over(operation, kind, &pdu)?;
                    continue;
                }
            };
            let latency_ns = self.portal.clock.now().0.saturating_sub(started_ns);
            let failed = status.is_none_or(|known| known.status != GOOD);
            self.counts.received(CountedPdu::OtherCommand, pdu.whole_bytes, latency_ns, failed);
            return match status {
                None => {
                    Err(self.portal.malformed(operation, "the target failed while it executed a command"))
                }
                Some(CommandStatus { status: GOOD, .. }) => Ok(Ok(returned)),
                Some(CommandStatus { status, .. }) => {
                    Ok(Err(ScsiFailure { status, sense: ScsiSense::from_response(&pdu.data) }))
                }
            };
        }
    }

    fn send_command(
        &mut self,
        operation: &'static str,
        asked: &UnitCommand<'_>,
        tag: u32,
    ) -> Result<(), EngineError> {
        let length = u32::try_from(asked.data.len()).unwrap_or(u32::MAX);
        let limits = self.parameters;
        let immediate = length.min(limits.first_burst_bytes).min(limits.send_bytes_max);
        let immediate = if limits.immediate_data { immediate } else { 0 };
        let send = self.numbers.to_send();
        let direction = match (asked.returned_bytes, length) {
            (0, 0) => DataDirection::None,
            (0, _) => DataDirection::Out,
            _ => DataDirection::In,
        };
        let request = CommandRequest {
            tag,
            unit: self.unit,
            cdb: &asked.cdb,
            direction,
            expected_bytes: asked.returned_bytes.max(length),
            immediate_bytes: immediate,
            // The rest is asked for.
            is_continued: false,
        };
        let header = command(&request, SendNumbers { command: self.numbers.take_command(), ..send });
        let sent_bytes = self.send(operation, &header, &asked.data[..immediate as usize])?;
        self.counts.sent(CountedPdu::OtherCommand, sent_bytes, false);
        Ok(())
    }

    /// Sends what an R2T asks for.
    fn send_wanted(
        &mut self,
        operation: &'static str,
        data: &[u8],
        header: &BasicHeader,
    ) -> Result<(), EngineError> {
        let wish = transfer_wish(header);
        let begin = wish.offset_bytes as usize;
        let Some(wanted) = data.get(begin..begin.saturating_add(wish.data_bytes as usize)) else {
            return Err(self
                .portal
                .malformed(operation, "data was asked for that the command does not have"));
        };
        let most = self.parameters.send_bytes_max.max(1);
        let mut sent = 0;
        for (number, piece) in (0..).zip(wanted.chunks(most as usize)) {
            let length = u32::try_from(piece.len()).unwrap_or(most);
            let part = DataOutPart {
                tag: header.task_tag(),
                transfer_tag: wish.transfer_tag,
                unit: self.unit,
                number,
                offset_bytes: wish.offset_bytes + sent,
                data_bytes: length,
                is_last: sent + length == wish.data_bytes,
            };
            sent += length;
            let header = data_out(&part, self.numbers.to_send().status);
            let sent_bytes = self.send(operation, &header, piece)?;
            self.counts.sent(CountedPdu::DataOut, sent_bytes, false);
        }
        Ok(())
    }

    /// A PDU that is no part of the command under way: pings are answered.
    fn passed_over(
        &mut self,
        operation: &'static str,
        kind: Option<PduKind>,
        pdu: &OwnedPdu,
    ) -> Result<(), EngineError> {
        match kind {
            Some(PduKind::NopIn) => {
                self.count_other(CountedPdu::NopIn, pdu);
                let transfer_tag = pdu.header.transfer_tag();
                if transfer_tag != NO_TAG {
                    let answer = pong(transfer_tag, pdu.header.unit(), self.numbers.to_send());
                    let sent_bytes = self.send(operation, &answer, &[])?;
                    self.counts.sent(CountedPdu::NopOut, sent_bytes, false);
                }
            }
            Some(PduKind::Async) => self.count_other(CountedPdu::Async, pdu),
            Some(PduKind::Reject) => {
                self.count_other(CountedPdu::Reject, pdu);
                let why = narrows_wire::iscsi::response::reject_reason(&pdu.header);
                return Err(self.portal.malformed(operation, format!("a request was rejected: {why}")));
            }
            Some(PduKind::DataIn | PduKind::Response | PduKind::ReadyToTransfer) => self.counts.strays += 1,
            _ => return Err(self.portal.malformed(operation, "a PDU arrived that nobody asked for")),
        }
        Ok(())
    }

    fn count_other(&mut self, kind: CountedPdu, pdu: &OwnedPdu) {
        self.counts.received(kind, pdu.whole_bytes, 0, false);
    }

    /// Sends a PDU; its bytes.
    fn send(&self, operation: &'static str, header: &BasicHeader, data: &[u8]) -> Result<usize, EngineError> {
        let pad = &[0; 3][..padding(data.len())];
        let mut out = Vec::with_capacity(header.0.len() + data.len() + pad.len() + 2 * DIGEST_BYTES);
        out.extend_from_slice(&header.0);
        if self.digests.header {
            out.extend_from_slice(&digest(&[&header.0]));
        }
        out.extend_from_slice(data);
        out.extend_from_slice(pad);
        if self.digests.data && !data.is_empty() {
            out.extend_from_slice(&digest(&[data, pad]));
        }
        let mut rest = out.as_slice();
        while !rest.is_empty() {
            self.portal.expect(operation, &self.socket, PollFlags::OUT, self.deadline)?;
            match rustix::net::send(&self.socket, rest, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => rest = &rest[sent..],
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(errno) => return Err(self.portal.io_error(operation, errno.into())),
            }
        }
        Ok(out.len())
    }

    /// The next PDU of the target.
    fn receive(&mut self, operation: &'static str) -> Result<OwnedPdu, EngineError> {
        let mut buffer = vec![0; RECEIVE_BYTES];
        loop {
            let fault = |fault: narrows_wire::iscsi::pdu::PduFault| {
                self.portal.malformed(operation, fault.to_string())
            };
            let head = read_head(&self.kept, self.digests, self.data_bytes_max).map_err(fault)?;
            let found = head.map(|head| whole(&head, &self.kept)).transpose().map_err(fault)?.flatten();
            if let Some(Pdu { header, data, whole_bytes }) = found {
                let pdu = OwnedPdu { header, data: data.to_vec(), whole_bytes };
                self.kept.drain(..whole_bytes);
                if let Some(kind) = header.kind().filter(|kind| *kind != PduKind::LoginResponse) {
                    self.numbers.take(numbers(kind, &header));
                }
                return Ok(pdu);
            }
            if self.portal.clock.now() >= self.deadline {
                // A target may send without end, only never what was asked for.
                return Err(self.portal.silent(operation));
            }
            self.portal.expect(operation, &self.socket, PollFlags::IN, self.deadline)?;
            match rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(self.portal.gone(operation)),
                Ok((length, _)) => self.kept.extend_from_slice(&buffer[..length]),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(errno) => return Err(self.portal.io_error(operation, io::Error::from(errno))),
            }
        }
    }
}

/// The name of this initiator: that of the address, or one of the machine's name.
fn initiator_name(portal: &IscsiPortal) -> String {
    portal.address.initiator.clone().unwrap_or_else(|| {
        let name = rustix::system::uname();
        let host = name.nodename().to_string_lossy().to_lowercase();
        let host: String = host
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() || ".-".contains(letter) { letter } else { '-' })
            .take(64)
            .collect();
        format!("iqn.2026-01.invalid.narrows:{host}")
    })
}
