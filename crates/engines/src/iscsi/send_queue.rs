//! What a session has to send: commands, data and answers, and the PDUs that are made of them as the socket takes them.
//!
//! Data stays where it is until the kernel copies it. Hot path: no allocation.

use super::core::{DataLocation, UnitLoad};
use super::counters::CountedPdu;
use super::session::SessionNumbers;
use super::tasks::TaskState;
use narrows_wire::iscsi::digest::{DIGEST_BYTES, digest, padding};
use narrows_wire::iscsi::header::{BasicHeader, HEADER_BYTES, NO_TAG};
use narrows_wire::iscsi::negotiation::{SessionParameters, TRANSFERS_MAX};
use narrows_wire::iscsi::pdu::TAIL_BYTES_MAX;
use narrows_wire::iscsi::request::{
    CommandRequest, DataDirection, DataOutPart, SendNumbers, command, data_out, ordered_ping,
};
use std::collections::VecDeque;
use std::io::IoSlice;

/// PDUs that are made before the socket takes them.
const STAGED_MAX: usize = 64;
/// Parts of a PDU: header, data, and what follows the data.
const PARTS: usize = 3;
/// Most parts of one vectored write, below the kernel's limit of 1024.
pub(super) const SLICES_MAX: usize = STAGED_MAX * PARTS;
/// Answers to pings that wait: a target that asks faster than it reads gets no more.
const CONTROLS_MAX: usize = 64;

/// A sequence of data.
#[derive(Debug, Clone, Copy)]
struct DataRun {
    task: u32,
    tag: u32,
    transfer_tag: u32,
    next_bytes: u32,
    end_bytes: u32,
    number: u32,
}

/// What waits to be sent.
#[derive(Debug, Clone, Copy)]
enum SendItem {
    Command { task: u32, number: u32 },
    Data(DataRun),
    Control { header: BasicHeader, counted: CountedPdu },
}

/// A PDU that leaves.
#[derive(Debug, Clone)]
struct StagedPdu {
    head: [u8; HEADER_BYTES + DIGEST_BYTES],
    head_bytes: usize,
    location: DataLocation,
    data_bytes: usize,
    tail: [u8; TAIL_BYTES_MAX],
    tail_bytes: usize,
}

impl StagedPdu {
    fn whole_bytes(&self) -> usize {
        self.head_bytes + self.data_bytes + self.tail_bytes
    }

    fn new(
        header: &BasicHeader,
        location: DataLocation,
        parameters: &SessionParameters,
        load: &UnitLoad,
    ) -> Self {
        let data = load.data(&location);
        let mut pdu = Self {
            head: [0; HEADER_BYTES + DIGEST_BYTES],
            head_bytes: HEADER_BYTES,
            location: DataLocation::None,
            data_bytes: data.len(),
            tail: [0; TAIL_BYTES_MAX],
            tail_bytes: padding(data.len()),
        };
        pdu.head[..HEADER_BYTES].copy_from_slice(&header.0);
        if parameters.digests.header {
            pdu.head[HEADER_BYTES..].copy_from_slice(&digest(&[&header.0]));
            pdu.head_bytes += DIGEST_BYTES;
        }
        if parameters.digests.data && !data.is_empty() {
            let pad = pdu.tail_bytes;
            let sum = digest(&[data, &[0; 3][..pad]]);
            pdu.tail[pad..pad + DIGEST_BYTES].copy_from_slice(&sum);
            pdu.tail_bytes += DIGEST_BYTES;
        }
        pdu.location = location;
        pdu
    }
}

/// What a session has to send.
#[derive(Debug)]
pub(super) struct PduSendQueue {
    items: VecDeque<SendItem>,
    items_max: usize,
    control_count: usize,
    staged: VecDeque<StagedPdu>,
    /// Bytes of the first staged PDU that have left.
    left_bytes: usize,
}

impl PduSendQueue {
    /// Room for what `tasks` commands need.
    pub(super) fn new(tasks: usize) -> Self {
        // A command, its unasked data, and as many transfers as may be asked for at a time.
        let items_max = tasks * (2 + TRANSFERS_MAX as usize) + CONTROLS_MAX;
        Self {
            items: VecDeque::with_capacity(items_max.min(4096)),
            items_max,
            control_count: 0,
            staged: VecDeque::with_capacity(STAGED_MAX),
            left_bytes: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.staged.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.items.clear();
        self.staged.clear();
        (self.left_bytes, self.control_count) = (0, 0);
    }

    /// Adds a command at its place in the order of the session.
    pub(super) fn push_command(&mut self, task: u32, number: u32) {
        self.items.push_back(SendItem::Command { task, number });
    }

    /// Adds data that was asked for; whether there was room.
    pub(super) fn push_data(
        &mut self,
        task: u32,
        tag: u32,
        transfer_tag: u32,
        bytes: std::ops::Range<u32>,
    ) -> bool {
        let run =
            DataRun { task, tag, transfer_tag, next_bytes: bytes.start, end_bytes: bytes.end, number: 0 };
        self.items.push_back(SendItem::Data(run));
        self.items.len() <= self.items_max
    }

    /// Adds an answer or a logout; whether there was room.
    pub(super) fn push_control(&mut self, header: BasicHeader, counted: CountedPdu) -> bool {
        self.control_count += 1;
        self.items.push_back(SendItem::Control { header, counted });
        self.control_count <= CONTROLS_MAX
    }

    /// Makes PDUs of what waits, as far as there is room for them.
    pub(super) fn stage(
        &mut self,
        numbers: SessionNumbers,
        parameters: &SessionParameters,
        load: &mut UnitLoad,
    ) {
        while self.staged.len() < STAGED_MAX {
            let Some(item) = self.items.pop_front() else { return };
            match item {
                SendItem::Command { task, number } => {
                    self.stage_command(task, number, numbers, parameters, load);
                }
                SendItem::Data(run) => self.stage_data(run, numbers, parameters, load),
                SendItem::Control { mut header, counted } => {
                    self.control_count -= 1;
                    let send = numbers.to_send();
                    header.put_numbers(send);
                    let pdu = StagedPdu::new(&header, DataLocation::None, parameters, load);
                    load.counts.sent(counted, pdu.whole_bytes(), false);
                    self.staged.push_back(pdu);
                }
            }
        }
    }

    fn stage_command(
        &mut self,
        index: u32,
        number: u32,
        numbers: SessionNumbers,
        parameters: &SessionParameters,
        load: &mut UnitLoad,
    ) {
        let task = load.tasks.task(index);
        let direction = task.kind.direction();
        let data_bytes = task.data_bytes();
        let first_bytes =
            if direction == DataDirection::Out { data_bytes.min(parameters.first_burst_bytes) } else { 0 };
        let immediate_bytes =
            if parameters.immediate_data { first_bytes.min(parameters.send_bytes_max) } else { 0 };
        let unasked_bytes = if parameters.initial_r2t { immediate_bytes } else { first_bytes };
        let Some(cdb) = task.cdb(load.tasks.durability) else {
            let send = SendNumbers { command: number, ..numbers.to_send() };
            let pdu = StagedPdu::new(&ordered_ping(task.tag, send), DataLocation::None, parameters, load);
            let now_ns = load.now.0;
            load.tasks.sent(index, pdu.whole_bytes(), now_ns, &mut load.counts);
            self.staged.push_back(pdu);
            return;
        };
        let request = CommandRequest {
            tag: task.tag,
            unit: load.unit,
            cdb: &cdb,
            direction,
            expected_bytes: data_bytes,
            immediate_bytes,
            is_continued: unasked_bytes > immediate_bytes,
        };
        let tag = task.tag;
        let send = SendNumbers { command: number, ..numbers.to_send() };
        let header = command(&request, send);
        let pdu = StagedPdu::new(&header, load.locate(index, 0, immediate_bytes), parameters, load);
        if direction == DataDirection::Out {
            load.tasks.task_mut(index).moved_bytes = unasked_bytes;
        }
        let now_ns = load.now.0;
        load.tasks.sent(index, pdu.whole_bytes(), now_ns, &mut load.counts);
        self.staged.push_back(pdu);
        if unasked_bytes > immediate_bytes {
            // Unasked data follows its command before any other.
            let (next_bytes, end_bytes) = (immediate_bytes, unasked_bytes);
            let run = DataRun { task: index, tag, transfer_tag: NO_TAG, next_bytes, end_bytes, number: 0 };
            self.items.push_front(SendItem::Data(run));
        }
    }

    fn stage_data(
        &mut self,
        mut run: DataRun,
        numbers: SessionNumbers,
        parameters: &SessionParameters,
        load: &mut UnitLoad,
    ) {
        let task = load.tasks.task(run.task);
        if task.tag != run.tag || task.state == TaskState::Free {
            // The command has ended: nobody wants its data any more.
            return;
        }
        let data_bytes = (run.end_bytes - run.next_bytes).min(parameters.send_bytes_max);
        let part = DataOutPart {
            tag: run.tag,
            transfer_tag: run.transfer_tag,
            unit: load.unit,
            number: run.number,
            offset_bytes: run.next_bytes,
            data_bytes,
            is_last: run.next_bytes + data_bytes == run.end_bytes,
        };
        let header = data_out(&part, numbers.to_send().status);
        let location = load.locate(run.task, run.next_bytes, data_bytes);
        let pdu = StagedPdu::new(&header, location, parameters, load);
        load.counts.sent(CountedPdu::DataOut, pdu.whole_bytes(), false);
        self.staged.push_back(pdu);
        run.next_bytes += data_bytes;
        run.number += 1;
        if run.next_bytes < run.end_bytes {
            self.items.push_front(SendItem::Data(run));
        }
    }

    /// The parts of what is staged, from what has not left on; how many there are.
    pub(super) fn fill<'a>(&'a self, slices: &mut [IoSlice<'a>; SLICES_MAX], load: &'a UnitLoad) -> usize {
        let mut used = 0;
        for (position, pdu) in self.staged.iter().enumerate() {
            let mut skip = if position == 0 { self.left_bytes } else { 0 };
            for part in [&pdu.head[..pdu.head_bytes], load.data(&pdu.location), &pdu.tail[..pdu.tail_bytes]] {
                let rest = &part[skip.min(part.len())..];
                skip = skip.saturating_sub(part.len());
                if !rest.is_empty() {
                    slices[used] = IoSlice::new(rest);
                    used += 1;
                }
            }
        }
        used
    }

    /// Drops what has left wholly.
    pub(super) fn remove_sent(&mut self, sent_bytes: usize) {
        self.left_bytes += sent_bytes;
        while let Some(pdu) = self.staged.front() {
            let whole_bytes = pdu.whole_bytes();
            if self.left_bytes < whole_bytes {
                return;
            }
            self.left_bytes -= whole_bytes;
            self.staged.pop_front();
        }
    }
}
