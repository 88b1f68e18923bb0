//! `narrows explain`: what a rule or a segment means.

use crate::args::ExplainArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use narrows_report::text::Style;
use std::fmt::Write as _;

/// Runs the command.
pub(crate) fn run(arguments: &ExplainArguments, console: &Console) -> Result<Exit, Failure> {
    let style = Style { width: console.width(), colour: console.colour, unicode: false, detail: true };
    let Some(code) = &arguments.code else {
        let mut list = String::from("narrows explain CODE, where CODE is one of:\n");
        for explanation in narrows_analysis::topics().into_iter().filter_map(narrows_analysis::explain) {
            // Writing to a string cannot fail.
            let _ = writeln!(list, "  {:<28} {}", explanation.topic, explanation.title);
        }
        console.result(&list)?;
        return Ok(Exit::Done);
    };
    match narrows_analysis::explain(code) {
        Some(explanation) => {
            console.result(&narrows_report::text::explanation(&explanation, &style))?;
            Ok(Exit::Done)
        }
        None => Err(Failure::bad_input(format!(
            "`{code}` is no code of a rule and no id of a segment; `narrows explain` lists them all"
        ))),
    }
}
