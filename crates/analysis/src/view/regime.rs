//! The loads for which a verdict is given: bulk, one request at a time, many small requests, several targets together;
//! each by direction; and operations on whole files, each by itself.

use crate::facts::{has_mix_of, is_in_memory, reads};
use narrows_model::plan::SkippedCell;
use narrows_model::quantity::percent;
use narrows_model::summary::CellSummary;
use narrows_model::workload::{Acknowledgement, ObjectKind, OpShare, Order, StdioCalls, SyncPolicy};
use narrows_model::{Cut, Op};

/// A kind of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegimeKind {
    /// The largest block with the most requests in flight.
    Bulk,
    /// The smallest block, one request at a time.
    Single,
    /// The smallest block with the most requests in flight.
    SmallParallel,
    /// Several targets at once: the largest block with the most requests in flight.
    Together,
    /// One operation on whole files, or transactions of several.
    Files,
}

impl RegimeKind {
    /// Every kind, the one that matters most first.
    pub(crate) const ALL: [RegimeKind; 5] = [
        RegimeKind::Bulk,
        RegimeKind::Single,
        RegimeKind::SmallParallel,
        RegimeKind::Together,
        RegimeKind::Files,
    ];
}

/// A load for which a verdict is given, with the cell that represents it.
#[derive(Debug, Clone, Copy)]
pub struct Regime<'a> {
    /// Its kind.
    pub kind: RegimeKind,
    /// The cell of the path that was measured under it.
    pub cell: &'a CellSummary,
}

impl Regime<'_> {
    /// The load in words: `bulk write (1MiB, 16 in flight)`, `synchronous write (4KiB, 1 in flight)`.
    #[must_use]
    pub fn name(&self) -> String {
        if self.mixes_directions() {
            return format!("{} mix ({}, {})", self.word(), self.shares(), self.settings());
        }
        self.name_for(if reads(self.cell.op) { "read" } else { "write" })
    }

    /// What each operation has of the requests of a mix: `70 % read, 30 % write`.
    fn shares(&self) -> String {
        let mix = &self.cell.requested.op_mix;
        let all: f64 = mix.iter().map(|share| share.weight).sum();
        let share = |one: &OpShare| format!("{} {}", percent(one.weight / all), one.op);
        mix.iter().map(share).collect::<Vec<_>>().join(", ")
    }

    /// Whether some of its requests read and others write.
    #[must_use]
    pub fn mixes_directions(&self) -> bool {
        let reads_some = |share: &OpShare| reads(share.op);
        let mix = &self.cell.requested.op_mix;
        mix.iter().any(reads_some) && !mix.iter().all(reads_some)
    }

    /// The load in words for both directions; `other` is of the other one.
    #[must_use]
    pub fn name_with(&self, other: &Regime<'_>) -> String {
        let one_is_durable =
            self.kind == RegimeKind::Single && self.is_durable_each() != other.is_durable_each();
        let plain = if one_is_durable && self.is_durable_each() { other } else { self };
        plain.name_for(if one_is_durable { "read and durable write" } else { "read and write" })
    }

    /// Whether each request is a write that returns once it is durable.
    fn is_durable_each(&self) -> bool {
        let load = &self.cell.requested;
        let is_durable = matches!(load.sync, SyncPolicy::Dsync | SyncPolicy::Every(1))
            || load.acknowledgement == Acknowledgement::Late;
        self.cell.op == Op::Write && is_durable
    }

    /// The load in words for several directions at once.
    #[must_use]
    pub fn name_for(&self, directions: &str) -> String {
        if self.kind == RegimeKind::Files {
            return of_files(self.cell);
        }
        format!("{} {directions} ({})", self.word(), self.settings())
    }

    /// The kind of load in a word or two.
    fn word(&self) -> &'static str {
        match self.kind {
            RegimeKind::Bulk => "bulk",
            RegimeKind::Single if self.is_durable_each() => "synchronous",
            RegimeKind::Single => "one-at-a-time",
            RegimeKind::SmallParallel if self.cell.requested.order != Order::Sequential => "random",
            RegimeKind::SmallParallel => "small parallel",
            RegimeKind::Together => "several targets together,",
            RegimeKind::Files => "files",
        }
    }

    /// Its block, and what it has in flight.
    fn settings(&self) -> String {
        format!("{}, {} in flight", self.cell.block_bytes, self.cell.in_flight.configured)
    }
}

/// What is done to whole files or to folders, in words: `making files (16 at a time)`.
fn of_files(cell: &CellSummary) -> String {
    let objects = if is_of_folders(cell) { "folders" } else { "files" };
    let does = match cell.op {
        _ if transacts(cell) => "transactions on",
        Op::Put => "making",
        Op::Get => "reading",
        Op::Append => "appending to",
        Op::Stat => "stat of",
        Op::Delete => "deleting",
        Op::Rename => "renaming",
        _ => "operations on",
    };
    let does = format!("{does} {objects}");
    match cell.in_flight.configured {
        0 | 1 => format!("{does} (one at a time)"),
        many => format!("{does} ({many} at a time)"),
    }
}

fn is_of_folders(cell: &CellSummary) -> bool {
    cell.requested.objects.is_some_and(|set| set.kind == ObjectKind::Folder)
}

fn transacts(cell: &CellSummary) -> bool {
    cell.requested.objects.is_some_and(|set| set.transactions.is_some())
}

/// The regimes among the cells of the path, as far as they were measured. A run with one load alone has one regime a
/// direction, and one to `null:`, which is no storage, none. A cell that failed represents no load: its figures are of a
/// part of it. Nor does one that was added to refine the verdict on another.
pub(super) fn regimes<'a>(cells: &'a [CellSummary], failed: &[SkippedCell]) -> Vec<Regime<'a>> {
    let has_failed = |cell: &CellSummary| failed.iter().any(|failure| failure.cell.0 == cell.id);
    let rated = |cell: &&CellSummary| {
        cell.cut == Cut::Path
            && cell.rate_bytes_per_s.is_some()
            && cell.target.is_storage()
            && !cell.refines
            && !has_failed(cell)
    };
    let (files, blocks): (Vec<&CellSummary>, Vec<&CellSummary>) =
        cells.iter().filter(rated).partition(|cell| cell.requested.objects.is_some());
    let (together, path): (Vec<&CellSummary>, Vec<&CellSummary>) =
        blocks.into_iter().partition(|cell| !cell.more_targets.is_empty());
    let direction = |read: bool| path.iter().copied().filter(move |cell| reads(cell.op) == read);
    // Cells that refine a verdict have no cuts at their own settings to be compared with: they come second.
    let compared = |cell: &CellSummary| cells.iter().any(|cut| is_cut(cut) && same_settings(cut, cell));
    // Without any cut no cell refines another one.
    let has_cuts = cells.iter().any(is_cut);
    let bulk = |read: bool| {
        let large = direction(read).filter(|cell| !is_small(cell));
        large.max_by_key(|cell| {
            (
                !cell.requested.is_weighted_mix(),
                cell.block_bytes,
                is_plain(cell),
                compared(cell),
                parallel(cell),
            )
        })
    };
    let single = |read: bool| {
        let single = direction(read).filter(|cell| cell.in_flight.configured == 1);
        single.min_by_key(|cell| (cell.requested.is_weighted_mix(), cell.block_bytes, !is_plain(cell)))
    };
    let small = |read: bool| {
        let many = direction(read).filter(|cell| cell.in_flight.configured > 1 && cell.is_small_block());
        let loads = many.filter(|cell| compared(cell) || (!has_cuts && is_small(cell)));
        loads.max_by_key(|cell| {
            let plain =
                (!cell.requested.is_weighted_mix(), std::cmp::Reverse(cell.block_bytes), is_plain(cell));
            (plain, compared(cell), parallel(cell))
        })
    };
    let several = |read: bool| {
        let all = together.iter().copied().filter(move |cell| reads(cell.op) == read);
        all.max_by_key(|cell| {
            (!cell.requested.is_weighted_mix(), cell.block_bytes, cell.in_flight.configured)
        })
    };
    let mut found: Vec<Regime<'_>> = Vec::new();
    for (kind, cell) in [
        (RegimeKind::Bulk, bulk(true)),
        (RegimeKind::Bulk, bulk(false)),
        (RegimeKind::Single, single(true)),
        (RegimeKind::Single, single(false)),
        (RegimeKind::SmallParallel, small(true)),
        (RegimeKind::SmallParallel, small(false)),
        (RegimeKind::Together, several(true)),
        (RegimeKind::Together, several(false)),
    ] {
        if let Some(cell) = cell.filter(|cell| found.iter().all(|known| known.cell.id != cell.id)) {
            found.push(Regime { kind, cell });
        }
    }
    found.extend(each_once(&files).map(|cell| Regime { kind: RegimeKind::Files, cell }));
    found
}

/// The first cell of each operation with the most at a time: of an operation on files before the same on folders, which a suite
/// may do as well.
fn each_once<'a>(files: &[&'a CellSummary]) -> impl Iterator<Item = &'a CellSummary> {
    let does = |cell: &CellSummary| (cell.op, transacts(cell));
    let stands = move |index: usize, cell: &CellSummary| {
        !files.iter().enumerate().any(|(place, other)| {
            let order = |one: &CellSummary, place: usize| {
                // What follows the list of a folder is a search of it, or as cheap.
                let is_listed = one.requested.order == Order::Listing;
                (!is_of_folders(one), !is_listed, one.in_flight.configured, std::cmp::Reverse(place))
            };
            does(other) == does(cell) && order(other, place) > order(cell, index)
        })
    };
    let found: Vec<&CellSummary> = files
        .iter()
        .copied()
        .enumerate()
        .filter(|(index, cell)| stands(*index, cell))
        .map(|(_, cell)| cell)
        .collect();
    found.into_iter()
}

/// Whether each call moves a block and no other follows it: suites also move a byte a call, and write back what they read.
fn is_plain(cell: &CellSummary) -> bool {
    cell.requested.stdio.calls == StdioCalls::Block && cell.requested.write_back_every.is_none()
}

/// The order of cells by what they have in flight; of as many those of fewer processes are the plainer.
fn parallel(cell: &CellSummary) -> (u64, std::cmp::Reverse<u32>) {
    (cell.in_flight.configured, std::cmp::Reverse(cell.clients))
}

/// Whether a cell measures a part of the path.
fn is_cut(cell: &CellSummary) -> bool {
    !matches!(cell.cut, Cut::Path | Cut::ChangedPath)
}

fn same_settings(cut: &CellSummary, path: &CellSummary) -> bool {
    let settings =
        |cell: &CellSummary| (cell.block_bytes, cell.queue_depth, cell.requested.workers, cell.clients);
    // Memory alone does not care for the direction.
    let same_direction = is_in_memory(cut.cut) || reads(cut.op) == reads(path.op);
    same_direction && settings(cut) == settings(path) && has_mix_of(cut, path)
}

/// Whether a cell is a single small request at a time, or small requests in random order: no load to call bulk.
fn is_small(cell: &CellSummary) -> bool {
    cell.is_small_block() && (cell.in_flight.configured == 1 || cell.requested.order != Order::Sequential)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;
    use narrows_model::workload::{ObjectSet, Transactions};

    #[test]
    fn each_operation_on_files_is_a_load_of_its_own_and_none_of_blocks() {
        let given = builtin("local-ssd");
        let template = given.cells.iter().find(|cell| cell.id == "path/read/4KiB/qd1/c1").unwrap();
        let at = |op: Op, transactions: Option<Transactions>, workers: u32| {
            let mut cell = template.clone();
            (cell.id, cell.op) = (format!("{op}/{workers}/{}", transactions.is_some()), op);
            cell.requested.objects = Some(ObjectSet { transactions, ..ObjectSet::default() });
            cell.in_flight.configured = u64::from(workers);
            cell
        };
        let transactions = Transactions { count: 5, read_bias: Some(5), create_bias: Some(5) };
        let cells = [
            at(Op::Put, None, 1),
            at(Op::Put, None, 4),
            at(Op::Put, None, 4),
            at(Op::Get, Some(transactions), 1),
            at(Op::Delete, None, 1),
        ];
        let names: Vec<String> = regimes(&cells, &[]).iter().map(Regime::name).collect();
        assert_eq!(
            names,
            [
                "making files (4 at a time)",
                "transactions on files (one at a time)",
                "deleting files (one at a time)"
            ]
        );
    }

    #[test]
    fn the_most_requests_in_flight_stand_for_bulk_and_small_parallel_by_however_many_clients() {
        let given = builtin("local-ssd");
        let template = given.cells.iter().find(|cell| cell.id == "path/read/4KiB/qd1/c1").unwrap();
        let at = |cut: Cut, block_bytes: u64, clients: u32, depth: u64| {
            let mut cell = template.clone();
            cell.id = format!("{}/{block_bytes}/{clients}/{depth}", cut.name());
            (cell.cut, cell.clients, cell.queue_depth) = (cut, clients, depth);
            cell.block_bytes = narrows_model::Bytes(block_bytes);
            cell.in_flight.configured = u64::from(clients) * depth;
            cell
        };
        let of_cut = |cut| {
            [4 << 10, 1 << 20].into_iter().flat_map(move |block| {
                [(1, 8), (2, 16), (1, 16), (1, 4)].map(|(clients, depth)| (cut, block, clients, depth))
            })
        };
        let all = of_cut(Cut::Path).chain(of_cut(Cut::LocalDevice));
        let cells: Vec<CellSummary> =
            all.map(|(cut, block, clients, depth)| at(cut, block, clients, depth)).collect();
        let chosen: Vec<(RegimeKind, u32, u64)> = regimes(&cells, &[])
            .iter()
            .map(|regime| (regime.kind, regime.cell.clients, regime.cell.in_flight.configured))
            .collect();
        assert_eq!(chosen, [(RegimeKind::Bulk, 2, 32), (RegimeKind::SmallParallel, 2, 32)]);
    }

    #[test]
    fn a_cell_that_failed_stands_for_no_load_whatever_figures_it_has() {
        let given = builtin("local-ssd");
        let failed =
            |id: &str| SkippedCell { cell: narrows_model::CellId(id.to_owned()), reason: String::new() };
        let all = regimes(&given.cells, &[]);
        let first = all.first().unwrap().cell.id.clone();
        let left = regimes(&given.cells, &[failed(&first)]);
        assert!(left.iter().all(|regime| regime.cell.id != first));
        let every: Vec<SkippedCell> = given.cells.iter().map(|cell| failed(&cell.id)).collect();
        assert!(regimes(&given.cells, &every).is_empty());
    }

    #[test]
    fn an_operation_on_files_represents_it_before_the_same_on_folders() {
        let given = builtin("local-ssd");
        let template = given.cells.iter().find(|cell| cell.id == "path/read/4KiB/qd1/c1").unwrap();
        let at = |kind: ObjectKind, workers: u64| {
            let mut cell = template.clone();
            (cell.id, cell.op) = (format!("delete/{kind:?}/{workers}"), Op::Delete);
            cell.requested.objects = Some(ObjectSet { kind, ..ObjectSet::default() });
            cell.in_flight.configured = workers;
            cell
        };
        let names = |cells: &[CellSummary]| -> Vec<String> {
            regimes(cells, &[])
                .iter()
                .map(|regime| format!("{}: {}", regime.cell.id, regime.name()))
                .collect()
        };
        let both = [at(ObjectKind::Folder, 8), at(ObjectKind::File, 4)];
        assert_eq!(names(&both), ["delete/File/4: deleting files (4 at a time)"]);
        assert_eq!(names(&both[..1]), ["delete/Folder/8: deleting folders (8 at a time)"]);
    }

    #[test]
    fn a_stat_of_files_by_name_represents_it_before_a_search_of_their_folder() {
        let given = builtin("local-ssd");
        let template = given.cells.iter().find(|cell| cell.id == "path/read/4KiB/qd1/c1").unwrap();
        let at = |id: &str, order: Order| {
            let mut cell = CellSummary { id: id.to_owned(), op: Op::Stat, ..template.clone() };
            cell.requested.objects = Some(ObjectSet::default());
            cell.requested.order = order;
            cell
        };
        let cells = [at("find", Order::Listing), at("stat", Order::Sequential)];
        let found = regimes(&cells, &[]);
        assert_eq!((found.len(), found[0].cell.id.as_str()), (1, "stat"));
    }

    #[test]
    fn blocks_represent_a_load_before_bytes_of_a_call_and_reads_that_are_written_back() {
        let given = builtin("local-ssd");
        let template = given.cells.iter().find(|cell| cell.id == "path/read/4KiB/qd1/c1").unwrap();
        let with = |id: &str, change: fn(&mut narrows_model::Workload)| {
            let mut cell = template.clone();
            cell.id = id.to_owned();
            change(&mut cell.requested);
            cell
        };
        let plain = with("plain", |_| ());
        let bytes = with("bytes", |load| load.stdio.calls = StdioCalls::Character);
        let back = with("back", |load| load.write_back_every = Some(1));
        for cells in [vec![back.clone(), plain.clone(), bytes.clone()], vec![bytes, back, plain]] {
            let all = regimes(&cells, &[]);
            assert_eq!(all.iter().map(|one| one.cell.id.as_str()).collect::<Vec<_>>(), ["plain"]);
        }
    }

    #[test]
    fn a_cell_that_refines_another_one_represents_no_load() {
        let mut summary = builtin("local-ssd");
        // Nothing but the path was measured so far.
        summary.cells.retain(|cell| cell.cut == Cut::Path);
        let names = |cells: &[CellSummary]| -> Vec<String> {
            regimes(cells, &[]).iter().map(|regime| regime.cell.id.clone()).collect()
        };
        let planned = names(&summary.cells);
        for index in 0..summary.cells.len() {
            let mut more = summary.cells[index].clone();
            more.id.push_str("/more");
            more.in_flight.configured *= 2;
            more.refines = true;
            summary.cells.push(more);
        }
        assert_eq!(names(&summary.cells), planned);
        summary.cells.iter_mut().for_each(|cell| cell.refines = false);
        assert_ne!(names(&summary.cells), planned);
    }

    #[test]
    fn a_mix_is_named_by_its_shares_and_a_plain_load_represents_its_direction_before_it() {
        let given = builtin("local-ssd");
        let plain = given.cells.iter().find(|cell| {
            cell.cut == Cut::Path
                && reads(cell.op)
                && cell.block_bytes.0 == 1 << 20
                && cell.in_flight.configured == 16
        });
        let plain = plain.unwrap().clone();
        let mut mix = plain.clone();
        mix.id = "path/mix".to_owned();
        let share = |op, weight| OpShare { op, weight };
        mix.requested.op_mix = vec![share(Op::Read, 7.0), share(Op::Write, 3.0)];
        let mut larger = mix.clone();
        larger.block_bytes.0 *= 4;
        for (first, second) in [(&plain, &mix), (&mix, &plain), (&plain, &larger)] {
            let cells = vec![first.clone(), second.clone()];
            let found = regimes(&cells, &[]);
            assert_eq!(found.len(), 1);
            assert!(!found[0].mixes_directions(), "{}", found[0].name());
        }
        let alone = [mix];
        let found = regimes(&alone, &[]);
        assert_eq!(found[0].name(), "bulk mix (70 % read, 30 % write, 1MiB, 16 in flight)");
    }

    #[test]
    fn the_loads_of_a_compared_verdict_are_those_of_its_regimes() {
        let given = builtin("gigabit-nfs");
        let found = regimes(&given.cells, &[]);
        for kind in RegimeKind::ALL {
            let of_kind: Vec<&Regime<'_>> = found.iter().filter(|regime| regime.kind == kind).collect();
            let [read, write] = of_kind.as_slice() else { continue };
            let both = narrows_model::comparison::RegimeLimit {
                regime: read.name_with(write),
                segments: Vec::new(),
            };
            assert_eq!(both.loads(), [read.name(), write.name()], "{}", both.regime);
            let one = narrows_model::comparison::RegimeLimit { regime: read.name(), ..both };
            assert_eq!(one.loads(), [read.name()]);
        }
    }
}
