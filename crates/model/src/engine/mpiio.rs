//! The engine `mpiio`: files by MPI-IO, which the ranks of a job access independently or in collective calls.
//!
//! Declared here, so that every program reads, checks and plans such studies; the program with an MPI library runs them.

use super::{
    ClashText, DirectAccess, EngineClash, EngineDeclaration, EngineDescription, EngineId, EngineOption,
    OptionKind, OptionTable, Serves, StripeSupport,
};
use crate::capabilities::Completion;
use crate::workload::{Arrivals, Op, SyncPolicy, Workload};
use serde::Deserialize;

/// Most bytes of a piece: those of the largest block.
const PIECE_BYTES_MAX: u64 = 64 << 20;
/// Bytes of a piece unless a study says otherwise.
const PIECE_BYTES: u64 = 1024;

/// The declaration.
pub const DECLARATION: EngineDeclaration = EngineDeclaration {
    id: EngineId::Mpiio,
    description: EngineDescription {
        title: "MPI-IO by the ranks of a job (`mpirun -np N narrows-mpi run STUDY`): independent or collective calls on one \
                shared file or a file for each rank",
        targets: "PATH file:PATH",
        completion: "read: the block is in the rank's buffer; write: the library has taken the block, which is then in the page \
                     cache or in buffers of the library, or durable (`sync`: MPI_File_sync); of a collective call when it has \
                     returned on this rank",
        advice: "none: hints of MPI_File_open are those of `hints`, which a library ignores where it does not know them",
        source: "MPI 3.1, chapter 13: MPI_File_open, MPI_File_set_view, MPI_File_write_at, MPI_File_write_at_all, \
                 MPI_File_read_at, MPI_File_read_at_all, MPI_File_sync; MPI_Type_create_subarray, MPI_Type_create_darray",
        example: "/srv/data",
    },
    serves: Serves::Paths,
    in_stripes: StripeSupport::None,
    ops: &[Op::Read, Op::Write, Op::Sync],
    queue_depth_max: 1,
    direct: DirectAccess::Refused(
        "MPI-IO has no mode that bypasses the page cache; some libraries have hints for it",
    ),
    no_durable_writes: Some("MPI_File_open has no mode for it; use sync = \"every 1\""),
    stores_data: true,
    write_completion: Completion::InPageCache,
    options: Some(OptionTable {
        name: "mpiio",
        title: "How ranks access files by MPI-IO; for the engine `mpiio` alone, which is in `narrows-mpi`.",
        options: &[
            EngineOption {
                name: "calls",
                kind: OptionKind::Choice(&["independent", "collective"]),
                default: "\"independent\"",
                example: "\"collective\"",
                meaning: "The calls that transfer a block: of each rank for itself (MPI_File_write_at), or of all ranks \
                          together (MPI_File_write_at_all). Before each collective call the ranks agree to continue, so that \
                          all of them make the same number of calls.",
            },
            EngineOption {
                name: "file",
                kind: OptionKind::Choice(&["shared", "own"]),
                default: "\"shared\"",
                example: "\"own\"",
                meaning: "One file for all ranks, which has the bytes of `file` for each of them, or a file for each rank.",
            },
            EngineOption {
                name: "layout",
                kind: OptionKind::Choice(&["segmented", "strided", "subarray", "darray"]),
                default: "\"segmented\"",
                example: "\"subarray\"",
                meaning: "Where the blocks of a rank are in a shared file: in a part of its own, or in turn with those of the \
                          other ranks; or in pieces, selected by a data type and MPI_File_set_view: columns of a matrix with a \
                          column for each rank (MPI_Type_create_subarray), or tiles of a matrix with a grid of ranks \
                          (MPI_Type_create_darray).",
            },
            EngineOption {
                name: "piece",
                kind: OptionKind::Size { min: 1, max: PIECE_BYTES_MAX },
                default: "\"1KiB\"",
                example: "\"256\"",
                meaning: "Bytes of each contiguous piece of a block with the layout subarray or darray: the width of a column or \
                          of a tile. The block is a multiple of it.",
            },
            EngineOption {
                name: "hints",
                kind: OptionKind::Text,
                default: "none",
                example: "\"cb_nodes=2 romio_cb_write=enable\"",
                meaning: "Hints of MPI_File_open, KEY=VALUE, separated by spaces.",
            },
        ],
    }),
    only_in: Some("narrows-mpi"),
    probe: None,
    clashes: &[
        EngineClash { code: "workers_of_ranks", keys: &["workers"], check: workers_of_ranks },
        EngineClash {
            code: "layout_of_own_file",
            keys: &["mpiio.layout", "mpiio.file"],
            check: layout_of_own_file,
        },
        EngineClash {
            code: "piece_of_layout",
            keys: &["mpiio.piece", "mpiio.layout"],
            check: piece_of_layout,
        },
        EngineClash { code: "piece_of_block", keys: &["mpiio.piece", "block"], check: piece_of_block },
        EngineClash { code: "layout_of_mix", keys: &["blocks", "mpiio.layout"], check: layout_of_mix },
        EngineClash {
            code: "sync_of_shared_file",
            keys: &["sync", "mpiio.calls"],
            check: sync_of_shared_file,
        },
        EngineClash {
            code: "verify_of_shared_file",
            keys: &["verify", "mpiio.file"],
            check: verify_of_shared_file,
        },
        EngineClash {
            code: "collective_of_several",
            keys: &["mpiio.calls", "ops", "write_back_every", "arrivals"],
            check: collective_of_several,
        },
        EngineClash { code: "hint_without_value", keys: &["mpiio.hints"], check: hint_without_value },
    ],
};

/// Whether ranks transfer each for itself or together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MpiioCalls {
    /// Each for itself.
    #[default]
    Independent,
    /// All in the same call.
    Collective,
}

/// Which file a rank accesses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MpiioFile {
    /// One of all ranks.
    #[default]
    Shared,
    /// One of its own.
    Own,
}

/// Where the blocks of a rank are in a shared file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MpiioLayout {
    /// In a part of the file that is the rank's.
    #[default]
    Segmented,
    /// In turn with the blocks of all others.
    Strided,
    /// In pieces: the rank's column of a matrix.
    Subarray,
    /// In pieces: the rank's tiles of a matrix.
    Darray,
}

impl MpiioLayout {
    /// Whether a block is in pieces, which a data type selects.
    #[must_use]
    pub fn is_in_pieces(self) -> bool {
        matches!(self, Self::Subarray | Self::Darray)
    }
}

/// The options, as the engine and the preparation of its files read them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MpiioOptions {
    /// How blocks are transferred.
    pub calls: MpiioCalls,
    /// Which file a rank accesses.
    pub file: MpiioFile,
    /// Where its blocks are in a shared one.
    pub layout: MpiioLayout,
    /// Bytes of a piece; `None` where no study says so.
    #[serde(rename = "piece")]
    given_piece_bytes: Option<u64>,
    /// Hints, `KEY=VALUE`, separated by spaces.
    hints: Option<String>,
}

impl MpiioOptions {
    /// Those of `load`; `None` where another engine issues it, or where they are of another version.
    #[must_use]
    pub fn from_workload(load: &Workload) -> Option<Self> {
        (load.engine == Some(EngineId::Mpiio)).then(|| load.engine_options.typed().ok())?
    }

    /// Bytes of a piece.
    #[must_use]
    pub fn piece_bytes(&self) -> u64 {
        self.given_piece_bytes.unwrap_or(PIECE_BYTES)
    }

    /// The hints, each with its value.
    ///
    /// # Errors
    /// A word that is no `KEY=VALUE`.
    pub fn hints(&self) -> Result<Vec<(String, String)>, String> {
        let words = self.hints.iter().flat_map(|hints| hints.split_whitespace());
        words.map(|word| pair(word).ok_or_else(|| word.to_owned())).collect()
    }

    /// Whether all ranks make each call together, on one file.
    #[must_use]
    pub fn are_in_step(&self) -> bool {
        self.calls == MpiioCalls::Collective && self.file == MpiioFile::Shared
    }
}

fn pair(word: &str) -> Option<(String, String)> {
    let (key, value) = word.split_once('=')?;
    (!key.is_empty()).then(|| (key.to_owned(), value.to_owned()))
}

fn options(load: &Workload) -> MpiioOptions {
    load.engine_options.typed().unwrap_or_default()
}

fn workers_of_ranks(load: &Workload) -> Option<ClashText> {
    (load.workers > 1).then(|| {
        ClashText::new(
            format!("{} workers with the engine mpiio", load.workers),
            "one worker: the calls on a file are a rank's, which makes one at a time",
            "omit workers, and start more ranks",
        )
    })
}

fn layout_of_own_file(load: &Workload) -> Option<ClashText> {
    let options = options(load);
    (options.file == MpiioFile::Own && options.layout != MpiioLayout::Segmented).then(|| {
        ClashText::new(
            "a layout of blocks of several ranks with file = \"own\"",
            "a layout with file = \"shared\": a file for each rank has the blocks of one rank alone",
            "omit layout, or file",
        )
    })
}

fn piece_of_layout(load: &Workload) -> Option<ClashText> {
    let options = options(load);
    let piece_bytes = options.given_piece_bytes.filter(|_| !options.layout.is_in_pieces())?;
    Some(ClashText::new(
        format!("pieces of {piece_bytes} bytes in a layout of whole blocks"),
        "a piece with layout = \"subarray\" or \"darray\"",
        "omit piece, or write one of these layouts",
    ))
}

fn piece_of_block(load: &Workload) -> Option<ClashText> {
    let options = options(load);
    let (piece, block) = (options.piece_bytes(), load.block_bytes);
    (options.layout.is_in_pieces() && (piece == 0 || !block.0.is_multiple_of(piece))).then(|| {
        ClashText::new(
            format!("pieces of {piece} bytes in a block of {block}"),
            "a block that is a multiple of the piece",
            "write another piece or block",
        )
    })
}

fn layout_of_mix(load: &Workload) -> Option<ClashText> {
    (!load.block_mix.is_empty() && options(load).layout != MpiioLayout::Segmented).then(|| {
        ClashText::new(
            "blocks of several sizes in a layout that alternates between ranks",
            "blocks of several sizes with layout = \"segmented\"",
            "write one block size, or omit layout",
        )
    })
}

fn sync_of_shared_file(load: &Workload) -> Option<ClashText> {
    let options = options(load);
    let is_counted = matches!(load.sync, SyncPolicy::Every(_));
    let is_apart = options.calls == MpiioCalls::Independent && options.file == MpiioFile::Shared;
    (is_counted && is_apart).then(|| {
        ClashText::new(
            "a sync after every so many independent writes to a shared file",
            "calls = \"collective\", file = \"own\", or sync = \"at_end\" or \"after_end\": MPI_File_sync is a collective call, \
             and ranks that write independently do not come to it at the same time",
            "write one of these",
        )
    })
}

fn verify_of_shared_file(load: &Workload) -> Option<ClashText> {
    (load.verify && options(load).file == MpiioFile::Shared).then(|| {
        ClashText::new(
            "verify = true with a file that all ranks share",
            "verify with file = \"own\": each rank knows the generations of what it has written itself alone",
            "write file = \"own\", or omit verify",
        )
    })
}

fn collective_of_several(load: &Workload) -> Option<ClashText> {
    let several = if load.ops().len() > 1 {
        "requests of several operations"
    } else if load.arrivals != Arrivals::Closed {
        "requests that start by a schedule"
    } else {
        return None;
    };
    options(load).are_in_step().then(|| {
        ClashText::new(
            format!("collective calls with {several}"),
            "one operation in a closed loop: all ranks make the same call",
            "write calls = \"independent\", or one operation in a closed loop",
        )
    })
}

fn hint_without_value(load: &Workload) -> Option<ClashText> {
    let word = options(load).hints().err()?;
    Some(ClashText::new(
        format!("the hint `{word}`"),
        "hints as KEY=VALUE, separated by spaces, such as \"cb_nodes=2 romio_cb_write=enable\"",
        "write KEY=VALUE",
    ))
}

/// What of `load` this engine cannot do, for loads that come from elsewhere than a study; `None` where it can do all.
#[must_use]
pub fn problem(load: &Workload) -> Option<ClashText> {
    DECLARATION.clashes.iter().find_map(|clash| (clash.check)(load))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineOptions;
    use crate::units::Bytes;
    use crate::workload::BlockShare;

    fn load(options: &[(&str, &str)]) -> Workload {
        let mut engine_options = EngineOptions::default();
        for (name, value) in options {
            engine_options.set(name, *value);
        }
        Workload { engine: Some(EngineId::Mpiio), engine_options, ..Workload::default() }
    }

    fn codes(load: &Workload) -> Vec<&'static str> {
        let broken = DECLARATION.clashes.iter().filter(|clash| (clash.check)(load).is_some());
        broken.map(|clash| clash.code).collect()
    }

    #[test]
    fn the_defaults_are_those_that_are_declared() {
        let options = MpiioOptions::from_workload(&load(&[])).unwrap();
        assert_eq!(options, MpiioOptions::default());
        assert_eq!((options.piece_bytes(), options.hints()), (1024, Ok(Vec::new())));
        assert!(MpiioOptions::from_workload(&Workload::default()).is_none());
    }

    #[test]
    fn what_cannot_be_combined_is_refused_by_its_own_rule() {
        let collective = [("calls", "collective")];
        let cases: [(Workload, &[&str]); 12] = [
            (load(&[]), &[]),
            (load(&[("layout", "darray")]), &[]),
            (Workload { sync: SyncPolicy::Every(2), ..load(&collective) }, &[]),
            (Workload { workers: 2, ..load(&[]) }, &["workers_of_ranks"]),
            (load(&[("layout", "strided"), ("file", "own")]), &["layout_of_own_file"]),
            (Workload { block_bytes: Bytes(1000), ..load(&[("layout", "subarray")]) }, &["piece_of_block"]),
            (Workload { sync: SyncPolicy::Every(2), ..load(&[]) }, &["sync_of_shared_file"]),
            (Workload { verify: true, ..load(&[]) }, &["verify_of_shared_file"]),
            (Workload { write_back_every: Some(1), ..load(&collective) }, &["collective_of_several"]),
            (
                Workload { arrivals: Arrivals::Constant { ops_per_s: 1.0 }, ..load(&collective) },
                &["collective_of_several"],
            ),
            (
                Workload {
                    block_mix: vec![BlockShare { block_bytes: Bytes(4096), weight: 1.0 }],
                    ..load(&[("layout", "strided")])
                },
                &["layout_of_mix"],
            ),
            (load(&[("hints", "cb_nodes=2 fast")]), &["hint_without_value"]),
        ];
        for (load, expected) in cases {
            assert_eq!(codes(&load), expected, "{load:?}");
            assert_eq!(problem(&load).is_none(), expected.is_empty());
        }
        let mut given = load(&[]);
        given.engine_options.set("piece", 256_u64);
        assert_eq!(codes(&given), ["piece_of_layout"]);
    }

    #[test]
    fn hints_are_keys_with_values() {
        let options = MpiioOptions::from_workload(&load(&[("hints", " a=1  b=x=y c= ")])).unwrap();
        let text = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(options.hints(), Ok(vec![text("a", "1"), text("b", "x=y"), text("c", "")]));
    }
}
