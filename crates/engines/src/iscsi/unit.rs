//! What a unit is, and blocks of it outside of a load: read, written, unmapped, compared with zeroes.

use super::session::{UnitCommand, UnitSession};
use crate::connections::StoragePeer;
use crate::error::{EngineError, ErrorKind};
use narrows_wire::iscsi::scsi::cdb::{BlockRange, ScsiCdb, WriteDurability, unmap_list};
use narrows_wire::iscsi::scsi::identity::{UnitIdentity, read_identity, read_name, read_pages, read_serial};
use narrows_wire::iscsi::scsi::sizes::{
    BlockLimits, UnitCapacity, read_capacity_10, read_capacity_16, read_limits,
};
use narrows_wire::iscsi::scsi::unit::read_units;

/// Longest answer to an INQUIRY.
const INQUIRY_BYTES: u16 = 252;
/// Longest list of units.
const LIST_BYTES: u32 = 4096;
/// Blocks have between these many bytes.
const BLOCK_BYTES: std::ops::RangeInclusive<u32> = 512..=65_536;
/// Bytes of one command outside of a load.
const STEP_BYTES: u64 = 1 << 20;
/// Bytes of one UNMAP where the unit states no limit.
const UNMAP_BYTES: u64 = 1 << 30;

/// What is known of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnitFacts {
    pub(super) identity: UnitIdentity,
    /// Its serial number; `None` of a unit without one.
    pub(super) serial: Option<String>,
    /// Its worldwide name.
    pub(super) name: Option<String>,
    pub(super) capacity: UnitCapacity,
    pub(super) limits: BlockLimits,
}

impl UnitFacts {
    /// Bytes of the unit.
    pub(super) fn length_bytes(&self) -> u64 {
        self.capacity.block_count.saturating_mul(u64::from(self.capacity.block_bytes))
    }

    /// By what it is known from any other unit, as far as it says so.
    pub(super) fn identity_text(&self) -> String {
        let serial =
            self.serial.as_deref().map_or("no serial number".to_owned(), |serial| format!("serial {serial}"));
        match &self.name {
            Some(name) => format!("{serial}, {name}"),
            None => serial,
        }
    }

    /// Bytes of a block.
    pub(super) fn block_bytes(&self) -> u64 {
        u64::from(self.capacity.block_bytes)
    }

    /// Most bytes of an UNMAP.
    pub(super) fn unmap_bytes_max(&self) -> u64 {
        match self.limits.unmap_blocks_max {
            0 | u32::MAX => UNMAP_BYTES,
            blocks => (u64::from(blocks) * self.block_bytes()).min(UNMAP_BYTES),
        }
    }

    /// Most bytes of a READ or WRITE; `None` without a limit.
    pub(super) fn transfer_bytes_max(&self) -> Option<u64> {
        let blocks = u64::from(self.limits.transfer_blocks_max);
        (blocks > 0).then(|| blocks * self.block_bytes())
    }

    fn range(&self, at_bytes: u64, length_bytes: u64) -> BlockRange {
        let count = u32::try_from(length_bytes / self.block_bytes()).unwrap_or(u32::MAX);
        BlockRange { first: at_bytes / self.block_bytes(), count }
    }
}

impl UnitSession {
    fn inquire(&mut self, cdb: ScsiCdb) -> Result<Option<Vec<u8>>, EngineError> {
        let asked = UnitCommand { cdb, returned_bytes: u32::from(INQUIRY_BYTES), data: &[] };
        // A page that the unit does not have is refused by it.
        Ok(self.execute("examine", &asked)?.ok())
    }

    /// What the unit is.
    pub(super) fn unit_facts(&mut self) -> Result<UnitFacts, EngineError> {
        self.extend_deadline();
        let standard = self.inquire(ScsiCdb::inquiry(INQUIRY_BYTES))?.unwrap_or_default();
        let identity = read_identity(&standard);
        if !identity.is_there || !identity.is_disk {
            return Err(self.no_disk(&identity));
        }
        let pages = self.inquire(ScsiCdb::inquiry_page(0, INQUIRY_BYTES))?.unwrap_or_default();
        let pages = read_pages(&pages).to_vec();
        let mut page = |number: u8| -> Result<Vec<u8>, EngineError> {
            if !pages.contains(&number) {
                return Ok(Vec::new());
            }
            Ok(self.inquire(ScsiCdb::inquiry_page(number, INQUIRY_BYTES))?.unwrap_or_default())
        };
        let (serial, name, limits) = (page(0x80)?, page(0x83)?, page(0xb0)?);
        let capacity = self.capacity()?;
        if !BLOCK_BYTES.contains(&capacity.block_bytes) || !capacity.block_bytes.is_power_of_two() {
            let why = format!("it has blocks of {} bytes", capacity.block_bytes);
            return Err(EngineError::new(ErrorKind::Unsupported, "examine", self.portal.name())
                .detail(why)
                .hint("use a unit with blocks of 512 or 4096 bytes"));
        }
        Ok(UnitFacts {
            identity,
            serial: read_serial(&serial),
            name: read_name(&name),
            capacity,
            limits: read_limits(&limits),
        })
    }

    /// The serial number alone: whether the unit is still the same.
    pub(super) fn serial(&mut self) -> Result<Option<String>, EngineError> {
        let page = self.inquire(ScsiCdb::inquiry_page(0x80, INQUIRY_BYTES))?.unwrap_or_default();
        Ok(read_serial(&page))
    }

    fn capacity(&mut self) -> Result<UnitCapacity, EngineError> {
        let long = UnitCommand { cdb: ScsiCdb::capacity_16(32), returned_bytes: 32, data: &[] };
        if let Ok(data) = self.execute("examine", &long)?
            && let Some(capacity) = read_capacity_16(&data)
        {
            return Ok(capacity);
        }
        let short = UnitCommand { cdb: ScsiCdb::capacity_10(), returned_bytes: 8, data: &[] };
        let data =
            self.execute("examine", &short)?.map_err(|failure| self.portal.failed("examine", failure))?;
        read_capacity_10(&data).ok_or_else(|| self.portal.malformed("examine", "its capacity is none"))
    }

    /// The error that there is no disk of this number, with those that there are.
    fn no_disk(&mut self, identity: &UnitIdentity) -> EngineError {
        let name = self.portal.name();
        if identity.is_there {
            return EngineError::new(ErrorKind::Unsupported, "examine", name)
                .detail(format!("the unit is no disk: {} {}", identity.vendor, identity.product))
                .hint("give the number of a disk");
        }
        let asked =
            UnitCommand { cdb: ScsiCdb::report_units(LIST_BYTES), returned_bytes: LIST_BYTES, data: &[] };
        // A unit that is not there answers nothing: the first one knows the others.
        self.unit = [0; 8];
        let listed = self.execute("examine", &asked).ok().and_then(Result::ok).unwrap_or_default();
        let units: Vec<String> = read_units(&listed).iter().take(16).map(u16::to_string).collect();
        let hint = if units.is_empty() {
            "the target lists no units to this initiator: check its access list".to_owned()
        } else {
            format!("the target has {}", units.join(", "))
        };
        EngineError::new(ErrorKind::NotFound, "examine", name)
            .detail(format!("there is no LUN {}", self.portal.address.unit))
            .hint(hint)
    }

    /// Whole blocks from `at_bytes` on.
    pub(super) fn read_blocks(
        &mut self,
        facts: &UnitFacts,
        at_bytes: u64,
        length_bytes: u64,
    ) -> Result<Vec<u8>, EngineError> {
        self.extend_deadline();
        let asked = UnitCommand {
            cdb: ScsiCdb::read(facts.range(at_bytes, length_bytes)),
            returned_bytes: u32::try_from(length_bytes).unwrap_or(u32::MAX),
            data: &[],
        };
        let data = self.execute("read", &asked)?.map_err(|failure| self.portal.failed("read", failure))?;
        if data.len() as u64 == length_bytes {
            return Ok(data);
        }
        Err(self.portal.malformed("read", format!("{} of {length_bytes} bytes were returned", data.len())))
    }

    /// Writes whole blocks from `at_bytes` on, durably.
    pub(super) fn write_blocks(
        &mut self,
        facts: &UnitFacts,
        at_bytes: u64,
        data: &[u8],
    ) -> Result<(), EngineError> {
        self.extend_deadline();
        let range = facts.range(at_bytes, data.len() as u64);
        let cdb = ScsiCdb::write(range, WriteDurability::Deferred);
        self.execute("write", &UnitCommand { cdb, returned_bytes: 0, data })?
            .map_err(|failure| self.portal.failed("write", failure))?;
        self.synchronize()
    }

    /// Makes what was written durable.
    pub(super) fn synchronize(&mut self) -> Result<(), EngineError> {
        let cdb = ScsiCdb::synchronize(BlockRange { first: 0, count: 0 });
        self.execute("sync", &UnitCommand { cdb, returned_bytes: 0, data: &[] })?
            .map(drop)
            .map_err(|failure| self.portal.failed("sync", failure))
    }

    /// Where the first byte is that is not zero, from `from_bytes` to before `end_bytes`; `None` where all are.
    pub(super) fn first_non_zero(
        &mut self,
        facts: &UnitFacts,
        from_bytes: u64,
        end_bytes: u64,
    ) -> Result<Option<u64>, EngineError> {
        let mut at_bytes = from_bytes;
        while at_bytes < end_bytes {
            let data = self.read_blocks(facts, at_bytes, STEP_BYTES.min(end_bytes - at_bytes))?;
            if let Some(index) = data.iter().position(|byte| *byte != 0) {
                return Ok(Some(at_bytes + index as u64));
            }
            at_bytes += data.len() as u64;
        }
        Ok(None)
    }

    /// Makes blocks read as zeroes: unmapped where the unit returns zeroes for those, written where it does not.
    pub(super) fn clear_blocks(
        &mut self,
        facts: &UnitFacts,
        from_bytes: u64,
        end_bytes: u64,
    ) -> Result<(), EngineError> {
        if facts.capacity.can_unmap && facts.capacity.unmapped_is_zero {
            let mut at_bytes = from_bytes;
            while at_bytes < end_bytes {
                let length_bytes = facts.unmap_bytes_max().min(end_bytes - at_bytes);
                let list = unmap_list(facts.range(at_bytes, length_bytes));
                self.extend_deadline();
                let asked = UnitCommand { cdb: ScsiCdb::unmap(), returned_bytes: 0, data: &list };
                // What is not unmapped is found below, and written.
                if self.execute("clear", &asked)?.is_err() {
                    break;
                }
                at_bytes += length_bytes;
            }
        }
        // A unit may leave parts of its own granules as they are.
        let zeroes = vec![0; usize::try_from(STEP_BYTES).unwrap_or(0)];
        let mut at_bytes = from_bytes;
        while let Some(found_bytes) = self.first_non_zero(facts, at_bytes, end_bytes)? {
            at_bytes = found_bytes - found_bytes % facts.block_bytes();
            let length = usize::try_from(STEP_BYTES.min(end_bytes - at_bytes)).unwrap_or(0);
            self.write_blocks(facts, at_bytes, &zeroes[..length])?;
            at_bytes += length as u64;
        }
        Ok(())
    }
}
