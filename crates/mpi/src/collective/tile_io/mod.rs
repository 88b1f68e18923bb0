//! `mpi-tile-io`: each rank writes or reads its tile of a two-dimensional data set, by a data type that selects it.
//!
//! # Source
//! `mpi-tile-io.c` of the Parallel I/O Benchmarking Consortium (Argonne National Laboratory): options, the place of each tile,
//! what is timed, and the output lines, which are recalled but for those that published logs show (`# collective I/O off`,
//! `Write Bandwidth = `). `--read_file`, `--check` and `--keep` are ours; a header and several files are left out.

mod tiles;

pub(super) use tiles::TileIoArguments;

use super::phase::{FileSeconds, MEGABYTE, OwnPhase, TimeSpread, megabytes_per_s, wrong_count};
use super::room::{check_costs, check_room};
use super::suite_file::SuiteFile;
use super::{SuiteFailure, SuiteOutput, folder_of, rank_count, step};
use crate::file::{MpiFile, MpiOpenMode};
use crate::view::{ArrayPart, grid_of_ranks};
use mpi::collective::CommunicatorCollectives as _;
use mpi::topology::{Communicator as _, SimpleCommunicator};
use narrows_model::Op;
use narrows_model::collective::{CollectivePhase, CollectivePoint, PhaseSync};
use tiles::{TileSet, fill};

/// Bytes of a megabyte in the line on the file, as the original counts there.
const MBYTE: f64 = 1_048_576.0;

/// Runs the test on all ranks of `world`.
pub(super) fn run(
    world: &SimpleCommunicator,
    arguments: &TileIoArguments,
) -> Result<SuiteOutput, SuiteFailure> {
    let mut dims = [0; 2];
    step(world, grid_of_ranks(world.size(), &mut dims))?;
    let grid = dims.map(|count| u64::from(count.unsigned_abs()));
    let tiles =
        TileSet::new(arguments, u64::from(rank_count(world)), grid).map_err(SuiteFailure::BadInput)?;
    let file = SuiteFile::new(world, &arguments.file, &arguments.options.hints);
    if arguments.write_file {
        file.check_new()?;
        let needed_bytes = if file.is_first() { tiles.file_bytes() } else { 0 };
        check_room(world, folder_of(&arguments.file), needed_bytes)?;
    } else {
        file.check_readable(tiles.file_bytes())?;
    }
    if !arguments.options.yes {
        let passes = u64::from(arguments.write_file) + u64::from(arguments.reads());
        check_costs(world, tiles.tile_bytes().saturating_mul(passes))?;
    }
    let test = step(world, TileTest::new(arguments, tiles, file))?;
    let keeps = arguments.keep || !arguments.read_file;
    let phases = test.file.left(test.written_and_read(), keeps)?;
    Ok(output(arguments, tiles, test.file.point(tiles.words(), phases)))
}

/// Time within the call that opened the file, and within the one that moved the tile.
#[derive(Debug, Clone, Copy)]
struct TileSeconds {
    open_s: f64,
    transfer_s: f64,
}

struct TileTest<'a> {
    arguments: &'a TileIoArguments,
    tiles: TileSet,
    file: SuiteFile<'a>,
    view: ArrayPart,
    /// What the tile of this rank has once it is written.
    data: Vec<u8>,
}

impl<'a> TileTest<'a> {
    fn new(arguments: &'a TileIoArguments, tiles: TileSet, file: SuiteFile<'a>) -> Result<Self, String> {
        let rank = u64::try_from(file.world.rank()).unwrap_or_default();
        let view = tiles.view(rank)?;
        let mut data = zeroed(tiles.tile_bytes())?;
        let row_bytes = usize::try_from(tiles.x.length * tiles.element_bytes).unwrap_or(usize::MAX);
        for (range, row) in tiles.rows(rank).zip(data.chunks_mut(row_bytes)) {
            fill(range, row);
        }
        Ok(Self { arguments, tiles, file, view, data })
    }

    fn written_and_read(&self) -> Result<Vec<CollectivePhase>, SuiteFailure> {
        let mut phases = Vec::new();
        if self.arguments.write_file {
            phases.push(self.written()?);
            self.file.check_length(self.tiles.file_bytes())?;
        }
        if self.arguments.reads() {
            phases.push(self.read()?);
        }
        Ok(phases)
    }

    /// The file, which shows this rank its tile alone, and how long it took to open it.
    fn open(&self, mode: MpiOpenMode) -> Result<(MpiFile, f64), SuiteFailure> {
        self.file.world.barrier();
        let (file, open_s) = self.file.timed_open(mode)?;
        step(self.file.world, file.set_view(&self.view))?;
        Ok((file, open_s))
    }

    fn written(&self) -> Result<CollectivePhase, SuiteFailure> {
        let world = self.file.world;
        let (file, open_s) = self.open(MpiOpenMode::New)?;
        world.barrier();
        let from = mpi::time();
        let moved = file.write(self.arguments.transfer(), &self.data);
        let transfer_s = mpi::time() - from;
        step(world, moved.and(file.sync()))?;
        self.closed(file, Op::Write, TileSeconds { open_s, transfer_s }, None)
    }

    fn read(&self) -> Result<CollectivePhase, SuiteFailure> {
        let world = self.file.world;
        let mut found = step(world, zeroed(self.tiles.tile_bytes()))?;
        let (file, open_s) = self.open(MpiOpenMode::ReadOnly)?;
        world.barrier();
        let from = mpi::time();
        let moved = file.read(self.arguments.transfer(), &mut found);
        let transfer_s = mpi::time() - from;
        step(world, moved)?;
        let wrong =
            || found.iter().zip(&self.data).filter(|(found, written)| found != written).count() as u64;
        let wrong_count = self.arguments.compares().then(wrong);
        self.closed(file, Op::Read, TileSeconds { open_s, transfer_s }, wrong_count)
    }

    /// The phase of all ranks, which ends with the file closed.
    fn closed(
        &self,
        file: MpiFile,
        op: Op,
        seconds: TileSeconds,
        wrong_count: Option<u64>,
    ) -> Result<CollectivePhase, SuiteFailure> {
        let world = self.file.world;
        world.barrier();
        let from = mpi::time();
        let closed = file.close();
        let close_s = mpi::time() - from;
        step(world, closed)?;
        let own = OwnPhase {
            op,
            transfer: self.arguments.transfer(),
            call_count: 1,
            sync: (op == Op::Write).then_some(PhaseSync::AfterTime),
            bytes: self.tiles.tile_bytes(),
            transfer_s: seconds.transfer_s,
            file_s: Some(FileSeconds { open_s: seconds.open_s, close_s }),
            wrong_count,
        };
        Ok(own.of_all(world))
    }
}

fn zeroed(bytes: u64) -> Result<Vec<u8>, String> {
    let length = usize::try_from(bytes).map_err(|_| format!("{bytes} bytes of one rank"))?;
    let mut data = Vec::new();
    data.try_reserve_exact(length).map_err(|error| format!("memory for {bytes} bytes: {error}"))?;
    data.resize(length, 0);
    Ok(data)
}

fn output(arguments: &TileIoArguments, tiles: TileSet, point: CollectivePoint) -> SuiteOutput {
    let mut text = heading(arguments, tiles, point.rank_count);
    for phase in &point.phases {
        let (name, label) = if phase.op == Op::Write { ("Write", "Write:") } else { ("Read", "Read: ") };
        for line in [
            TimeSpread::from_ranks(phase, |rank| rank.open_ns.unwrap_or_default()).line("Open: "),
            TimeSpread::from_ranks(phase, |rank| rank.transfer_ns).line(label),
            TimeSpread::from_ranks(phase, |rank| rank.close_ns.unwrap_or_default()).line("Close:"),
            "# Note: bandwidth values based on max_t (worst case)\n".to_owned(),
            format!("{name} Bandwidth = {:.6} Mbytes/sec\n", megabytes_per_s(phase, MEGABYTE)),
        ] {
            text.push_str(&line);
        }
    }
    let wrong = wrong_count(&point.phases);
    if wrong == Some(0) {
        text.push_str("# Data read are those written.\n");
    }
    let wrong = wrong.filter(|count| *count > 0);
    let mismatch = wrong.map(|count| format!("{count} bytes of those read differ from those written"));
    SuiteOutput { text, points: vec![point], mismatch }
}

/// The lines of the original before its times.
fn heading(arguments: &TileIoArguments, tiles: TileSet, rank_count: u32) -> String {
    let TileSet { x, y, element_bytes } = tiles;
    [
        format!("# {rank_count} process(es) available, {rank_count} used\n"),
        format!("# filename: {}\n", arguments.file.display()),
        format!("# collective I/O {}\n", if arguments.collective { "on" } else { "off" }),
        "# 0 byte header\n".to_owned(),
        format!("# {} x {} element dataset, {element_bytes} bytes per element\n", x.total(), y.total()),
        format!(
            "# {} x {} tiles, each tile is {} x {} elements\n",
            x.tile_count, y.tile_count, x.length, y.length
        ),
        format!("# tiles overlap by {} elements in X, {} elements in Y\n", x.overlap, y.overlap),
        format!("# total file size is ~{:.2} Mbytes, 1 file(s) total.\n", tiles.file_bytes() as f64 / MBYTE),
        "# Times are total for all operations of the given type\n".to_owned(),
    ]
    .concat()
}
