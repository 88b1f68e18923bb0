//! How much runs of one path differ with nothing changed: what `narrows noise` shows.
//!
//! Not here: deviations and numbers of runs, which are `analysis`'.

use super::Style;
use super::comparison::head::side;
use super::names::CellNames;
use super::style::Paint;
use super::table::{Align, TextTable};
use super::units::{NO_FIGURE, counted_len};
use super::wrap::{Indent, paragraph};
use narrows_model::Summary;
use narrows_model::comparison::FigureId;
use narrows_model::noise::{LoadNoise, Noise};
use narrows_model::quantity::{op_rate, storage_rate};

const HANGING: Indent<'static> = Indent { first: "  ", rest: "    " };

/// The noise of runs whose first has the summary `first`: the noisiest load first in a sentence, then a table of all.
///
/// # Shape
/// A row for each load in each of two tables.
#[must_use]
pub fn noise(found: &Noise, first: &Summary, style: &Style) -> String {
    let names = CellNames::from_summary(first);
    let mut out = paragraph(&sentence(found, &names), Indent { first: "", rest: "  " }, style.width);
    out.push('\n');
    out.push_str(&side("runs", &found.side, style));
    out.push_str(&style.heading("RATES", "of the runs, with nothing changed"));
    out.push_str(&rates(found, &names).render(style));
    if found.loads.iter().any(|load| !load.smallest.is_empty()) {
        out.push_str(
            &style.heading("WHAT RUNS SHOW", "of two sides that are compared, found in 4 of 5 cases"),
        );
        out.push_str(&powers(found, &names).render(style));
        let meaning = "2, 3, 5, 10 runs: the smallest difference that so many runs a side show. 3 %, 5 %, 10 %: the runs a \
                       side that such a difference needs. For `narrows compare`; differences within its margin of 3 % are \
                       not reported (--margin 0% reports them), and with fewer than three runs a side name";
        // Two runs show one difference, which is no deviation to rely on.
        let named = if found.side.runs.len() < 3 { "three or more runs like these" } else { "these runs" };
        out.push_str(&faint(&format!("{meaning} {named} by --noise."), style));
    }
    if !found.remarks.is_empty() {
        out.push_str(&style.heading("BEFORE YOU CONCLUDE", ""));
        for remark in &found.remarks {
            let text = paragraph(remark, HANGING, style.width);
            out.extend(text.lines().map(|line| style.paint(Paint::Warning, line) + "\n"));
        }
    }
    out
}

fn faint(text: &str, style: &Style) -> String {
    paragraph(text, HANGING, style.width).lines().map(|line| style.paint(Paint::Faint, line) + "\n").collect()
}

fn sentence(found: &Noise, names: &CellNames<'_>) -> String {
    let runs = counted_len(found.side.runs.len(), "run");
    let known = found.loads.iter().filter_map(|load| Some((load.deviation_ratio?, load)));
    let noisiest = known.max_by(|a, b| a.0.total_cmp(&b.0));
    match noisiest {
        Some((deviation, load)) => format!(
            "{runs} of the same path: the standard deviation of a run is at most {} ({}).",
            fine_percent(deviation),
            names.name(&load.cell)
        ),
        None => format!("{runs} of a path do not show how much runs differ: at least two are needed."),
    }
}

fn rates(found: &Noise, names: &CellNames<'_>) -> TextTable {
    let heads = [
        ("load", Align::Left),
        ("mean", Align::Right),
        ("least", Align::Right),
        ("most", Align::Right),
        ("deviation of a run", Align::Right),
        ("runs", Align::Right),
    ];
    let mut table = TextTable::new(&heads);
    for load in &found.loads {
        let deviation = load.deviation_ratio.map_or_else(|| NO_FIGURE.to_owned(), fine_percent);
        table.row(vec![
            short(names, load).into(),
            rate(load.id, load.mean).into(),
            rate(load.id, load.least).into(),
            rate(load.id, load.most).into(),
            deviation.into(),
            load.runs.used_count.to_string().into(),
        ]);
    }
    table
}

fn powers(found: &Noise, names: &CellNames<'_>) -> TextTable {
    let first = found.loads.iter().find(|load| !load.smallest.is_empty());
    let smallest = first.map(|load| load.smallest.as_slice()).unwrap_or_default();
    let needed = first.map(|load| load.needed.as_slice()).unwrap_or_default();
    let mut heads = vec!["load".to_owned()];
    heads.extend(smallest.iter().map(|one| format!("{} runs", one.run_count)));
    heads.extend(needed.iter().map(|one| format!("{} needs", fine_percent(one.difference_ratio))));
    let aligned = |(index, head)| (head, if index == 0 { Align::Left } else { Align::Right });
    let heads: Vec<(&str, Align)> = heads.iter().map(String::as_str).enumerate().map(aligned).collect();
    let mut table = TextTable::new(&heads);
    for load in found.loads.iter().filter(|load| !load.smallest.is_empty()) {
        let mut row = vec![short(names, load).into()];
        row.extend(load.smallest.iter().map(|one| fine_percent(one.difference_ratio).into()));
        let runs = |runs: Option<u32>| runs.map_or_else(|| "> 10000".to_owned(), |runs| runs.to_string());
        row.extend(load.needed.iter().map(|one| runs(one.run_count).into()));
        table.row(row);
    }
    table
}

fn short(names: &CellNames<'_>, load: &LoadNoise) -> String {
    names.name(&load.cell).replace(" in each of ", " w").replace(" workers", "")
}

fn rate(id: FigureId, value: f64) -> String {
    if id == FigureId::OpsPerS { op_rate(value) } else { storage_rate(value) }
}

/// A share in percent with two digits that say something: `0.38 %`, `4.1 %`, `45 %`.
fn fine_percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    let rounded = |digits: i32| {
        let unit = 10f64.powi(digits);
        (percent * unit).round() / unit
    };
    match percent {
        percent if percent >= 9.95 => format!("{} %", rounded(0)),
        percent if percent >= 0.995 => format!("{} %", rounded(1)),
        _ => format!("{} %", rounded(2)),
    }
}
