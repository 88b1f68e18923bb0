//! The tables of a comparison: the loads of the path, the segments alone, and what changed in times and CPU.

use super::{ComparisonPage, HANGING, margin};
use crate::text::flags::Legend;
use crate::text::style::Paint;
use crate::text::table::{Align, Field, TextTable};
use crate::text::units::NO_FIGURE;
use crate::text::wrap::paragraph;
use narrows_model::Cut;
use narrows_model::comparison::{ComparedCell, ComparedFigure, FigureId, Verdict};
use narrows_model::quantity::{op_rate, seconds, storage_rate};

/// The tables.
pub(super) fn render(page: &ComparisonPage<'_>) -> String {
    let mut legend = Legend::default();
    let is_load = |cell: &&ComparedCell| cell.cut.is_none_or(|cut| cut == Cut::Path);
    let (loads, alone): (Vec<&ComparedCell>, Vec<&ComparedCell>) = page.found.cells.iter().partition(is_load);
    let all = alone.len();
    let decided =
        |cell: &&ComparedCell| page.style.detail || loads.is_empty() || cell.verdict != Verdict::Undecided;
    let alone: Vec<&ComparedCell> = alone.into_iter().filter(decided).collect();
    let remark = if alone.len() < all { "that differ; --detail has all" } else { "" };
    let mut out = rates(page, "LOADS", "the whole path", &loads, &mut legend);
    out.push_str(&rates(page, "SEGMENTS ALONE", remark, &alone, &mut legend));
    out.push_str(&notes(page, &legend));
    out.push_str(&others(page));
    out
}

fn rates(
    page: &ComparisonPage<'_>,
    name: &str,
    remark: &str,
    cells: &[&ComparedCell],
    legend: &mut Legend,
) -> String {
    if cells.is_empty() {
        return String::new();
    }
    let heads = [
        ("load", Align::Left),
        ("A", Align::Right),
        ("B", Align::Right),
        ("B/A", Align::Right),
        ("95 %", Align::Right),
        ("verdict", Align::Left),
        ("notes", Align::Left),
    ];
    let mut table = TextTable::new(&heads);
    for cell in cells {
        table.row(row(page, cell, legend));
    }
    page.style.heading(name, remark) + &table.render(page.style)
}

fn row(page: &ComparisonPage<'_>, cell: &ComparedCell, legend: &mut Legend) -> Vec<Field> {
    let rate = cell.figures.iter().find(|figure| figure.id.more_is_better());
    let of = |text: fn(&ComparedFigure) -> String| rate.map_or_else(|| NO_FIGURE.to_owned(), text);
    let mut flags = cell.flags_a.clone();
    flags.extend(cell.flags_b.iter().filter(|flag| !cell.flags_a.contains(flag)).cloned());
    let letters = legend.letters(&flags);
    let letters = if letters.is_empty() { letters } else { format!("[{letters}]") };
    vec![
        page.short_name(cell).into(),
        of(|figure| value(figure.id, figure.a)).into(),
        of(|figure| value(figure.id, figure.b)).into(),
        of(|figure| ratio(figure.ratio)).into(),
        of(interval).into(),
        verdict(page, cell.verdict, cell.within_margin),
        letters.into(),
    ]
}

fn verdict(page: &ComparisonPage<'_>, verdict: Verdict, within_margin: bool) -> Field {
    match verdict {
        Verdict::Worse => Field::new("worse", Paint::Limit),
        Verdict::Better => Field::new("better", Paint::Cleared),
        Verdict::Undecided if within_margin => format!("within {}", margin(page)).into(),
        Verdict::Undecided => Field::new("undecided", Paint::Faint),
    }
}

fn value(id: FigureId, value: f64) -> String {
    match id {
        FigureId::RateBytesPerS => storage_rate(value),
        FigureId::OpsPerS => op_rate(value),
        FigureId::LatencyNsP50 | FigureId::LatencyNsP99 => seconds(value / 1e9),
        // CPU time per GiB is a readable number: a byte takes picoseconds.
        FigureId::CpuSPerByte => format!("{}/GiB", seconds(value * 1_073_741_824.0)),
        FigureId::CpuSPerOp => format!("{}/op", seconds(value)),
    }
}

fn ratio(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 99.5 => format!("{ratio:.0}"),
        ratio if ratio >= 9.95 => format!("{ratio:.1}"),
        ratio if ratio >= 0.0995 => format!("{ratio:.2}"),
        ratio => format!("{ratio:.3}"),
    }
}

fn interval(figure: &ComparedFigure) -> String {
    let shown = figure.interval.as_ref().map(|found| format!("{}-{}", ratio(found.low), ratio(found.high)));
    shown.unwrap_or_else(|| NO_FIGURE.to_owned())
}

/// What the letters, and an interval beyond 1 without a verdict, mean.
fn notes(page: &ComparisonPage<'_>, legend: &Legend) -> String {
    let mut lines: Vec<String> = Vec::new();
    let workers = |cell: &ComparedCell| page.short_name(cell) != page.name(cell);
    if page.found.cells.iter().any(workers) {
        lines.push("x: requests in flight of one worker; w: workers, where there are several".to_owned());
    }
    lines.extend(legend.lines());
    let most = 1.0 + page.found.margin_ratio;
    let figures = || page.found.cells.iter().flat_map(|cell| &cell.figures);
    let beyond = |figure: &ComparedFigure| {
        let excludes_one = figure.interval.as_ref().is_some_and(|found| found.low > 1.0 || found.high < 1.0);
        let is_beyond = figure.ratio > most || figure.ratio * most < 1.0;
        excludes_one && is_beyond && figure.verdict == Verdict::Undecided
    };
    if figures().any(beyond) {
        lines.push(
            "undecided, though the interval is beyond 1: among so many comparisons that is not rare (Holm)"
                .to_owned(),
        );
    }
    let shown = lines.iter().map(|line| paragraph(line, HANGING, page.style.width));
    let faint = |text: String| {
        text.lines().map(|line| page.style.paint(Paint::Faint, line) + "\n").collect::<Vec<_>>().concat()
    };
    shown.map(faint).collect::<Vec<_>>().concat()
}

/// Response times and CPU: those that differ, or all with detail.
fn others(page: &ComparisonPage<'_>) -> String {
    let shown = |figure: &ComparedFigure| {
        let other = !figure.id.more_is_better();
        other && (page.style.detail || figure.decides || figure.verdict != Verdict::Undecided)
    };
    let rows: Vec<(&ComparedCell, &ComparedFigure)> = page
        .found
        .cells
        .iter()
        .flat_map(|cell| cell.figures.iter().map(move |figure| (cell, figure)))
        .filter(|(_, figure)| shown(figure))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let heads = [
        ("load", Align::Left),
        ("figure", Align::Left),
        ("A", Align::Right),
        ("B", Align::Right),
        ("B/A", Align::Right),
        ("95 %", Align::Right),
        ("verdict", Align::Left),
    ];
    let mut table = TextTable::new(&heads);
    for (cell, figure) in rows {
        table.row(vec![
            page.short_name(cell).into(),
            name(figure).into(),
            value(figure.id, figure.a).into(),
            value(figure.id, figure.b).into(),
            ratio(figure.ratio).into(),
            interval(figure).into(),
            verdict(page, figure.verdict, figure.within_margin),
        ]);
    }
    let remark = if page.style.detail { "" } else { "that differ; --detail has all" };
    page.style.heading("RESPONSE TIMES AND CPU", remark) + &table.render(page.style)
}

fn name(figure: &ComparedFigure) -> String {
    let what = match figure.id {
        FigureId::RateBytesPerS | FigureId::OpsPerS => "rate",
        FigureId::LatencyNsP50 => "p50",
        FigureId::LatencyNsP99 => "p99",
        FigureId::CpuSPerByte | FigureId::CpuSPerOp => "CPU",
    };
    match figure.role {
        Some(role) => format!("{} {what}", role.name()),
        None => what.to_owned(),
    }
}
