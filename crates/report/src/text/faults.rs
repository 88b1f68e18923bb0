//! What must be read before every figure: data lost, a run cut short, a load generator at its end.

use super::units::{counted, counted_len};
use narrows_model::Summary;
use narrows_model::fault::{ErrorCount, merge_errors};
use narrows_model::summary::DoubtCode;

/// One line each, without indent; empty for a run that is whole.
pub(crate) fn lines(summary: &Summary) -> Vec<String> {
    let told = [data_lost(summary), failed(summary), incomplete(summary), generator(summary)];
    told.into_iter().flatten().chain(doubts(summary)).collect()
}

/// Doubts that no other line tells.
fn doubts(summary: &Summary) -> impl Iterator<Item = String> {
    summary.doubts.iter().filter_map(|doubt| {
        let head = match doubt.code {
            DoubtCode::SteadyNotReached => "NOT STEADY",
            DoubtCode::IntervalNotReached => "INTERVAL STILL WIDE",
            DoubtCode::LittleLawViolated => "DO NOT USE",
            DoubtCode::Incomplete | DoubtCode::OperationsFailed | DoubtCode::GeneratorLimited => return None,
        };
        Some(format!("{head}: {}", doubt.text))
    })
}

fn data_lost(summary: &Summary) -> Option<String> {
    let mut errors: Vec<ErrorCount> = Vec::new();
    for cell in &summary.cells {
        merge_errors(&mut errors, &cell.errors);
    }
    let first = errors.first()?;
    let cell_count = summary.cells.iter().filter(|cell| !cell.errors.is_empty()).count();
    let total = errors.iter().map(|error| error.count).fold(0, u64::saturating_add);
    let each: Vec<String> = errors
        .iter()
        .map(|error| format!("{} {} {}", error.op, error.errno, counted(error.count, "time")))
        .collect();
    Some(format!(
        "DATA LOST: {} failed in {} ({}). First: {}. Figures of these cells count only what completed.",
        counted(total, "request"),
        counted_len(cell_count, "cell"),
        each.join(", "),
        first.first_message.trim_end_matches('.')
    ))
}

fn failed(summary: &Summary) -> Option<String> {
    let first = summary.failed.first()?;
    Some(format!(
        "FAILED: {} could not be measured. First: {}: {}.",
        counted_len(summary.failed.len(), "cell"),
        first.cell,
        first.reason.trim_end_matches('.')
    ))
}

fn incomplete(summary: &Summary) -> Option<String> {
    if summary.complete {
        return None;
    }
    let short =
        summary.cells.iter().filter(|cell| cell.flags.iter().any(|flag| flag == "incomplete")).count();
    let mut missing = Vec::new();
    if short > 0 {
        missing.push(format!("{} cut short", counted_len(short, "cell")));
    }
    if !summary.skipped.is_empty() {
        missing.push(format!("{} left out", counted_len(summary.skipped.len(), "cell")));
    }
    let missing = if missing.is_empty() { "it ended early".to_owned() } else { missing.join(", ") };
    Some(format!("INCOMPLETE: the run did not measure all that was planned ({missing})."))
}

fn generator(summary: &Summary) -> Option<String> {
    if !summary.generator.limited {
        return None;
    }
    let reach = summary.generator.headroom_ratio.map_or_else(
        || "was at its own limit".to_owned(),
        |ratio| format!("could do only {ratio:.2} times what was measured, at least 1.25 is needed"),
    );
    Some(format!(
        "NOT TRUSTWORTHY: the load generator {reach}. Cells marked generator_limited show narrows' own speed."
    ))
}
