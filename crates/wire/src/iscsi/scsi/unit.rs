//! Numbers of logical units, as eight bytes, and the list of them.

/// Units of a list that are looked at.
const UNITS_MAX: usize = 16_384;
/// Numbers that fit the shortest form.
const SHORT_MAX: u16 = 256;
/// Numbers that fit the flat form.
const FLAT_MAX: u16 = 16_384;

/// The eight bytes of unit `number`; `None` above the largest number of one level.
#[must_use]
pub fn unit_bytes(number: u16) -> Option<[u8; 8]> {
    let [high, low] = number.to_be_bytes();
    match number {
        0..SHORT_MAX => Some([0, low, 0, 0, 0, 0, 0, 0]),
        SHORT_MAX..FLAT_MAX => Some([0x40 | high, low, 0, 0, 0, 0, 0, 0]),
        _ => None,
    }
}

/// The numbers in a list of units; those of several levels are left out.
#[must_use]
pub fn read_units(data: &[u8]) -> Vec<u16> {
    let Some((length, rest)) = data.split_first_chunk::<4>() else { return Vec::new() };
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    let listed = rest.get(4..).unwrap_or_default();
    let listed = &listed[..length.min(listed.len())];
    let number = |unit: &[u8]| match unit {
        [high, low, 0, 0, 0, 0, 0, 0] if *high < 0x80 => Some(u16::from_be_bytes([high & 0x3f, *low])),
        _ => None,
    };
    listed.chunks_exact(8).take(UNITS_MAX).filter_map(number).collect()
}
