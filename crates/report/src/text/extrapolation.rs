//! Rates of more clients than were measured: what `narrows predict` shows.
//!
//! Not here: how they are computed, which is `analysis`'.

use super::Style;
use super::table::{Align, TextTable};
use super::units::{NO_FIGURE, counted};
use super::wrap::{Indent, paragraph};
use narrows_model::extrapolation::{ExtrapolatedRate, Extrapolation, ExtrapolationMethod, LoadExtrapolation};
use narrows_model::quantity::{op_rate, percent, seconds, storage_rate};

const HANGING: Indent<'static> = Indent { first: "  ", rest: "    " };

/// A table for each load, with what it rests on; the reason where a load is refused.
///
/// # Shape
/// A row for each number of clients and servers.
#[must_use]
pub fn extrapolation(found: &Extrapolation, style: &Style) -> String {
    let head = format!(
        "Rates of more clients, computed from the run of {}; each interval has a measured rate 95 times in 100.",
        found.measured_at
    );
    let head = paragraph(&head, Indent { first: "", rest: "  " }, style.width);
    found.loads.iter().fold(head, |out, load| out + &section(load, style))
}

fn section(load: &LoadExtrapolation, style: &Style) -> String {
    let of = format!("{} of {}, {} in flight of each client", load.op, load.block_bytes, load.queue_depth);
    let mut out = style.heading("EXTRAPOLATION", &of);
    let measured = counted(u64::from(load.measured_clients_max), "client");
    let measured = format!("{} was measured with up to {measured}.", load.target);
    out.push_str(&paragraph(&measured, HANGING, style.width));
    if let Some(refusal) = &load.refusal {
        return out
            + &paragraph(&format!("None: {}; {}.", refusal.reason, refusal.hint), HANGING, style.width);
    }
    out.push_str(&table(load).render(style));
    out.push('\n');
    let method = match load.method {
        Some(ExtrapolationMethod::Plateau) => "By the level of the points past the knee.",
        Some(ExtrapolationMethod::Law) => "By the law that the points past the knee support.",
        Some(ExtrapolationMethod::Growth) => {
            "By the rate of the most clients that were measured, and what growth the points leave beyond it."
        }
        Some(ExtrapolationMethod::Network) => {
            "By a network of queues with the measured ceilings: mean value analysis below, asymptotic bounds above."
        }
        Some(ExtrapolationMethod::Simulation) => {
            "By a simulation of the network of queues with the measured ceilings, its windows and stripes, below; \
             asymptotic bounds above."
        }
        None => "",
    };
    out.push_str(&paragraph(method, HANGING, style.width));
    for stage in &load.stages {
        let each = if stage.is_per_server { " of each server" } else { "" };
        let text =
            format!("{} sustains {}{each} ({})", stage.segment, rate_text(load, stage.ceiling), stage.source);
        out.push_str(&paragraph(&text, Indent { first: "    ", rest: "      " }, style.width));
    }
    if let Some(text) = load.rates.iter().rev().find_map(|rate| full_memory(load, rate)) {
        out.push_str(&paragraph(&text, HANGING, style.width));
    }
    for assumption in &load.assumptions {
        out.push_str(&paragraph(&format!("Assumed: {assumption}."), HANGING, style.width));
    }
    out
}

/// What the rate of full memory is uncertain by, and when memory is full.
fn full_memory(load: &LoadExtrapolation, rate: &ExtrapolatedRate) -> Option<String> {
    let full = rate.after_full.as_ref()?;
    let clients = counted(u64::from(rate.clients), "client");
    let servers = match rate.servers {
        1 => String::new(),
        several => format!(" with {several} servers"),
    };
    let (low, high) = (rate_text(load, full.interval.low), rate_text(load, full.interval.high));
    let rates = format!("{clients}{servers} then have {low} to {high}, by simulation");
    Some(match full.full_after_s_max {
        Some(after_s) => format!("Memory is full after {} at the latest; {rates}.", seconds(after_s)),
        None => format!("When memory is full is not known; {rates}."),
    })
}

fn table(load: &LoadExtrapolation) -> TextTable {
    let has_servers = load.rates.iter().any(|rate| rate.servers != 1);
    let has_full = load.rates.iter().any(|rate| rate.after_full.is_some());
    let mut heads = vec![("clients", Align::Right)];
    heads.extend(has_servers.then_some(("servers", Align::Right)));
    heads.extend([
        ("rate", Align::Right),
        ("from", Align::Right),
        ("to", Align::Right),
        ("+/-", Align::Right),
        ("each", Align::Right),
        ("measured", Align::Right),
    ]);
    heads.extend(has_full.then_some(("memory full", Align::Right)));
    heads.push(("full", Align::Left));
    let mut table = TextTable::new(&heads);
    for rate in &load.rates {
        let mut row = vec![rate.clients.to_string().into()];
        row.extend(has_servers.then(|| rate.servers.to_string().into()));
        let half = rate.interval.half_width_ratio(rate.rate).map_or_else(|| NO_FIGURE.to_owned(), percent);
        row.extend([
            rate_text(load, rate.rate).into(),
            rate_text(load, rate.interval.low).into(),
            rate_text(load, rate.interval.high).into(),
            half.into(),
            rate_text(load, rate.rate / f64::from(rate.clients)).into(),
            rate.measured.map_or_else(String::new, |measured| rate_text(load, measured)).into(),
        ]);
        row.extend(has_full.then(|| {
            let full = rate.after_full.as_ref();
            full.map_or_else(|| NO_FIGURE.to_owned(), |full| rate_text(load, full.rate)).into()
        }));
        row.push(rate.full.map_or_else(String::new, |segment| segment.to_string()).into());
        table.row(row);
    }
    table
}

fn rate_text(load: &LoadExtrapolation, rate: f64) -> String {
    if load.unit == "B/s" { storage_rate(rate) } else { op_rate(rate) }
}
