//! `narrows check`: from what was typed to a verdict, as a pipeline of values.

mod measure;
mod owner;
mod place;
mod request;
mod server;

use crate::args::CheckArguments;
use crate::console::Console;
use crate::diagnose::{print_summary, summary_of};
use crate::exit::{Exit, Failure};
use crate::signals::{self, Interrupt};
use crate::token;
use measure::Measurement;
use narrows_engines::{Clock, MonotonicClock};
use narrows_model::event::EndReason;
use narrows_model::{Plan, Summary};
use narrows_record::{Manifest, Record, Writer};
use narrows_report::text::Style;
use narrows_run::{StopFlag, StopRequest};
use place::Place;
use server::CheckServer;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything that is known before load is put on.
///
/// Fields are dropped in order: the endpoint removes its store before the folder that holds it goes.
pub(crate) struct Prepared {
    server: Option<CheckServer>,
    place: Place,
    plan: Plan,
    token: Option<Vec<u8>>,
    clock: Arc<dyn Clock>,
}

/// Runs the command.
pub(crate) fn run(
    arguments: &CheckArguments,
    command: &[String],
    console: &Console,
) -> Result<Exit, Failure> {
    let monotonic = MonotonicClock::new();
    let clock: Arc<dyn Clock> = Arc::new(monotonic);
    let began_ns = clock.now().0;
    let seed = match arguments.seed {
        Some(seed) => seed,
        None => random_u64()?,
    };
    // Before anything is made that an interrupt would leave behind.
    let stop = StopFlag::default();
    let told = console.clone();
    signals::heed(&stop, Interrupt::AfterCell, move |request| told.say(stop_words(request)))?;
    let token = token::read(arguments.token_file.as_deref())?;
    // Not the seed: a run with a seed can be repeated beside what a killed one left.
    let place = Place::resolve(arguments, random_u64()?, monotonic.resolution_ns())?;
    for leftover in place.leftovers(arguments) {
        console.say(&leftover);
    }
    let server = CheckServer::of(arguments, &place, token.as_deref(), &clock)?;
    let plan = request::plan(arguments, &place, server.as_ref(), seed)?;
    let style =
        Style { width: console.width(), colour: console.colour, unicode: false, detail: arguments.detail };
    if arguments.plan {
        let style = Style { detail: true, ..style };
        console.result(&narrows_report::text::plan(&plan, &style))?;
        return Ok(Exit::Done);
    }
    if !arguments.quiet {
        let style = Style { detail: false, colour: false, ..style };
        console.say(&narrows_report::text::inventory(place.inventory(), &style));
        console.say(&narrows_report::text::plan(&plan, &style));
    }
    // An endpoint of the command's own has a token of its own.
    let token = server.as_ref().and_then(CheckServer::token).map(<[u8]>::to_vec);
    let prepared = Prepared { server, place, plan, token, clock };
    let (dir, reason) = record_run(arguments, command, seed, prepared, stop, began_ns, console)?;
    conclude(arguments, &dir, reason, &style, console)
}

fn stop_words(request: StopRequest) -> &'static str {
    match request {
        StopRequest::Now => "stopping now; what is whole is kept",
        _ => "stopping after this cell; once more stops now",
    }
}

/// Runs the plan into a new record and returns where it lies and why the run ended.
fn record_run(
    arguments: &CheckArguments,
    command: &[String],
    seed: u64,
    prepared: Prepared,
    stop: StopFlag,
    began_ns: u64,
    console: &Console,
) -> Result<(PathBuf, EndReason), Failure> {
    let started = narrows_sys::clock::wall_time();
    let started_at = humantime::format_rfc3339_seconds(started).to_string();
    let dir = arguments.out.clone().unwrap_or_else(|| default_record(&started_at));
    let id = format!("{:016x}", random_u64()?);
    let manifest = Manifest::new(env!("CARGO_PKG_VERSION"), &started_at, command.to_vec(), seed, &id);
    let writer = Writer::create(&dir, manifest, &prepared.plan, prepared.place.inventory())?;
    let dir = writer.dir().to_path_buf();
    let measurement = Measurement { arguments, prepared, stop, began_ns, console };
    let (reason, mut writer) = measurement.run(writer)?;
    let record = Record::open(&dir).map_err(|error| Failure::could_not_run(error.to_string()))?;
    let summary = summary_of(&record)?;
    match writer.write_summary(&summary).and_then(|()| writer.finish(reason)) {
        Ok(()) => Ok((dir, reason)),
        Err(error) => {
            // The events are there, and all else follows from them.
            console.say(&format!("narrows: {error}"));
            Ok((dir, EndReason::Failed))
        }
    }
}

/// Shows the verdict of the finished record.
fn conclude(
    arguments: &CheckArguments,
    dir: &std::path::Path,
    reason: EndReason,
    style: &Style,
    console: &Console,
) -> Result<Exit, Failure> {
    let record = Record::open(dir).map_err(|error| Failure::could_not_run(error.to_string()))?;
    let summary = summary_of(&record)?;
    print_summary(&summary, arguments.json, style, console)?;
    console.say(&format!("record: {}", dir.display()));
    if summary.cells.is_empty() {
        return Err(Failure::could_not_run(nothing_measured(&summary)));
    }
    Ok(verdict_of(&summary, reason))
}

/// Whether the figures can be trusted as a whole.
pub(crate) fn verdict_of(summary: &Summary, reason: EndReason) -> Exit {
    let lost = summary.cells.iter().any(|cell| !cell.errors.is_empty());
    let broken = matches!(reason, EndReason::Failed | EndReason::Interrupted);
    if summary.generator.limited || lost || broken || !summary.complete {
        Exit::Untrustworthy
    } else {
        Exit::Done
    }
}

fn nothing_measured(summary: &Summary) -> String {
    let reasons: Vec<&str> = summary.skipped.iter().map(|skip| skip.reason.as_str()).collect();
    match reasons.first() {
        Some(first) => format!("nothing could be measured: {first}"),
        None => "nothing was measured before the stop".to_owned(),
    }
}

fn default_record(started_at: &str) -> PathBuf {
    let stamp: String = started_at.chars().filter(char::is_ascii_alphanumeric).collect();
    PathBuf::from(format!("narrows-record-{stamp}"))
}

fn random_u64() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| Failure::could_not_run(format!("draw a seed: {error}")))?;
    Ok(u64::from_le_bytes(bytes))
}
