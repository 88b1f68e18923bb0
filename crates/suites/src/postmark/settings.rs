//! The settings of PostMark, with the defaults of version 1.5 and the bounds of each figure.
//!
//! Not here: the words of the command language, and the plan of a run.

use narrows_model::Bytes;
use narrows_model::located::Complaint;
use narrows_model::units::saturate_u32;
use narrows_model::workload::{
    MEMBER_WEIGHTS_MAX, MemberWeights, NameForm, ObjectCalls, ObjectDraws, ObjectSet, Spread, Transactions,
};
use serde::{Deserialize, Serialize};

/// Lowest size of a file.
pub(super) const PUBLISHED_SIZE_LOW: u64 = 500;
/// Highest size of a file.
pub(super) const PUBLISHED_SIZE_HIGH: u64 = 10_000;
/// Files at the start.
pub(super) const PUBLISHED_NUMBER: u64 = 500;
/// Transactions of a run.
pub(super) const PUBLISHED_TRANSACTIONS: u64 = 500;
/// Seed of the random numbers.
pub(super) const PUBLISHED_SEED: u64 = 42;
/// Size of a block, read or written.
pub(super) const PUBLISHED_BLOCK: u64 = 512;
/// The chance in ten of the first of two kinds.
pub(super) const PUBLISHED_BIAS: u8 = 5;
/// The greatest seed: the original's, which keeps figures in 32 bits.
pub(super) const SEED_MAX: u64 = i32::MAX as u64;
/// Largest block: each is kept in memory.
pub(super) const BLOCK_MAX: u64 = 64 << 20;

/// How the report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportForm {
    /// With its words.
    Verbose,
    /// Thirteen figures in a line.
    Terse,
}

impl ReportForm {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Verbose => "verbose",
            Self::Terse => "terse",
        }
    }

    /// The one of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::Verbose, Self::Terse].into_iter().find(|report| report.name() == name)
    }
}

/// A folder in which files are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// As it was written.
    pub path: String,
    /// Its share of the files among others.
    pub weight: u64,
}

/// All that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostmarkSettings {
    /// The least bytes of a new file.
    pub size_low: u64,
    /// The most bytes of a file, appended ones included.
    pub size_high: u64,
    /// Files at the start of a run.
    pub number: u64,
    /// Transactions of a run.
    pub transactions: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Where files are made; nothing for the folder that the command is run in.
    pub locations: Vec<Location>,
    /// Subdirectories that files are spread over; none for 0 and 1, as in the original.
    pub subdirectories: u64,
    /// Bytes of a block that is read.
    pub read_bytes: u64,
    /// Bytes of a block that is written.
    pub write_bytes: u64,
    /// Whether blocks pass a buffer of the C library's size.
    pub is_buffered: bool,
    /// The chance in ten of reading a file, in place of appending to it; `None` for neither.
    pub bias_read: Option<u8>,
    /// The chance in ten of creating a file, in place of deleting one; `None` for neither.
    pub bias_create: Option<u8>,
    /// How the report is printed.
    pub report: ReportForm,
}

impl Default for PostmarkSettings {
    fn default() -> Self {
        Self {
            size_low: PUBLISHED_SIZE_LOW,
            size_high: PUBLISHED_SIZE_HIGH,
            number: PUBLISHED_NUMBER,
            transactions: PUBLISHED_TRANSACTIONS,
            seed: PUBLISHED_SEED,
            locations: Vec::new(),
            subdirectories: 0,
            read_bytes: PUBLISHED_BLOCK,
            write_bytes: PUBLISHED_BLOCK,
            is_buffered: true,
            bias_read: Some(PUBLISHED_BIAS),
            bias_create: Some(PUBLISHED_BIAS),
            report: ReportForm::Verbose,
        }
    }
}

impl PostmarkSettings {
    /// What keeps them from being run, though each is allowed by itself.
    pub(super) fn problem(&self) -> Option<Complaint> {
        if self.locations.len() > MEMBER_WEIGHTS_MAX {
            let found = format!("{} locations", self.locations.len());
            let hint = "remove some with `set location -DIR`";
            return Some(Complaint::new("run", found, format!("{MEMBER_WEIGHTS_MAX} locations"), hint));
        }
        if let Err(found) = MemberWeights::new(&self.drawn_weights()) {
            let hint = "give smaller weights: what counts is how they relate to each other";
            return Some(Complaint::new("run", found, "weights that can be drawn from", hint));
        }
        if self.bias_read.is_none() && self.bias_create.is_none() {
            let hint = "set one of them from 0 to 10: otherwise transactions do nothing";
            return Some(Complaint::new("run", "both biases at -1", "one of them at -1", hint));
        }
        None
    }

    /// The weights of the locations in their order, which a location is drawn by for each file; none where there is one
    /// alone, and nothing is drawn.
    pub(super) fn drawn_weights(&self) -> Vec<u32> {
        let each = self.locations.iter().map(|location| saturate_u32(location.weight));
        if self.locations.len() > 1 { each.collect() } else { Vec::new() }
    }

    /// The files as a load's objects; with `transactions`, or for what comes before and after them.
    pub(super) fn objects(&self, has_transactions: bool) -> ObjectSet {
        let Self { number, size_low, size_high, subdirectories, seed, .. } = *self;
        let transactions = Transactions {
            count: self.transactions,
            read_bias: self.bias_read,
            create_bias: self.bias_create,
        };
        ObjectSet {
            count: number,
            min_bytes: Bytes(size_low),
            max_bytes: Bytes(size_high),
            folders: if subdirectories > 1 { u32::try_from(subdirectories).unwrap_or(u32::MAX) } else { 0 },
            spread: Spread::Scattered,
            draws: ObjectDraws::Postmark,
            names: NameForm::Number,
            seed,
            calls: if self.is_buffered { ObjectCalls::Streams } else { ObjectCalls::System },
            read_block_bytes: Some(Bytes(self.read_bytes)),
            transactions: has_transactions.then_some(transactions),
            ..ObjectSet::default()
        }
    }

    /// Most files at once: transactions keep a table of twice as many as there are at the start.
    pub(super) fn files_max(&self) -> u64 {
        let grows = self.bias_create.is_some_and(|bias| bias > 0);
        if grows {
            self.number.saturating_mul(2).min(self.number.saturating_add(self.transactions))
        } else {
            self.number
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_do_not_go_together_are_refused() {
        assert!(PostmarkSettings::default().problem().is_none());
        let idle = PostmarkSettings { bias_read: None, bias_create: None, ..PostmarkSettings::default() };
        assert!(idle.problem().unwrap().hint.contains("do nothing"));
        let places = |count: usize, weight: u64| {
            let one = Location { path: "a".to_owned(), weight };
            PostmarkSettings { locations: vec![one; count], ..PostmarkSettings::default() }
        };
        assert!(places(32, 7).problem().is_none());
        assert_eq!(places(33, 1).problem().unwrap().found, "33 locations");
        let heavy = places(3, 2_000_000_000).problem().unwrap();
        assert!(heavy.found.contains("the sum 6000000000") && heavy.hint.contains("smaller"), "{heavy:?}");
        // A single location is not drawn.
        assert!(places(1, 2_000_000_000).problem().is_none() && places(1, 5).drawn_weights().is_empty());
        assert_eq!(places(2, 5).drawn_weights(), [5, 5]);
    }

    #[test]
    fn files_are_the_objects_of_a_load_that_can_be_loaded() {
        let settings = PostmarkSettings {
            is_buffered: false,
            subdirectories: 3,
            bias_read: None,
            ..PostmarkSettings::default()
        };
        let set = settings.objects(true);
        assert_eq!((set.count, set.folders, set.seed), (500, 3, 42));
        assert_eq!(
            (set.min_bytes, set.max_bytes, set.calls),
            (Bytes(500), Bytes(10_000), ObjectCalls::System)
        );
        assert_eq!((set.problem(), set.read_block_bytes), (None, Some(Bytes(512))));
        assert_eq!(set.transactions.map(|law| (law.count, law.read_bias)), Some((500, None)));
        assert_eq!(settings.objects(false).identity(), set.identity());
        let folders = |subdirectories| {
            PostmarkSettings { subdirectories, ..PostmarkSettings::default() }.objects(true).folders
        };
        assert_eq!([0, 1, 2].map(folders), [0, 0, 2]);
    }

    #[test]
    fn there_are_twice_the_files_at_most_and_no_more_than_are_made() {
        let of = |number, transactions, bias_create| {
            PostmarkSettings { number, transactions, bias_create, ..PostmarkSettings::default() }.files_max()
        };
        assert_eq!((of(500, 10_000, Some(5)), of(500, 100, Some(5))), (1000, 600));
        assert_eq!((of(500, 10_000, Some(0)), of(500, 10_000, None)), (500, 500));
    }
}
