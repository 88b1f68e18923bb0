//! The runs of one command: each planned, run and told by itself, with a record of its own.

use crate::args::{CheckArguments, OutputArguments, PostmarkArguments};
use crate::check::{self, Prepared};
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::measurement::{self, PathFound, Terms, Undertaking, Watch};
use crate::suite::refused;
use narrows_model::{Bytes, Plan, Summary, Target};
use narrows_run::StopRequest;
use narrows_suites::postmark::{Request, Run, Step, plan, printed};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Time that the plan of the check may take whose cuts are measured: all of them, on any path.
const CUTS_SECONDS: f64 = 3600.0;
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
    /// When one of them cannot be done; those after it are not.
    pub(super) fn steps(&mut self, steps: &[Step]) -> Result<Exit, Failure> {
        let mut exit = Exit::Done;
        for step in steps {
            if self.is_stopped() {
                break;
            }
            match step {
                Step::Say(text) if self.arguments.output.json => self.console.say(text.trim_end()),
                Step::Say(text) => self.console.result(text)?,
                Step::Run(run) => {
                    if self.one(run)? == Exit::Untrustworthy {
                        exit = Exit::Untrustworthy;
                    }
                }
            }
        }
        Ok(exit)
    }

    fn one(&mut self, run: &Run) -> Result<Exit, Failure> {
        self.run_count += 1;
        let folder = PathBuf::from(run.location().unwrap_or("."));
        check_folder(&folder, &run.at)?;
        let output = self.output();
        let terms = Terms { output: &output, command: self.command, console: self.console };
        let watch = self.watch.again();
        let mut report_file = self.report_file(run)?;
        let mut prepared = check::prepare(&self.check_of(run, &folder), &watch, self.console)?;
        let plan = self.planned(run, &folder, &prepared)?;
        if output.plan {
            terms.print_plan(&plan)?;
            return Ok(Exit::Done);
        }
        terms.announce(&plan, prepared.place.inventory());
        let undertaking = Undertaking {
            plan: &plan,
            inventory: prepared.place.inventory(),
            devices: prepared.place.device_names(),
            token: prepared.token(),
            servers: prepared.server.as_mut().map(check::CheckServer::servers),
            further: None,
            launchers: Vec::new(),
        };
        let ran = measurement::run(undertaking, &watch, terms)?;
        drop(prepared);
        measurement::conclude_by(ran, terms, &mut |summary, text| match &mut report_file {
            Some((path, file)) => self.split(summary, path, file),
            None => self.console.result(text),
        })
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
        let opened = File::options().append(true).create(true).open(&path).map_err(|error| {
            let hint = "name a file in a folder that exists and that this user may write in";
            Failure::bad_input(format!("{}: run {}: {error}; {hint}", run.at, path.display()))
        })?;
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
        OutputArguments {
            plan: asked.plan,
            json: asked.json,
            detail: asked.detail,
            out: asked.out.as_ref().map(numbered),
            quiet: asked.quiet,
        }
    }

    /// The check of the same folder, whose cuts lie under the transactions.
    fn check_of(&self, run: &Run, folder: &Path) -> CheckArguments {
        let settings = &run.settings;
        let block = settings.read_bytes.max(settings.write_bytes).next_multiple_of(CUT_BLOCK_STEP);
        CheckArguments {
            target: Target::File { path: folder.to_path_buf() },
            server: self.arguments.server.clone(),
            token_file: self.arguments.token_file.clone(),
            seconds: CUTS_SECONDS,
            cell_seconds: Some(self.arguments.cell_seconds),
            trials: 1,
            seed: Some(settings.seed),
            block: vec![Bytes(block)],
            depth: vec![1],
            op: Vec::new(),
            max_rate: None,
            deep: false,
            output: self.output(),
        }
    }

    fn planned(&self, run: &Run, folder: &Path, prepared: &Prepared) -> Result<Plan, Failure> {
        let inventory = prepared.place.inventory();
        let host = &inventory.host;
        let request = Request {
            settings: run.settings.clone(),
            has_cuts: !self.arguments.no_verdict,
            memory: host.memory_limit_bytes.or(host.memory_bytes),
            free: inventory.path.as_ref().and_then(|path| path.free_bytes),
        };
        let path = prepared.place.own_folder().unwrap_or(folder).to_path_buf();
        plan(&request, &Target::File { path }, prepared.plan.clone()).map_err(|problems| refused(&problems))
    }
}

fn check_folder(folder: &Path, at: &str) -> Result<(), Failure> {
    match measurement::examine(folder) {
        Ok(PathFound::Folder) => Ok(()),
        Ok(PathFound::File { .. }) => Err(Failure::bad_input(format!(
            "{at}: the location {} is a file; give the folder in which the run makes files of its own",
            folder.display()
        ))),
        Err(Failure::BadInput(error)) => Err(Failure::bad_input(format!("{at}: the location {error}"))),
        Err(failure) => Err(failure),
    }
}
