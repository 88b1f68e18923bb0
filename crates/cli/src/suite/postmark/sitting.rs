//! The runs of one command: each planned, run and told by itself, with a record of its own.

use crate::args::{OutputArguments, PostmarkArguments};
use crate::check::Prepared;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::measurement::{self, Terms, Watch};
use crate::suite::on_folder::{self, OnFolder, Room};
use crate::suite::refused;
use narrows_model::{Bytes, Plan, Summary, Target};
use narrows_run::StopRequest;
use narrows_suites::postmark::{Note, Request, Run, Step, plan, printed};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Time of each cut, in seconds.
const CUT_SECONDS: f64 = 1.0;
/// Blocks of cuts are whole pages, which direct access needs too.
const CUT_BLOCK_STEP: u64 = 4096;

/// What runs share, and how many there have been.
pub(super) struct Sitting<'a> {
    arguments: &'a PostmarkArguments,
    command: &'a [String],
    console: &'a Console,
    watch: Watch,
    run_count: u32,
}

impl<'a> Sitting<'a> {
    pub(super) fn new(
        arguments: &'a PostmarkArguments,
        command: &'a [String],
        console: &'a Console,
        watch: Watch,
    ) -> Self {
        Self { arguments, command, console, watch, run_count: 0 }
    }

    pub(super) fn say(&self, line: &str) {
        self.console.say(line);
    }

    pub(super) fn prompt(&self, text: &str) {
        self.console.prompt(text);
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
    pub(super) fn steps(&mut self, steps: &[Step]) -> Result<Exit, Failure> {
        self.check(steps)?;
        let mut exit = Exit::Done;
        for step in steps {
            if self.is_stopped() {
                break;
            }
            match step {
                Step::Say(text) if self.arguments.output.json => self.console.say(text.trim_end()),
                Step::Say(text) => self.console.result(text)?,
                Step::Write(note) => self.write(note)?,
                Step::Run(run) => {
                    if self.one(run)? == Exit::Untrustworthy {
                        exit = Exit::Untrustworthy;
                    }
                }
            }
        }
        Ok(exit)
    }

    /// Fails where the location of a run is no folder, or where a file cannot be written to: with all that are wrong.
    fn check(&self, steps: &[Step]) -> Result<(), Failure> {
        let mut problems = Vec::new();
        let mut keep = |checked: Result<(), Failure>| match checked {
            Err(Failure::BadInput(error)) => {
                problems.push(error.to_string());
                Ok(())
            }
            checked => checked,
        };
        for step in steps {
            let file = match step {
                Step::Say(_) => None,
                Step::Write(note) => Some((&note.to, format!("{}: show", note.at))),
                Step::Run(run) => {
                    keep(check_location(Path::new(run.location().unwrap_or(".")), &run.at))?;
                    run.to.as_ref().map(|path| (path, format!("{}: run", run.at)))
                }
            };
            if let Some((path, asked)) = file.filter(|_| !self.arguments.output.plan) {
                keep(check_file(Path::new(path), &asked))?;
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Failure::bad_input(problems.join("\n"))) }
    }

    fn one(&mut self, run: &Run) -> Result<Exit, Failure> {
        self.run_count += 1;
        let location = PathBuf::from(run.location().unwrap_or("."));
        check_location(&location, &run.at)?;
        let output = self.output();
        let terms = Terms { output: &output, command: self.command, console: self.console };
        let watch = self.watch.again();
        let mut report_file = self.report_file(run)?;
        let folder = self.folder(run, &location);
        let mut prepared = folder.prepare(&output, &watch, self.console)?;
        let plan = self.planned(run, &folder, &prepared)?;
        let Some(ran) = on_folder::run(&plan, &mut prepared, &watch, terms)? else { return Ok(Exit::Done) };
        drop(prepared);
        measurement::conclude_by(ran, terms, &mut |summary, text| match &mut report_file {
            Some((path, file)) => self.split(summary, path, file),
            None => self.console.result(text),
        })
    }

    /// What was shown to the end of its file; with `--plan` to stderr, since nothing is made then.
    fn write(&self, note: &Note) -> Result<(), Failure> {
        if self.arguments.output.plan {
            self.console.say(note.text.trim_end());
            return Ok(());
        }
        let (path, asked) = (Path::new(&note.to), format!("{}: show", note.at));
        opened(path, &asked)?
            .write_all(note.text.as_bytes())
            .map_err(|error| Failure::could_not_run(format!("{asked}: write to {}: {error}", path.display())))
    }

    /// The report to the end of its file, and what stands before it to stdout.
    fn split(&self, summary: &Summary, path: &Path, file: &mut File) -> Result<(), Failure> {
        let Some(printed) = printed(summary) else { return Ok(()) };
        self.console.result(&printed.phases)?;
        file.write_all(printed.report.as_bytes()).map_err(|error| {
            Failure::could_not_run(format!("write the report to {}: {error}", path.display()))
        })
    }

    /// The file of `run FILE`, opened before anything is measured.
    fn report_file(&self, run: &Run) -> Result<Option<(PathBuf, File)>, Failure> {
        let Some(path) = run.to.as_ref().map(PathBuf::from) else { return Ok(None) };
        if self.arguments.output.plan {
            return Ok(None);
        }
        let opened = opened(&path, &format!("{}: run", run.at))?;
        Ok(Some((path, opened)))
    }

    /// The first run's record is the one that was named, and further ones have a number behind the name.
    fn output(&self) -> OutputArguments {
        let asked = &self.arguments.output;
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

    /// The run's folder; blocks of the cuts hold those of the transactions.
    fn folder<'b>(&'b self, run: &Run, location: &'b Path) -> OnFolder<'b> {
        let settings = &run.settings;
        let block = settings.read_bytes.max(settings.write_bytes).next_multiple_of(CUT_BLOCK_STEP);
        OnFolder {
            dir: location,
            cuts: &self.arguments.cuts,
            cell_seconds: CUT_SECONDS,
            seed: Some(settings.seed),
            block: Bytes(block),
        }
    }

    fn planned(&self, run: &Run, folder: &OnFolder<'_>, prepared: &Prepared) -> Result<Plan, Failure> {
        let Room { memory, free } = Room::of(prepared);
        let request = Request {
            settings: run.settings.clone(),
            has_cuts: !self.arguments.cuts.no_verdict,
            memory,
            free,
        };
        let target = Target::File { path: folder.own(prepared) };
        plan(&request, &target, prepared.plan.clone()).map_err(|problems| refused(&problems))
    }
}

/// Fails where the location of the run that `at` asks for is no folder.
fn check_location(location: &Path, at: &str) -> Result<(), Failure> {
    on_folder::check_folder(location).map_err(|failure| match failure {
        Failure::BadInput(error) => Failure::bad_input(format!("{at}: the location {error}")),
        failure @ Failure::CouldNotRun(_) => failure,
    })
}

/// The file at `path`, to be written to its end, as `asked` wants it.
fn opened(path: &Path, asked: &str) -> Result<File, Failure> {
    File::options().append(true).create(true).open(path).map_err(|error| unwritable(path, asked, &error))
}

fn unwritable(path: &Path, asked: &str, error: &std::io::Error) -> Failure {
    let hint = "name a file in a folder that exists and that this user may write in";
    Failure::bad_input(format!("{asked} {}: {error}; {hint}", path.display()))
}

/// Fails where no file at `path` could be opened; leaves none behind.
fn check_file(path: &Path, asked: &str) -> Result<(), Failure> {
    // A pipe is opened once, and by whom it is for.
    if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Ok(());
    }
    let is_there = path.symlink_metadata().is_ok();
    drop(opened(path, asked)?);
    if is_there {
        Ok(())
    } else {
        std::fs::remove_file(path).map_err(|error| unwritable(path, asked, &error))
    }
}
