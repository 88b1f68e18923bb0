//! `narrows relay`: from what was typed to a verdict on the buffer experiment, as a pipeline of values.

mod roles;

use crate::args::RelayArguments;
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use crate::measurement::{self, Experiment, OutputContext, Watch, random_u64};
use crate::token;
use narrows_engines::{Clock, MonotonicClock};
use narrows_model::Plan;
use narrows_model::relay::RelaySockets;
use narrows_study::{RelayRequest, plan_relay};
use roles::RemoteRoles;
use std::sync::Arc;

/// Runs the command.
pub(crate) fn run(
    arguments: &RelayArguments,
    command: &[String],
    console: &Console,
) -> Result<Exit, CommandFailure> {
    let context = OutputContext { output: &arguments.output, command, console };
    let watch = Watch::start(console)?;
    let remote = RemoteRoles::from_arguments(arguments)?;
    let plan = planned(arguments, &remote)?;
    if arguments.output.plan {
        context.print_plan(&plan)?;
        return Ok(Exit::Done);
    }
    let inventory = measurement::machine(None, watch.clock_resolution_ns)?;
    let token = token::read(arguments.token_file.as_deref())?;
    let roles = remote.connect(&plan, token.as_deref(), &watch)?;
    context.announce(&plan, &inventory)?;
    let experiment = Experiment {
        plan: &plan,
        inventory: &inventory,
        site: roles.site,
        connected: roles.connected,
        monitor: roles.monitor,
    };
    let finished = measurement::run_relay(experiment, &watch, context)?;
    measurement::conclude(finished, context)
}

/// The hidden command of a role's process: everything is said through its pipes.
pub(crate) fn role() -> Result<Exit, CommandFailure> {
    let clock: Arc<dyn Clock> = Arc::new(MonotonicClock::new());
    narrows_endpoint::relay::serve_role(std::io::stdin(), std::io::stdout(), &clock)
        .or_else(|error| crate::exit::unless_parent_gone(&error))?;
    Ok(Exit::Done)
}

fn planned(arguments: &RelayArguments, remote: &RemoteRoles) -> Result<Plan, CommandFailure> {
    let seed = match arguments.seed {
        Some(seed) => seed,
        None => random_u64()?,
    };
    let request = RelayRequest {
        sweeps: arguments.sweeps(),
        sizes: arguments.sizes(),
        total: arguments.bytes,
        trials: arguments.trials,
        sockets: RelaySockets {
            transport: arguments.transport.into(),
            no_delay: arguments.no_delay,
            send_buffer: arguments.send_buffer,
            receive_buffer: arguments.receive_buffer,
            wait_all: arguments.wait_all,
        },
        forward: arguments.proxy_mode.map(Into::into),
        verify: arguments.verify,
        server: remote.server.clone(),
        remote_proxy: remote.proxy.is_some(),
        seed,
    };
    plan_relay(&request).map_err(|problems| {
        let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
        CommandFailure::bad_input(format!("this experiment cannot be run:\n  {}", lines.join("\n  ")))
    })
}
