//! `narrows suite`: starts what a suite of the registry asks for.
//!
//! Not here: what is asked for, the plan and the output, which are each suite's own. No suite is named here: there is a
//! way to start a run on a folder, the runs of a script, and a run on endpoints.

mod folder;
mod hosts;
mod machine;
mod no_folder;
mod nodes;
mod object_target;
mod output_files;
mod script;
mod serving;
mod session;
mod test_folders;
mod user;

use crate::args::SuiteChoice;
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use crate::measurement::{OutputContext, Watch};
use narrows_suites::{ArgumentError, SuiteStart};

/// Runs the suite that is named.
pub(crate) fn run(
    choice: &SuiteChoice,
    command: &[String],
    console: &Console,
) -> Result<Exit, CommandFailure> {
    let context = OutputContext { output: &choice.output, command, console };
    let watch = Watch::start(console)?;
    match choice.suite.parse(&choice.typed, &user::is_current).map_err(refused)? {
        SuiteStart::Folder(mut run) => {
            let hosts = hosts::of_folder(&mut run, &choice.hosts)?;
            folder::run(run, hosts, &watch, context)
        }
        SuiteStart::Script(arguments) => script::run(&arguments, watch, context),
        SuiteStart::Nodes(mut run) => {
            let hosts = hosts::of_nodes(&mut run, &choice.hosts)?;
            nodes::run(*run, hosts, &watch, context)
        }
    }
}

/// All that is wrong with what is asked of a suite.
fn refused(refused: impl Into<ArgumentError>) -> CommandFailure {
    let lines: Vec<String> = match refused.into() {
        ArgumentError::Options(text) => return CommandFailure::bad_input(text),
        ArgumentError::Lines(lines) => lines,
        ArgumentError::Problems(problems) => problems.iter().map(ToString::to_string).collect(),
    };
    CommandFailure::bad_input(format!("this suite cannot be run:\n  {}", lines.join("\n  ")))
}
