//! `narrows check`: from what was typed to a verdict, as a pipeline of values.

mod place;
mod refined;
mod request;
mod server;

use crate::args::CheckArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::measurement::{self, Terms, Undertaking, Watch, random_u64};
use crate::token;
use narrows_model::Plan;
use place::Place;
pub(crate) use server::CheckServer;

/// Everything that is known before load is put on.
///
/// Fields are dropped in order: the endpoint removes its store before the folder that holds it goes.
pub(crate) struct Prepared {
    pub(crate) server: Option<CheckServer>,
    pub(crate) place: Place,
    pub(crate) plan: Plan,
}

impl Prepared {
    /// The token of the endpoint; one of the command's own has a token of its own.
    pub(crate) fn token(&self) -> Option<Vec<u8>> {
        self.server.as_ref().and_then(CheckServer::token).map(<[u8]>::to_vec)
    }
}

/// Runs the command.
pub(crate) fn run(
    arguments: &CheckArguments,
    command: &[String],
    console: &Console,
) -> Result<Exit, Failure> {
    let terms = Terms { output: &arguments.output, command, console };
    let watch = Watch::start(console)?;
    let mut prepared = prepare(arguments, &watch, console)?;
    if arguments.output.plan {
        terms.print_plan(&prepared.plan)?;
        return Ok(Exit::Done);
    }
    terms.announce(&prepared.plan, prepared.place.inventory());
    let undertaking = Undertaking {
        plan: &prepared.plan,
        inventory: prepared.place.inventory(),
        devices: prepared.place.device_names(),
        token: prepared.token(),
        servers: prepared.server.as_mut().map(CheckServer::servers),
        further: Some(refined::refined),
        launchers: Vec::new(),
    };
    let ran = measurement::run(undertaking, &watch, terms)?;
    drop(prepared);
    measurement::conclude(ran, terms)
}

/// Looks at TARGET, connects to the endpoint and plans the check, whose cuts suites measure too.
///
/// # Errors
/// When TARGET or the endpoint cannot be used, or the check cannot be planned.
pub(crate) fn prepare(
    arguments: &CheckArguments,
    watch: &Watch,
    console: &Console,
) -> Result<Prepared, Failure> {
    let seed = match arguments.seed {
        Some(seed) => seed,
        None => random_u64()?,
    };
    let token = token::read(arguments.token_file.as_deref())?;
    // Not the seed: a run with a seed can be repeated beside what a killed one left.
    let place = Place::resolve(arguments, random_u64()?, watch.clock_resolution_ns)?;
    for leftover in place.leftovers(arguments) {
        console.say(&leftover);
    }
    let server = CheckServer::of(arguments, &place, token.as_deref(), &watch.clock)?;
    let plan = request::plan(arguments, &place, server.as_ref(), seed, &watch.clock)?;
    Ok(Prepared { server, place, plan })
}
