//! Whole files (objects) as a load: how many, how large, how they are named and spread, and in which transactions they
//! are read, appended to, made and deleted.
//!
//! Not here: which operation a cell does and in which order, which are the workload's.

use super::{FolderTree, MemberWeights, Op, OpShare};
use crate::units::Bytes;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most objects of one client: what is there is known by 8 bytes an object, and twice as many may be there in
/// transactions.
pub const OBJECT_COUNT_MAX: u64 = 1 << 22;
/// Most bytes of one object: a request moves all of it.
pub const OBJECT_BYTES_MAX: Bytes = Bytes(1 << 30);
/// Most folders that a client's objects are spread over.
pub const OBJECT_FOLDERS_MAX: u32 = 1 << 16;
/// The same where folders are synced: each is then kept open, as its own file descriptor.
pub const SYNCED_FOLDERS_MAX: u32 = 256;
/// Most transactions of one client in one trial.
pub const TRANSACTION_COUNT_MAX: u64 = 1_000_000_000;
/// A bias is this many tenths of all draws at most.
pub const BIAS_MAX: u8 = 10;

/// How the names of objects are made of their numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NameForm {
    /// The number in decimal digits.
    #[default]
    Number,
    /// Ten hexadecimal digits and up to twelve letters: the order of names is that of creation.
    NumberLetters,
    /// Up to twelve letters and ten hexadecimal digits: the order of names has nothing to do with that of creation.
    LettersNumber,
    /// `file.mdtest.CLIENT.NUMBER`, with `dir` for folders: no two clients have a name in common.
    Mdtest,
    /// `mdtest_tree.NUMBER`, or `mdtest_tree.CLIENT.NUMBER` where each client has a tree: the objects are the folders of a
    /// tree, each in the one above it.
    MdtestTree,
}

/// What an object is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    /// A file.
    #[default]
    File,
    /// A folder, which is empty: a put is a `mkdir`, a delete an `rmdir`.
    Folder,
}

impl ObjectKind {
    /// One of them, in words.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "folder",
        }
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_file(&self) -> bool {
        *self == Self::File
    }
}

/// How objects are spread over folders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Equally many consecutive numbers in each folder, one folder after the other; those that transactions make go on
    /// in the last one.
    #[default]
    InOrder,
    /// Each object in a folder that is drawn for it.
    Scattered,
}

/// By which calls the bytes of objects are read and written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ObjectCalls {
    /// `write(2)` and `read(2)`, a block each.
    #[default]
    System,
    /// The C library's streams: `fwrite` and `fread`, a block each.
    Streams,
}

/// What is made durable before an operation on an object is complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ObjectSync {
    /// Nothing.
    #[default]
    None,
    /// What was stored or appended: `fsync` of the file.
    Data,
    /// The same, and `fsync` of the folder in which an object was made or deleted.
    DataAndFolder,
}

/// By whose rule the sizes of objects and the choices of transactions are drawn from the seed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ObjectDraws {
    /// Sizes by the numbers of objects, transactions from a stream of each worker.
    #[default]
    Own,
    /// PostMark 1.5's: one stream for everything in the order of the run, so that a seed gives PostMark's own counts and
    /// bytes. It needs one worker, and a set that is made, transacted on and deleted in that order.
    Postmark,
}

impl ObjectDraws {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_own(&self) -> bool {
        *self == Self::Own
    }
}

/// Transactions as PostMark draws them: a read or an append to a random object, then the making of a new object or the
/// deletion of a random one.
///
/// # Source
/// Katcher, PostMark: A New File System Benchmark, TR3022 (1997); biases as those of version 1.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Transactions {
    /// Transactions of each client. They end before where all objects have been deleted.
    pub count: u64,
    /// Tenths of the first halves that read; the others append. `None` leaves the first half out.
    pub read_bias: Option<u8>,
    /// Tenths of the second halves that make an object; the others delete one. `None` leaves the second half out.
    pub create_bias: Option<u8>,
}

impl Transactions {
    /// The operations with their expected weights, in the order of the halves; those that are never drawn are left out.
    #[must_use]
    pub fn shares(&self) -> Vec<OpShare> {
        let half = |bias: Option<u8>, first: Op, second: Op| {
            let share = move |op, tenths: u8| OpShare { op, weight: f64::from(tenths) };
            bias.into_iter()
                .flat_map(move |bias| [share(first, bias), share(second, BIAS_MAX.saturating_sub(bias))])
        };
        let first = half(self.read_bias, Op::Get, Op::Append);
        first.chain(half(self.create_bias, Op::Put, Op::Delete)).filter(|share| share.weight > 0.0).collect()
    }
}

/// The objects that a load makes, visits or removes. Cells of one run that name the same set work on the same objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(default)]
pub struct ObjectSet {
    /// Objects of each client.
    pub count: u64,
    /// What they are.
    #[serde(skip_serializing_if = "ObjectKind::is_file")]
    pub kind: ObjectKind,
    /// Whether the objects of all clients are in one folder; else each client has a folder of its own.
    #[serde(skip_serializing_if = "super::is_false")]
    pub shared_folder: bool,
    /// Clients by which this load is shifted: client i visits what client i + stride has made. 0 is its own.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub stride: u32,
    /// Bytes of the smallest; sizes are drawn uniformly.
    pub min_bytes: Bytes,
    /// Bytes of the largest; appends make none larger.
    pub max_bytes: Bytes,
    /// Folders that they are spread over; 0 is the set's own alone.
    pub folders: u32,
    /// How they are spread over the folders.
    pub spread: Spread,
    /// The tree of folders whose folders have them, equally many each and in the order of their numbers; or whose folders they
    /// are. Sets with the same tree are in the same folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<FolderTree>,
    /// Over the members of a stripe of folders they are spread by these weights; empty for equal ones, and where there is
    /// one folder alone.
    #[serde(skip_serializing_if = "MemberWeights::is_empty")]
    pub member_weights: MemberWeights,
    /// How their names are made.
    pub names: NameForm,
    /// Seed of sizes, names and transactions.
    pub seed: u64,
    /// By whose rule sizes and transactions are drawn from the seed.
    #[serde(skip_serializing_if = "ObjectDraws::is_own")]
    pub draws: ObjectDraws,
    /// By which calls bytes are read and written.
    pub calls: ObjectCalls,
    /// Bytes of each call that reads; `None` for as many as of one that writes, the workload's block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_block_bytes: Option<Bytes>,
    /// Bytes of each object that a get reads, from its start; `None` for all of them. With 0 it is opened and closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub get_bytes: Option<Bytes>,
    /// What is made durable with each operation.
    pub sync: ObjectSync,
    /// Whether a stat of an object that has bytes also reads it, as bonnie++ does.
    pub stat_reads: bool,
    /// Whether a stat in the order of a listing looks at the attributes of those objects alone that have `01` in their name, and
    /// at the names of all others, as the find of IO500 does.
    #[serde(skip_serializing_if = "super::is_false")]
    pub stat_finds: bool,
    /// Transactions instead of the workload's one operation.
    pub transactions: Option<Transactions>,
}

impl Default for ObjectSet {
    fn default() -> Self {
        Self {
            count: 1000,
            kind: ObjectKind::File,
            shared_folder: false,
            stride: 0,
            min_bytes: Bytes(0),
            max_bytes: Bytes(0),
            folders: 0,
            spread: Spread::InOrder,
            tree: None,
            member_weights: MemberWeights::default(),
            names: NameForm::Number,
            seed: 0,
            draws: ObjectDraws::Own,
            calls: ObjectCalls::System,
            read_block_bytes: None,
            get_bytes: None,
            sync: ObjectSync::None,
            stat_reads: false,
            stat_finds: false,
            transactions: None,
        }
    }
}

impl ObjectSet {
    /// What decides which objects there are: the same for all cells that work on them.
    #[must_use]
    pub fn identity(&self) -> Self {
        Self {
            calls: ObjectCalls::default(),
            stride: 0,
            read_block_bytes: None,
            get_bytes: None,
            sync: ObjectSync::default(),
            stat_reads: false,
            stat_finds: false,
            transactions: None,
            ..*self
        }
    }

    /// Bytes of the objects of one client, as expected; 0 for empty ones.
    #[must_use]
    pub fn expected_bytes(&self) -> Bytes {
        let twice_mean = self.min_bytes.0.saturating_add(self.max_bytes.0);
        Bytes(self.count.saturating_mul(twice_mean) / 2)
    }

    /// Bytes of the objects of one client that a get of each reads, as expected.
    #[must_use]
    pub fn expected_get_bytes(&self) -> Bytes {
        let all = self.expected_bytes();
        self.get_bytes.map_or(all, |bytes| Bytes(self.count.saturating_mul(bytes.0)).min(all))
    }

    /// What is wrong with it, as a phrase; `None` where it can be loaded.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let Self { count, min_bytes, max_bytes, folders, .. } = *self;
        if !(1..=OBJECT_COUNT_MAX).contains(&count) {
            return Some(format!("{count} objects of each client; 1 to {OBJECT_COUNT_MAX} are possible"));
        }
        if min_bytes > max_bytes {
            return Some(format!("objects of at least {min_bytes} and at most {max_bytes}"));
        }
        if max_bytes > OBJECT_BYTES_MAX {
            return Some(format!("objects of {max_bytes}; at most {OBJECT_BYTES_MAX} are possible"));
        }
        let most =
            if self.sync == ObjectSync::DataAndFolder { SYNCED_FOLDERS_MAX } else { OBJECT_FOLDERS_MAX };
        if folders > most {
            return Some(format!("{folders} folders; at most {most} are possible with this sync"));
        }
        if self.draws == ObjectDraws::Postmark && min_bytes.0 == 0 {
            return Some("objects without bytes, which PostMark's draws do not have".to_owned());
        }
        if self.shared_folder && !matches!(self.names, NameForm::Mdtest | NameForm::MdtestTree) {
            let form = "names of the form mdtest, which differ between clients";
            return Some(format!("one folder for all clients without {form}"));
        }
        if let Some(problem) = self.tree_problem() {
            return Some(problem);
        }
        if let Some(problem) = self.folders_problem() {
            return Some(problem.to_owned());
        }
        self.transactions.and_then(|transactions| transactions.problem())
    }

    /// The folders of `tree` as objects, which are made and deleted.
    #[must_use]
    pub fn tree_folders(tree: FolderTree) -> Self {
        Self {
            count: tree.folder_count(),
            kind: ObjectKind::Folder,
            shared_folder: true,
            names: NameForm::MdtestTree,
            tree: Some(tree),
            ..Self::default()
        }
    }

    /// Whether the objects are in a tree whose folders are another set.
    #[must_use]
    pub fn is_in_tree(&self) -> bool {
        self.tree.is_some() && self.names != NameForm::MdtestTree
    }

    /// Why objects cannot be in a tree, or be its folders, as a phrase.
    fn tree_problem(&self) -> Option<String> {
        let is_of_tree = self.names == NameForm::MdtestTree;
        let Some(tree) = self.tree else {
            return is_of_tree.then(|| "names of the folders of a tree without a tree".to_owned());
        };
        if let Some(problem) = tree.problem() {
            return Some(problem);
        }
        let rules = [
            (
                is_of_tree || self.names == NameForm::Mdtest,
                "a tree of folders without names of the form mdtest",
            ),
            (self.shared_folder, "a tree of folders in a folder of each client"),
            (self.folders == 0, "a tree of folders and other folders besides"),
            (self.sync != ObjectSync::DataAndFolder, "a sync of the folders of a tree"),
            (self.transactions.is_none(), "transactions in a tree of folders"),
            (
                !is_of_tree || (self.kind == ObjectKind::Folder && self.count == tree.folder_count()),
                "the folders of a tree as objects that are other or fewer than they",
            ),
        ];
        if let Some((_, words)) = rules.iter().find(|(holds, _)| !holds) {
            return Some((*words).to_owned());
        }
        (!is_of_tree && !self.count.is_multiple_of(tree.used_count())).then(|| {
            format!(
                "{} objects in {} folders of a tree, which is not equally many in each",
                self.count,
                tree.used_count()
            )
        })
    }

    /// What objects that are folders cannot be used for, as a phrase; `None` for files.
    fn folders_problem(&self) -> Option<&'static str> {
        let rules = [
            (self.max_bytes.0 > 0, "folders as objects with bytes, which only files have"),
            (self.get_bytes.is_some(), "folders as objects whose bytes are read, which only files have"),
            (self.stat_reads, "a stat that also reads of objects that are folders"),
            (self.calls == ObjectCalls::Streams, "the C library's streams for objects that are folders"),
            (self.sync != ObjectSync::None, "a sync of objects that are folders, which only files have"),
            (self.transactions.is_some(), "transactions on folders, which read and append"),
        ];
        let broken = rules.into_iter().find(|(is_broken, _)| *is_broken && self.kind == ObjectKind::Folder);
        broken.map(|(_, words)| words)
    }
}

impl Transactions {
    fn problem(&self) -> Option<String> {
        if !(1..=TRANSACTION_COUNT_MAX).contains(&self.count) {
            return Some(format!("{} transactions; 1 to {TRANSACTION_COUNT_MAX} are possible", self.count));
        }
        let biases = [self.read_bias, self.create_bias];
        if let Some(bias) = biases.into_iter().flatten().find(|bias| *bias > BIAS_MAX) {
            return Some(format!("a bias of {bias}; 0 to {BIAS_MAX} tenths are possible"));
        }
        (biases == [None, None]).then(|| "transactions without either half, which do nothing".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transactions(read_bias: Option<u8>, create_bias: Option<u8>) -> Transactions {
        Transactions { count: 1, read_bias, create_bias }
    }

    #[test]
    fn shares_are_those_of_the_biases_and_what_is_never_drawn_is_left_out() {
        let shares = |transactions: Transactions| {
            transactions.shares().iter().map(|share| (share.op, share.weight)).collect::<Vec<_>>()
        };
        assert_eq!(
            shares(transactions(Some(7), Some(10))),
            [(Op::Get, 7.0), (Op::Append, 3.0), (Op::Put, 10.0)]
        );
        assert_eq!(shares(transactions(None, Some(0))), [(Op::Delete, 10.0)]);
    }

    #[test]
    fn what_cannot_be_loaded_is_named_and_the_default_can() {
        let base = ObjectSet::default;
        assert_eq!(base().problem(), None);
        let tree = FolderTree { depth: 3, branch: 2, each_client: false, leaves_only: false };
        let in_tree =
            ObjectSet { tree: Some(tree), count: 30, names: NameForm::Mdtest, shared_folder: true, ..base() };
        assert_eq!(in_tree.problem(), None);
        let folders = ObjectSet::tree_folders(FolderTree { each_client: true, ..tree });
        assert_eq!((folders.count, folders.problem()), (15, None));
        let with = |transactions| ObjectSet { transactions: Some(transactions), ..base() };
        let cases = [
            (ObjectSet { count: 0, ..base() }, "0 objects"),
            (ObjectSet { count: OBJECT_COUNT_MAX + 1, ..base() }, "4194305 objects"),
            (ObjectSet { min_bytes: Bytes(2), max_bytes: Bytes(1), ..base() }, "at least 2"),
            (ObjectSet { max_bytes: Bytes(OBJECT_BYTES_MAX.0 + 1), ..base() }, "at most 1GiB are possible"),
            (ObjectSet { folders: 257, sync: ObjectSync::DataAndFolder, ..base() }, "257 folders"),
            (ObjectSet { draws: ObjectDraws::Postmark, ..base() }, "objects without bytes"),
            (ObjectSet { names: NameForm::MdtestTree, ..base() }, "without a tree"),
            (ObjectSet { count: 31, ..in_tree }, "31 objects in 15 folders of a tree"),
            (
                ObjectSet { names: NameForm::Number, shared_folder: false, ..in_tree },
                "without names of the form",
            ),
            (ObjectSet { shared_folder: false, ..in_tree }, "in a folder of each client"),
            (ObjectSet { folders: 2, ..in_tree }, "other folders besides"),
            (ObjectSet { sync: ObjectSync::DataAndFolder, ..in_tree }, "a sync of the folders of a tree"),
            (ObjectSet { names: NameForm::MdtestTree, ..in_tree }, "other or fewer"),
            (with(transactions(None, None)), "without either half"),
            (with(transactions(Some(11), None)), "a bias of 11"),
            (with(Transactions { count: 0, ..transactions(Some(5), None) }), "0 transactions"),
            (ObjectSet { shared_folder: true, ..base() }, "one folder for all clients without names"),
        ];
        for (set, words) in cases {
            let problem = set.problem().unwrap_or_default();
            assert!(problem.contains(words), "{words}: {problem}");
        }
    }

    #[test]
    fn folders_have_no_bytes_no_sync_and_no_transactions() {
        let base = || ObjectSet { kind: ObjectKind::Folder, ..ObjectSet::default() };
        assert_eq!(base().problem(), None);
        let shared = ObjectSet { shared_folder: true, names: NameForm::Mdtest, stride: 1, ..base() };
        assert_eq!(shared.problem(), None);
        let cases = [
            (ObjectSet { max_bytes: Bytes(1), ..base() }, "with bytes"),
            (ObjectSet { get_bytes: Some(Bytes(0)), ..base() }, "bytes are read"),
            (ObjectSet { stat_reads: true, ..base() }, "a stat that also reads"),
            (ObjectSet { calls: ObjectCalls::Streams, ..base() }, "streams"),
            (ObjectSet { sync: ObjectSync::Data, ..base() }, "a sync of objects that are folders"),
            (ObjectSet { transactions: Some(transactions(Some(5), Some(5))), ..base() }, "transactions on"),
        ];
        for (set, words) in cases {
            let problem = set.problem().unwrap_or_default();
            assert!(problem.contains(words), "{words}: {problem}");
            // What folders cannot be, files can.
            assert_eq!(ObjectSet { kind: ObjectKind::File, ..set }.problem(), None, "{words}");
        }
    }

    #[test]
    fn what_older_versions_do_not_know_is_left_out_where_it_is_usual() {
        let text = serde_json::to_string(&ObjectSet::default()).unwrap();
        for key in ["kind", "shared_folder", "stride", "get_bytes", "stat_finds"] {
            assert!(!text.contains(key), "{key}: {text}");
        }
        let unusual = ObjectSet {
            kind: ObjectKind::Folder,
            shared_folder: true,
            stride: 3,
            get_bytes: Some(Bytes(0)),
            stat_finds: true,
            names: NameForm::Mdtest,
            ..ObjectSet::default()
        };
        let text = serde_json::to_string(&unusual).unwrap();
        assert!(text.contains(r#""kind":"folder","shared_folder":true,"stride":3"#), "{text}");
        assert_eq!(serde_json::from_str::<ObjectSet>(&text).unwrap(), unusual);
    }

    #[test]
    fn a_get_of_a_part_is_expected_to_read_that_part() {
        let set =
            ObjectSet { count: 10, min_bytes: Bytes(100), max_bytes: Bytes(100), ..ObjectSet::default() };
        let read = |bytes| ObjectSet { get_bytes: bytes, ..set }.expected_get_bytes();
        assert_eq!((read(None), read(Some(Bytes(30)))), (Bytes(1000), Bytes(300)));
        assert_eq!((read(Some(Bytes(0))), read(Some(Bytes(5000)))), (Bytes(0), Bytes(1000)));
    }

    #[test]
    fn cells_that_use_a_set_in_other_ways_work_on_the_same_objects() {
        let made = ObjectSet { count: 7, ..ObjectSet::default() };
        let used = ObjectSet {
            sync: ObjectSync::Data,
            transactions: Some(transactions(Some(5), Some(5))),
            stat_reads: true,
            stat_finds: true,
            calls: ObjectCalls::Streams,
            read_block_bytes: Some(Bytes(1)),
            get_bytes: Some(Bytes(1)),
            stride: 1,
            ..made
        };
        assert_eq!(made.identity(), used.identity());
        assert_ne!(made.identity(), ObjectSet { kind: ObjectKind::Folder, ..made }.identity());
        assert_ne!(made.identity(), ObjectSet { shared_folder: true, ..made }.identity());
        assert_ne!(made.identity(), ObjectSet { seed: 1, ..made }.identity());
    }
}
