//! The names of objects: made of their numbers in a buffer that is reused, with the folder they are in.
//!
//! Numbers that are asked for one after the other are named some together, which costs a third of naming each when it is
//! used.
//! Hot path: no allocation.

use super::name_parts::{DECIMAL_DIGITS, MDTEST_FILE, digit, mdtest_word, put_decimal, put_hex, put_mdtest};
use super::tree_names::TreePaths;
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::{MemberWeights, NameForm, ObjectKind, ObjectSet, Spread};
use narrows_sys::entropy::member_seed;
use narrows_sys::file::ShortPath;
use std::ffi::CStr;

/// Letters of a name, as in the names of bonnie++; two come twice, so that six bits choose one.
const LETTERS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01";
/// Most letters of a name.
const LETTER_COUNT_MAX: usize = 12;
/// Letters that are taken from the first drawn number; the others, and their count, from the second.
const LETTERS_A_DRAW: usize = 10;
/// A folder's digits and a slash.
pub(crate) const FOLDER_BYTES: usize = 6;
/// Room for the longest path: folder, mdtest's word, two numbers with a dot between them, and the end.
const PATH_BYTES: usize = FOLDER_BYTES + MDTEST_FILE.len() + DECIMAL_DIGITS + 1 + DECIMAL_DIGITS + 1;
/// Ends the second name of an object, which it has while it is renamed; no name of a set ends so.
const SECOND_NAME_END: u8 = b'~';
/// Names made together.
const TOGETHER: u32 = 32;
/// What distinguishes the folder's draw of an object from that of its letters.
const FOLDER_DRAW: u64 = 0x5F0_1DE2;
/// What distinguishes the draw of the member of a stripe from both.
const MEMBER_DRAW: u64 = 0x3E3_BE25;

/// A path with one byte more than others.
pub(crate) type SecondPath = ShortPath<{ PATH_BYTES + 1 }>;

/// What the names begin with that a client has in a folder of several clients.
pub(super) fn own_prefix(kind: ObjectKind, client_index: u32) -> Vec<u8> {
    let word = mdtest_word(kind);
    [word, client_index.to_string().as_bytes(), b"."].concat()
}

/// Makes the paths of a set's objects, relative to its folder, or that of the member of a stripe which each is on.
#[derive(Debug)]
pub struct ObjectNames {
    form: PathPattern,
    /// Those in a tree of folders, which are made one by one.
    tree: Option<Box<TreePaths>>,
    /// The paths of `made_count` numbers from `first_made`.
    made: [ShortPath<PATH_BYTES>; TOGETHER as usize],
    first_made: u32,
    made_count: u32,
}

/// What the paths of a set follow from.
#[derive(Debug)]
struct PathPattern {
    names: NameForm,
    kind: ObjectKind,
    /// The client that has made the objects, from 0.
    client_index: u32,
    spread: Spread,
    seed: u64,
    folders: u32,
    /// Consecutive numbers that are in one folder.
    in_folder: u64,
    /// Members of a stripe of folders; 1 without one.
    member_count: u32,
    weights: MemberWeights,
}

impl ObjectNames {
    /// Those of the first client's objects of `set` in one folder.
    #[must_use]
    pub fn new(set: &ObjectSet) -> Self {
        Self::over_members(set, 1, 0)
    }

    /// Those of the objects of client `client_index` of `set` over so many members of a stripe of folders.
    pub(super) fn over_members(set: &ObjectSet, member_count: u32, client_index: u32) -> Self {
        let form = PathPattern {
            names: set.names,
            kind: set.kind,
            client_index,
            spread: set.spread,
            seed: set.seed,
            folders: set.folders,
            in_folder: set.count.div_ceil(u64::from(set.folders.max(1))).max(1),
            member_count,
            weights: set.member_weights,
        };
        let tree = TreePaths::new(set, client_index).map(Box::new);
        Self { form, tree, made: [ShortPath::EMPTY; TOGETHER as usize], first_made: 0, made_count: 0 }
    }

    /// The folder of an object, from 0; `None` where the set's own has no folders.
    pub(crate) fn folder_of(&self, number: u32) -> Option<u32> {
        self.form.folder_of(number)
    }

    /// The member of the stripe that an object is on, from 0.
    #[inline]
    pub(super) fn member_of(&self, number: u32) -> usize {
        if self.form.member_count > 1 { self.form.drawn_member(number) } else { 0 }
    }

    /// The path of an object.
    #[inline]
    pub fn path_of(&mut self, number: u32) -> &CStr {
        if self.tree.is_none() && number.wrapping_sub(self.first_made) >= self.made_count {
            self.make_from(number);
        }
        match &mut self.tree {
            None => self.made[number.wrapping_sub(self.first_made) as usize].as_c_str(),
            Some(tree) => tree.path_of(number),
        }
    }

    /// The path of an object while it has its second name.
    pub(crate) fn second_path_of(&mut self, number: u32) -> SecondPath {
        let mut second = SecondPath::EMPTY;
        let first = self.path_of(number).to_bytes();
        second.put(|room| {
            room[..first.len()].copy_from_slice(first);
            room[first.len()] = SECOND_NAME_END;
            first.len() + 1
        });
        second
    }

    /// The name of an object in its folder.
    #[inline]
    pub(crate) fn name_of(&mut self, number: u32) -> &str {
        let skip_bytes = self.folder_bytes();
        name_in_folder(self.path_of(number), skip_bytes)
    }

    /// The name in its folder of a path that this has made.
    pub(crate) fn name_in<'a>(&self, path: &'a CStr) -> &'a str {
        name_in_folder(path, self.folder_bytes())
    }

    /// Bytes of a path before the name.
    fn folder_bytes(&self) -> usize {
        if self.form.folders > 0 { FOLDER_BYTES } else { 0 }
    }

    /// Makes the path of this number; with it those that come next, where it is itself the next of those made.
    #[inline(never)]
    fn make_from(&mut self, number: u32) {
        let is_next = number == self.first_made.wrapping_add(self.made_count);
        self.first_made = number;
        self.made_count = if is_next { TOGETHER } else { 1 };
        for (place, path) in (0..self.made_count).zip(&mut self.made) {
            path.put(|room| self.form.put_path(room, number.wrapping_add(place)));
        }
    }
}

impl PathPattern {
    #[inline]
    fn folder_of(&self, number: u32) -> Option<u32> {
        let last = self.folders.checked_sub(1)?;
        Some(match self.spread {
            Spread::InOrder => saturate_u32(u64::from(number) / self.in_folder).min(last),
            Spread::Scattered => self.drawn_below(FOLDER_DRAW, number, self.folders),
        })
    }

    fn drawn_member(&self, number: u32) -> usize {
        if self.weights.is_empty() {
            return self.drawn_below(MEMBER_DRAW, number, self.member_count) as usize;
        }
        self.weights.owner_of(self.drawn_below(MEMBER_DRAW, number, self.weights.sum()))
    }

    /// A number below `count` that is drawn for the object of this number; `purpose` distinguishes the draws of one object.
    #[inline]
    fn drawn_below(&self, purpose: u64, number: u32, count: u32) -> u32 {
        let drawn = member_seed(self.seed ^ purpose, u64::from(number)) >> 32;
        saturate_u32((drawn * u64::from(count)) >> 32)
    }

    /// Writes the path of a number; returns its length in bytes.
    fn put_path(&self, path: &mut [u8; PATH_BYTES], number: u32) -> usize {
        let mut at = 0;
        if let Some(folder) = self.folder_of(number) {
            path[..FOLDER_BYTES].copy_from_slice(&folder_path(folder));
            at = FOLDER_BYTES;
        }
        match self.names {
            NameForm::Number => at += put_decimal(&mut path[at..], number),
            NameForm::NumberLetters => {
                at += put_hex(&mut path[at..], number);
                at += self.put_letters(&mut path[at..], number);
            }
            NameForm::LettersNumber => {
                at += self.put_letters(&mut path[at..], number);
                at += put_hex(&mut path[at..], number);
            }
            NameForm::Mdtest | NameForm::MdtestTree => {
                at += put_mdtest(&mut path[at..], self.kind, self.client_index, number);
            }
        }
        at
    }

    /// Puts all letters that a name can have and counts as many of them as this one has: no branch hangs on the draw.
    fn put_letters(&self, path: &mut [u8], number: u32) -> usize {
        let draw = |index: u64| member_seed(self.seed, (u64::from(number) << 1) | index);
        let (first, second) = (draw(0), draw(1));
        let count = ((second >> 32) * (LETTER_COUNT_MAX as u64 + 1)) >> 32;
        let (letters, more) = path[..LETTER_COUNT_MAX].split_at_mut(LETTERS_A_DRAW);
        for (places, mut bits) in [(letters, first), (more, second)] {
            for place in places {
                *place = LETTERS[saturate_usize(bits & 63)];
                bits >>= 6;
            }
        }
        saturate_usize(count)
    }
}

/// The name behind the first `skip_bytes` of a path.
fn name_in_folder(path: &CStr, skip_bytes: usize) -> &str {
    // Names are digits, letters, dots and what ends a second one.
    std::str::from_utf8(&path.to_bytes()[skip_bytes..]).unwrap_or_default()
}

/// The name of a folder with a slash: five decimal digits.
pub(crate) fn folder_path(folder: u32) -> [u8; FOLDER_BYTES] {
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
        let mut names = ObjectNames::new(set);
        numbers.map(|number| names.path_of(number).to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn numbers_are_plain_and_are_in_the_folders_in_their_order() {
        let set = ObjectSet { count: 5, folders: 2, ..ObjectSet::default() };
        let expected = ["00000/0", "00000/2", "00001/3", "00001/4", "00001/4294967295"];
        assert_eq!(paths(&set, [0, 2, 3, 4, u32::MAX].into_iter()), expected);
        let set = ObjectSet { count: 5, ..ObjectSet::default() };
        assert_eq!(paths(&set, [0, 10, 999].into_iter()), ["0", "10", "999"]);
        assert_eq!(&folder_path(OBJECT_FOLDERS_MAX - 1), b"65535/");
    }

    #[test]
    fn names_as_mdtest_s_have_the_client_and_the_kind_before_the_number() {
        let set = ObjectSet { names: NameForm::Mdtest, count: 5, folders: 2, ..ObjectSet::default() };
        let of_client = |set: &ObjectSet, client_index: u32, number: u32| {
            let mut names = ObjectNames::over_members(set, 1, client_index);
            names.path_of(number).to_str().unwrap().to_owned()
        };
        assert_eq!(of_client(&set, 0, 0), "00000/file.mdtest.0.0");
        assert_eq!(of_client(&set, 12, 4), "00001/file.mdtest.12.4");
        let longest = "00001/file.mdtest.4294967295.4294967295";
        assert_eq!(of_client(&set, u32::MAX, u32::MAX), longest);
        assert_eq!(longest.len() + 1, PATH_BYTES);
        let folders = ObjectSet { kind: ObjectKind::Folder, folders: 0, ..set };
        assert_eq!(of_client(&folders, 3, 21), "dir.mdtest.3.21");
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
    fn a_name_is_the_same_in_whatever_order_names_are_asked_for() {
        let set =
            ObjectSet { names: NameForm::LettersNumber, count: 200, folders: 3, ..ObjectSet::default() };
        let in_turn = paths(&set, 0..200);
        let one_by_one = |number: u32| paths(&set, std::iter::once(number)).remove(0);
        assert_eq!(in_turn, (0..200).map(one_by_one).collect::<Vec<_>>());
        let backwards: Vec<u32> = (0..200).rev().collect();
        let jumps: Vec<u32> = (0..200).map(|index| index * 77 % 200).collect();
        let runs: Vec<u32> = (0..40).chain(10..90).chain(33..34).chain(34..200).collect();
        for order in [backwards, jumps, runs] {
            let expected: Vec<String> =
                order.iter().map(|number| in_turn[*number as usize].clone()).collect();
            assert_eq!(paths(&set, order.into_iter()), expected);
        }
        let round_the_end = [u32::MAX - 1, u32::MAX, 0, 1];
        assert_eq!(paths(&set, round_the_end.into_iter()), round_the_end.map(one_by_one));
    }

    #[test]
    fn scattered_objects_fill_all_folders_evenly() {
        let set = ObjectSet { folders: 10, spread: Spread::Scattered, ..ObjectSet::default() };
        let names = ObjectNames::new(&set);
        let mut counts = [0_u32; 10];
        (0..10_000).for_each(|number| counts[names.folder_of(number).unwrap() as usize] += 1);
        // Five standard deviations of a share of a tenth.
        assert!(counts.iter().all(|count| count.abs_diff(1000) < 150), "{counts:?}");
    }

    #[test]
    fn each_member_gets_its_weight_of_the_objects_whatever_folder_they_are_in() {
        let weights = MemberWeights::new(&[3, 1, 6]).unwrap();
        for (member_weights, shares) in
            [(MemberWeights::default(), [3333_u32, 3333, 3333]), (weights, [3000, 1000, 6000])]
        {
            let set =
                ObjectSet { folders: 2, spread: Spread::Scattered, member_weights, ..ObjectSet::default() };
            let names = ObjectNames::over_members(&set, 3, 0);
            let mut counts = [[0_u32; 2]; 3];
            for number in 0..10_000 {
                counts[names.member_of(number)][names.folder_of(number).unwrap() as usize] += 1;
            }
            // Five standard deviations of a half.
            let halves = counts.iter().zip(shares);
            let near = |count: u32, share: u32| count.abs_diff(share / 2) < 250;
            assert!(
                halves.clone().all(|(one, share)| near(one[0], share) && near(one[1], share)),
                "{counts:?}"
            );
        }
        let alone = ObjectSet { member_weights: weights, ..ObjectSet::default() };
        assert_eq!(ObjectNames::new(&alone).member_of(7), 0);
    }
}
