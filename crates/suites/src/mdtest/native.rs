//! The native output: the head of mdtest 4.1, the rates of each rank where they are asked for, and the table.
//!
//! Not here: what the summary does not have, which is the end of the run, the size of the file system, and the trees of a run without -z.

use super::figures::{IterationRates, MdtestRow, rows};
use super::request::Request;
use narrows_model::printable::one_line;
use narrows_model::workload::ObjectKind;
use narrows_model::{Cut, Summary};
use std::fmt::Write;

/// The version whose output this is, and who prints it.
const VERSION: &str = "4.1.0 by narrows";

/// The output of a run of `request`.
pub(super) fn native(request: &Request, summary: &Summary) -> String {
    let rows = rows(summary, request);
    let mut out = head(request, summary);
    if request.all_ranks {
        all_ranks(&mut out, &rows);
    }
    table(&mut out, &rows, request);
    out
}

/// The lines before the table.
fn head(request: &Request, summary: &Summary) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    if let Some(began) = timestamp(&summary.started_at) {
        let _ = writeln!(out, "-- started at {began} --\n");
    }
    let hosts = hosts(summary);
    let mut nodes = hosts.clone();
    nodes.sort_unstable();
    nodes.dedup();
    let _ = writeln!(
        out,
        "mdtest-{VERSION} was launched with {} total task(s) on {} node(s)",
        request.ranks(),
        nodes.len().max(1)
    );
    let mut words = summary.command.iter();
    if let Some(program) = words.next() {
        let _ = write!(out, "Command line used: {}", one_line(program));
        for word in words {
            let _ = write!(out, " '{}'", one_line(word));
        }
        out.push('\n');
    }
    if !hosts.is_empty() {
        let is_of_first = |host: &&str| if hosts.first() == Some(host) { '1' } else { '0' };
        let map: String = hosts.iter().map(is_of_first).collect();
        let _ = writeln!(out, "Nodemap: {map}");
    }
    let _ = writeln!(out, "Path                : {}", one_line(&summary.target.to_string()));
    if request.stride > 0 {
        let _ = writeln!(out, "Shifting ranks by {} for each phase.", request.shift());
    }
    if request.random {
        let _ = writeln!(out, "random seed: {}", summary.seed);
    }
    let items = match request.kinds.as_slice() {
        [ObjectKind::File] => "files",
        [ObjectKind::Folder] => "directories",
        _ => "files/directories",
    };
    let _ = writeln!(out, "{} tasks, {} {items}", request.ranks(), request.all_items());
    out
}

/// The host of each rank, as far as phases were measured.
fn hosts(summary: &Summary) -> Vec<&str> {
    let phases = summary.cells.iter().filter(|cell| cell.cut == Cut::Path && cell.test.is_some());
    let ranks = phases.map(|cell| &cell.per_client).max_by_key(|ranks| ranks.len());
    ranks.into_iter().flatten().map(|rank| rank.host.as_str()).collect()
}

/// A time of RFC 3339 as mdtest prints times, but in UTC; `None` where it is none.
fn timestamp(rfc3339: &str) -> Option<String> {
    let (date, time) = rfc3339.split_once('T')?;
    let time = time.get(..8)?;
    match date.split('-').collect::<Vec<_>>().as_slice() {
        [year, month, day] => Some(format!("{month}/{day}/{year} {time}")),
        _ => None,
    }
}

/// The rate of each rank in each phase, until it was done itself.
fn all_ranks(out: &mut String, rows: &[MdtestRow<'_>]) {
    out.push_str("\nPer process result (rate):\n");
    let mut iterations: Vec<u32> =
        rows.iter().flat_map(|row| row.measured.iter().map(|one| one.iteration)).collect();
    iterations.sort_unstable();
    iterations.dedup();
    for iteration in iterations {
        let _ = writeln!(out, "iteration: {}", iteration - 1);
        for row in rows {
            let Some(one) = row.measured.iter().find(|one| one.iteration == iteration) else { continue };
            let rates: Vec<String> = one.rank_rates().into_iter().map(with_exponent).collect();
            let _ = writeln!(out, "Test {} {}", row.test.title, rates.join(","));
        }
    }
}

/// A number as C's `%e` prints it.
fn with_exponent(value: f64) -> String {
    let text = format!("{value:.6e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// The table; what was not measured to its end has no line in it, and is named below.
fn table(out: &mut String, rows: &[MdtestRow<'_>], request: &Request) {
    let _ = writeln!(out, "\nSUMMARY rate (in ops/sec): (of {} iterations)", request.iterations);
    out.push_str(if request.rank_statistics {
        "   Operation     per Rank: Max            Min           Mean      per Iteration: Max            Min           \
         Mean        Std Dev\n   ---------               ---            ---           ----                      \
         ---            ---           ----        -------\n"
    } else {
        "   Operation                     Max            Min           Mean        Std Dev\n   \
         ---------                     ---            ---           ----        -------\n"
    });
    for row in rows.iter().filter(|row| row.is_whole()) {
        let Some(all) = row.iterations() else { continue };
        let _ = write!(out, "   {:<18} ", row.test.title);
        if let Some(ranks) = row.ranks().filter(|_| request.rank_statistics) {
            let _ = write!(out, "{}    ", figures(&ranks));
        }
        let _ = writeln!(out, "    {}{:14.3}", figures(&all), all.deviation);
    }
    let broken: Vec<&str> = rows.iter().filter(|row| !row.is_whole()).map(|row| row.test.title).collect();
    if !broken.is_empty() {
        let _ = writeln!(out, "incomplete, without a line: {}", broken.join(", "));
    }
}

/// Greatest, least and mean, each with the space behind it.
fn figures(rates: &IterationRates) -> String {
    format!("{:14.3} {:14.3} {:14.3} ", rates.max, rates.min, rates.mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_exponents_of_c() {
        // As printf("%e") of the C library prints them.
        let known = [
            (0.0, "0.000000e+00"),
            (1.0, "1.000000e+00"),
            (12_345.678_9, "1.234568e+04"),
            (9.999_999_9e99, "1.000000e+100"),
            (0.000_5, "5.000000e-04"),
        ];
        for (value, text) in known {
            assert_eq!(with_exponent(value), text);
        }
    }

    #[test]
    fn the_beginning_is_printed_as_mdtest_does_or_not_at_all() {
        assert_eq!(timestamp("2026-03-19T17:55:06.123Z").as_deref(), Some("03/19/2026 17:55:06"));
        for none in ["", "T", "2026-03-19", "2026-03T17:55:06"] {
            assert_eq!(timestamp(none), None, "{none}");
        }
    }
}
