//! The runs that a script asks for, one after another, each with a record and an output of its own.

use super::folder;
use crate::args::OutputArguments;
use crate::exit::{CommandFailure, Exit};
use crate::hosts::NamedHosts;
use crate::measurement::{self, OutputContext, Watch};
use narrows_model::costs::PlanCosts;
use narrows_model::{Summary, printable};
use narrows_run::StopRequest;
use narrows_suites::postmark::{Arguments, BANNER, PostmarkRun, ScriptOutput, ScriptStep, native_output};
use narrows_sys::file::{check_to_append, open_to_append};
use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What runs share, and how many there have been.
pub(super) struct ScriptRunner<'a> {
    arguments: &'a Arguments,
    context: OutputContext<'a>,
    watch: Watch,
    run_count: u32,
    /// The first line was printed.
    has_banner: Cell<bool>,
}

impl<'a> ScriptRunner<'a> {
    pub(super) fn new(arguments: &'a Arguments, watch: Watch, context: OutputContext<'a>) -> Self {
        Self { arguments, context, watch, run_count: 0, has_banner: Cell::new(false) }
    }

    pub(super) fn say(&self, line: &str) {
        self.context.console.say(line);
    }

    pub(super) fn prompt(&self, text: &str) {
        self.context.console.prompt(text);
    }

    /// Whether the user wants no more.
    pub(super) fn is_stopped(&self) -> bool {
        self.watch.stop.request() != StopRequest::None
    }

    /// Does `steps` in turn, until the user wants no more.
    ///
    /// # Errors
    /// When the place or the file of any of them cannot be used, before the first one is done; or when one of them cannot be
    /// done, and those after it are not.
    pub(super) fn steps(&mut self, steps: &[ScriptStep]) -> Result<Exit, CommandFailure> {
        self.check(steps)?;
        self.check_costs(steps)?;
        let mut exit = Exit::Done;
        for step in steps {
            if self.is_stopped() {
                break;
            }
            match step {
                ScriptStep::Say(text) if self.context.output.json => {
                    self.context.console.say(text.trim_end());
                }
                ScriptStep::Remark(text) => self.context.console.say(text),
                ScriptStep::Say(text) => self.print(text)?,
                ScriptStep::Write(note) => self.write(note)?,
                ScriptStep::Run(run) => {
                    if self.one(run)? == Exit::Untrustworthy {
                        exit = Exit::Untrustworthy;
                    }
                }
            }
        }
        Ok(exit)
    }

    /// Prints a part of the native output, behind its first line.
    fn print(&self, text: &str) -> Result<(), CommandFailure> {
        let is_first = !self.has_banner.replace(true) && !self.context.output.plan;
        let banner = if is_first { BANNER } else { "" };
        self.context.console.result(&format!("{banner}{text}"))
    }

    /// Fails where the location of a run is no folder, or where a file cannot be written to: with all that are wrong.
    fn check(&self, steps: &[ScriptStep]) -> Result<(), CommandFailure> {
        let mut problems = Vec::new();
        let mut keep = |checked: Result<(), CommandFailure>| match checked {
            Err(CommandFailure::BadInput(error)) => {
                problems.push(error.to_string());
                Ok(())
            }
            checked => checked,
        };
        for step in steps {
            let file = match step {
                ScriptStep::Say(_) | ScriptStep::Remark(_) => None,
                ScriptStep::Write(note) => Some((&note.to, format!("{}: show", note.at))),
                ScriptStep::Run(run) => {
                    for location in run.locations() {
                        keep(self.check_location(Path::new(location), run))?;
                    }
                    run.to.as_ref().map(|path| (path, format!("{}: run", run.at)))
                }
            };
            if let Some((path, asked)) = file.filter(|_| !self.context.output.plan) {
                keep(check_file(Path::new(path), &asked))?;
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(CommandFailure::bad_input(problems.join("\n"))) }
    }

    /// Fails where the runs together cost more than is done without `--yes`; each for itself is looked at when it is its
    /// turn.
    fn check_costs(&self, steps: &[ScriptStep]) -> Result<(), CommandFailure> {
        let runs = steps.iter().filter_map(|step| match step {
            ScriptStep::Run(run) => Some(run),
            ScriptStep::Say(_) | ScriptStep::Remark(_) | ScriptStep::Write(_) => None,
        });
        let runs: Vec<_> = runs.collect();
        if runs.len() < 2 || self.context.output.plan || self.context.output.yes {
            return Ok(());
        }
        let mut all = PlanCosts::default();
        let mut memory = None;
        for run in runs {
            let (costs, found) =
                folder::expected_costs(self.arguments.on_folder(run), &self.watch, self.context)?;
            all = all.and(&costs);
            memory = found;
        }
        measurement::check_costs(&all, memory)
    }

    /// Fails where a location of `run` is nothing that it can be run on.
    fn check_location(&self, location: &Path, run: &PostmarkRun) -> Result<(), CommandFailure> {
        let asked = self.arguments.on_folder(run);
        folder::check_dir(asked.request.as_ref(), location).map_err(|failure| match failure {
            CommandFailure::BadInput(error) => {
                CommandFailure::bad_input(format!("{}: the location {error}", run.at))
            }
            failure @ CommandFailure::CouldNotRun(_) => failure,
        })
    }

    fn one(&mut self, run: &PostmarkRun) -> Result<Exit, CommandFailure> {
        self.run_count += 1;
        for location in run.locations() {
            self.check_location(Path::new(location), run)?;
        }
        let output = self.output();
        let context = OutputContext { output: &output, ..self.context };
        let mut report_file = self.report_file(run)?;
        let typed = self.arguments.on_folder(run);
        folder::run_into(typed, NamedHosts::none(), &self.watch.again(), context, &mut |summary, text| {
            match &mut report_file {
                Some((path, file)) => self.split(summary, path, file),
                None => self.print(
                    &native_output(summary)
                        .map_or_else(|| text.to_owned(), |printed| printed.phases + &printed.report),
                ),
            }
        })
    }

    /// What was shown to the end of its file; with `--plan` to stderr, since nothing is made then.
    fn write(&self, note: &ScriptOutput) -> Result<(), CommandFailure> {
        if self.context.output.plan {
            self.context.console.say(note.text.trim_end());
            return Ok(());
        }
        let (path, asked) = (Path::new(&note.to), format!("{}: show", note.at));
        opened(path, &asked)?.write_all(printable::lines(&note.text).as_bytes()).map_err(|error| {
            CommandFailure::could_not_run(format!("{asked}: write to {}: {error}", path.display()))
        })
    }

    /// Writes the report to the end of its file, and what is before it to stdout.
    fn split(&self, summary: &Summary, path: &Path, file: &mut File) -> Result<(), CommandFailure> {
        let Some(printed) = native_output(summary) else { return Ok(()) };
        self.print(&printed.phases)?;
        file.write_all(printable::lines(&printed.report).as_bytes()).map_err(|error| {
            CommandFailure::could_not_run(format!("write the report to {}: {error}", path.display()))
        })
    }

    /// The file of `run FILE`, opened before anything is measured.
    fn report_file(&self, run: &PostmarkRun) -> Result<Option<(PathBuf, File)>, CommandFailure> {
        let Some(path) = run.to.as_ref().map(PathBuf::from) else { return Ok(None) };
        if self.context.output.plan {
            return Ok(None);
        }
        let opened = opened(&path, &format!("{}: run", run.at))?;
        Ok(Some((path, opened)))
    }

    /// The first run's record is the one that was named, and further ones have a number behind the name.
    fn output(&self) -> OutputArguments {
        let asked = self.context.output;
        let numbered = |path: &PathBuf| match self.run_count {
            0 | 1 => path.clone(),
            count => {
                let mut name = path.clone().into_os_string();
                name.push(format!("-{count}"));
                PathBuf::from(name)
            }
        };
        OutputArguments { out: asked.out.as_ref().map(numbered), ..asked.clone() }
    }
}

/// The file at `path`, to be written to its end, as `asked` wants it.
fn opened(path: &Path, asked: &str) -> Result<File, CommandFailure> {
    open_to_append(path).map_err(|error| unwritable(asked, &error))
}

/// Fails where no file at `path` could be opened; leaves none behind.
fn check_file(path: &Path, asked: &str) -> Result<(), CommandFailure> {
    check_to_append(path).map_err(|error| unwritable(asked, &error))
}

fn unwritable(asked: &str, error: &narrows_sys::Error) -> CommandFailure {
    let hint = "a file is needed in a folder that exists and that this user may write to";
    CommandFailure::bad_input(format!("{asked}: {error}; {hint}"))
}
