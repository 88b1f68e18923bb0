//! The load that a plan puts on, stated before it starts.

use super::costs::costs_section;
use super::relay_plan::relay_plan;
use super::remarks::skipped;
use super::style::{Paint, Style};
use super::table::{Align, TextTable};
use super::units::{counted, counted_len};
use super::wrap::{Indent, paragraph};
use narrows_model::plan::{SkippedCell, StudySource};
use narrows_model::quantity::{amount, op_rate, span, storage_rate};
use narrows_model::workload::{CacheState, ObjectSet};
use narrows_model::{Bytes, Cell, Cut, Nanos, Plan, Repeat, Site, Target};

/// The load of `plan` in a few lines, and with [`Style::detail`] every cell or point and every skip with its reason.
#[must_use]
pub fn plan(plan: &Plan, style: &Style) -> String {
    if let Some(relay) = &plan.relay {
        return relay_plan(plan, relay, style);
    }
    let indent = Indent { first: "  ", rest: "    " };
    let mut out = style.paint(Paint::Heading, &format!("Load on {}", plan.target));
    out.push('\n');
    let lines = if style.detail { statement(plan) } else { short_statement(plan) };
    for line in lines {
        out.push_str(&paragraph(&line, indent, style.width));
    }
    if !style.detail {
        return out;
    }
    if !plan.cells.is_empty() {
        out.push_str(&costs_section(plan, style));
        out.push_str(&style.heading("CELLS", "in the order in which they run"));
        out.push_str(&cells(plan, style));
    }
    if !plan.skipped.is_empty() {
        out.push_str(&style.heading("SKIPPED", &counted_len(plan.skipped.len(), "cell")));
        out.push_str(&skipped(&plan.skipped, style));
    }
    out
}

/// The rate that no load on the path passes, of bytes or of operations.
fn rate(plan: &Plan) -> String {
    if let Some(rate) = plan.load.max_bytes_per_s {
        return format!("at most {}", storage_rate(rate as f64));
    }
    let bound = |cell: &Cell| cell.workload.arrivals.offered_ops_per_s().or(cell.workload.max_ops_per_s);
    let bounds: Option<Vec<f64>> =
        plan.cells.iter().filter(|cell| cell.cut == Cut::Path).map(bound).collect();
    if plan.suite.is_some() && bounds.is_none() {
        return "unlimited".to_owned();
    }
    let cap = if plan.study.as_ref().is_some_and(StudySource::is_a_file) {
        "max_rate in the study"
    } else {
        "--max-rate"
    };
    match bounds.and_then(|bounds| bounds.into_iter().reduce(f64::max)) {
        Some(most) => format!("at most {}", op_rate(most)),
        None => format!("unlimited (set a cap with {cap})"),
    }
}

/// How many cells there are, for how long, and how many are left out.
fn cell_count(plan: &Plan) -> String {
    let path = plan.cells.iter().filter(|cell| cell.cut == Cut::Path).count();
    let left_out = match plan.skipped.len() {
        0 => String::new(),
        count => format!("; {} left out{}", counted_len(count, "cell"), most_frequent_reason(plan)),
    };
    let whole = match plan.cells.len() {
        0 => return format!("no cell can be run{left_out}"),
        1 if path == 1 => String::new(),
        count if count == path => "all of them ".to_owned(),
        _ => format!("{path} of them "),
    };
    if plan.suite.is_some() {
        let cells = counted_len(plan.cells.len(), "cell");
        return format!("{cells}, {whole}over the whole path, until their bytes are transferred{left_out}");
    }
    format!(
        "{}, {whole}over the whole path: {}{} of load within a budget of {}{}{left_out}",
        counted_len(plan.cells.len(), "cell"),
        bound(plan),
        span(plan.load.planned_ns),
        span(plan.budget_ns),
        rest_of_budget(plan),
    )
}

/// What becomes of a study's budget that is too short for its cells, or more than twice of what they take.
fn rest_of_budget(plan: &Plan) -> &'static str {
    let is_fixed = plan.cells.iter().all(|cell| cell.repeat == Repeat::Fixed);
    if plan.study.is_none() {
        ""
    } else if plan.load.planned_ns > plan.budget_ns {
        "; cells for which no time is left are not run"
    } else if is_fixed && plan.load.planned_ns.0.saturating_mul(2) < plan.budget_ns.0 {
        "; it ends when they are done, and more trials or a longer stop.measure would use the rest"
    } else {
        ""
    }
}

/// Why most of what a check leaves out is left out; empty for others, whose reasons differ from cell to cell.
fn most_frequent_reason(plan: &Plan) -> String {
    if plan.study.is_some() || plan.suite.is_some() {
        return String::new();
    }
    // What is missing of the path itself matters more than which of its parts are not measured alone.
    let of_path: Vec<&SkippedCell> =
        plan.skipped.iter().filter(|skip| skip.block_without_room().is_some()).collect();
    let all: Vec<&SkippedCell> = plan.skipped.iter().collect();
    let looked_at = if of_path.is_empty() { all } else { of_path };
    let count = |reason: &str| looked_at.iter().filter(|skip| skip.reason == reason).count();
    let reasons = looked_at.iter().map(|skip| skip.reason.as_str());
    let Some(most) = reasons.max_by_key(|reason| count(reason)) else { return String::new() };
    let share = match count(most) {
        all if all == plan.skipped.len() => String::new(),
        some if looked_at.len() < plan.skipped.len() => format!("{some} of the whole path "),
        _ => "most of them ".to_owned(),
    };
    format!(", {share}because: {most}")
}

/// Whether the planned load is a most or a least: counts end cells of a study sooner, and open repetition later.
fn bound(plan: &Plan) -> &'static str {
    let is_counted = plan.study.is_some() && plan.cells.iter().any(Cell::ends_by_count);
    let is_open = plan.cells.iter().any(|cell| cell.repeat != Repeat::Fixed);
    match (is_counted, is_open) {
        (false, false) => "",
        (true, false) => "at most ",
        (false, true) => "at least ",
        (true, true) => "about ",
    }
}

/// What is written before cells visit it, and whether the time for it may be missing; `None` where nothing is.
fn prefill(plan: &Plan) -> Option<String> {
    let load = &plan.load;
    let most = span(load.prefill_ns_max);
    let text = format!(
        "prepares {} first, for at most {most}: on a slow path the files are smaller",
        amount(load.prefill_bytes)
    );
    (load.prefill_bytes > Bytes(0)).then(|| text + beyond_budget(plan))
}

/// That preparing files may take the time of the last cells; empty where it cannot.
fn beyond_budget(plan: &Plan) -> &'static str {
    if plan.load.planned_ns.saturating_add(plan.load.prefill_ns_max) > plan.budget_ns {
        "; with the load that may exceed the budget, and the last cells are then not run"
    } else {
        ""
    }
}

/// What is read to displace everything else from the caches, and how much where that is most; `None` where nothing is.
///
/// Servers on one machine share its page cache, and one of them reads for all; folders are read in one by one.
fn scanned(plan: &Plan) -> Option<String> {
    let scan = |cell: &Cell| match cell.workload.cache {
        CacheState::Displaced { scan_bytes } => Some(scan_bytes),
        _ => None,
    };
    let cells: Vec<(&Cell, Bytes)> = plan.cells.iter().filter_map(|cell| Some((cell, scan(cell)?))).collect();
    let most = cells.iter().map(|(_, bytes)| *bytes).max()?;
    let times = |cell: &Cell| {
        let folders = cell.target.members().iter().filter(|member| matches!(member, Target::File { .. }));
        u64::from(cell.repeat.trials_min(cell.trials)).saturating_mul((folders.count() as u64).max(1))
    };
    let all = cells
        .iter()
        .fold(0, |sum: u64, (cell, bytes)| sum.saturating_add(bytes.0.saturating_mul(times(cell))));
    let trials: u64 = cells.iter().map(|(cell, _)| u64::from(cell.repeat.trials_min(cell.trials))).sum();
    Some(format!(
        "before {} of {}, untimed, a dummy file of {} is read at every serving machine: up to {} at each of them",
        counted(trials, "trial"),
        counted_len(cells.len(), "reading cell"),
        amount(most),
        amount(Bytes(all))
    ))
}

fn statement(plan: &Plan) -> Vec<String> {
    let load = &plan.load;
    let written = match load.write_bytes_max {
        None if plan.suite.is_some() => {
            "writes limited by the bytes of each trial, those of cuts by time".to_owned()
        }
        None => "writes limited only by time".to_owned(),
        Some(Bytes(0)) => "nothing is written to them while measuring".to_owned(),
        Some(most) => format!("writes of at most {} in all", amount(most)),
    };
    let rate = rate(plan);
    let mut lines: Vec<String> = plan
        .study
        .iter()
        .map(|study| {
            let title = study.title.as_ref().map_or_else(String::new, |title| format!(": {title}"));
            format!("study {}{title}", study.name)
        })
        .collect();
    lines.push(cell_count(plan));
    if plan.cells.is_empty() {
        return lines;
    }
    if load.file_bytes_max > Bytes(0) {
        lines.push(format!("files of at most {} at once, {written}", amount(load.file_bytes_max)));
    }
    lines.extend(prefill(plan));
    lines.extend(scanned(plan));
    lines.push(format!("{} in flight at most, {rate}", counted(load.in_flight_max, "request")));
    lines.push(touched(plan));
    lines.push(format!("seed {} of every random choice (--seed {0} repeats it)", plan.seed));
    lines
}

/// What is loaded, written and for how long, in as many lines as fit into a glance; of a study or a suite, whose loads its author
/// chose, all of it.
fn short_statement(plan: &Plan) -> Vec<String> {
    let load = &plan.load;
    if plan.study.is_some() || plan.suite.is_some() || plan.cells.is_empty() {
        return statement(plan);
    }
    let mut lines = vec![format!(
        "{}: {} of load, {} at most",
        counted_len(plan.cells.len(), "cell"),
        span(load.planned_ns),
        span(plan.budget_ns)
    )];
    if !plan.skipped.is_empty() {
        let because = most_frequent_reason(plan);
        let because = because.trim_start_matches(", ");
        lines.push(format!("{} left out, {because}", counted_len(plan.skipped.len(), "cell")));
    }
    let files = format!("files of at most {}", amount(load.file_bytes_max));
    let prepared = match load.prefill_bytes {
        Bytes(0) => String::new(),
        _ => format!("; {} at most to prepare them{}", span(load.prefill_ns_max), beyond_budget(plan)),
    };
    match load.write_bytes_max {
        _ if load.file_bytes_max == Bytes(0) => {}
        None => lines.push(format!("{files}, writes limited only by time{prepared}")),
        Some(Bytes(0)) => {
            lines.push(format!("{files}, of which no byte is written while measuring{prepared}"));
        }
        Some(most) => lines.push(format!("writes at most {} to {files}{prepared}", amount(most))),
    }
    lines.extend(scanned(plan));
    lines.push(format!("{} in flight at most, {}", counted(load.in_flight_max, "request"), rate(plan)));
    lines.push(touched(plan));
    lines
}

fn touched(plan: &Plan) -> String {
    match plan.load.touches.as_slice() {
        [] => "uses no files".to_owned(),
        touches => format!("uses only {}", touches.join(", ")),
    }
}

fn cells(plan: &Plan, style: &Style) -> String {
    let mut table = TextTable::new(&[
        ("", Align::Right),
        ("cell", Align::Left),
        ("file", Align::Right),
        ("lasts", Align::Right),
        ("where", Align::Left),
    ]);
    for (number, cell) in (1_usize..).zip(&plan.cells) {
        table.row(vec![
            number.to_string().into(),
            cell.id.to_string().into(),
            amount(cell.workload.file_bytes).into(),
            lasts(plan, cell).into(),
            cell_location(cell).into(),
        ]);
    }
    table.render(style)
}

fn lasts(plan: &Plan, cell: &Cell) -> String {
    let count = plan.suite.as_ref().and_then(|_| ending_count(cell));
    let all = count.map_or_else(|| span(cell.planned_ns()), |count| format!("{count} each"));
    let least = cell.repeat.trials_min(cell.trials);
    let in_trials = format!("{all} in {}", counted(u64::from(least), "trial"));
    match cell.trials {
        0 | 1 => all,
        most if most > least => format!("{in_trials}, at most {} in {most}", span(most_ns(cell))),
        _ => in_trials,
    }
}

/// The count that ends a trial of a suite, whose time is only a bound; `None` for a cut, which time ends.
fn ending_count(cell: &Cell) -> Option<String> {
    let of_all = |count: u64| count.saturating_mul(u64::from(cell.workload.clients));
    let of_files = |objects: &ObjectSet| match objects.transactions {
        Some(transactions) => counted(of_all(transactions.count), "transaction"),
        None => counted(of_all(objects.count), objects.kind.noun()),
    };
    let files = cell.workload.objects.as_ref().filter(|_| cell.cut == Cut::Path).map(of_files);
    let ops = || cell.stop.ops_max.map(|count| counted(count, "operation"));
    cell.stop.bytes_max.map(amount).or_else(ops).or(files)
}

/// Time of the most trials.
fn most_ns(cell: &Cell) -> Nanos {
    Nanos(cell.trial_ns().0.saturating_mul(u64::from(cell.trials)))
}

/// What the store itself is called in a path that is relative to it.
const OWN_STORE: &str = ".";

fn cell_location(cell: &Cell) -> String {
    let machine = match cell.site {
        Site::Client => "client",
        Site::Server => "server",
    };
    let access = if cell.read_only { ", read only" } else { "" };
    let store =
        cell.site == Site::Server && matches!(&cell.target, Target::File { path } if path == OWN_STORE);
    let target = if store { "its store".to_owned() } else { cell.target.to_string() };
    format!("{machine}: {target}{access}")
}
