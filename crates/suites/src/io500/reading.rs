//! Remarks on the figures: what was cut short or is too short, memory and caches in place of the device, the find, how ranks
//! share, CPU.

use super::figures::{Io500Figure, figures};
use super::request::Request;
use super::{Io500Phase, MdtestSet, PhaseLoad, SHORT_S, STONEWALL_S};
use crate::creator::{Creator, cache_remarks};
use crate::mdtest::MdtestPhase;
use crate::process_cpu::cpu_share;
use narrows_analysis::BUSY_RATIO;
use narrows_analysis::spread::ClientSpread;
use narrows_model::quantity::{amount, percent, seconds};
use narrows_model::units::round_to_u64;
use narrows_model::{Bytes, Op, Summary};
use std::collections::BTreeSet;

/// From this share on, what a cache served is said.
const CACHED_RATIO: f64 = 0.05;
/// Ranks that are less equal are named.
const FAIR_INDEX: f64 = 0.95;
/// A set of so many times the memory is read from the device for the most part.
const MEMORY_TIMES: f64 = 2.0;

/// The sentences on a run of `request`.
pub(super) fn reading(request: &Request, summary: &Summary) -> Vec<String> {
    let all = figures(summary, request);
    let mut said = incomplete(&all);
    let whole: Vec<Io500Figure<'_>> = all.into_iter().filter(|figure| figure.is_whole).collect();
    said.extend(below_stonewall(&whole));
    said.extend(short(&whole));
    said.extend(from_memory(&whole, request));
    said.extend(served_by_cache(&whole));
    said.extend(from_caches(&whole, request));
    said.extend(find(&whole, request));
    said.extend(shares(&whole));
    said.extend(busy(&whole));
    said
}

/// Phases without a score: those that were begun and not completed, and those that were not begun.
fn incomplete(figures: &[Io500Figure<'_>]) -> Vec<String> {
    let names = |begun: bool| -> Vec<&str> {
        let broken = figures.iter().filter(|figure| !figure.is_whole && figure.is_begun() == begun);
        broken.map(|figure| figure.phase.name).collect()
    };
    let sentence = |begun: bool, words: &str| {
        let names = names(begun);
        (!names.is_empty()).then(|| format!("{}: {words}, so that there is no score", names.join(", ")))
    };
    let broken = sentence(true, "not all was done, or operations failed");
    broken.into_iter().chain(sentence(false, "not measured")).collect()
}

/// Phases that write for less than the stonewall of a valid run.
fn below_stonewall(figures: &[Io500Figure<'_>]) -> Option<String> {
    let is_below = |figure: &&Io500Figure<'_>| figure.phase.has_stonewall() && figure.elapsed_s < STONEWALL_S;
    let each = listed(figures.iter().filter(is_below), |figure| Some(seconds(figure.elapsed_s)))?;
    Some(format!(
        "IO500 has every rank write for {STONEWALL_S} s in each phase that writes, which fills caches that these phases may not \
         fill: {each}"
    ))
}

/// Phases too short for a rate, with how many times more makes the shortest long enough.
fn short(figures: &[Io500Figure<'_>]) -> Option<String> {
    let is_short = |figure: &&Io500Figure<'_>| figure.elapsed_s < SHORT_S;
    let each = listed(figures.iter().filter(is_short), |figure| Some(seconds(figure.elapsed_s)))?;
    let least = figures.iter().map(|figure| figure.elapsed_s).min_by(f64::total_cmp)?;
    Some(format!(
        "under {SHORT_S} s, which is mostly the ranks' start and end and what caches take up: {each}; {} times as many \
         --items, --segments-hard and --bytes-easy make the shortest long enough",
        round_to_u64((SHORT_S / least.max(1e-6)).ceil())
    ))
}

/// Files that are read and fit in the memory of the hosts that wrote them.
fn from_memory(figures: &[Io500Figure<'_>], request: &Request) -> Option<String> {
    let memory = request.memory?.as_f64();
    let is_read = |figure: &&Io500Figure<'_>| is_transfer(figure.phase, Op::Read);
    let fits = |figure: &Io500Figure<'_>| {
        let cell = figure.cells.first()?;
        let hosts: BTreeSet<&str> = cell.per_client.iter().map(|rank| rank.host.as_str()).collect();
        let bytes = cell.per_client.iter().map(|rank| rank.bytes.0).sum::<u64>();
        let is_small = Bytes(bytes).as_f64() < MEMORY_TIMES * memory * hosts.len() as f64;
        is_small.then(|| amount(Bytes(bytes)))
    };
    let each = listed(figures.iter().filter(is_read), fits)?;
    Some(format!(
        "a host of {} of memory can have much of what is read in its page cache, which is no rate of the device: {each}; give at \
         least {MEMORY_TIMES} times the memory with --bytes-easy and --segments-hard",
        amount(Bytes(round_to_u64(memory)))
    ))
}

/// Reads that a cache has served, by what the device or the wire moved.
fn served_by_cache(figures: &[Io500Figure<'_>]) -> Option<String> {
    let is_read = |figure: &&Io500Figure<'_>| is_transfer(figure.phase, Op::Read);
    let share = |figure: &Io500Figure<'_>| {
        let share = figure.cells.first()?.cache_served_ratio.filter(|share| *share >= CACHED_RATIO)?;
        Some(percent(share))
    };
    let each = listed(figures.iter().filter(is_read), share)?;
    Some(format!("a cache served a part of what was read, by the bytes of device or wire: {each}"))
}

/// Lookups and reads that the caches of a host may have answered.
fn from_caches(figures: &[Io500Figure<'_>], request: &Request) -> Vec<String> {
    let creator = |figure: &Io500Figure<'_>| {
        let cell = figure.cells.first()?;
        let load = &cell.requested;
        let shift = load.objects.map_or(load.client_files.shift, |set| set.stride);
        Some((figure.phase.name, Creator::from_ranks(shift, &cell.per_client)))
    };
    let visiting = figures.iter().filter(|figure| visits(figure.phase)).filter_map(creator);
    let is_back = |(_, creator): &(&str, Creator)| request.shift() > 0 && *creator == Creator::Itself;
    let (back, others): (Vec<_>, Vec<_>) = visiting.partition(is_back);
    let names: Vec<&str> = back.iter().map(|(name, _)| *name).collect();
    let sentence = (!names.is_empty()).then(|| {
        format!(
            "{}: shifted by several times {} of {} ranks, each is back at what it has created itself, which the caches of its \
             host may have: give more ranks",
            names.join(", "),
            request.shift(),
            request.ranks()
        )
    });
    cache_remarks(&others, "--shift").into_iter().chain(sentence).collect()
}

/// Whether a phase looks up or reads what an earlier one has written.
fn visits(phase: &Io500Phase) -> bool {
    match phase.load {
        PhaseLoad::IorEasy(op) | PhaseLoad::IorHard(op) => op == Op::Read,
        PhaseLoad::Mdtest(_, phase) => matches!(phase, MdtestPhase::Stat | MdtestPhase::Read),
        PhaseLoad::Find => true,
    }
}

/// That a folder of all ranks is listed by each of them.
fn find(figures: &[Io500Figure<'_>], request: &Request) -> Option<String> {
    let is_measured = figures.iter().any(|figure| figure.phase.load == PhaseLoad::Find);
    (is_measured && request.ranks() > 1).then(|| {
        format!(
            "find: every rank lists the one folder of {} as a whole and looks at the files of one rank; the original has one rank \
             list it, and others look: its rate here falls with the number of ranks, and the total with it",
            MdtestSet::Hard.name()
        )
    })
}

/// Phases in which the ranks' own rates are far apart.
fn shares(figures: &[Io500Figure<'_>]) -> Option<String> {
    let spread = |figure: &Io500Figure<'_>| {
        let spread = ClientSpread::from_rates(&figure.rank_rates())?;
        (spread.fairness < FAIR_INDEX).then(|| format!("({:.2})", spread.fairness))
    };
    let each = listed(figures.iter(), spread)?;
    Some(format!(
        "the ranks' own rates differ, by Jain's index, 1 if all are equal: {each}; the time of a phase is that of its last rank"
    ))
}

/// Phases whose processes were on the CPU nearly all of the time.
fn busy(figures: &[Io500Figure<'_>]) -> Option<String> {
    let share = |figure: &Io500Figure<'_>| {
        Some(percent(cpu_share(&figure.cells.first()?.per_client).filter(|share| *share >= BUSY_RATIO)?))
    };
    let each = listed(figures.iter(), share)?;
    Some(format!(
        "the ranks' CPUs were busy with {each}: the processes and the kernel take the time, and nothing waits"
    ))
}

fn is_transfer(phase: &Io500Phase, op: Op) -> bool {
    matches!(phase.load, PhaseLoad::IorEasy(found) | PhaseLoad::IorHard(found) if found == op)
}

/// The phases with what `words` has for them, separated by commas; `None` where it has nothing for any.
fn listed<'f, 's: 'f>(
    figures: impl Iterator<Item = &'f Io500Figure<'s>>,
    words: impl Fn(&Io500Figure<'s>) -> Option<String>,
) -> Option<String> {
    let each: Vec<String> =
        figures.filter_map(|figure| Some(format!("{} {}", figure.phase.name, words(figure)?))).collect();
    (!each.is_empty()).then(|| each.join(", "))
}
