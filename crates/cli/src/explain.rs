//! `narrows explain`: what a rule or a segment means.

use crate::args::ExplainArguments;
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use narrows_report::text::{Style, flags};
use std::fmt::Write as _;

/// Runs the command.
pub(crate) fn run(arguments: &ExplainArguments, console: &Console) -> Result<Exit, CommandFailure> {
    let style = Style { width: console.width(), colour: console.colour, unicode: false, detail: true };
    let Some(code) = &arguments.code else {
        let mut list = String::from("narrows explain CODE, where CODE is one of:\n");
        for explanation in narrows_analysis::topics().into_iter().filter_map(narrows_analysis::explain) {
            // Writing to a string cannot fail.
            let _ = writeln!(list, "  {:<28} {}", explanation.topic, explanation.title);
        }
        list.push_str("or a note below a table of cells:\n");
        for (flag, meaning) in flags() {
            let _ = writeln!(list, "  {flag:<28} {meaning}");
        }
        console.result(&list)?;
        return Ok(Exit::Done);
    };
    match narrows_analysis::explain(code) {
        Some(explanation) => {
            console.result(&narrows_report::text::explanation(&explanation, &style))?;
            Ok(Exit::Done)
        }
        None => match flags().iter().find(|(flag, _)| flag == code) {
            Some((flag, meaning)) => {
                console.result(&format!("{flag}: a note on a cell\n\n  {meaning}\n"))?;
                Ok(Exit::Done)
            }
            None => Err(unknown(code)),
        },
    }
}

/// Refuses a code that is none, with the one that is probably meant.
fn unknown(code: &str) -> CommandFailure {
    let notes = flags().iter().map(|(flag, _)| *flag);
    let lower = code.to_lowercase();
    let meant = narrows_study::nearest(&lower, narrows_analysis::topics().into_iter().chain(notes))
        .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    CommandFailure::bad_input(format!(
        "`{code}` is not a code of a rule, a note of a cell or an id of a segment; {meant}`narrows explain` lists \
        them all"
    ))
}
