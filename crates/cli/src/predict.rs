//! `narrows predict`: rates of more clients than a record has, from the record alone.

use crate::args::PredictArguments;
use crate::console::Console;
use crate::diagnose::read_record;
use crate::exit::{CommandFailure, Exit};
use narrows_analysis::{ExtrapolationRequest, extrapolate, why_no_curve};
use narrows_model::extrapolation::Extrapolation;
use narrows_record::Record;
use narrows_report::text::Style;

/// Runs the command.
pub(crate) fn run(arguments: &PredictArguments, console: &Console) -> Result<Exit, CommandFailure> {
    let record = Record::open(&arguments.record)?;
    let summary = read_record(&record, console)?;
    let request = ExtrapolationRequest {
        clients: arguments.clients.0.clone(),
        servers: arguments.servers.0.clone(),
        changes: arguments.add.clone(),
    };
    let found = extrapolate(&summary, &request, env!("CARGO_PKG_VERSION"));
    if found.loads.is_empty() {
        return Err(CommandFailure::bad_input(format!(
            "{}: {}",
            arguments.record.display(),
            why_no_curve(&summary)
        )));
    }
    refused(&found)?;
    let style = Style { width: console.width(), colour: console.colour, unicode: false, detail: false };
    let text = if arguments.json {
        narrows_report::json::extrapolation(&found)
    } else {
        narrows_report::text::extrapolation(&found, &style)
    };
    console.result(&text)?;
    Ok(if summary.complete { Exit::Done } else { Exit::Untrustworthy })
}

/// Fails where no load of the record can be extrapolated: with all reasons.
fn refused(found: &Extrapolation) -> Result<(), CommandFailure> {
    if found.loads.iter().any(|load| !load.rates.is_empty()) {
        return Ok(());
    }
    let reasons = found.loads.iter().filter_map(|load| {
        let refusal = load.refusal.as_ref()?;
        Some(format!("{} of {}: {}; {}", load.op, load.block_bytes, refusal.reason, refusal.hint))
    });
    Err(CommandFailure::could_not_run(reasons.collect::<Vec<_>>().join("\nnarrows: ")))
}
