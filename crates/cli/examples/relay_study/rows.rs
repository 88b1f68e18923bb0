//! Rows of the buffer experiment as CSV: the published columns, and behind them what only narrows counts.

use anyhow::{Context, bail, ensure};
use narrows_model::relay::{PUBLISHED_SIZES, RelaySweep};
use std::fmt::Write as _;

/// The published columns.
const COLUMNS: &str = "topology,shrunk,client_buffer_bytes,proxy_buffer_bytes,server_buffer_bytes,elapsed_s,\
                       throughput_kib_per_s,proxy_user_s,proxy_sys_s,proxy_io_count,server_io_count";
/// Those of narrows behind them.
const OWN_COLUMNS: &str = ",trial_count,rate_half_width_ratio,client_cpu_ratio,proxy_cpu_ratio,server_cpu_ratio,\
                           client_write_count,client_segment_count,proxy_segment_count";

/// One point of a sweep. What is not known is `None`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) sweep: RelaySweep,
    /// Of client, proxy and server.
    pub(crate) buffers: [Option<u64>; 3],
    pub(crate) elapsed_s: f64,
    /// Mean of the trials' rates.
    pub(crate) rate_kib_per_s: f64,
    pub(crate) proxy_user_s: Option<f64>,
    pub(crate) proxy_system_s: Option<f64>,
    pub(crate) proxy_read_count: Option<u64>,
    pub(crate) server_read_count: Option<u64>,
    /// `None` in the published rows.
    pub(crate) own: Option<Own>,
}

/// What narrows counts beyond the published columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Own {
    pub(crate) trial_count: u64,
    /// Half of the 95 % interval of the mean rate, over that rate.
    pub(crate) half_width_ratio: Option<f64>,
    /// CPU time over elapsed time of client, proxy and server.
    pub(crate) cpu_ratios: [Option<f64>; 3],
    pub(crate) client_write_count: u64,
    /// TCP segments with data that client and proxy sent in one trial.
    pub(crate) segment_counts: [Option<u64>; 2],
}

impl Row {
    /// The size to which the sweep's roles are shrunk here.
    pub(crate) fn shrunk_bytes(&self) -> u64 {
        self.buffers.into_iter().flatten().min().unwrap_or_default()
    }
}

/// The rows of `text`, checked to be the ten published sweeps in full.
pub(crate) fn parse(text: &str) -> anyhow::Result<Vec<Row>> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let has_own = head == format!("{COLUMNS}{OWN_COLUMNS}");
    ensure!(has_own || head == COLUMNS, "these are other columns than those of the experiment: {head}");
    let numbered = lines.enumerate();
    let rows = numbered
        .map(|(index, line)| row(line, has_own).with_context(|| format!("line {}: {line}", index + 2)))
        .collect::<anyhow::Result<Vec<Row>>>()?;
    for sweep in RelaySweep::ALL {
        let sizes: Vec<u64> = rows.iter().filter(|row| row.sweep == sweep).map(Row::shrunk_bytes).collect();
        ensure!(sizes == PUBLISHED_SIZES.map(|size| size.0), "sweep {}: sizes {sizes:?}", sweep.name());
    }
    Ok(rows)
}

fn row(line: &str, has_own: bool) -> anyhow::Result<Row> {
    let fields: Vec<&str> = line.split(',').collect();
    let own_count = if has_own { 8 } else { 0 };
    ensure!(fields.len() == 11 + own_count, "{} fields", fields.len());
    let field = |index: usize| fields.get(index).copied().unwrap_or_default();
    Ok(Row {
        sweep: sweep(field(0), field(1))?,
        buffers: [whole(field(2))?, whole(field(3))?, whole(field(4))?],
        elapsed_s: number(field(5))?.context("no elapsed time")?,
        rate_kib_per_s: number(field(6))?.context("no rate")?,
        proxy_user_s: number(field(7))?,
        proxy_system_s: number(field(8))?,
        proxy_read_count: whole(field(9))?,
        server_read_count: whole(field(10))?,
        own: has_own.then(|| own(&field)).transpose()?,
    })
}

fn own<'t>(field: &impl Fn(usize) -> &'t str) -> anyhow::Result<Own> {
    Ok(Own {
        trial_count: whole(field(11))?.context("no trials")?,
        half_width_ratio: number(field(12))?,
        cpu_ratios: [number(field(13))?, number(field(14))?, number(field(15))?],
        client_write_count: whole(field(16))?.context("no writes")?,
        segment_counts: [whole(field(17))?, whole(field(18))?],
    })
}

fn sweep(topology: &str, shrunk: &str) -> anyhow::Result<RelaySweep> {
    for sweep in RelaySweep::ALL {
        if names(sweep) == (topology, shrunk) {
            return Ok(sweep);
        }
    }
    bail!("no sweep {topology}, {shrunk}")
}

/// Topology and shrunk roles, as the published file has them.
fn names(sweep: RelaySweep) -> (&'static str, &'static str) {
    let topology = if sweep.has_proxy() { "three-node" } else { "two-node" };
    let shrunk = match sweep {
        RelaySweep::Client | RelaySweep::Client3 => "client",
        RelaySweep::Server | RelaySweep::Server3 => "server",
        RelaySweep::Both => "client+server",
        RelaySweep::All3 => "client+proxy+server",
        other => other.name(),
    };
    (topology, shrunk)
}

fn whole(text: &str) -> anyhow::Result<Option<u64>> {
    Some(text).filter(|text| !text.is_empty()).map(str::parse).transpose().context("no whole number")
}

fn number(text: &str) -> anyhow::Result<Option<f64>> {
    let number = Some(text).filter(|text| !text.is_empty()).map(str::parse::<f64>).transpose()?;
    ensure!(number.is_none_or(|number| number.is_finite() && number >= 0.0), "no number: {text}");
    Ok(number)
}

/// `rows` with what narrows counts, as [`parse`] reads them.
pub(crate) fn csv(rows: &[Row]) -> String {
    let mut out = format!("{COLUMNS}{OWN_COLUMNS}\n");
    for row in rows {
        let (topology, shrunk) = names(row.sweep);
        let [client, proxy, server] = row.buffers.map(told);
        // Writing to a string cannot fail.
        let _infallible = write!(
            out,
            "{topology},{shrunk},{client},{proxy},{server},{:.6},{:.2},{},{},{},{}",
            row.elapsed_s,
            row.rate_kib_per_s,
            rounded(row.proxy_user_s),
            rounded(row.proxy_system_s),
            told(row.proxy_read_count),
            told(row.server_read_count),
        );
        let own = row.own.as_ref().map(own_fields).unwrap_or_default();
        out.push_str(&own);
        out.push('\n');
    }
    out
}

fn own_fields(own: &Own) -> String {
    let [client, proxy, server] = own.cpu_ratios.map(rounded);
    let [client_segments, proxy_segments] = own.segment_counts.map(told);
    let half_width = rounded(own.half_width_ratio);
    let (trials, writes) = (own.trial_count, own.client_write_count);
    format!(",{trials},{half_width},{client},{proxy},{server},{writes},{client_segments},{proxy_segments}")
}

fn told(count: Option<u64>) -> String {
    count.map_or_else(String::new, |count| count.to_string())
}

fn rounded(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| format!("{number:.4}"))
}
