//! The table of measured cells: load, rate, response time, CPU, what limits, what must be known. A suite's rows begin with
//! the test, since many tests put the same load on.

use super::flags::Legend;
use super::names::{TestNaming, block, moves_no_bytes};
use super::reading::path_cells;
use super::stuck;
use super::style::{Paint, Style};
use super::table::{Align, Field, TextTable};
use super::units::{NO_FIGURE, op_column, storage_column};
use super::wording::serves_itself;
use super::wrap::{Indent, paragraph};
use narrows_model::counters::Role;
use narrows_model::quantity::{network_rate, percent, span};
use narrows_model::summary::{CellSummary, CommitCall, TimeShares};
use narrows_model::{Cut, Nanos, Summary};

/// A share below this is what every file system reads of its own accord.
const CACHE_NOTED_RATIO: f64 = 0.05;

const LOAD: &[(&str, Align)] = &[("block", Align::Right), ("", Align::Right)];
const FIGURES: &[(&str, Align)] = &[
    ("rate", Align::Right),
    ("op/s", Align::Right),
    ("p50", Align::Right),
    ("p99", Align::Right),
    ("CPU %", Align::Right),
    ("limit, notes", Align::Left),
];

const LATENCIES: &[(&str, Align)] = &[
    ("p50", Align::Right),
    ("p90", Align::Right),
    ("p99", Align::Right),
    ("p99.9", Align::Right),
    ("max", Align::Right),
];

const TIME_SHARES: &[(&str, Align)] = &[
    ("user", Align::Right),
    ("kernel", Align::Right),
    ("ready", Align::Right),
    ("quota", Align::Right),
    ("device", Align::Right),
    ("flush", Align::Right),
    ("network", Align::Right),
    ("other", Align::Right),
];

/// The cells of the whole path, and with detail those of the segments alone; empty where none was measured.
pub(crate) fn render(summary: &Summary, style: &Style) -> String {
    let mut cells: Vec<&CellSummary> = path_cells(summary).collect();
    let tests = TestNaming::from_summary(summary);
    // The tests of a suite are in the order in which they ran, as in its own output.
    if tests.are_none() {
        cells.sort_by_key(|cell| (cell.op, cell.block_bytes, cell.in_flight.configured, cell.clients));
    }
    let mut out = String::new();
    if !cells.is_empty() {
        out.push_str(&style.heading("REQUESTS", &remark(&cells)));
        let lead = LeadColumns::from_tests(tests);
        out.push_str(&table(&cells, &lead, style));
        out.push_str(&commits(&cells, &lead, style));
        out.push_str(&latencies(&cells, &lead, style));
        out.push_str(&time_shares(&cells, &lead, style, &CLIENT_TIME));
        out.push_str(&time_shares(&cells, &lead, style, &SERVER_TIME));
    }
    out + &alone(summary, style)
}

/// The cells of the segments alone; only with detail.
pub(crate) fn alone(summary: &Summary, style: &Style) -> String {
    let alone: Vec<&CellSummary> = summary.cells.iter().filter(|cell| cell.cut != Cut::Path).collect();
    if !style.detail || alone.is_empty() {
        return String::new();
    }
    style.heading("SEGMENTS ALONE", "the same requests, cut short of the whole path")
        + &table(&alone, &LeadColumns::Cut, style)
}

/// What a row begins with.
enum LeadColumns {
    /// Where the path is cut, and the operation.
    Cut,
    /// The operation.
    Op,
    /// The phase of a suite's test, which says what is done, below a line with the test where there are several.
    Test(TestNaming),
}

impl LeadColumns {
    fn from_tests(tests: TestNaming) -> Self {
        if tests.are_none() { Self::Op } else { Self::Test(tests) }
    }

    fn columns(&self) -> &'static [(&'static str, Align)] {
        match self {
            Self::Cut => &[("", Align::Left), ("", Align::Left)],
            Self::Op => &[("", Align::Left)],
            Self::Test(_) => &[("test", Align::Left)],
        }
    }

    fn fields(&self, cell: &CellSummary) -> Vec<Field> {
        let op = || Field::from(cell.requested.name());
        match self {
            Self::Cut => vec![cell.cut.name().into(), op()],
            Self::Op => vec![op()],
            Self::Test(tests) => {
                let below = if tests.group(cell).is_some() { "  " } else { "" };
                let phase = cell.phase.as_deref().or(cell.test.as_deref()).unwrap_or_default();
                vec![format!("{below}{phase}").into()]
            }
        }
    }

    /// The line above `cell` where its test begins; it has the size of the file, which no column has.
    fn line(&self, cell: &CellSummary, before: Option<&CellSummary>) -> Option<String> {
        let Self::Test(tests) = self else { return None };
        let group = tests.group(cell)?;
        let begins = before.and_then(|before| tests.group(before)) != Some(group);
        let has_file = cell.requested.objects.is_none();
        let file = if has_file { format!(", file {}", cell.file_bytes) } else { String::new() };
        begins.then(|| format!("  {group}{file}\n"))
    }
}

/// How long loads waited for their data to be durable, where any did.
fn commits(cells: &[&CellSummary], lead: &LeadColumns, style: &Style) -> String {
    let waiting: Vec<&CellSummary> = cells.iter().copied().filter(|cell| cell.commit.is_some()).collect();
    if waiting.is_empty() {
        return String::new();
    }
    let row = |cell: &CellSummary| {
        let times = cell.commit.map(|commit| commit.latency_ns).unwrap_or_default();
        let each = [times.p50, times.p90, times.p99, times.p999, times.max];
        let call = match cell.commit.map(|commit| commit.call) {
            Some(CommitCall::Sync) => "sync",
            _ => "write",
        };
        let texts = each.map(|ns| ns.map_or_else(|| NO_FIGURE.to_owned(), |ns| span(Nanos(ns))));
        load(cell, style).into_iter().chain([call.into()]).chain(texts.map(Field::from)).collect()
    };
    let columns = [&[("call", Align::Left)], LATENCIES].concat();
    style
        .heading("COMMIT", "until data is durable: a durable write (O_DSYNC) whole, a sync (fdatasync) alone")
        + &rows(&waiting, lead, &columns, style, row).render(style)
}

/// How long requests of the whole path took, in all of its figures; only with detail.
fn latencies(cells: &[&CellSummary], lead: &LeadColumns, style: &Style) -> String {
    let measured = cells.iter().any(|cell| cell.latency_ns.p50.is_some());
    if !style.detail || !measured {
        return String::new();
    }
    let row = |cell: &CellSummary| {
        let times = &cell.latency_ns;
        let quantiles = [times.p50, times.p90, times.p99, times.p999];
        let texts = quantiles.map(|quantile| stuck::response(cell, quantile));
        load(cell, style)
            .into_iter()
            .chain(texts.map(Field::from))
            .chain([stuck::largest(cell).into()])
            .collect()
    };
    style.heading("LATENCY", "of each request, from its submission to its completion")
        + &rows(cells, lead, LATENCIES, style, row).render(style)
}

/// A table of what time was spent on.
struct TimeTable {
    title: &'static str,
    remark: &'static str,
    shares: fn(&CellSummary) -> Option<TimeShares>,
}

const CLIENT_TIME: TimeTable = TimeTable {
    title: "TIME",
    remark: "of the load's threads in percent: on a CPU, ready for one, stopped by a quota, blocked",
    shares: |cell| cell.time_shares,
};
const SERVER_TIME: TimeTable = TimeTable {
    title: "TIME AT THE SERVER",
    remark: "in which its workers served requests, in percent",
    shares: |cell| cell.server_shares,
};

/// What the time of each load was spent on; only with detail.
fn time_shares(cells: &[&CellSummary], lead: &LeadColumns, style: &Style, of: &TimeTable) -> String {
    if !style.detail || cells.iter().all(|cell| (of.shares)(cell).is_none()) {
        return String::new();
    }
    let row = |cell: &CellSummary| {
        let field = |share: Option<f64>| {
            share.map_or_else(|| NO_FIGURE.to_owned(), |share| format!("{:.0}", share * 100.0))
        };
        let shares = (of.shares)(cell);
        let columns = [
            shares.map(|shares| shares.cpu_user_ratio),
            shares.map(|shares| shares.cpu_kernel_ratio),
            shares.and_then(|shares| shares.cpu_wait_ratio),
            shares.and_then(|shares| shares.throttled_ratio),
            shares.and_then(|shares| shares.device_ratio),
            shares.and_then(|shares| shares.flush_ratio),
            shares.and_then(|shares| shares.network_ratio),
            shares.map(|shares| shares.other_ratio),
        ];
        load(cell, style).into_iter().chain(columns.map(|share| field(share).into())).collect()
    };
    style.heading(of.title, of.remark) + &rows(cells, lead, TIME_SHARES, style, row).render(style)
}

fn table(cells: &[&CellSummary], lead: &LeadColumns, style: &Style) -> String {
    let mut legend = Legend::default();
    let roles = roles(cells);
    let table = rows(cells, lead, FIGURES, style, |cell| row(cell, &roles, &mut legend, style));
    let mut out = table.render(style);
    for line in notes(cells).into_iter().chain(legend.lines()) {
        for line in paragraph(&line, Indent { first: "  ", rest: "     " }, style.width).lines() {
            out.push_str(&style.paint(Paint::Faint, line));
            out.push('\n');
        }
    }
    out
}

/// A table with a row for each of `cells`: what it begins with, its load, and `figures`; `row` has the last two.
fn rows(
    cells: &[&CellSummary],
    lead: &LeadColumns,
    figures: &[(&'static str, Align)],
    style: &Style,
    mut row: impl FnMut(&CellSummary) -> Vec<Field>,
) -> TextTable {
    let mut table = TextTable::new(&[lead.columns(), LOAD, figures].concat());
    let mut before = None;
    for cell in cells {
        if let Some(line) = lead.line(cell, before) {
            table.line(style.paint(Paint::Faint, &line));
        }
        before = Some(*cell);
        let mut fields = lead.fields(cell);
        fields.extend(row(cell));
        table.row(fields);
    }
    table
}

/// Block and requests in flight.
fn load(cell: &CellSummary, style: &Style) -> [Field; 2] {
    let block = block(&cell.requested).unwrap_or_else(|| NO_FIGURE.to_owned());
    [block.into(), in_flight(cell, style).into()]
}

fn row(cell: &CellSummary, roles: &[Role], legend: &mut Legend, style: &Style) -> Vec<Field> {
    let wait = |quantile: Option<u64>| quantile.map_or_else(|| NO_FIGURE.to_owned(), |ns| span(Nanos(ns)));
    let rate = match (cell.cut, cell.rate_bytes_per_s) {
        (Cut::NetworkStream | Cut::DirectStream, Some(rate)) => network_rate(rate.0),
        _ if moves_no_bytes(&cell.requested) => NO_FIGURE.to_owned(),
        (_, rate) => storage_column(rate),
    };
    let figures = [
        rate.into(),
        op_column(cell.ops_per_s).into(),
        wait(cell.latency_ns.p50).into(),
        wait(cell.latency_ns.p99).into(),
        cpu(cell, roles).into(),
        limit(cell, legend),
    ];
    load(cell, style).into_iter().chain(figures).collect()
}

/// What the column of requests in flight says, as far as it is not said by itself.
fn remark(cells: &[&CellSummary]) -> String {
    let has = |several: fn(&CellSummary) -> bool| cells.iter().any(|cell| several(cell));
    let workers = if has(|cell| cell.requested.workers > 1) { "; w2: each of two workers" } else { "" };
    let clients = if has(|cell| cell.clients > 1) { "; c2: each of two clients" } else { "" };
    let depth = if has(|cell| cell.requested.queue_depth > 1) { "; x16: sixteen in flight" } else { "" };
    format!("over the whole path{depth}{workers}{clients}")
}

/// Requests in flight with the letters of cells' names: `x16`, `w2 x16` in each of two workers, `c2 x16` for each of
/// two clients.
pub(crate) fn in_flight(cell: &CellSummary, style: &Style) -> String {
    let load = &cell.requested;
    let clients = if load.clients > 1 { format!("c{} ", load.clients) } else { String::new() };
    let workers = if load.workers > 1 { format!("w{} ", load.workers) } else { String::new() };
    format!("{clients}{workers}{}{}", style.times(), load.queue_depth)
}

/// The roles whose CPU is known in any of these cells.
fn roles(cells: &[&CellSummary]) -> Vec<Role> {
    let has = |role: &Role| cells.iter().any(|cell| cell.cpu.contains_key(role));
    [Role::Client, Role::Proxy, Role::Server].into_iter().filter(has).collect()
}

/// Busy share of each role's CPUs: `12/87`, `12/-` where a cell was too short to know the second.
fn cpu(cell: &CellSummary, roles: &[Role]) -> String {
    if cell.cpu.is_empty() {
        return NO_FIGURE.to_owned();
    }
    let share = |role: &Role| match cell.cpu.get(role) {
        Some(cpu) => format!("{:.0}", cpu.busy_ratio.min(1.0) * 100.0),
        None => NO_FIGURE.to_owned(),
    };
    roles.iter().map(share).collect::<Vec<_>>().join("/")
}

fn limit(cell: &CellSummary, legend: &mut Legend) -> Field {
    let segment = cell.limiting.map(|segment| segment.id().to_owned());
    let cache = cell.cache_served_ratio.filter(|share| *share >= CACHE_NOTED_RATIO);
    // A cell that is said to be a cache's needs the word once.
    let word = if cell.limiting.is_some_and(serves_itself) { "" } else { "cache " };
    let cache = cache.map(|share| format!("{word}{}", percent(share)));
    let letters = legend.letters(&cell.flags);
    let flags = (!letters.is_empty()).then(|| format!("[{letters}]"));
    let parts: Vec<String> = [segment, cache, flags].into_iter().flatten().collect();
    let paint = match cell.limiting {
        Some(segment) if serves_itself(segment) => Paint::Warning,
        Some(_) => Paint::Limit,
        None => Paint::Plain,
    };
    Field::new(parts.join(" "), paint)
}

/// What the columns of these cells mean beyond their headings.
fn notes(cells: &[&CellSummary]) -> Vec<String> {
    let roles: Vec<&str> = roles(cells).into_iter().map(Role::name).collect();
    let mut notes = Vec::new();
    if !roles.is_empty() {
        notes.push(format!("CPU %: {}, of the CPUs that each may use", roles.join("/")));
    }
    if cells.iter().any(|cell| cell.cache_served_ratio.is_some_and(|share| share >= CACHE_NOTED_RATIO)) {
        notes.push("cache: share of the bytes that came from a cache, storage not measured".to_owned());
    }
    notes.extend(stuck::note(cells));
    notes
}
