//! What stands out in the figures: phases that the processor limits, memory in place of the disk, phases that are too
//! short, whether rewriting is what reading and writing make of it, and what several processes carry together.

use super::figures::{Row, rows};
use super::native::beside;
use super::options::Options;
use super::{Does, PHASES, Phase};
use narrows_analysis::text::{self, amount};
use narrows_model::units::ratio;
use narrows_model::{Bytes, Op, Summary};

/// From this CPU share on the process is what limits a phase: the published putc at 95 % and create at 99 % are called so.
const BUSY_PERCENT: f64 = 80.0;
/// Rewriting is what reading and writing one after the other make of it within this part: the published 84 % is called so.
const REWRITE_RATIO: std::ops::RangeInclusive<f64> = 0.75..=1.25;

/// The sentences on a run; none where `summary` is of another suite. Tables that stdout does not have come first.
pub(super) fn reading(summary: &Summary) -> Vec<String> {
    let Some(options) = summary.suite.as_ref().and_then(Options::of) else { return Vec::new() };
    let own = sentences(&rows(summary, &options), &options);
    beside(summary).into_iter().chain(own).collect()
}

/// The sentences on `rows`.
pub(super) fn sentences(rows: &[Row], options: &Options) -> Vec<String> {
    let mut all: Vec<String> = in_memory(options).into_iter().collect();
    let Some(first) = rows.first() else { return all };
    all.extend(short(rows, options));
    all.extend(torn(rows, options));
    all.extend(busy(first));
    all.extend(rewrite(first));
    all.extend(seeks(first, options));
    let of_run: Vec<&Row> = rows.iter().filter(|row| row.run == first.run).collect();
    if of_run.len() > 1 {
        all.extend(PHASES.iter().filter_map(|phase| together(phase.name, phase.does, &of_run)));
    }
    if options.runs > 1 {
        all.extend(PHASES.iter().filter_map(|phase| over_runs(phase.name, rows)));
    }
    all
}

fn in_memory(options: &Options) -> Option<String> {
    let memory = options.memory.filter(|memory| options.file.0 > 0 && options.file < *memory)?;
    (!options.is_direct).then(|| {
        format!(
            "{} a file is less than the {} of memory: what is read was written just before, and may come from this machine's \
             page cache",
            amount(options.file),
            amount(memory)
        )
    })
}

/// Phases too short for a rate in any run and process, with what makes the shortest long enough.
fn short(rows: &[Row], options: &Options) -> Option<String> {
    let shortest = |(index, phase): (usize, &'static Phase)| {
        let all = rows.iter().filter_map(|row| row.phases.get(index)?.as_ref());
        let short = all.filter(|measured| measured.is_short()).map(|measured| measured.elapsed_s);
        Some((phase, short.min_by(f64::total_cmp)?))
    };
    let short: Vec<(&Phase, f64)> = PHASES.iter().enumerate().filter_map(shortest).collect();
    let times = |(_, elapsed_s): &(&Phase, f64)| (super::SHORT_S / elapsed_s.max(1e-6)).ceil();
    let most = |is: fn(Does) -> bool| {
        short.iter().filter(|(phase, _)| is(phase.does)).map(times).max_by(f64::total_cmp)
    };
    let names: Vec<&str> = short.iter().map(|(phase, _)| phase.name).collect();
    let mut hints = Vec::new();
    let mib = options.file.as_f64() / Bytes(super::MIB).as_f64();
    let data = most(Does::moves_data).map(|times| format!("-s {:.0}", (times * mib).ceil()));
    let seeks = most(|does| does == Does::Seeks)
        .map(|times| format!("{:.0} seeks (-s SIZE:CHUNK:SEEKS)", times * Bytes(options.seeks).as_f64()));
    let files = most(|does| matches!(does, Does::Files(..)))
        .map(|times| format!("-n {:.0}", times * Bytes(options.thousands).as_f64()));
    hints.extend([data, seeks, files].into_iter().flatten());
    (!names.is_empty()).then(|| {
        format!(
            "under {} s and no rate (+++++): {}; what makes them long enough: {}",
            super::SHORT_S,
            names.join(", "),
            hints.join(" and ")
        )
    })
}

/// Phases that were not done to their end, of each run and process by itself where there are several.
fn torn(rows: &[Row], options: &Options) -> Option<String> {
    let is_one = options.runs.max(options.processes) <= 1;
    let of_row = |row: &Row| {
        let all = PHASES.iter().zip(&row.phases);
        let torn = all.filter(|(_, measured)| measured.is_some_and(|measured| measured.cut_short));
        let names: Vec<&str> = torn.map(|(phase, _)| phase.name).collect();
        let of = if is_one { String::new() } else { format!(" (run {}, process {})", row.run, row.process) };
        (!names.is_empty()).then(|| format!("{}{of}", names.join(", ")))
    };
    let each: Vec<String> = rows.iter().filter_map(of_row).collect();
    (!each.is_empty()).then(|| format!("cut short, and a rate of what was done alone: {}", each.join("; ")))
}

/// Phases that the processor limits.
fn busy(row: &Row) -> Option<String> {
    let told = PHASES.iter().zip(&row.phases).filter_map(|(phase, measured)| {
        let cpu = measured.as_ref()?.cpu_percent()?;
        // Processes that seek are several.
        (cpu >= BUSY_PERCENT && phase.does != Does::Seeks).then(|| format!("{} {cpu:.0} %", phase.name))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| {
        format!(
            "the process itself takes the time, not the device below it ({}): CPU is the limit there",
            told.join(", ")
        )
    })
}

/// Rewriting against reading and then writing each block at the rates of the block phases.
fn rewrite(row: &Row) -> Option<String> {
    let rate = |name: &str| row.of(name)?.rate();
    let (read, write, rewrite) = (rate("get_block")?, rate("put_block")?, rate("rewrite")?);
    let composed = ratio(1.0, ratio(1.0, read)? + ratio(1.0, write)?)?;
    let share = ratio(rewrite, composed)?;
    let meaning = if REWRITE_RATIO.contains(&share) {
        "what limits block reads and writes limits it too"
    } else if share < 1.0 {
        "reading and writing in turn costs more than both alone: seeks between them, or reads that nothing reads ahead"
    } else {
        "one of the two was served by memory in it, or waited longer when alone"
    };
    Some(format!("rewrite is {:.0} % of 1/(1/read + 1/write): {meaning}", 100.0 * share))
}

fn seeks(row: &Row, options: &Options) -> Option<String> {
    let rate = row.of("seeks")?.rate()?;
    let each_s = ratio(Bytes(options.seekers).as_f64(), rate)?;
    Some(format!(
        "{} seek at once, and each waits {} for a block; every {}th is written back",
        options.seekers,
        text::seconds(each_s),
        super::SEEKS_WRITTEN_BACK_EVERY
    ))
}

/// What several processes carry together in one phase.
fn together(name: &str, does: Does, rows: &[&Row]) -> Option<String> {
    let rates: Vec<f64> = rows.iter().filter_map(|row| row.of(name)?.rate()).collect();
    let (min, max) = bounds(&rates)?;
    let (unit, what) = match does {
        Does::Files(..) | Does::Seeks => ("a second", ""),
        _ => ("KiB a second", " of data"),
    };
    let verb = match does {
        Does::Characters(Op::Write) | Does::Blocks(Op::Write) => "write",
        Does::Characters(_) | Does::Blocks(_) => "read",
        _ => "do",
    };
    Some(format!(
        "{name}: {} processes {verb} {:.0} {unit}{what} together, each {min:.0} to {max:.0}",
        rates.len(),
        rates.iter().sum::<f64>()
    ))
}

/// How far the runs lie apart in one phase.
fn over_runs(name: &str, rows: &[Row]) -> Option<String> {
    let rates: Vec<f64> =
        rows.iter().filter(|row| row.process == 1).filter_map(|row| row.of(name)?.rate()).collect();
    let (min, max) = bounds(&rates)?;
    let spread = ratio(max - min, min)?;
    (rates.len() > 1 && spread > 0.1).then(|| {
        format!(
            "{name}: the runs differ by {:.0} %, {min:.0} to {max:.0}: one of them alone says little",
            100.0 * spread
        )
    })
}

fn bounds(rates: &[f64]) -> Option<(f64, f64)> {
    let min = rates.iter().copied().min_by(f64::total_cmp)?;
    Some((min, rates.iter().copied().max_by(f64::total_cmp)?))
}

#[cfg(test)]
mod tests {
    use super::super::figures::Measured;
    use super::super::request::Edition;
    use super::super::testing::{options, published, row};
    use super::*;

    fn said(rows: &[Row], options: &Options) -> String {
        sentences(rows, options).join("\n")
    }

    #[test]
    fn the_published_run_is_read_as_its_authors_did() {
        let text = said(&[published()], &options(Edition::V1_03));
        assert!(
            text.contains("CPU is the limit there") && text.contains("putc 95 %, seq_create 99 %"),
            "{text}"
        );
        assert!(text.contains("rewrite is 84 % of 1/(1/read + 1/write): what limits block reads"), "{text}");
        assert!(
            text.contains("no rate (+++++): seq_stat, seq_del, ran_stat; what makes them long enough: -n 48"),
            "{text}"
        );
        assert!(!text.contains("page cache"), "{text}");
    }

    #[test]
    fn phases_that_are_short_or_cut_short_in_any_run_are_told() {
        let mut second = Row { run: 2, ..row(4.0) };
        second.phases[1].as_mut().unwrap().elapsed_s = 0.25;
        second.phases[8].as_mut().unwrap().cut_short = true;
        let both = [row(4.0), second.clone()];
        let text = said(&both, &Options { runs: 2, ..options(Edition::V1_03) });
        assert!(
            text.contains("no rate (+++++): put_block; what makes them long enough: -s 20480\n"),
            "{text}"
        );
        assert!(
            text.contains("cut short, and a rate of what was done alone: seq_del (run 2, process 1)"),
            "{text}"
        );
        assert!(said(&[second], &options(Edition::V1_03)).contains("done alone: seq_del\n"));
    }

    #[test]
    fn a_file_below_the_memory_is_told_but_for_direct_access() {
        let small = Options { file: Bytes(1 << 30), ..options(Edition::V2_00) };
        assert!(
            said(&[], &small).contains("1.00 GiB a file is less than the 4.00 GiB of memory"),
            "{}",
            said(&[], &small)
        );
        assert_eq!(said(&[], &Options { is_direct: true, ..small }), "");
    }

    #[test]
    fn a_rewrite_that_is_not_what_both_make_of_it_is_told() {
        let mut row = published();
        let rewrite = |amount: f64| {
            Some(Measured { amount, elapsed_s: 1.0, cpu_s: 0.0, latency_ns: None, cut_short: false })
        };
        row.phases[2] = rewrite(10_000.0);
        assert!(said(&[row.clone()], &options(Edition::V1_03)).contains("costs more than both alone"));
        row.phases[2] = rewrite(100_000.0);
        assert!(said(&[row], &options(Edition::V1_03)).contains("served by memory"));
    }

    #[test]
    fn processes_are_told_together_and_runs_that_differ() {
        let options = Options { processes: 2, ..options(Edition::V1_03) };
        let second = Row { process: 2, ..published() };
        let text = said(&[published(), second], &options);
        assert!(
            text.contains(
                "put_block: 2 processes write 98708 KiB a second of data together, each 49354 to 49354"
            ),
            "{text}"
        );
        let mut slower = Row { run: 2, ..published() };
        slower.phases[1].as_mut().unwrap().elapsed_s *= 2.0;
        let text = said(&[published(), slower], &Options { runs: 2, processes: 1, ..options });
        assert!(
            text.contains("put_block: the runs differ by 100 %") && !text.contains("getc: the runs"),
            "{text}"
        );
    }
}
