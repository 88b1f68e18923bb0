//! Runs the buffer experiment into a record.

use super::load::{Recording, say_loss};
use super::{FinishedRun, OutputContext, Watch, record};
use crate::exit::CommandFailure;
use crate::progress::ProgressDisplay;
use narrows_engines::endpoint::ControlClient;
use narrows_model::{Event, Inventory, Plan, Sink, SinkError};
use narrows_run::relay::{RelaySite, execute_relay};
use narrows_run::{PeerMonitor, RunOutput};

/// What is run.
pub(crate) struct Experiment<'a> {
    /// The points.
    pub(crate) plan: &'a Plan,
    /// This machine.
    pub(crate) inventory: &'a Inventory,
    /// Where the roles are played.
    pub(crate) site: RelaySite,
    /// The endpoint that plays the server, as it answered.
    pub(crate) connected: Option<Event>,
    /// Asks the roles that are elsewhere whether they still answer.
    pub(crate) monitor: PeerMonitor,
}

/// The event that an endpoint answered.
pub(crate) fn connected(client: &ControlClient) -> Event {
    Event::ServerConnected {
        server: Box::new(client.facts().clone()),
        inventory: Box::new(client.inventory().clone()),
    }
}

/// Runs `experiment` into a new record.
///
/// # Errors
/// When the record cannot be made; what happens later is in the record.
pub(crate) fn run_relay(
    mut experiment: Experiment<'_>,
    watch: &Watch,
    context: OutputContext<'_>,
) -> Result<FinishedRun, CommandFailure> {
    if let Some(line) = crate::ranks::idle_ranks(experiment.plan) {
        context.console.say(&line);
    }
    crate::signals::end_preparation();
    let writer = record(experiment.plan, experiment.inventory, context)?;
    let progress = ProgressDisplay::new(context.console, experiment.plan, context.output.quiet);
    let mut recording = Recording::new(writer, progress, watch);
    let outcome = points(&mut experiment, watch, &mut recording);
    recording.progress.end();
    say_loss(context.console, &experiment.site.peer_loss);
    let loss = experiment.site.peer_loss.clone();
    // Processes of roles end before the record says that the run has.
    drop((experiment.monitor, experiment.site));
    let (reason, writer) = recording.end(outcome, &loss, watch, context.console);
    Ok(FinishedRun { writer, reason })
}

fn points(
    experiment: &mut Experiment<'_>,
    watch: &Watch,
    recording: &mut Recording<'_>,
) -> Result<RunOutput, SinkError> {
    recording.event(&Event::RunStarted { at_ns: watch.now() })?;
    if let Some(event) = &experiment.connected {
        recording.event(event)?;
    }
    let relay = experiment
        .plan
        .relay
        .as_ref()
        .ok_or_else(|| SinkError { message: "the plan has no buffer experiment".to_owned(), source: None })?;
    execute_relay(relay, &mut experiment.site, recording)
}
