//! An event of the block layer, as its tracepoints report it.
//!
//! Not here: which events belong to one request.

use crate::parse::trace_format::{TraceField, TraceFormat};

/// What happened to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It came into the queue.
    Queued,
    /// It was issued to the device.
    Issued,
    /// The device did not take it, and it is in the queue again.
    Requeued,
    /// The device completed it, or a part of it.
    Completed,
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BlockRequestKind {
    Read,
    Write,
    /// The device writes its cache.
    Flush,
    /// A program or file system wants a flush: it is never issued itself, but waits for one.
    FlushWait,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockEvent {
    pub(super) at_ns: u64,
    pub(super) step: Step,
    /// The kernel's number of the device or partition.
    pub(super) device_number: u32,
    pub(super) sector: u64,
    pub(super) sector_count: u64,
    pub(super) kind: BlockRequestKind,
    /// It waits for a flush before it is issued; events after it came into the queue do not say so.
    pub(super) flushes_first: bool,
}

/// Where an event has the fields that are needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventFields {
    /// The number its samples begin with.
    pub(super) id: u64,
    step: Step,
    device: TraceField,
    sector: TraceField,
    sector_count: TraceField,
    operation: TraceField,
}

impl EventFields {
    /// The fields of the event that `format` describes; `None` where it lacks one of them.
    pub(super) fn new(step: Step, format: &TraceFormat) -> Option<Self> {
        let field = |name: &str| format.field(name).cloned();
        Some(Self {
            id: format.id,
            step,
            device: field("dev")?,
            sector: field("sector")?,
            sector_count: field("nr_sector")?,
            operation: field("rwbs")?,
        })
    }

    /// The event in a sample; `None` of a request that is neither a read, a write nor a flush, and of a sample that is cut
    /// short.
    pub(super) fn event(&self, at_ns: u64, sample: &[u8]) -> Option<BlockEvent> {
        let sector_count = unsigned(sample, &self.sector_count)?;
        let (kind, flushes_first) = operation(bytes(sample, &self.operation)?, sector_count)?;
        Some(BlockEvent {
            at_ns,
            step: self.step,
            device_number: u32::try_from(unsigned(sample, &self.device)?).ok()?,
            sector: unsigned(sample, &self.sector)?,
            sector_count,
            kind,
            flushes_first,
        })
    }
}

/// The number of the event that a sample is of.
pub(super) fn event_id(sample: &[u8]) -> Option<u64> {
    // `common_type`, by which the kernel itself finds an event's description.
    Some(u64::from(u16::from_ne_bytes(sample.get(..2)?.try_into().ok()?)))
}

fn bytes<'s>(sample: &'s [u8], field: &TraceField) -> Option<&'s [u8]> {
    sample.get(field.offset_bytes..field.offset_bytes.checked_add(field.size_bytes)?)
}

fn unsigned(sample: &[u8], field: &TraceField) -> Option<u64> {
    let raw = bytes(sample, field)?;
    match raw.len() {
        4 => Some(u64::from(u32::from_ne_bytes(raw.try_into().ok()?))),
        8 => Some(u64::from_ne_bytes(raw.try_into().ok()?)),
        _ => None,
    }
}

/// What the letters of a request say, and whether it waits for a flush first; `None` of others, such as discards.
///
/// # Source
/// `blk_fill_rwbs` in the kernel's `kernel/trace/blktrace.c`: an F for a flush before it, the operation, and flags.
fn operation(letters: &[u8], sector_count: u64) -> Option<(BlockRequestKind, bool)> {
    let letter = |index: usize| letters.get(index).copied().unwrap_or(0);
    let (operation, flushes_first) = match (letter(0), letter(1)) {
        (b'F', operation @ (b'R' | b'W' | b'F')) => (operation, true),
        (operation, _) => (operation, false),
    };
    match operation {
        b'R' => Some((BlockRequestKind::Read, flushes_first)),
        b'W' if flushes_first && sector_count == 0 => Some((BlockRequestKind::FlushWait, true)),
        b'W' => Some((BlockRequestKind::Write, flushes_first)),
        b'F' => Some((BlockRequestKind::Flush, false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::trace_format;

    const FORMAT: &str = "ID: 7\nformat:\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n";

    fn sample(letters: &[u8], sector_count: u32) -> Vec<u8> {
        let mut sample = vec![0; 48];
        sample[..2].copy_from_slice(&7_u16.to_ne_bytes());
        sample[8..12].copy_from_slice(&(254_u32 << 20 | 3).to_ne_bytes());
        sample[16..24].copy_from_slice(&4096_u64.to_ne_bytes());
        sample[24..28].copy_from_slice(&sector_count.to_ne_bytes());
        sample[34..34 + letters.len()].copy_from_slice(letters);
        sample
    }

    fn fields() -> EventFields {
        EventFields::new(Step::Issued, &trace_format::parse(FORMAT.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn a_sample_is_read_by_the_places_that_its_format_has() {
        let sample = sample(b"WS", 8);
        let expected = BlockEvent {
            at_ns: 5,
            step: Step::Issued,
            device_number: 254 << 20 | 3,
            sector: 4096,
            sector_count: 8,
            kind: BlockRequestKind::Write,
            flushes_first: false,
        };
        assert_eq!(fields().event(5, &sample), Some(expected));
        assert_eq!(event_id(&sample), Some(7));
        for length in 0..44 {
            assert_eq!(fields().event(5, &sample[..length]), None);
        }
    }

    #[test]
    fn the_letters_of_a_request_are_its_kind() {
        let kind = |letters: &[u8], sectors| {
            fields().event(0, &sample(letters, sectors)).map(|event| (event.kind, event.flushes_first))
        };
        assert_eq!(kind(b"RA", 8), Some((BlockRequestKind::Read, false)));
        assert_eq!(kind(b"WFS", 8), Some((BlockRequestKind::Write, false)));
        assert_eq!(kind(b"FWFS", 8), Some((BlockRequestKind::Write, true)));
        assert_eq!(kind(b"FW", 0), Some((BlockRequestKind::FlushWait, true)));
        assert_eq!(kind(b"FF", 0), Some((BlockRequestKind::Flush, false)));
        assert_eq!(kind(b"FS", 0), Some((BlockRequestKind::Flush, false)));
        assert_eq!([kind(b"DS", 8), kind(b"N", 8), kind(b"", 8)], [None; 3]);
    }

    #[test]
    fn an_event_without_a_field_that_is_needed_has_no_places() {
        let cut = FORMAT.replace("rwbs", "letters");
        assert_eq!(EventFields::new(Step::Issued, &trace_format::parse(cut.as_bytes()).unwrap()), None);
    }
}
