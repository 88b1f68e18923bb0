//! `narrows suite`: the classic benchmarks, each from its options to its native output.

mod bonnie;
mod ioperf;
mod iozone;
mod jovian;
mod no_folder;
mod nodes;
mod on_folder;
mod postmark;

use crate::args::{SuiteArguments, SuiteName};
use crate::console::Console;
use crate::exit::{Exit, Failure};
use narrows_study::Problem;

/// Runs the suite that is named.
pub(crate) fn run(
    arguments: &SuiteArguments,
    command: &[String],
    console: &Console,
) -> Result<Exit, Failure> {
    match &arguments.name {
        SuiteName::Bonnie(bonnie) => bonnie::run(bonnie, command, console),
        SuiteName::Ioperf(ioperf) => ioperf::run(ioperf, command, console),
        SuiteName::Iozone(iozone) => iozone::run(iozone, command, console),
        SuiteName::Jovian(jovian) => jovian::run(jovian, command, console),
        SuiteName::Postmark(postmark) => postmark::run(postmark, command, console),
    }
}

/// All that is wrong with what is asked of a suite.
fn refused(problems: &[Problem]) -> Failure {
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    Failure::bad_input(format!("this suite cannot be run:\n  {}", lines.join("\n  ")))
}
