//! What a unit is: the standard INQUIRY data and pages of vital product data.

/// The first byte of a disk.
const DISK: u8 = 0;
/// Longest serial number or name that is read.
const TEXT_BYTES_MAX: usize = 252;

/// What the standard INQUIRY data says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitIdentity {
    /// Whether there is a disk at this number.
    pub is_disk: bool,
    /// Whether there is any unit at this number.
    pub is_there: bool,
    /// Who made it.
    pub vendor: String,
    /// What it is called.
    pub product: String,
    /// Its revision.
    pub revision: String,
}

/// Reads the standard data.
#[must_use]
pub fn read_identity(data: &[u8]) -> UnitIdentity {
    let first = data.first().copied().unwrap_or(0x7f);
    UnitIdentity {
        is_disk: first == DISK,
        is_there: first >> 5 == 0 && first != 0x1f,
        vendor: text(data.get(8..16)),
        product: text(data.get(16..32)),
        revision: text(data.get(32..36)),
    }
}

/// The content of the page `page` in `data`; `None` where it is another one.
#[must_use]
pub fn page_content(data: &[u8], page: u8) -> Option<&[u8]> {
    let (head, rest) = data.split_first_chunk::<4>()?;
    if head[1] != page {
        return None;
    }
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    Some(&rest[..length.min(rest.len())])
}

/// The serial number in page 80h; `None` where it is empty.
#[must_use]
pub fn read_serial(data: &[u8]) -> Option<String> {
    let serial = text(page_content(data, 0x80));
    (!serial.is_empty()).then_some(serial)
}

/// The name in page 83h that is worldwide and longest; `None` without one.
#[must_use]
pub fn read_name(data: &[u8]) -> Option<String> {
    let mut rest = page_content(data, 0x83)?;
    let mut best: Option<(u8, String)> = None;
    while let Some((head, after)) = rest.split_first_chunk::<4>() {
        let length = usize::from(head[3]).min(after.len());
        let (value, after) = after.split_at(length);
        rest = after;
        let is_of_unit = head[1] & 0x30 == 0;
        let (rank, prefix) = match head[1] & 0x0f {
            3 => (3, "naa."),
            2 => (2, "eui."),
            1 => (1, "t10."),
            _ => continue,
        };
        if is_of_unit && !value.is_empty() && best.as_ref().is_none_or(|(known, _)| rank > *known) {
            let shown = if head[0] & 0x0f == 1 { hex(value) } else { text(Some(value)) };
            best = Some((rank, format!("{prefix}{shown}")));
        }
    }
    best.map(|(_, name)| name)
}

/// The pages that page 00h lists.
#[must_use]
pub fn read_pages(data: &[u8]) -> &[u8] {
    page_content(data, 0x00).unwrap_or_default()
}

/// Printable characters of `bytes`, without spaces around them.
fn text(bytes: Option<&[u8]>) -> String {
    let bytes = bytes.unwrap_or_default();
    let shown = bytes.iter().take(TEXT_BYTES_MAX).map(|byte| match byte {
        0 => ' ',
        b' '..=b'~' => char::from(*byte),
        _ => '?',
    });
    shown.collect::<String>().trim().to_owned()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}
