//! The figures of a record, and what it says of its machine.

use crate::facts;
use crate::rows::{Own, Row};
use anyhow::{Context, ensure};
use narrows_analysis::{RunFacts, Summarizer, conclude};
use narrows_model::counters::Role;
use narrows_model::relay::{ForwardMode, PUBLISHED_SIZES, PUBLISHED_TOTAL, RelaySweep, RelayTransport};
use narrows_model::summary::{RelayPointSummary, RelayRoleSummary, RelaySummary};
use narrows_model::units::ratio;
use narrows_model::{Bytes, Summary};
use narrows_record::Record;
use std::path::Path;

/// What the page is made of.
pub(crate) struct Recorded {
    /// In the order of the published tables.
    pub(crate) rows: Vec<Row>,
    /// What was run, and on which machine: lines of a list.
    pub(crate) facts: String,
}

/// The record in `folder`; refused where it is not the published experiment, whole.
pub(crate) fn read(folder: &Path) -> anyhow::Result<Recorded> {
    let record = Record::open(folder)?;
    let summary = summary(&record)?;
    let relay = summary.relay.as_ref().context("the record holds no run of `narrows relay`")?;
    ensure_published(relay)?;
    ensure!(summary.complete, "the run is not whole: run `narrows relay --sweep all` to its end");
    let rows = RelaySweep::ALL
        .into_iter()
        .flat_map(|sweep| PUBLISHED_SIZES.map(|size| (sweep, size)))
        .map(|(sweep, size)| row(relay, sweep, size))
        .collect::<anyhow::Result<Vec<Row>>>()?;
    let facts = facts::told(&summary, record.inventory(), &rows);
    Ok(Recorded { rows, facts })
}

fn summary(record: &Record) -> anyhow::Result<Summary> {
    let manifest = record.manifest();
    let facts = RunFacts {
        narrows_version: manifest.narrows_version.clone(),
        started_at: manifest.started_at.clone(),
        command: manifest.command.clone(),
    };
    let mut summarizer = Summarizer::new(facts, record.plan(), record.inventory());
    for event in &mut record.timeline()? {
        summarizer.event(&event?);
    }
    Ok(conclude(summarizer.finish()))
}

fn ensure_published(relay: &RelaySummary) -> anyhow::Result<()> {
    let sockets = relay.sockets;
    ensure!(relay.total == PUBLISHED_TOTAL, "it moved {} a trial and not {PUBLISHED_TOTAL}", relay.total);
    ensure!(
        sockets.transport == RelayTransport::Tcp && !sockets.no_delay && relay.forward == ForwardMode::Copy,
        "the published experiment goes over TCP without TCP_NODELAY, and its proxy copies"
    );
    ensure!(!relay.verify, "verifying costs CPU time that the published figures do not have");
    Ok(())
}

fn row(relay: &RelaySummary, sweep: RelaySweep, shrunk: Bytes) -> anyhow::Result<Row> {
    let mut points = relay.points.iter();
    let point = points
        .find(|point| point.sweep == sweep && point.shrunk == shrunk)
        .with_context(|| format!("there is no point of {shrunk} in the sweep {}", sweep.name()))?;
    let role = |role: Role| point.roles.iter().find(|summary| summary.role == role);
    let (proxy, server) = (role(Role::Proxy), role(Role::Server));
    let rate = point.rate_mean.context("a point has no rate")?;
    Ok(Row {
        sweep,
        buffers: [
            Some(point.buffers.client.0),
            point.buffers.proxy.map(|size| size.0),
            Some(point.buffers.server.0),
        ],
        elapsed_s: point.elapsed_s.context("a point has no time")?,
        rate_kib_per_s: rate.0 / 1024.0,
        proxy_user_s: proxy.map(|proxy| proxy.user_s),
        proxy_system_s: proxy.map(|proxy| proxy.system_s),
        proxy_read_count: proxy.and_then(|proxy| whole(proxy.read_count)),
        server_read_count: server.and_then(|server| whole(server.read_count)),
        own: Some(own(point)?),
    })
}

fn own(point: &RelayPointSummary) -> anyhow::Result<Own> {
    let role = |role: Role| point.roles.iter().find(|summary| summary.role == role);
    let cpu = |of: Role| role(of).map(|role| role.busy_ratio);
    let segments = |of: Role| {
        let sent = |role: &RelayRoleSummary| role.segments.map(|segments| segments.data_out_count);
        sent(role(of)?)?.checked_div(point.trial_count)
    };
    let half_width = point.interval.as_ref().zip(point.rate_mean);
    let client = role(Role::Client).context("a point has no client")?;
    Ok(Own {
        trial_count: point.trial_count,
        half_width_ratio: half_width
            .and_then(|(interval, rate)| ratio((interval.high - interval.low) / 2.0, rate.0)),
        cpu_ratios: [cpu(Role::Client), cpu(Role::Proxy), cpu(Role::Server)],
        client_write_count: whole(client.write_count).context("the client wrote nothing")?,
        segment_counts: [segments(Role::Client), segments(Role::Proxy)],
    })
}

/// A mean count as a whole one.
fn whole(count: f64) -> Option<u64> {
    format!("{count:.0}").parse().ok()
}
