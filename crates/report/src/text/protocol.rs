//! Calls of a storage protocol: how many of each procedure, their bytes and mean latency, and what was sent again.

use super::names::CellNames;
use super::style::{Paint, Style};
use super::table::{Align, Field, TextTable};
use super::wrap::{Indent, paragraph};
use narrows_model::Nanos;
use narrows_model::Summary;
use narrows_model::quantity::{amount, span};
use narrows_model::rpc::{PhaseCounters, ProcedureCounters, RpcEvents};

/// The section; empty where no cell has any.
pub(crate) fn render(summary: &Summary, names: &CellNames<'_>, style: &Style) -> String {
    let mut table = TextTable::new(&[
        ("cell", Align::Left),
        ("procedure", Align::Left),
        ("calls", Align::Right),
        ("errors", Align::Right),
        ("sent again", Align::Right),
        ("sent", Align::Right),
        ("received", Align::Right),
        ("mean latency", Align::Right),
    ]);
    let mut events = String::new();
    let mut is_empty = true;
    for cell in &summary.cells {
        for counts in &cell.protocol {
            is_empty = false;
            table.row(row(names.name(&cell.id), counts));
        }
        if let Some(words) = cell.protocol_events.and_then(event_words) {
            let text = format!("{}: {words}.", names.name(&cell.id));
            events.push_str(&paragraph(&text, Indent::all("  "), style.width));
        }
        if let Some(words) = phase_words(&cell.protocol_phases) {
            let text = format!("{}: mean times of phases: {words}.", names.name(&cell.id));
            events.push_str(&paragraph(&text, Indent::all("  "), style.width));
        }
    }
    if is_empty {
        return String::new();
    }
    let mut out = style.heading("CALLS OF THE PROTOCOL", "");
    out.push_str(&table.render(style));
    out.push_str(&events);
    out
}

fn row(name: &str, counts: &ProcedureCounters) -> Vec<Field> {
    let alarming =
        |count: u64| Field::new(count.to_string(), if count > 0 { Paint::Limit } else { Paint::Plain });
    let latency = match counts.latency_sum_ns.0.checked_div(counts.reply_count) {
        Some(mean) => span(Nanos(mean)),
        None => "-".to_owned(),
    };
    vec![
        name.into(),
        counts.procedure.as_str().into(),
        counts.call_count.to_string().into(),
        alarming(counts.error_count),
        alarming(counts.retransmit_count),
        amount(counts.sent_bytes).into(),
        amount(counts.received_bytes).into(),
        latency.into(),
    ]
}

/// The mean of each phase, in words; `None` where none was gone through.
fn phase_words(phases: &[PhaseCounters]) -> Option<String> {
    let words = phases.iter().filter_map(|phase| {
        let mean_ns = phase.latency_sum_ns.0.checked_div(phase.count)?;
        let when = if phase.before_load { ", before the load" } else { "" };
        Some(format!("{} {} ({} times{when})", phase.phase, span(Nanos(mean_ns)), phase.count))
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// What happened beyond replies, in words; `None` where nothing did.
fn event_words(events: RpcEvents) -> Option<String> {
    let rewritten = amount(events.rewritten_bytes);
    let words = [
        (events.reconnect_count, "connections made again".to_owned()),
        (events.verifier_change_count, "changes of the write verifier: the server restarted".to_owned()),
        (events.rewritten_count, format!("unstable writes sent again after it ({rewritten})")),
        (events.forced_commit_count, "COMMITs to make room for unstable data".to_owned()),
        (events.short_read_count, "READs continued, of which a part was returned".to_owned()),
        (events.stray_reply_count, "replies that no call waited for".to_owned()),
        (events.done_before_count, "calls sent again that the server had executed before".to_owned()),
        (events.unit_attention_count, "commands sent again after a unit attention".to_owned()),
        (events.window_full_count, "commands that waited for the target's window (MaxCmdSN)".to_owned()),
    ];
    let counted = words.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = counted.map(|(count, words)| format!("{count} {words}")).collect();
    (!words.is_empty()).then(|| words.join("; "))
}
