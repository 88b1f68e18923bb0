//! Remarks on the figures: what was cut short or is too short, caches in place of the server, how ranks share, latencies, CPU.

use super::figures::{MdtestMeasurement, MdtestRow, rows};
use super::request::{MdtestPhase, Request};
use super::{MdtestTest, SHORT_S};
use crate::creator::{Creator, cache_remarks};
use crate::process_cpu::cpu_share;
use narrows_analysis::BUSY_RATIO;
use narrows_analysis::spread::ClientSpread;
use narrows_model::quantity::{percent, seconds};
use narrows_model::units::{ratio, round_to_u64};
use narrows_model::{Bytes, Summary};

/// Ranks that are done before this part of the time of the last one leave it to work alone.
const EARLY_RATIO: f64 = 0.8;
/// Iterations that differ by more do not represent each other.
const ITERATIONS_DIFFER: f64 = 0.1;

/// The sentences on a run of `request`.
pub(super) fn reading(request: &Request, summary: &Summary) -> Vec<String> {
    let rows = rows(summary, request);
    let mut all = incomplete(&rows);
    all.extend(short(&rows, request));
    all.extend(untimed(&rows, request));
    all.extend(from_caches(&rows, request));
    all.extend(opened_only(request));
    all.extend(own_folders(request));
    all.extend(trees(&rows, request));
    all.extend(shares(&rows));
    all.extend(early(&rows));
    all.extend(over_iterations(&rows));
    all.extend(latencies(&rows));
    all.extend(busy(&rows));
    all
}

/// Lines that are missing in the table: of phases that were begun and not completed, then of those that were not begun.
fn incomplete(rows: &[MdtestRow<'_>]) -> Vec<String> {
    let broken = |row: &MdtestRow<'_>| {
        let of_row = row.measured.iter().filter(|one| !one.is_whole);
        let iterations: Vec<String> = of_row.map(|one| one.iteration.to_string()).collect();
        let title = row.test.title;
        (!iterations.is_empty()).then(|| {
            format!(
                "{title}: not all items were visited, or operations failed, in iteration {}, so that it has no line in the table",
                iterations.join(", ")
            )
        })
    };
    let is_missing = |row: &&MdtestRow<'_>| !row.is_whole() && row.measured.iter().all(|one| one.is_whole);
    let missing: Vec<&str> = rows.iter().filter(is_missing).map(|row| row.test.title).collect();
    let mut all: Vec<String> = rows.iter().filter_map(broken).collect();
    if !missing.is_empty() {
        all.push(format!(
            "not measured in every iteration, without a line in the table: {}",
            missing.join(", ")
        ));
    }
    all
}

/// Phases too short for a rate, with what makes the shortest long enough.
fn short(rows: &[MdtestRow<'_>], request: &Request) -> Option<String> {
    let shortest = |row: &MdtestRow<'_>| {
        let all = row.measured.iter().map(|one| one.elapsed_s).filter(|elapsed_s| *elapsed_s < SHORT_S);
        Some((row.test.title, all.min_by(f64::total_cmp)?))
    };
    // How long a tree takes depends on its folders, of which there are few.
    let of_items = rows.iter().filter(|row| !row.test.is_of_tree);
    let short: Vec<(&str, f64)> = of_items.filter_map(shortest).collect();
    let least = short.iter().map(|(_, elapsed_s)| *elapsed_s).min_by(f64::total_cmp)?;
    let each: Vec<String> =
        short.iter().map(|(title, elapsed_s)| format!("{title} {}", seconds(*elapsed_s))).collect();
    let items = Bytes(request.items).as_f64() * SHORT_S / least.max(1e-6);
    Some(format!(
        "under {SHORT_S} s, which is mostly the ranks' start and end and what caches take up: {}; -n {} makes the shortest \
         long enough",
        each.join(", "),
        round_to_u64(items.ceil())
    ))
}

/// Items that no phase has created.
fn untimed(rows: &[MdtestRow<'_>], request: &Request) -> Option<String> {
    let is_measured = rows.iter().any(|row| !row.measured.is_empty());
    (is_measured && !request.creates()).then(|| {
        "the items were made before, untimed and by one process: its host has them in its caches, and other hosts have not"
            .to_owned()
    })
}

/// Lookups and reads that a cache may have served.
fn from_caches(rows: &[MdtestRow<'_>], request: &Request) -> Vec<String> {
    let visits = |test: &MdtestTest| matches!(test.phase, MdtestPhase::Stat | MdtestPhase::Read);
    let creator = |row: &MdtestRow<'_>| {
        let cell = row.measured.first()?.cell;
        let stride = cell.requested.objects.map_or(0, |set| set.stride);
        Some((row.test.title, Creator::from_ranks(stride, &cell.per_client)))
    };
    let rows = rows.iter().filter(|row| request.creates() && visits(row.test));
    cache_remarks(&rows.filter_map(creator).collect::<Vec<_>>(), "-N")
}

fn opened_only(request: &Request) -> Option<String> {
    let reads = request.tests().any(|test| test.phase == MdtestPhase::Read);
    (reads && request.read_bytes.0 == 0)
        .then(|| "File read: each file is opened and closed, and nothing is read of it (-e 0)".to_owned())
}

fn own_folders(request: &Request) -> Option<String> {
    (request.unique_folders && request.ranks() > 1).then(|| {
        "each rank has a folder of its own (-u), so that ranks do not wait for each other's changes of one folder: without \
         -u they do"
            .to_owned()
    })
}

/// What the rates of the tree are of.
fn trees(rows: &[MdtestRow<'_>], request: &Request) -> Option<String> {
    let folders = request.tree?.folder_count();
    let of_tree = rows.iter().map(|row| row.test).filter(|test| test.is_of_tree);
    let titles: Vec<&str> = of_tree.map(|test| test.title).collect();
    let ranks = request.ranks();
    let counted = if !request.unique_folders {
        "made by rank 0 alone".to_owned()
    } else if ranks < 2 {
        "of the one rank".to_owned()
    } else {
        format!(
            "of each rank, counted for all {ranks}, where mdtest counts those of one rank over the same time"
        )
    };
    (!titles.is_empty()).then(|| format!("{}: {folders} folders {counted}", titles.join(", ")))
}

/// How equal the ranks' own rates are, of each line in the iteration in which they are least so.
fn shares(rows: &[MdtestRow<'_>]) -> Option<String> {
    let least_equal = |row: &MdtestRow<'_>| {
        let spreads = row.measured.iter().filter_map(|one| ClientSpread::from_rates(&one.rank_rates()));
        let spread = spreads.min_by(|one, other| one.fairness.total_cmp(&other.fairness))?;
        Some(format!("{} {:.0} to {:.0} ({:.2})", row.test.title, spread.min, spread.max, spread.fairness))
    };
    let each: Vec<String> = rows.iter().filter_map(least_equal).collect();
    (!each.is_empty()).then(|| {
        format!(
            "items a second of the slowest and of the fastest rank, and Jain's index, 1 if all are equal: {}",
            each.join("; ")
        )
    })
}

/// Lines whose first rank was done long before the last one.
fn early(rows: &[MdtestRow<'_>]) -> Option<String> {
    // The ranks of a short phase do not even start at the same moment.
    let share = |one: &MdtestMeasurement<'_>| {
        if one.elapsed_s < SHORT_S {
            return None;
        }
        let first_s = one.cell.per_client.iter().map(|rank| rank.elapsed_s).min_by(f64::total_cmp)?;
        ratio(first_s, one.elapsed_s)
    };
    let least = |row: &MdtestRow<'_>| {
        let least = row.measured.iter().filter_map(share).min_by(f64::total_cmp)?;
        (least < EARLY_RATIO).then(|| format!("{} {}", row.test.title, percent(least)))
    };
    let each: Vec<String> = rows.iter().filter_map(least).collect();
    (!each.is_empty()).then(|| {
        format!(
            "the first rank was done after a part of the time that the last took, by which rates are counted: {}; while all \
             ranks worked they did more together",
            each.join(", ")
        )
    })
}

/// How far the iterations of a line differ.
fn over_iterations(rows: &[MdtestRow<'_>]) -> Option<String> {
    let differing = |row: &MdtestRow<'_>| {
        let rates = row.iterations()?;
        let differ = ratio(rates.max - rates.min, rates.min)?;
        (differ > ITERATIONS_DIFFER).then(|| format!("{} {}", row.test.title, percent(differ)))
    };
    let each: Vec<String> = rows.iter().filter_map(differing).collect();
    (!each.is_empty()).then(|| {
        format!("the iterations differ, so that one alone is not representative: {}", each.join(", "))
    })
}

/// Median and 99th percentile of an operation, in the first iteration.
fn latencies(rows: &[MdtestRow<'_>]) -> Option<String> {
    let times = |row: &MdtestRow<'_>| {
        let latency = &row.measured.first()?.cell.latency_ns;
        let (p50, p99) = latency.p50.zip(latency.p99)?;
        let shown = |ns: u64| seconds(Bytes(ns).as_f64() / 1e9);
        Some(format!("{} p50 {}, p99 {}", row.test.title, shown(p50), shown(p99)))
    };
    let each: Vec<String> = rows.iter().filter_map(times).collect();
    (!each.is_empty()).then(|| each.join("; "))
}

/// Lines whose processes were on the CPU nearly all of the time.
fn busy(rows: &[MdtestRow<'_>]) -> Option<String> {
    let share = |row: &MdtestRow<'_>| {
        let share = cpu_share(&row.measured.first()?.cell.per_client).filter(|share| *share >= BUSY_RATIO)?;
        Some(format!("{} {}", row.test.title, percent(share)))
    };
    let each: Vec<String> = rows.iter().filter_map(share).collect();
    (!each.is_empty()).then(|| {
        format!("the ranks' CPUs were busy with {}: the processes and the kernel take the time, and nothing waits", each.join(", "))
    })
}
