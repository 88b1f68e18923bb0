//! Remarks on the figures, and what the published table does not show: how rates spread over processes.

use super::figures::{IoperfMeasurement, IoperfRow};
use super::native::row_name;
use super::request::{Request, RowKind};
use super::{KB, TESTS};
use crate::host_rates::{HostLoad, LinkCeiling, data_rate};
use narrows_analysis::spread::{ClientSpread, MixtureOutcome};
use narrows_analysis::{BUSY_RATIO, SHORT_RUN_S};
use narrows_model::quantity as text;
use narrows_model::units::ratio;
use narrows_model::{Bytes, Op};

/// From this CPU share on the process is what limits a test: the published putc at 83 to 94 % is called so.
const BUSY_PERCENT: f64 = BUSY_RATIO * 100.0;
/// Below this ratio of the sum of several processes to one of them, more processes have added nothing.
const ADDED_RATIO: f64 = 1.1;

/// The sentences on `rows`.
pub(super) fn sentences(rows: &[IoperfRow], request: &Request) -> Vec<String> {
    let mut all: Vec<String> = in_memory(request).into_iter().collect();
    all.extend(short(rows, request));
    all.extend(busy(rows, request));
    let find = |kind| rows.iter().find(|row: &&IoperfRow| row.kind == kind);
    if let Some(many) = find(RowKind::Processes) {
        let one = find(RowKind::OneProcess).or_else(|| find(RowKind::Run));
        for (index, test) in TESTS.iter().enumerate() {
            let Some(measured) = &many.tests[index] else { continue };
            all.extend(spread(test.name, measured));
            let alone = one.filter(|_| request.hosts.is_empty()).and_then(|one| one.tests[index].as_ref());
            all.extend(alone.and_then(|alone| added(test.name, measured, alone)));
        }
    }
    all
}

/// The sentences on what several hosts reached together, test by test; none for processes of this machine.
pub(super) fn of_hosts(rows: &[IoperfRow], request: &Request, link: Option<LinkCeiling>) -> Vec<String> {
    let find = |kind| rows.iter().find(|row: &&IoperfRow| row.kind == kind);
    let Some(many) = find(RowKind::Processes).filter(|_| !request.hosts.is_empty()) else {
        return Vec::new();
    };
    let of_test = |(index, test): (usize, &super::IoperfTest)| {
        let measured = many.tests[index].as_ref().filter(|measured| !measured.is_short())?;
        let rates = measured.rates();
        let least = rates.iter().copied().min_by(f64::total_cmp)?;
        let alone = find(RowKind::OneProcess).and_then(|one| one.tests[index].as_ref());
        let alone = alone.filter(|alone| !alone.is_short()).and_then(|alone| alone.figure().kb_per_s);
        let load = HostLoad {
            test: test.name,
            names: &request.hosts.client_names(rates.len()),
            rates: &rates,
            // All do the same, so that the slowest takes longest.
            over_longest: least * rates.len() as f64,
            alone,
            cpu_percent: measured.figure().cpu_percent,
            // A seek counts 20 bytes, of which the link transfers more or nothing.
            link: link.filter(|_| test.block.is_none()),
            shown: data_rate,
        };
        Some(load.sentences())
    };
    TESTS.iter().enumerate().filter_map(of_test).flatten().collect()
}

fn in_memory(request: &Request) -> Option<String> {
    let file = Bytes(request.file_kb().saturating_mul(1024));
    request.hosts.cached_file(file, request.memory)
}

fn short(rows: &[IoperfRow], request: &Request) -> Option<String> {
    let shortest =
        rows.iter().flat_map(|row| row.tests.iter().zip(TESTS).map(move |(test, of)| (row, test, of)));
    let (row, test, seconds) = shortest
        .filter_map(|(row, test, of)| Some((row, of, test.as_ref()?.shortest_s?)))
        .min_by(|one, other| one.2.total_cmp(&other.2))?;
    let times = (SHORT_RUN_S / seconds.max(1e-6)).ceil();
    (seconds < SHORT_RUN_S).then(|| {
        format!(
            "{} of {} took {}: for at least {SHORT_RUN_S} s give --count {:.0}",
            test.name,
            row_name(row.kind, request),
            text::seconds(seconds),
            times * request.count as f64
        )
    })
}

/// Tests that the process's own CPU time limits.
fn busy(rows: &[IoperfRow], request: &Request) -> Option<String> {
    let first = rows.first()?;
    let busy =
        |measured: &IoperfMeasurement| measured.figure().cpu_percent.filter(|cpu| *cpu >= BUSY_PERCENT);
    let phrases = TESTS.iter().zip(&first.tests).filter_map(|(test, measured)| {
        let cpu = measured.as_ref().and_then(busy)?;
        Some(format!("{} {cpu:.0} %", test.name))
    });
    let phrases: Vec<String> = phrases.collect();
    (!phrases.is_empty()).then(|| {
        format!(
            "{}: the process itself takes the time, not the layers below it ({})",
            row_name(first.kind, request),
            phrases.join(", ")
        )
    })
}

fn spread(test: &str, measured: &IoperfMeasurement) -> Option<String> {
    let rates = measured.rates();
    let spread = ClientSpread::from_rates(&rates)?;
    let mixture = match &spread.mixture {
        MixtureOutcome::Untold => "too few for a mixture test".to_owned(),
        MixtureOutcome::One => "one mode".to_owned(),
        MixtureOutcome::Several(found) => {
            let each: Vec<String> = found
                .iter()
                .map(|mode| format!("{:.0} % at {:.2}", 100.0 * mode.share, mode.centre))
                .collect();
            format!("a mixture ({}), whose mean describes none of them", each.join(", "))
        }
    };
    Some(format!(
        "{test} of {} processes, KB/sec: sum {:.2}, median {:.2}, min {:.2}, max {:.2}, CoV {:.3}, Jain's index {:.3}, \
         {mixture}",
        rates.len(),
        spread.sum,
        spread.median,
        spread.min,
        spread.max,
        spread.variation,
        spread.fairness,
    ))
}

/// What several processes transfer together, relative to one, where both took long enough to be compared.
fn added(test: &str, many: &IoperfMeasurement, one: &IoperfMeasurement) -> Option<String> {
    if many.is_short() || one.is_short() {
        return None;
    }
    let op = TESTS.iter().find(|known| known.name == test)?.op;
    let cpu = many.figure().cpu_percent?;
    let sum: f64 = many.rates().iter().sum();
    let times = ratio(sum, one.figure().kb_per_s?)?;
    (times < ADDED_RATIO && many.each.len() > 1 && cpu < BUSY_PERCENT).then(|| {
        let verb = if op == Op::Write { "write" } else { "read" };
        format!(
            "{test}: {} processes {verb} {times:.2} x what one does, {:.1} MiB/s in total, at {cpu:.1} % of a CPU \
             each: more of them add nothing, and a shared resource is full, not the processes",
            many.each.len(),
            sum / KB
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::figures::IoperfFigure;
    use super::super::testing::{published, request_of_three, row};
    use super::*;
    use crate::client_hosts::SuiteHosts;

    fn figure(rate: f64, cpu_percent: f64) -> IoperfFigure {
        IoperfFigure::from_times(40_000.0, 40_000.0 / rate, cpu_percent / 100.0 * 40_000.0 / rate)
    }

    fn said(rows: &[IoperfRow]) -> String {
        sentences(rows, &request_of_three()).join("\n")
    }

    #[test]
    fn a_file_below_the_memory_is_reported() {
        assert!(said(&[]).contains("39.1 MiB per file is less than the 256 MiB of memory"), "{}", said(&[]));
        let hosts = SuiteHosts::new(&["a".to_owned(), "b".to_owned()]);
        let on_hosts = Request { hosts, ..request_of_three() };
        let text = sentences(&[], &on_hosts).join("");
        assert!(
            text.contains("256 MiB of memory of the host with the least") && text.contains("its host's"),
            "{text}"
        );
        let text = sentences(&[], &Request { memory: None, ..on_hosts }).join("");
        assert!(text.contains("the memory of the hosts is not known"), "{text}");
        let large = Request { memory: Some(Bytes(1 << 20)), ..request_of_three() };
        assert_eq!(sentences(&[], &large).join(""), "");
    }

    #[test]
    fn the_shortest_test_is_reported_with_the_count_that_it_needs() {
        let mut rows = vec![row(RowKind::Run, &[figure(10_000.0, 10.0)])];
        assert!(!said(&rows).contains("took"));
        rows[0].tests[1].as_mut().unwrap().shortest_s = Some(0.09);
        assert!(said(&rows).contains("fread of ibmtest took 90.0 ms: for at least 0.5 s give --count 30000"));
    }

    #[test]
    fn a_test_that_the_cpu_limits_is_reported() {
        let mut rows = vec![row(RowKind::Run, &[figure(9049.77, 12.0)])];
        assert!(!said(&rows).contains("process itself"));
        rows[0].tests[2].as_mut().unwrap().each = vec![figure(9049.77, 83.26)];
        assert!(said(&rows).contains("not the layers below it (putc 83 %)"), "{}", said(&rows));
    }

    #[test]
    fn processes_that_add_nothing_share_what_is_full() {
        let one = row(RowKind::OneProcess, &[figure(8810.0, 12.0)]);
        let many = row(RowKind::Processes, &[figure(880.0, 2.0); 10]);
        let text = said(&[one.clone(), many]);
        assert!(text.contains("fwrite of 10 processes, KB/sec: sum 8800.00, median 880.00"), "{text}");
        assert!(text.contains("CoV 0.000, Jain's index 1.000"), "{text}");
        assert!(text.contains("fwrite: 10 processes write 1.00 x what one does"), "{text}");
        let scaling = row(RowKind::Processes, &[figure(8000.0, 12.0); 10]);
        assert!(!said(&[one, scaling]).contains("what one does"));
    }

    #[test]
    fn the_47_published_hosts_are_cleared_as_writers_and_named_by_kind_as_readers() {
        let all = published();
        let of = |name: &str| {
            let figures = all.iter().filter(|row| row.row.starts_with(name)).map(|row| row.figures);
            figures.collect::<Vec<_>>()
        };
        let names: Vec<String> =
            all.iter().filter(|row| row.row.starts_with("rcas6")).map(|row| row.row.clone()).collect();
        let measured = |each: &[[IoperfFigure; 5]], test: usize| {
            let each = each.iter().map(|figures| figures[test]).collect();
            Some(IoperfMeasurement { each, shortest_s: Some(4.0), cut_short: false })
        };
        let row = |kind, each: &[[IoperfFigure; 5]]| IoperfRow {
            kind,
            tests: [0, 1, 2, 3, 4].map(|test| measured(each, test)),
        };
        let alone = all.iter().rfind(|row| row.row == "ibmtest").unwrap().figures;
        let rows = [row(RowKind::OneProcess, &[alone]), row(RowKind::Processes, &of("rcas6"))];
        let asked = Request { hosts: SuiteHosts::new(&names), ..request_of_three() };
        let link = LinkCeiling { kb_per_s: 12.0 * 1024.0, is_given: true };
        let text = of_hosts(&rows, &asked, Some(link)).join("\n");
        // Published: the sum of rates is 1.0016 x one client, 72 % of the wire, and the clients ended far apart.
        assert!(
            text.contains("fwrite: 47 clients reach 4.76 MiB/s to 8.62 MiB/s together, 1.00 x what one"),
            "{text}"
        );
        assert!(
            text.contains("the clients are cleared; it is not the link, of which that is 72 %"),
            "{text}"
        );
        assert!(
            text.contains("fread: 47 clients reach") && text.contains("; 32 of them are each above"),
            "{text}"
        );
        assert!(text.contains("fread: hosts of several kinds"), "{text}");
        assert!(text.contains("rcas6002, rcas6005, rcas6007, rcas6008"), "{text}");
        assert!(of_hosts(&rows, &request_of_three(), Some(link)).is_empty());
    }

    /// Rates of the 47 published hosts in one test.
    fn hosts(test: usize) -> Vec<f64> {
        let hosts = published().into_iter().filter(|row| row.row.starts_with("rcas6"));
        hosts.map(|host| host.figures[test].kb_per_s.unwrap()).collect()
    }

    #[test]
    fn the_47_published_writers_are_reported_with_their_sum() {
        let spread = ClientSpread::from_rates(&hosts(0)).unwrap();
        // CLASSICS: sum of rates 8824 KB/s, mean 187.75.
        assert!((spread.sum - 8824.0).abs() < 1.0, "{spread:?}");
        assert!(spread.fairness > 0.9 && spread.min < spread.median && spread.median < spread.max);
    }

    #[test]
    fn the_47_published_readers_are_a_mixture_of_cached_and_remote_ones() {
        let MixtureOutcome::Several(found) = ClientSpread::from_rates(&hosts(1)).unwrap().mixture else {
            panic!("one mode")
        };
        // 14 of 47 were truly remote, at 247 to 778 KB/s, and 31 at the speed of their memory.
        assert!(found[0].centre < 1000.0 && found.last().unwrap().centre > 200_000.0, "{found:?}");
        let counts: Vec<f64> = found.iter().map(|mode| (47.0 * mode.share).round()).collect();
        assert_eq!(counts, [14.0, 2.0, 31.0], "{found:?}");
    }
}
