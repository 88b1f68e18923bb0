//! What names of objects are made of: numbers in decimal and in hexadecimal, and the words of mdtest.
//!
//! Hot path: no allocation.

use narrows_model::workload::ObjectKind;

/// Digits of a number in hexadecimal names.
const HEX_DIGITS: usize = 10;
/// Digits of the greatest number in decimal.
pub(super) const DECIMAL_DIGITS: usize = 10;
/// What the names of files begin with where they are as mdtest's, and what those of folders begin with.
pub(super) const MDTEST_FILE: &[u8] = b"file.mdtest.";
const MDTEST_FOLDER: &[u8] = b"dir.mdtest.";

/// What the names of objects begin with where they are as mdtest's.
pub(super) fn mdtest_word(kind: ObjectKind) -> &'static [u8] {
    match kind {
        ObjectKind::File => MDTEST_FILE,
        ObjectKind::Folder => MDTEST_FOLDER,
    }
}

/// Puts the client and the number behind mdtest's word; returns their length in bytes.
#[inline]
pub(super) fn put_mdtest(path: &mut [u8], kind: ObjectKind, client_index: u32, number: u32) -> usize {
    let word = mdtest_word(kind);
    path[..word.len()].copy_from_slice(word);
    let mut at = word.len();
    at += put_decimal(&mut path[at..], client_index);
    path[at] = b'.';
    at += 1;
    at + put_decimal(&mut path[at..], number)
}

/// Writes a number in decimal; returns its digit count.
#[inline]
pub(super) fn put_decimal(path: &mut [u8], number: u32) -> usize {
    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
    let mut left = number;
    for place in path[..digits].iter_mut().rev() {
        *place = digit(left % 10);
        left /= 10;
    }
    digits
}

/// Puts a number in hexadecimal, of ten digits.
#[inline]
pub(super) fn put_hex(path: &mut [u8], number: u32) -> usize {
    let mut left = number;
    for place in path[..HEX_DIGITS].iter_mut().rev() {
        *place = digit(left & 0xF);
        left >>= 4;
    }
    HEX_DIGITS
}

/// A digit below 16.
#[inline]
pub(super) fn digit(value: u32) -> u8 {
    b"0123456789abcdef"[(value & 0xF) as usize]
}
