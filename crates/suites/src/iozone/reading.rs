//! Remarks on the figures: where the surface breaks, what only a cache can have served, and how processes shared.

use super::columns::IozoneColumn;
use super::figures::IozonePoint;
use super::request::{FigureUnit, Request};
use super::surface::{Surface, SurfaceMarks, beyond_split, fall, flat, heat, short_kb, short_rate};
use super::throughput::{ThroughputFigures, shared_words};
use crate::host_rates::{HostLoad, LinkCeiling, data_rate};
use narrows_analysis::SHORT_RUN_S;
use narrows_model::quantity::{amount, seconds};
use narrows_model::{Bytes, Op};
use std::collections::BTreeMap;

/// Maps are drawn of so many columns; all are in the picture.
const MAPS_MAX: usize = 2;
/// Fewer sizes than this make no map.
const MAP_SIZES_MIN: usize = 2;
/// A file of less than this part of the memory does not fill its page cache, nor what of it may be dirty.
const MEMORY_SHARE: u64 = 16;
/// Files that fall to less than this share of the best are called so.
const NOTHING_RATIO: f64 = 0.05;
/// Records beyond the mount's requests that add less than this add nothing.
const SPLIT_GAIN: f64 = 1.1;
/// Tests of one process that are shorter are not evaluated: an interrupt dominates them.
const BRIEF_S: f64 = 0.001;

/// The sentences on `points`.
pub(super) fn sentences(points: &[IozonePoint], request: &Request, marks: &SurfaceMarks) -> Vec<String> {
    let is_direct = request.options().direct;
    let mut all: Vec<String> = in_memory(points, request, marks).into_iter().collect();
    all.extend(above(points, marks, is_direct));
    if request.is_throughput() {
        all.extend(short(points));
        all.extend(points.iter().filter(|point| !is_short(point)).filter_map(|point| shared(point, request)));
    } else {
        let columns = request.columns();
        let surfaces = |points: &[IozonePoint]| -> Vec<Surface> {
            columns.iter().filter_map(|one| Surface::from_points(points, one)).collect()
        };
        let usable: Vec<IozonePoint> = points.iter().filter(|point| !is_brief(point)).cloned().collect();
        all.extend(brief(points));
        all.extend(ridges(&surfaces(&usable), marks));
        all.extend(maps(&surfaces(points), marks));
    }
    all.extend(cut_short(points));
    all
}

/// The sentences on what processes on several hosts reached together, test by test; none for processes of this machine.
pub(super) fn of_hosts(points: &[IozonePoint], request: &Request, link: Option<LinkCeiling>) -> Vec<String> {
    let most = points.iter().map(|point| point.children.len()).max().unwrap_or(0);
    if request.hosts.is_empty() || most == 0 {
        return Vec::new();
    }
    let names = request.hosts.client_names(most);
    let numbered: Vec<String> =
        names.iter().enumerate().map(|(index, name)| format!("{index} {name}")).collect();
    let of_point = |point: &IozonePoint| {
        let children = point.children.iter().map(|child| child.value(FigureUnit::KbPerS));
        let rates: Vec<f64> = children.collect::<Option<_>>()?;
        let is_same = |one: &&IozonePoint| {
            one.column == point.column && one.file_kb == point.file_kb && one.record_kb == point.record_kb
        };
        let alone = points.iter().filter(is_same).find(|one| one.children.len() == 1 && !is_brief(one));
        let load = HostLoad {
            test: point.column.processes,
            names: names.get(..rates.len())?,
            rates: &rates,
            over_longest: point.bytes_per_s()? / 1024.0,
            alone: alone.and_then(|alone| alone.value(FigureUnit::KbPerS)),
            cpu_percent: point.cpu_percent().map(|percent| percent / rates.len() as f64),
            // Of reads and writes at once each has a direction of the link for itself.
            link: link.filter(|_| !point.column.is_mixed()),
            shown: data_rate,
        };
        Some(load.sentences())
    };
    let sentences = points.iter().filter(|point| !is_short(point)).filter_map(of_point).flatten();
    std::iter::once(format!("processes by host: {}", numbered.join(", "))).chain(sentences).collect()
}

/// Whether one wait for a CPU decides the figure.
fn is_brief(point: &IozonePoint) -> bool {
    point.wall_s() < BRIEF_S
}

/// Figures that no ridge is read from.
fn brief(points: &[IozonePoint]) -> Option<String> {
    let count = points.iter().filter(|point| is_brief(point)).count();
    (count > 0).then(|| {
        format!(
            "{count} of {} tests took under {}: a single wait for a CPU dominates such a figure, and none of \
             these remarks uses it; larger files take longer (-n, -s)",
            points.len(),
            seconds(BRIEF_S)
        )
    })
}

fn bytes(kb: u64) -> Bytes {
    Bytes(kb.saturating_mul(1024))
}

/// Figures that the page cache of this machine made: not of direct access, nor of reads of files whose pages were dropped.
fn in_memory(points: &[IozonePoint], request: &Request, marks: &SurfaceMarks) -> Option<String> {
    let memory = marks.memory_kb.filter(|_| !request.options().direct)?;
    let all = |point: &IozonePoint| point.file_kb.saturating_mul(point.children.len() as u64);
    let is_cached = |point: &&IozonePoint| !request.is_cold() || writes(point);
    let most = points.iter().filter(is_cached).map(all).max()?;
    let (which, remedy) = if request.is_cold() {
        ("the figures of writes", "-I, or -e")
    } else {
        ("these figures", "-I, -U for reads, or -e for writes")
    };
    (most < memory).then(|| {
        format!(
            "files of at most {} are smaller than the {} of memory: {which} show this machine's page cache, as far as \
             the files fit in it, not the device or the server; to measure those use larger files, {remedy}",
            amount(bytes(most)),
            amount(bytes(memory))
        )
    })
}

fn writes(point: &IozonePoint) -> bool {
    point.column.op == Op::Write || point.column.is_mixed()
}

/// Figures that no wire or device can have sustained.
fn above(points: &[IozonePoint], marks: &SurfaceMarks, is_direct: bool) -> Option<String> {
    let ceiling = marks.ceiling?;
    let rate = |point: &IozonePoint| point.bytes_per_s().map(|rate| rate / 1024.0);
    let is_above = |point: &&IozonePoint| rate(point).and_then(|rate| marks.is_cache(rate)) == Some(true);
    let found: Vec<&IozonePoint> = points.iter().filter(is_above).collect();
    let first = found.first()?;
    let what = if is_direct {
        "a cache other than this machine's page cache served them, or its own measured rate is too low"
    } else {
        "a cache served them"
    };
    Some(format!(
        "{} of {} figures are above {} of {}: {what}, such as {} of {} in records of {}",
        found.len(),
        points.len(),
        short_rate(ceiling.kb_per_s),
        ceiling.source,
        first.column.name,
        short_kb(first.file_kb),
        short_kb(first.record_kb)
    ))
}

/// A sentence for each ridge, with all the columns that have it.
fn ridges(surfaces: &[Surface], marks: &SurfaceMarks) -> Vec<String> {
    let mut by_sentence: BTreeMap<(u8, String), Vec<&str>> = BTreeMap::new();
    for surface in surfaces {
        for (rank, sentence) in [fallen(surface, marks), vanished(surface, marks), split(surface, marks)]
            .into_iter()
            .enumerate()
            .filter_map(|(rank, sentence)| Some((u8::try_from(rank).ok()?, sentence?)))
        {
            by_sentence.entry((rank, sentence)).or_default().push(surface.column.name);
        }
    }
    by_sentence
        .into_iter()
        .map(|((_, sentence), columns)| format!("{}: {sentence}", columns.join(", ")))
        .collect()
}

/// Where larger files fall off: the page cache, unless that is far larger.
fn fallen(surface: &Surface, marks: &SurfaceMarks) -> Option<String> {
    let (last, next) = fall(surface)?.between_kb;
    let is_small = marks.memory_kb.is_some_and(|memory| next.saturating_mul(MEMORY_SHARE) < memory);
    let what = if is_small {
        "a cache far smaller than the memory was exhausted there: the processor's, or the limit of dirty pages"
    } else {
        "the page cache was exhausted there, not the device, and smaller files measured the cache"
    };
    let (last, next) = (short_kb(last), short_kb(next));
    Some(format!("falls to half or less between files of {last} and {next}: {what}"))
}

/// Large files that are written at next to nothing over a network.
fn vanished(surface: &Surface, marks: &SurfaceMarks) -> Option<String> {
    let found = fall(surface)?;
    let (_, best) = surface.span();
    let (_, after) = found.rates;
    let is_remote = marks.write_kb.is_some();
    (surface.column.op == Op::Write && is_remote && after < NOTHING_RATIO * best).then(|| {
        format!(
            "files of {} and more are written at {}, very slow compared with {}: exhausted write-back is suspected, \
             not confirmed; check the client's dirty limits and the server's commits",
            short_kb(found.between_kb.1),
            short_rate(after),
            short_rate(best)
        )
    })
}

/// Records beyond what the mount asks for at once; of a path without such a size, records that add nothing.
fn split(surface: &Surface, marks: &SurfaceMarks) -> Option<String> {
    if let Some((size, name)) = marks.split_kb(surface.column) {
        let gain = beyond_split(surface, marks)?;
        return Some(if gain < SPLIT_GAIN {
            format!(
                "records above {} ({name}) are split into requests of that size and add nothing: they measure only \
                the client",
                short_kb(size)
            )
        } else {
            format!(
                "records above {} ({name}) are split into requests of that size; they are faster because the client \
                 saves time, not the server or the wire",
                short_kb(size)
            )
        });
    }
    let (record, file) = flat(surface)?;
    Some(format!("records above {} add nothing in files of {}", short_kb(record), short_kb(file)))
}

/// The maps of the first columns, below a sentence each.
fn maps(surfaces: &[Surface], marks: &SurfaceMarks) -> Vec<String> {
    let is_map =
        |surface: &&Surface| surface.files.len() >= MAP_SIZES_MIN && surface.records.len() >= MAP_SIZES_MIN;
    let first =
        |name: &str| surfaces.iter().filter(is_map).find(|one| Some(one.column) == IozoneColumn::named(name));
    let named: Vec<&Surface> = ["write", "read"].into_iter().filter_map(first).collect();
    let others = surfaces.iter().filter(is_map).filter(|one| !named.contains(one));
    let chosen = named.iter().copied().chain(others).take(MAPS_MAX);
    chosen
        .map(|surface| {
            let title = format!("{} by record and file size:", surface.column.name);
            format!("{title}\n{}\n", heat(surface, marks, "  "))
        })
        .collect()
}

fn is_short(point: &IozonePoint) -> bool {
    point.children.len() > 1 && point.wall_s() < SHORT_RUN_S
}

/// Tests of several processes in which the time that they take to start and to stop is much of all.
fn short(points: &[IozonePoint]) -> Option<String> {
    let found = points.iter().filter(|point| is_short(point));
    let shortest = found.clone().min_by(|one, other| one.wall_s().total_cmp(&other.wall_s()))?;
    let times = (SHORT_RUN_S / shortest.wall_s().max(1e-6)).ceil();
    Some(format!(
        "{} of {} tests of several processes took under {SHORT_RUN_S} s, the shortest {} with {}: too short to compare \
         the processes; for {SHORT_RUN_S} s use files {times:.0} times as large",
        found.count(),
        points.len(),
        shortest.column.name,
        seconds(shortest.wall_s())
    ))
}

/// What processes saw that did not share alike.
fn shared(point: &IozonePoint, request: &Request) -> Option<String> {
    let unit = if request.unit() == FigureUnit::MicrosPerOp { FigureUnit::KbPerS } else { request.unit() };
    let totals = ThroughputFigures::from_point(point, unit).filter(|totals| totals.processes > 1)?;
    let words = shared_words(
        (totals.children, Some(totals.parent)),
        (Some(totals.least), Some(totals.most)),
        totals.wall_s < point.parent_s(),
    )?;
    Some(format!("{} {}: {words}", totals.processes, point.column.processes))
}

fn cut_short(points: &[IozonePoint]) -> Option<String> {
    let found: Vec<&IozonePoint> = points.iter().filter(|point| point.cut_short).collect();
    let first = found.first()?;
    Some(format!(
        "{} of {} measurements were cut short before all records were done, the first of them {} of {} in records of \
        {}",
        found.len(),
        points.len(),
        first.column.name,
        short_kb(first.file_kb),
        short_kb(first.record_kb)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::figures::ProcessFigures;
    use super::super::surface::SurfaceCeiling;
    use super::super::testing::{point_of, request, surface};
    use super::*;
    use crate::client_hosts::SuiteHosts;

    fn nfs() -> SurfaceMarks {
        SurfaceMarks {
            read_kb: Some(64),
            write_kb: Some(64),
            memory_kb: Some(24_576),
            ceiling: Some(SurfaceCeiling { kb_per_s: 122_070.0, source: "the wire, as measured" }),
        }
    }

    #[test]
    fn a_surface_is_reported_by_its_ridges_and_its_maps() {
        let said = sentences(&surface(), &request("-a -i 0 -i 1"), &nfs());
        insta::assert_snapshot!("reading", said.join("\n- "));
    }

    #[test]
    fn files_below_the_memory_are_reported_as_cache() {
        let points = [point_of("write", 64, 4, 1000.0)];
        let said = sentences(
            &points,
            &request(""),
            &SurfaceMarks { memory_kb: Some(65), ..SurfaceMarks::default() },
        )
        .join("\n");
        assert!(said.contains("files of at most 64.0 KiB are smaller than the 65.0 KiB of memory"), "{said}");
        assert!(
            sentences(
                &points,
                &request(""),
                &SurfaceMarks { memory_kb: Some(64), ..SurfaceMarks::default() }
            )
            .is_empty()
        );
    }

    #[test]
    fn direct_access_passes_the_page_cache_and_is_not_reported_as_cached() {
        let points = [point_of("write", 64, 4, 900_000.0)];
        let said =
            sentences(&points, &request("-I"), &SurfaceMarks { memory_kb: Some(65), ..nfs() }).join("\n");
        assert!(!said.contains("page cache, as far") && !said.contains("-I"), "{said}");
        assert!(said.contains("a cache other than this machine's page cache served them"), "{said}");
    }

    #[test]
    fn files_whose_pages_are_dropped_leave_writes_alone_to_the_cache() {
        let marks = SurfaceMarks { memory_kb: Some(65), ..SurfaceMarks::default() };
        let said = |column: &str| {
            sentences(&[point_of(column, 64, 4, 1000.0)], &request("-U /mnt"), &marks).join("\n")
        };
        assert!(said("write").contains("memory: the figures of writes show this machine's page cache"));
        assert_eq!(said("read"), "");
    }

    #[test]
    fn writes_that_come_to_next_to_nothing_are_suspected_of_exhausted_write_back() {
        let points = [(1024, 90_000.0), (2048, 89_000.0), (4096, 900.0)]
            .map(|(file, rate)| point_of("write", file, 64, rate));
        let request = request("-s 1m -s 2m -s 4m -r 64 -i 0");
        let said = sentences(&points, &request, &nfs()).join("\n");
        assert!(said.contains("suspected, not confirmed") && said.contains("files of 4M and more"), "{said}");
        assert!(!sentences(&points, &request, &SurfaceMarks::default()).join("\n").contains("suspected"));
    }

    #[test]
    fn processes_that_did_not_run_together_are_reported() {
        let child = |elapsed_s| ProcessFigures { bytes: 65_536.0, ops: 16.0, elapsed_s, cpu_s: 0.1 };
        let point = |times: [f64; 2]| IozonePoint {
            children: times.map(child).to_vec(),
            ..point_of("write", 64, 4, 1.0)
        };
        let request = request("-t 2 -i 0 -s 64 -r 4");
        let said = sentences(&[point([1.0, 4.0])], &request, &SurfaceMarks::default()).join("\n");
        assert!(said.starts_with("2 initial writers: the children's sum is 2.5 times"), "{said}");
        assert!(said.contains("the fastest process had 4.0 times"), "{said}");
        assert!(sentences(&[point([1.0, 1.1])], &request, &SurfaceMarks::default()).is_empty());
        let said = sentences(&[point([0.01, 0.1])], &request, &SurfaceMarks::default());
        assert!(said.len() == 1 && said[0].contains("use files 5 times as large"), "{said:?}");
    }

    #[test]
    fn a_fall_far_below_the_memory_is_not_called_the_page_caches() {
        let points =
            [(1024, 9e5), (2048, 9e5), (4096, 4e5)].map(|(file, rate)| point_of("read", file, 64, rate));
        let request = request("-s 1m -s 2m -s 4m -r 64 -i 0 -i 1");
        let said = |memory_kb| {
            sentences(
                &points,
                &request,
                &SurfaceMarks { memory_kb: Some(memory_kb), ..SurfaceMarks::default() },
            )
            .join("\n")
        };
        assert!(
            said(1 << 20)
                .contains("read: falls to half or less between files of 2M and 4M: a cache far smaller")
        );
        assert!(said(4096).contains("the page cache was exhausted there, not the device"));
    }

    #[test]
    fn a_ridge_is_not_read_from_tests_of_microseconds() {
        let request = request("-s 64 -s 128 -s 256 -r 4 -i 0 -i 1");
        let points = [(64, 4e6), (128, 5e3), (256, 2e6)].map(|(file, rate)| point_of("read", file, 4, rate));
        let said = sentences(&points, &request, &SurfaceMarks::default()).join("\n");
        assert!(
            said.contains("2 of 3 tests took under 1.00 ms: a single wait for a CPU dominates"),
            "{said}"
        );
        assert!(!said.contains("falls to half") && !said.contains("add nothing"), "{said}");
    }

    #[test]
    fn processes_on_hosts_are_compared_with_the_link_and_named() {
        let child = |kb: f64| ProcessFigures { bytes: kb * 1024.0, ops: 16.0, elapsed_s: 2.0, cpu_s: 0.1 };
        let point = IozonePoint {
            children: [6000.0, 5900.0, 2000.0, 5800.0].map(child).to_vec(),
            ..point_of("write", 8192, 64, 1.0)
        };
        let names: Vec<String> = ["a", "b"].map(str::to_owned).to_vec();
        let mut asked = request("-t 4 -i 0 -s 8m -r 64");
        asked.set_hosts(&SuiteHosts::new(&names)).unwrap();
        let link = LinkCeiling { kb_per_s: 10_000.0, is_given: false };
        let said = of_hosts(std::slice::from_ref(&point), &asked, Some(link));
        assert_eq!(said[0], "processes by host: 0 a.1, 1 b.1, 2 a.2, 3 b.2");
        assert!(
            said[1].starts_with("network saturated: initial writers: 4 clients reach 9.62 MiB/s"),
            "{said:?}"
        );
        assert!(said[2].ends_with("or less: a.2"), "{said:?}");
        assert!(of_hosts(&[point], &request("-t 4 -i 0 -s 8m -r 64"), Some(link)).is_empty());
    }

    #[test]
    fn hosts_need_throughput_mode() {
        let hosts = SuiteHosts::new(&["a".to_owned(), "b".to_owned()]);
        let said = crate::testing::messages(&request("-i 0").set_hosts(&hosts).unwrap_err());
        assert_eq!(
            said,
            "--hosts: found no -t; allowed: --hosts in throughput mode (-t); add -t 2, a process for each host"
        );
    }

    #[test]
    fn what_was_cut_short_is_reported() {
        let points = [IozonePoint { cut_short: true, ..point_of("read", 64, 4, 1.0) }];
        let said = sentences(&points, &request("-s 64 -i 0 -i 1"), &SurfaceMarks::default()).join("\n");
        assert!(
            said.contains("1 of 1 measurements were cut short") && said.contains("read of 64k"),
            "{said}"
        );
    }
}
