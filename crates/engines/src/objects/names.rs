//! The names of objects: made of their numbers in a buffer that is reused, with the folder they lie in.
//!
//! Hot path: no allocation.

use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::{NameForm, ObjectSet, Spread};
use narrows_sys::entropy::member_seed;
use std::ffi::CStr;

/// Letters of a name, as in the names of bonnie++.
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Most letters of a name.
const LETTER_COUNT_MAX: u64 = 12;
/// Letters that are taken from one drawn number, of six bits each.
const LETTERS_A_DRAW: u64 = 10;
/// A folder's digits and a slash.
const FOLDER_BYTES: usize = 6;
/// Digits of a number in hexadecimal names.
const HEX_DIGITS: usize = 10;
/// Room for the longest path: folder, digits, letters and the end.
const PATH_BYTES: usize = FOLDER_BYTES + HEX_DIGITS + 12 + 1;
/// What tells the folder's draw of an object from that of its letters.
const FOLDER_DRAW: u64 = 0x5F0_1DE2;

/// Makes the paths of a set's objects, relative to its folder.
#[derive(Debug)]
pub(super) struct Names {
    form: NameForm,
    spread: Spread,
    seed: u64,
    folders: u32,
    /// Consecutive numbers that lie in one folder.
    in_folder: u64,
    path: [u8; PATH_BYTES],
}

impl Names {
    pub(super) fn new(set: &ObjectSet) -> Self {
        Self {
            form: set.names,
            spread: set.spread,
            seed: set.seed,
            folders: set.folders,
            in_folder: set.count.div_ceil(u64::from(set.folders.max(1))).max(1),
            path: [0; PATH_BYTES],
        }
    }

    /// The folder of an object, from 0; `None` where the set's own has no folders.
    #[inline]
    pub(super) fn folder_of(&self, number: u32) -> Option<u32> {
        let last = self.folders.checked_sub(1)?;
        Some(match self.spread {
            Spread::InOrder => saturate_u32(u64::from(number) / self.in_folder).min(last),
            Spread::Scattered => {
                let drawn = member_seed(self.seed ^ FOLDER_DRAW, u64::from(number)) >> 32;
                saturate_u32((drawn * u64::from(self.folders)) >> 32)
            }
        })
    }

    /// The path of an object.
    pub(super) fn path_of(&mut self, number: u32) -> &CStr {
        let mut at = 0;
        if let Some(folder) = self.folder_of(number) {
            self.path[..FOLDER_BYTES].copy_from_slice(&folder_path(folder));
            at = FOLDER_BYTES;
        }
        match self.form {
            NameForm::Number => at = self.put_decimal(at, number),
            NameForm::NumberLetters => {
                at = self.put_hex(at, number);
                at = self.put_letters(at, number);
            }
            NameForm::LettersNumber => {
                at = self.put_letters(at, number);
                at = self.put_hex(at, number);
            }
        }
        self.path[at] = 0;
        // There is one: it has just been put there.
        CStr::from_bytes_until_nul(&self.path).unwrap_or_default()
    }

    fn put_decimal(&mut self, at: usize, number: u32) -> usize {
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        let mut left = number;
        for place in self.path[at..at + digits].iter_mut().rev() {
            *place = digit(left % 10);
            left /= 10;
        }
        at + digits
    }

    fn put_hex(&mut self, at: usize, number: u32) -> usize {
        let mut left = number;
        for place in self.path[at..at + HEX_DIGITS].iter_mut().rev() {
            *place = digit(left & 0xF);
            left >>= 4;
        }
        at + HEX_DIGITS
    }

    fn put_letters(&mut self, at: usize, number: u32) -> usize {
        let draw = |index: u64| member_seed(self.seed, (u64::from(number) << 2) | index);
        let count = draw(0) % (LETTER_COUNT_MAX + 1);
        let (mut bits, more) = (draw(1), draw(2));
        for index in 0..count {
            if index == LETTERS_A_DRAW {
                bits = more;
            }
            self.path[at + saturate_usize(index)] = LETTERS[saturate_usize((bits & 63) % 62)];
            bits >>= 6;
        }
        at + saturate_usize(count)
    }
}

/// A digit below 16.
#[inline]
fn digit(value: u32) -> u8 {
    b"0123456789abcdef"[(value & 0xF) as usize]
}

/// The name of a folder with a slash: five decimal digits.
pub(super) fn folder_path(folder: u32) -> [u8; FOLDER_BYTES] {
    let mut path = *b"00000/";
    let mut left = folder;
    for place in path[..FOLDER_BYTES - 1].iter_mut().rev() {
        *place = digit(left % 10);
        left /= 10;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::workload::OBJECT_FOLDERS_MAX;
    use std::collections::BTreeSet;

    fn paths(set: &ObjectSet, numbers: impl Iterator<Item = u32>) -> Vec<String> {
        let mut names = Names::new(set);
        numbers.map(|number| names.path_of(number).to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn numbers_are_plain_and_lie_in_the_folders_in_their_order() {
        let set = ObjectSet { count: 5, folders: 2, ..ObjectSet::default() };
        let expected = ["00000/0", "00000/2", "00001/3", "00001/4", "00001/4294967295"];
        assert_eq!(paths(&set, [0, 2, 3, 4, u32::MAX].into_iter()), expected);
        let set = ObjectSet { count: 5, ..ObjectSet::default() };
        assert_eq!(paths(&set, [0, 10, 999].into_iter()), ["0", "10", "999"]);
        assert_eq!(&folder_path(OBJECT_FOLDERS_MAX - 1), b"65535/");
    }

    #[test]
    fn letters_before_or_after_the_number_make_names_that_differ_and_that_a_seed_repeats() {
        for (names, sorts) in [(NameForm::NumberLetters, true), (NameForm::LettersNumber, false)] {
            let set = ObjectSet { names, seed: 7, ..ObjectSet::default() };
            let made = paths(&set, 0..2000);
            assert_eq!(made, paths(&set, 0..2000));
            assert_eq!(made.iter().collect::<BTreeSet<_>>().len(), 2000);
            assert_eq!(made.is_sorted(), sorts);
            let lengths: BTreeSet<usize> = made.iter().map(String::len).collect();
            assert_eq!(lengths, (10..=22).collect());
            assert_ne!(made, paths(&ObjectSet { seed: 8, ..set }, 0..2000));
        }
    }

    #[test]
    fn scattered_objects_fill_all_folders_evenly() {
        let set = ObjectSet { folders: 10, spread: Spread::Scattered, ..ObjectSet::default() };
        let names = Names::new(&set);
        let mut counts = [0_u32; 10];
        (0..10_000).for_each(|number| counts[names.folder_of(number).unwrap() as usize] += 1);
        // Five standard deviations of a share of a tenth.
        assert!(counts.iter().all(|count| count.abs_diff(1000) < 150), "{counts:?}");
    }
}
