//! One session with many commands in flight.
//!
//! What arrives is read in large pieces, and the rest of a read's data straight into its slot. Hot path: no allocation.

use super::core::UnitLoad;
use super::counters::CountedPdu;
use super::send_queue::{PduSendQueue, SLICES_MAX};
use super::session::{LOGOUT_TAG, SessionNumbers, UnitSession};
use crate::clock::Tick;
use crate::connections::{BrokenConnection, LoadConnection, LoadSocket, StoragePeer};
use crate::error::EngineError;
use crate::request::Completions;
use narrows_wire::iscsi::header::{NO_TAG, PduKind};
use narrows_wire::iscsi::negotiation::SessionParameters;
use narrows_wire::iscsi::pdu::{HEAD_BYTES_MAX, Pdu, PduFault, PduHead, TAIL_BYTES_MAX, read_head, whole};
use narrows_wire::iscsi::request::{logout, pong};
use narrows_wire::iscsi::response::{
    DataInPart, TargetEvent, data_in, numbers, rejected_header, seconds_to_wait, target_event,
};
use std::io::{self, IoSlice};

/// Wait before a session that ended is made again.
const RETRY_NS: u64 = 50_000_000;
/// Longest wait that a target may ask for.
const WAIT_SECONDS_MAX: u16 = 60;

/// Data that arrives in its slot.
#[derive(Debug, Clone, Copy)]
struct IncomingData {
    task: u32,
    part: DataInPart,
    head: PduHead,
    arrived_bytes: usize,
    /// When its first bytes were seen, and how many there were.
    began: Tick,
    began_bytes: usize,
}

impl IncomingData {
    fn missing_bytes(&self) -> usize {
        self.head.data_bytes - self.arrived_bytes
    }
}

/// How far the end of a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogoutState {
    No,
    /// It gets no more commands, and is ended once it has none in flight.
    Wanted,
    /// The logout is sent.
    Asked,
}

/// One session.
#[derive(Debug)]
pub(super) struct UnitConnection {
    index: usize,
    line: LoadSocket,
    pub(super) session_id: [u8; 6],
    parameters: SessionParameters,
    numbers: SessionNumbers,
    sending: PduSendQueue,
    incoming: Option<IncomingData>,
    leaving: LogoutState,
    /// Commands that are assigned to it.
    assigned_count: usize,
}

impl UnitConnection {
    /// The session `index` of `tasks` commands.
    pub(super) fn new(index: usize, mut session: UnitSession, tasks: usize) -> io::Result<Self> {
        let kept = session.take_kept();
        let whole_bytes = HEAD_BYTES_MAX + session.parameters.receive_bytes_max as usize + TAIL_BYTES_MAX;
        Ok(Self {
            index,
            session_id: session.session_id,
            parameters: session.parameters,
            numbers: session.numbers,
            line: LoadSocket::new(session.socket, &kept, whole_bytes)?,
            sending: PduSendQueue::new(tasks),
            incoming: None,
            leaving: LogoutState::No,
            assigned_count: 0,
        })
    }

    /// Whether it takes commands, as far as this side is concerned.
    pub(super) fn takes_commands(&self) -> bool {
        self.line.is_open() && self.leaving == LogoutState::No
    }

    /// Whether the target takes another command.
    pub(super) fn has_window(&self) -> bool {
        self.takes_commands() && self.numbers.is_open()
    }

    /// The session was made again.
    pub(super) fn reopen(&mut self, mut session: UnitSession) -> io::Result<()> {
        let kept = session.take_kept();
        self.parameters = session.parameters;
        self.numbers = session.numbers;
        self.leaving = LogoutState::No;
        self.line.reopen(session.socket, &kept)
    }

    /// Adds a command.
    pub(super) fn push(&mut self, task: u32, load: &mut UnitLoad) {
        load.tasks.assign(task, self.index);
        self.assigned_count += 1;
        let number = self.numbers.take_command();
        self.sending.push_command(task, number);
    }

    /// The session gets no more commands, and ends.
    pub(super) fn leave(&mut self) {
        if self.leaving == LogoutState::No {
            self.leaving = LogoutState::Wanted;
        }
    }

    /// The connection has ended, and is made again after `wait_ns` at the soonest.
    fn break_off_for(&mut self, load: &mut UnitLoad, wait_ns: u64, why: EngineError) {
        let retry_at = load.portal.clock.now().after(wait_ns.max(RETRY_NS));
        self.line.break_off(BrokenConnection { retry_at, why });
        (self.incoming, self.assigned_count) = (None, 0);
        self.sending.clear();
        load.session_ended(self.index);
    }

    /// Moves what has arrived of data to its slot; whether its PDU is whole.
    fn take_data(
        &mut self,
        input: &mut &[u8],
        load: &mut UnitLoad,
        out: &mut Completions,
    ) -> Result<bool, EngineError> {
        let Some(data) = &mut self.incoming else { return Ok(true) };
        let count = data.missing_bytes().min(input.len());
        if count > 0 {
            let at_bytes = data.part.offset_bytes + u32::try_from(data.arrived_bytes).unwrap_or(0);
            load.slot_part(data.task, at_bytes, count).copy_from_slice(&input[..count]);
            data.arrived_bytes += count;
            *input = &input[count..];
        }
        let tail_bytes = data.head.tail_bytes();
        if data.missing_bytes() > 0 || input.len() < tail_bytes {
            return Ok(false);
        }
        let (tail, rest) = input.split_at(tail_bytes);
        *input = rest;
        let IncomingData { task, part, head, began, began_bytes, .. } = *data;
        load.counts.arrivals.count(head.data_bytes - began_bytes, began, load.now);
        self.incoming = None;
        let slot = load.slot_part(task, part.offset_bytes, head.data_bytes);
        if let Err(fault) = head.check_data(slot, tail) {
            self.fault(&fault, load)?;
            return Ok(false);
        }
        self.numbers.take(numbers(PduKind::DataIn, &head.header));
        let data_bytes = u32::try_from(head.data_bytes).unwrap_or(0);
        self.assigned_count -= usize::from(part.status.is_some());
        load.data_arrived(task, &part, data_bytes, head.whole_bytes(), out)?;
        Ok(true)
    }

    /// What was changed on the way ends the connection, as error recovery level 0 demands; what cannot be meant, the load.
    fn fault(&mut self, fault: &PduFault, load: &mut UnitLoad) -> Result<(), EngineError> {
        let why = load.portal.malformed("receive", fault.to_string());
        match fault {
            PduFault::Malformed(_) => Err(why),
            PduFault::Digest(_) => {
                self.break_off_for(load, 0, why);
                Ok(())
            }
        }
    }

    fn handle(
        &mut self,
        pdu: &Pdu<'_>,
        load: &mut UnitLoad,
        out: &mut Completions,
    ) -> Result<(), EngineError> {
        let header = &pdu.header;
        let Some(kind) = header.kind() else {
            return Err(load.portal.malformed("receive", "a PDU of no known kind arrived"));
        };
        self.numbers.take(numbers(kind, header));
        match kind {
            PduKind::DataIn => {
                let part = data_in(header);
                let Some(task) = load.begin_data(self.index, header, &part, pdu.data.len())? else {
                    load.counts.strays += 1;
                    return Ok(());
                };
                load.slot_part(task, part.offset_bytes, pdu.data.len()).copy_from_slice(pdu.data);
                let data_bytes = u32::try_from(pdu.data.len()).unwrap_or(0);
                self.assigned_count -= usize::from(part.status.is_some());
                load.data_arrived(task, &part, data_bytes, pdu.whole_bytes, out)
            }
            PduKind::Response => {
                let is_known = load.tasks.find(header.task_tag(), self.index).is_some();
                self.assigned_count -= usize::from(is_known);
                load.response(self.index, header, pdu.data, pdu.whole_bytes, out)
            }
            PduKind::ReadyToTransfer => {
                load.counts.received(CountedPdu::ReadyToTransfer, pdu.whole_bytes, 0, false);
                self.send_wanted(pdu, load)
            }
            PduKind::NopIn if header.task_tag() != NO_TAG => {
                if load.ping_answered(self.index, header.task_tag(), pdu.whole_bytes, out) {
                    self.assigned_count -= 1;
                } else {
                    load.counts.strays += 1;
                }
                Ok(())
            }
            PduKind::NopIn => {
                load.counts.received(CountedPdu::NopIn, pdu.whole_bytes, 0, false);
                let (transfer_tag, unit) = (header.transfer_tag(), header.unit());
                let answer = pong(transfer_tag, unit, self.numbers.to_send());
                if transfer_tag == NO_TAG || self.sending.push_control(answer, CountedPdu::NopOut) {
                    return Ok(());
                }
                Err(load.portal.malformed("receive", "the target pings faster than it takes the answers"))
            }
            PduKind::Async => {
                load.counts.received(CountedPdu::Async, pdu.whole_bytes, 0, false);
                self.event(pdu, load);
                Ok(())
            }
            PduKind::Reject => {
                load.counts.received(CountedPdu::Reject, pdu.whole_bytes, 0, true);
                self.reject(pdu, load, out)
            }
            PduKind::LogoutResponse => {
                load.counts.received(CountedPdu::Logout, pdu.whole_bytes, 0, false);
                let wait_ns = wait_ns(seconds_to_wait(header));
                let why = load.portal.gone("log out of").detail("the session was ended, as the target asked");
                self.break_off_for(load, wait_ns, why);
                Ok(())
            }
            _ => Err(load.portal.malformed("receive", format!("a {} arrived", kind.name()))),
        }
    }

    fn send_wanted(&mut self, pdu: &Pdu<'_>, load: &mut UnitLoad) -> Result<(), EngineError> {
        let burst_bytes_max = self.parameters.max_burst_bytes;
        let Some((task, wish)) = load.wanted(self.index, &pdu.header, burst_bytes_max)? else {
            return Ok(());
        };
        let bytes = wish.offset_bytes..wish.offset_bytes + wish.data_bytes;
        if self.sending.push_data(task, pdu.header.task_tag(), wish.transfer_tag, bytes) {
            return Ok(());
        }
        Err(load.portal.malformed("receive", "more transfers were asked for than were agreed on"))
    }

    fn event(&mut self, pdu: &Pdu<'_>, load: &mut UnitLoad) {
        match target_event(&pdu.header) {
            TargetEvent::LogoutWanted | TargetEvent::NegotiationWanted => self.leave(),
            TargetEvent::ConnectionDropped | TargetEvent::AllDropped => {
                let why =
                    load.portal.gone("receive").detail("the target announced that it ends the connection");
                self.break_off_for(load, wait_ns(seconds_to_wait(&pdu.header)), why);
            }
            TargetEvent::Sense | TargetEvent::Other(_) => {}
        }
    }

    fn reject(
        &mut self,
        pdu: &Pdu<'_>,
        load: &mut UnitLoad,
        out: &mut Completions,
    ) -> Result<(), EngineError> {
        const DIGEST: u8 = 0x02;
        let Some(rejected) = rejected_header(pdu.data) else {
            return Err(load.portal.malformed("receive", "a Reject without the rejected header arrived"));
        };
        // After a wrong digest of data its command is still answered.
        let is_command = rejected.kind() == Some(PduKind::Command) && pdu.header.0[2] != DIGEST;
        if is_command && load.rejected(self.index, rejected.task_tag(), out) {
            self.assigned_count -= 1;
        }
        Ok(())
    }
}

impl LoadConnection for UnitConnection {
    type Load = UnitLoad;

    fn line(&self) -> &LoadSocket {
        &self.line
    }

    fn line_mut(&mut self) -> &mut LoadSocket {
        &mut self.line
    }

    fn is_sending(&self) -> bool {
        self.line.is_open() && !self.sending.is_empty()
    }

    fn break_off(&mut self, load: &mut UnitLoad, why: EngineError) {
        self.break_off_for(load, 0, why);
    }

    fn flush(&mut self, load: &mut UnitLoad) {
        if self.leaving == LogoutState::Wanted && self.assigned_count == 0 && self.line.is_open() {
            self.leaving = LogoutState::Asked;
            self.sending.push_control(logout(LOGOUT_TAG, self.numbers.to_send()), CountedPdu::Logout);
        }
        while self.line.is_open() {
            self.sending.stage(self.numbers, &self.parameters, load);
            if self.sending.is_empty() {
                return;
            }
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let used = self.sending.fill(&mut slices, load);
            match self.line.send(&slices[..used]) {
                Ok(Some(sent)) => self.sending.remove_sent(sent),
                Ok(None) => return,
                Err(error) => {
                    let why = load.portal.io_error("send", error);
                    self.break_off(load, why);
                }
            }
        }
    }

    fn payload_rest<'a>(&self, load: &'a mut UnitLoad) -> Option<&'a mut [u8]> {
        let data = self.incoming.filter(|data| data.missing_bytes() > 0)?;
        let at_bytes = data.part.offset_bytes + u32::try_from(data.arrived_bytes).unwrap_or(0);
        Some(load.slot_part(data.task, at_bytes, data.missing_bytes()))
    }

    fn payload_moved(&mut self, count: usize) {
        if let Some(data) = &mut self.incoming {
            data.arrived_bytes += count;
        }
    }

    fn parse(
        &mut self,
        input: &mut &[u8],
        load: &mut UnitLoad,
        out: &mut Completions,
    ) -> Result<(), EngineError> {
        while self.line.is_open() {
            if self.incoming.is_some() {
                if !self.take_data(input, load, out)? {
                    return Ok(());
                }
                continue;
            }
            let limit = self.parameters.receive_bytes_max as usize;
            let head = match read_head(input, self.parameters.digests, limit) {
                Ok(Some(head)) => head,
                Ok(None) => return Ok(()),
                Err(fault) => return self.fault(&fault, load),
            };
            let is_partial = input.len() < head.whole_bytes();
            if is_partial && head.header.kind() == Some(PduKind::DataIn) && head.data_bytes > 0 {
                let part = data_in(&head.header);
                let Some(task) = load.begin_data(self.index, &head.header, &part, head.data_bytes)? else {
                    return Ok(());
                };
                *input = &input[head.head_bytes..];
                let began_bytes = input.len().min(head.data_bytes);
                let began = load.now;
                self.incoming = Some(IncomingData { task, part, head, arrived_bytes: 0, began, began_bytes });
                continue;
            }
            let pdu = match whole(&head, input) {
                Ok(Some(pdu)) => pdu,
                Ok(None) => return Ok(()),
                Err(fault) => return self.fault(&fault, load),
            };
            *input = &input[pdu.whole_bytes..];
            self.handle(&pdu, load, out)?;
        }
        Ok(())
    }
}

fn wait_ns(seconds: u16) -> u64 {
    u64::from(seconds.min(WAIT_SECONDS_MAX)) * 1_000_000_000
}
