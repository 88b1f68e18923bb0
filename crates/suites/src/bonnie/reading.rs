//! Remarks on the figures: phases that the processor limits, memory in place of the disk, phases that are too
//! short, whether rewriting is as fast as reading and writing imply, and what several processes achieve together.

use super::figures::{BonnieRow, rows};
use super::request::Request;
use super::{BonniePhase, PHASES, PhaseAction, text};
use crate::host_rates::{HostLoad, LinkCeiling, data_rate};
use narrows_analysis::BUSY_RATIO;
use narrows_model::quantity::{op_rate, seconds};
use narrows_model::units::ratio;
use narrows_model::{Bytes, Op, Summary};

/// From this CPU share on the process is what limits a phase: the published putc at 95 % and create at 99 % are called so.
const BUSY_PERCENT: f64 = BUSY_RATIO * 100.0;
/// Rewriting is what reading and writing one after the other make of it within this part: the published 84 % is called so.
const REWRITE_RATIO: std::ops::RangeInclusive<f64> = 0.75..=1.25;

/// The sentences on a run of `request`, after the tables where stdout has the CSV alone.
pub(super) fn reading(request: &Request, summary: &Summary) -> Vec<String> {
    let rows = rows(summary, request);
    let tables = request.csv_alone.then(|| text::tables(&rows, request));
    let link = LinkCeiling::new(None, &summary.segments);
    tables.into_iter().chain(sentences(&rows, request)).chain(of_hosts(&rows, request, link)).collect()
}

/// The sentences on what processes on several hosts reached together, phase by phase, of the first run.
fn of_hosts(rows: &[BonnieRow], request: &Request, link: Option<LinkCeiling>) -> Vec<String> {
    if request.hosts.is_empty() {
        return Vec::new();
    }
    let of_phase = |phase: &BonniePhase| {
        let run = rows.first()?.run;
        let of_run = rows.iter().filter(|row| row.run == run);
        let measured: Vec<(String, f64, f64)> = of_run
            .filter_map(|row| {
                let measured = row.phase(phase.name)?;
                Some((request.row_name(row.process), measured.rate()?, measured.cpu_percent()?))
            })
            .collect();
        let rates: Vec<f64> = measured.iter().map(|(_, rate, _)| *rate).collect();
        let (least, _) = bounds(&rates)?;
        let names: Vec<String> = measured.iter().map(|(name, ..)| name.clone()).collect();
        let cpu: f64 = measured.iter().map(|(_, _, cpu)| cpu).sum();
        let load = HostLoad {
            test: phase.name,
            names: &names,
            rates: &rates,
            // All do the same, so that the slowest takes longest.
            over_longest: least * rates.len() as f64,
            alone: None,
            cpu_percent: ratio(cpu, rates.len() as f64),
            // A rewritten block passes the link twice.
            link: link.filter(|_| phase.action.moves_data() && phase.action != PhaseAction::Rewrite),
            shown: if phase.action.moves_data() { data_rate } else { op_rate },
        };
        Some(load.sentences())
    };
    PHASES.iter().filter_map(of_phase).flatten().collect()
}

/// The sentences on `rows`.
pub(super) fn sentences(rows: &[BonnieRow], request: &Request) -> Vec<String> {
    let mut all: Vec<String> = in_memory(request).into_iter().collect();
    let Some(first) = rows.first() else { return all };
    all.extend(short(rows, request));
    all.extend(torn(rows, request));
    all.extend(busy(first));
    all.extend(rewrite(first));
    all.extend(seeks(first, request));
    let of_run: Vec<&BonnieRow> = rows.iter().filter(|row| row.run == first.run).collect();
    if of_run.len() > 1 {
        all.extend(PHASES.iter().filter_map(|phase| combined_rate(phase.name, phase.action, &of_run)));
    }
    if request.runs > 1 {
        all.extend(PHASES.iter().filter_map(|phase| over_runs(phase.name, rows)));
    }
    all
}

fn in_memory(request: &Request) -> Option<String> {
    let has_file = !request.direct && request.file_bytes().0 > 0;
    has_file.then(|| request.hosts.cached_file(request.file_bytes(), request.memory)).flatten()
}

/// Phases too short for a rate in any run and process, with what makes the shortest long enough.
fn short(rows: &[BonnieRow], request: &Request) -> Option<String> {
    let shortest = |(index, phase): (usize, &'static BonniePhase)| {
        let all = rows.iter().filter_map(|row| row.phases.get(index)?.as_ref());
        let short = all.filter(|measured| measured.is_short()).map(|measured| measured.elapsed_s);
        Some((phase, short.min_by(f64::total_cmp)?))
    };
    let short: Vec<(&BonniePhase, f64)> = PHASES.iter().enumerate().filter_map(shortest).collect();
    let times = |(_, elapsed_s): &(&BonniePhase, f64)| (super::SHORT_S / elapsed_s.max(1e-6)).ceil();
    let most = |is: fn(PhaseAction) -> bool| {
        short.iter().filter(|(phase, _)| is(phase.action)).map(times).max_by(f64::total_cmp)
    };
    let names: Vec<&str> = short.iter().map(|(phase, _)| phase.name).collect();
    let mut hints = Vec::new();
    let mib = request.file_bytes().as_f64() / Bytes(super::MIB).as_f64();
    let data = most(PhaseAction::moves_data).map(|times| format!("-s {:.0}", (times * mib).ceil()));
    let seeks = most(|does| does == PhaseAction::Seeks)
        .map(|times| format!("{:.0} seeks (-s SIZE:CHUNK:SEEKS)", times * Bytes(request.seeks).as_f64()));
    let files = most(|does| matches!(does, PhaseAction::Files(..)))
        .map(|times| format!("-n {:.0}", times * Bytes(request.files.thousands).as_f64()));
    hints.extend([data, seeks, files].into_iter().flatten());
    (!names.is_empty()).then(|| {
        format!(
            "under {} s and no rate (+++++): {}; to make them long enough: {}",
            super::SHORT_S,
            names.join(", "),
            hints.join(" and ")
        )
    })
}

/// Phases that were not done to their end, of each run and process by itself where there are several.
fn torn(rows: &[BonnieRow], request: &Request) -> Option<String> {
    let is_one = request.runs.max(request.processes) <= 1;
    let of_row = |row: &BonnieRow| {
        let all = PHASES.iter().zip(&row.phases);
        let torn = all.filter(|(_, measured)| measured.is_some_and(|measured| measured.cut_short));
        let names: Vec<&str> = torn.map(|(phase, _)| phase.name).collect();
        let of = if is_one { String::new() } else { format!(" (run {}, process {})", row.run, row.process) };
        (!names.is_empty()).then(|| format!("{}{of}", names.join(", ")))
    };
    let each: Vec<String> = rows.iter().filter_map(of_row).collect();
    (!each.is_empty())
        .then(|| format!("cut short, with a rate of the completed part only: {}", each.join("; ")))
}

/// Phases that the processor limits.
fn busy(row: &BonnieRow) -> Option<String> {
    let phrases = PHASES.iter().zip(&row.phases).filter_map(|(phase, measured)| {
        let cpu = measured.as_ref()?.cpu_percent()?;
        // Processes that seek are several.
        (cpu >= BUSY_PERCENT && phase.action != PhaseAction::Seeks)
            .then(|| format!("{} {cpu:.0} %", phase.name))
    });
    let phrases: Vec<String> = phrases.collect();
    (!phrases.is_empty()).then(|| {
        format!(
            "the process itself takes the time, not the device below it ({}): CPU is the limit there",
            phrases.join(", ")
        )
    })
}

/// Rewriting against reading and then writing each block at the rates of the block phases.
fn rewrite(row: &BonnieRow) -> Option<String> {
    let rate = |name: &str| row.phase(name)?.rate();
    let (read, write, rewrite) = (rate("get_block")?, rate("put_block")?, rate("rewrite")?);
    let composed = ratio(1.0, ratio(1.0, read)? + ratio(1.0, write)?)?;
    let share = ratio(rewrite, composed)?;
    let meaning = if REWRITE_RATIO.contains(&share) {
        "what limits block reads and writes limits it too"
    } else if share < 1.0 {
        "alternating reads and writes cost more than each alone: seeks between them, or reads without readahead"
    } else {
        "one of the two was served from memory in it, or waited longer when run alone"
    };
    Some(format!("rewrite is {:.0} % of 1/(1/read + 1/write): {meaning}", 100.0 * share))
}

fn seeks(row: &BonnieRow, request: &Request) -> Option<String> {
    let rate = row.phase("seeks")?.rate()?;
    let each_s = ratio(f64::from(request.seekers()), rate)?;
    Some(format!(
        "{} seek at once, and each waits {} for a block; every {}th is written back",
        request.seekers(),
        seconds(each_s),
        super::SEEKS_WRITTEN_BACK_EVERY
    ))
}

/// What several processes achieve together in one phase.
fn combined_rate(name: &str, does: PhaseAction, rows: &[&BonnieRow]) -> Option<String> {
    let rates: Vec<f64> = rows.iter().filter_map(|row| row.phase(name)?.rate()).collect();
    let (min, max) = bounds(&rates)?;
    let (unit, what) = match does {
        PhaseAction::Files(..) | PhaseAction::Seeks => ("a second", ""),
        _ => ("KiB a second", " of data"),
    };
    let verb = match does {
        PhaseAction::Characters(Op::Write) | PhaseAction::Blocks(Op::Write) => "write",
        PhaseAction::Characters(_) | PhaseAction::Blocks(_) => "read",
        _ => "do",
    };
    Some(format!(
        "{name}: {} processes {verb} {:.0} {unit}{what} together, each {min:.0} to {max:.0}",
        rates.len(),
        rates.iter().sum::<f64>()
    ))
}

/// How far the runs differ in one phase.
fn over_runs(name: &str, rows: &[BonnieRow]) -> Option<String> {
    let rates: Vec<f64> =
        rows.iter().filter(|row| row.process == 1).filter_map(|row| row.phase(name)?.rate()).collect();
    let (min, max) = bounds(&rates)?;
    let spread = ratio(max - min, min)?;
    (rates.len() > 1 && spread > 0.1).then(|| {
        format!(
            "{name}: the runs differ by {:.0} %, {min:.0} to {max:.0}: a single run is not representative",
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
    use super::super::figures::BonnieMeasurement;
    use super::super::request::Edition;
    use super::super::testing::{of_edition, published, row};
    use super::*;
    use crate::client_hosts::SuiteHosts;

    fn said(rows: &[BonnieRow], request: &Request) -> String {
        sentences(rows, request).join("\n")
    }

    #[test]
    fn the_published_run_is_read_as_its_authors_did() {
        let text = said(&[published()], &of_edition(Edition::V1_03));
        assert!(
            text.contains("CPU is the limit there") && text.contains("putc 95 %, seq_create 99 %"),
            "{text}"
        );
        assert!(text.contains("rewrite is 84 % of 1/(1/read + 1/write): what limits block reads"), "{text}");
        assert!(
            text.contains("no rate (+++++): seq_stat, seq_del, ran_stat; to make them long enough: -n 48"),
            "{text}"
        );
        assert!(!text.contains("page cache"), "{text}");
    }

    #[test]
    fn phases_that_are_short_or_cut_short_in_any_run_are_reported() {
        let mut second = BonnieRow { run: 2, ..row(4.0) };
        second.phases[1].as_mut().unwrap().elapsed_s = 0.25;
        second.phases[8].as_mut().unwrap().cut_short = true;
        let both = [row(4.0), second.clone()];
        let text = said(&both, &Request { runs: 2, ..of_edition(Edition::V1_03) });
        assert!(text.contains("no rate (+++++): put_block; to make them long enough: -s 20480\n"), "{text}");
        assert!(
            text.contains("cut short, with a rate of the completed part only: seq_del (run 2, process 1)"),
            "{text}"
        );
        assert!(said(&[second], &of_edition(Edition::V1_03)).contains("completed part only: seq_del\n"));
    }

    #[test]
    fn a_file_below_the_memory_is_reported_but_for_direct_access() {
        let hosts = SuiteHosts::new(&["a".to_owned(), "b".to_owned()]);
        let unknown = Request { memory: None, hosts, ..of_edition(Edition::V2_00) };
        assert!(
            said(&[], &unknown).contains("the memory of the hosts is not known"),
            "{}",
            said(&[], &unknown)
        );
        assert_eq!(said(&[], &Request { file_mib: Some(0), ..unknown }), "");
        let small = Request { file_mib: Some(1 << 10), ..of_edition(Edition::V2_00) };
        assert!(
            said(&[], &small).contains("1.00 GiB per file is less than the 4.00 GiB of memory"),
            "{}",
            said(&[], &small)
        );
        assert_eq!(said(&[], &Request { direct: true, ..small }), "");
    }

    #[test]
    fn a_rewrite_that_is_not_what_both_make_of_it_is_reported() {
        let mut row = published();
        let rewrite = |amount: f64| {
            Some(BonnieMeasurement { amount, elapsed_s: 1.0, cpu_s: 0.0, latency_ns: None, cut_short: false })
        };
        row.phases[2] = rewrite(10_000.0);
        assert!(said(&[row.clone()], &of_edition(Edition::V1_03)).contains("cost more than each alone"));
        row.phases[2] = rewrite(100_000.0);
        assert!(said(&[row], &of_edition(Edition::V1_03)).contains("served from memory"));
    }

    #[test]
    fn hosts_have_rows_of_their_own_and_a_straggler_is_named() {
        let hosts = SuiteHosts::new(&["a".to_owned(), "b".to_owned(), "c".to_owned()]);
        let asked = Request { processes: 3, hosts, ..of_edition(Edition::V1_03) };
        let mut rows = [1, 2, 3].map(|process| BonnieRow { process, ..published() });
        rows[2].phases[4].as_mut().unwrap().elapsed_s *= 3.0;
        let text = of_hosts(&rows, &asked, None).join("\n");
        assert_eq!(text, "get_block: stragglers, with half of the median of 62.5 MiB/s or less: c");
        let link = LinkCeiling { kb_per_s: 150_000.0, is_given: false };
        let text = of_hosts(&rows, &asked, Some(link)).join("\n");
        assert!(
            text.contains("network saturated: put_block: 3 clients reach 145 MiB/s together, 99 % of"),
            "{text}"
        );
        assert!(!text.contains("rewrite:") && !text.contains("saturated: seeks"), "{text}");
        assert!(
            of_hosts(&rows, &Request { hosts: SuiteHosts::default(), ..asked.clone() }, Some(link))
                .is_empty()
        );
        let printed = text::tables(&rows, &asked);
        for name in ["a ", "b ", "c "] {
            assert!(printed.lines().any(|line| line.starts_with(name)), "{printed}");
        }
    }

    #[test]
    fn a_name_for_all_is_refused_on_hosts_and_processes_are_those_of_each_host() {
        let hosts = SuiteHosts::new(&["a".to_owned(), "b".to_owned()]);
        let mut asked = of_edition(Edition::V1_03);
        let said = crate::testing::messages(&asked.set_hosts(&hosts).unwrap_err());
        assert!(said.starts_with("-m: found fs2, with --hosts; allowed: no name"), "{said}");
        let mut asked = Request { processes: 3, name: None, ..of_edition(Edition::V1_03) };
        asked.set_hosts(&hosts).unwrap();
        assert_eq!(
            (asked.processes, asked.row_name(1), asked.row_name(4)),
            (6, "a.1".to_owned(), "b.2".to_owned())
        );
        let mut many = Request { processes: 200, name: None, ..of_edition(Edition::V1_03) };
        assert!(
            crate::testing::messages(&many.set_hosts(&hosts).unwrap_err()).contains("on all hosts together")
        );
    }

    #[test]
    fn processes_are_reported_together_and_runs_that_differ() {
        let asked = Request { processes: 2, ..of_edition(Edition::V1_03) };
        let second = BonnieRow { process: 2, ..published() };
        let text = said(&[published(), second], &asked);
        assert!(
            text.contains(
                "put_block: 2 processes write 98708 KiB a second of data together, each 49354 to 49354"
            ),
            "{text}"
        );
        let mut slower = BonnieRow { run: 2, ..published() };
        slower.phases[1].as_mut().unwrap().elapsed_s *= 2.0;
        let text = said(&[published(), slower], &Request { runs: 2, processes: 1, ..asked });
        assert!(
            text.contains("put_block: the runs differ by 100 %") && !text.contains("getc: the runs"),
            "{text}"
        );
    }
}
