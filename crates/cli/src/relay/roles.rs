//! Where the roles are played: in processes of this machine.

use crate::exit::Failure;
use crate::measurement::Watch;
use narrows_model::{Nanos, Plan};
use narrows_run::relay::{LocalRole, RelaySite, RoleLink};

/// The hidden command of a role's process.
const ROLE_COMMAND: &str = "__relay";

/// The roles; their processes start with the first trial.
pub(super) fn site(plan: &Plan, watch: &Watch) -> Result<RelaySite, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::could_not_run(format!("find this program: {error}")))?;
    let local =
        || -> Box<dyn RoleLink> { Box::new(LocalRole::new(program.clone(), vec![ROLE_COMMAND.to_owned()])) };
    Ok(RelaySite {
        stop: watch.stop.clone(),
        seed: plan.seed,
        silence_ns: Nanos(narrows_run::site::ANSWER_TIMEOUT_NS),
        client: local(),
        proxy: local(),
        server: local(),
    })
}
