//! Commands, as blocks of at most 16 bytes.

/// Ranges of one UNMAP of this initiator.
pub const UNMAP_LIST_BYTES: usize = 24;
/// In the second byte of a write: the data is durable before the status is sent.
const FORCE_UNIT_ACCESS: u8 = 0x08;

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScsiCdb(pub [u8; 16]);

/// Blocks of a unit, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRange {
    /// The first.
    pub first: u64,
    /// How many.
    pub count: u32,
}

/// Whether a write is durable before it completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteDurability {
    /// When the unit decides.
    Deferred,
    /// At once: force unit access.
    Immediate,
}

impl ScsiCdb {
    const fn new(operation: u8) -> Self {
        let mut bytes = [0; 16];
        bytes[0] = operation;
        Self(bytes)
    }

    fn put(mut self, at: usize, bytes: &[u8]) -> Self {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// A command on `range`: of 10 bytes where those suffice, else of 16.
    fn on_blocks(short: u8, long: u8, range: BlockRange) -> Self {
        let fits = u32::try_from(range.first).ok().zip(u16::try_from(range.count).ok());
        match fits {
            Some((first, count)) => {
                Self::new(short).put(2, &first.to_be_bytes()).put(7, &count.to_be_bytes())
            }
            None => Self::new(long).put(2, &range.first.to_be_bytes()).put(10, &range.count.to_be_bytes()),
        }
    }

    /// READ(10) or READ(16).
    #[must_use]
    pub fn read(range: BlockRange) -> Self {
        Self::on_blocks(0x28, 0x88, range)
    }

    /// WRITE(10) or WRITE(16).
    #[must_use]
    pub fn write(range: BlockRange, durability: WriteDurability) -> Self {
        let flags = if durability == WriteDurability::Immediate { FORCE_UNIT_ACCESS } else { 0 };
        Self::on_blocks(0x2a, 0x8a, range).put(1, &[flags])
    }

    /// SYNCHRONIZE CACHE(10) or (16) of `range`; a count of 0 means up to the end.
    #[must_use]
    pub fn synchronize(range: BlockRange) -> Self {
        Self::on_blocks(0x35, 0x91, range)
    }

    /// COMPARE AND WRITE of `count` blocks from `first` on: what is to be there is sent, and then what is written if it is.
    #[must_use]
    pub fn compare_and_write(first: u64, count: u8) -> Self {
        Self::new(0x89).put(2, &first.to_be_bytes()).put(13, &[count])
    }

    /// UNMAP of one range, which [`unmap_list`] states.
    #[must_use]
    pub fn unmap() -> Self {
        const BYTES: [u8; 2] = [0, 24];
        Self::new(0x42).put(7, &BYTES)
    }

    /// TEST UNIT READY.
    #[must_use]
    pub const fn test_ready() -> Self {
        Self::new(0x00)
    }

    /// INQUIRY of the standard data.
    #[must_use]
    pub fn inquiry(length: u16) -> Self {
        Self::new(0x12).put(3, &length.to_be_bytes())
    }

    /// INQUIRY of a page of vital product data.
    #[must_use]
    pub fn inquiry_page(page: u8, length: u16) -> Self {
        Self::inquiry(length).put(1, &[1, page])
    }

    /// READ CAPACITY(10).
    #[must_use]
    pub const fn capacity_10() -> Self {
        Self::new(0x25)
    }

    /// READ CAPACITY(16).
    #[must_use]
    pub fn capacity_16(length: u32) -> Self {
        Self::new(0x9e).put(1, &[0x10]).put(10, &length.to_be_bytes())
    }

    /// REPORT LUNS.
    #[must_use]
    pub fn report_units(length: u32) -> Self {
        Self::new(0xa0).put(6, &length.to_be_bytes())
    }
}

/// The list of an UNMAP of one range.
#[must_use]
pub fn unmap_list(range: BlockRange) -> [u8; UNMAP_LIST_BYTES] {
    let mut list = [0; UNMAP_LIST_BYTES];
    list[1] = 22;
    list[3] = 16;
    list[8..16].copy_from_slice(&range.first.to_be_bytes());
    list[16..20].copy_from_slice(&range.count.to_be_bytes());
    list
}
