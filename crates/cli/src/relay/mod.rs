//! `narrows relay`: from what was typed to a verdict on the buffer experiment, as a pipeline of values.

mod roles;

use crate::args::RelayArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::measurement::{self, Experiment, Terms, Watch, random_u64};
use crate::token;
use narrows_engines::{Clock, MonotonicClock};
use narrows_model::Plan;
use narrows_model::relay::RelaySockets;
use narrows_study::{RelayRequest, plan_relay};
use roles::Elsewhere;
use std::sync::Arc;

/// Runs the command.
pub(crate) fn run(
    arguments: &RelayArguments,
    command: &[String],
    console: &Console,
) -> Result<Exit, Failure> {
    let terms = Terms { output: &arguments.output, command, console };
    let watch = Watch::start(console)?;
    let elsewhere = Elsewhere::of(arguments)?;
    let plan = planned(arguments, &elsewhere)?;
    if arguments.output.plan {
        terms.print_plan(&plan)?;
        return Ok(Exit::Done);
    }
    let inventory = measurement::machine(None, watch.clock_resolution_ns)?;
    let token = token::read(arguments.token_file.as_deref())?;
    let roles = elsewhere.connect(&plan, token.as_deref(), &watch)?;
    terms.announce(&plan, &inventory);
    let experiment =
        Experiment { plan: &plan, inventory: &inventory, site: roles.site, connected: roles.connected };
    let ran = measurement::run_relay(experiment, &watch, terms)?;
    measurement::conclude(ran, terms)
}

/// The hidden command of a role's process: everything is said through its pipes.
pub(crate) fn role() -> Result<Exit, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(MonotonicClock::new());
    narrows_endpoint::relay::serve_role(std::io::stdin(), std::io::stdout(), &clock)
        .map_err(|error| Failure::could_not_run(format!("speak with the parent process: {error}")))?;
    Ok(Exit::Done)
}

fn planned(arguments: &RelayArguments, elsewhere: &Elsewhere) -> Result<Plan, Failure> {
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
        },
        forward: arguments.proxy_mode.map(Into::into),
        verify: arguments.verify,
        server: elsewhere.server.clone(),
        remote_proxy: elsewhere.proxy.is_some(),
        seed,
    };
    plan_relay(&request).map_err(|problems| {
        let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
        Failure::bad_input(format!("this experiment cannot be run:\n  {}", lines.join("\n  ")))
    })
}
