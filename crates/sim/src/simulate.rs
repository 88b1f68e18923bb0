//! A whole plan in virtual time: the events that a run of it on the declared machine would report.

use crate::check;
use crate::error::SimError;
use crate::facts::{packets, server_facts, server_inventory};
use crate::flight::World;
use crate::ledger::SimLedger;
use crate::machine::Machine;
use crate::trial;
use narrows_model::event::EndReason;
use narrows_model::plan::SkippedCell;
use narrows_model::sim_profile::SimProfile;
use narrows_model::{Cell, Cut, Event, Nanos, Plan};

/// Reading of the client's clock when the run starts; not zero, so that nobody takes readings for durations.
const RUN_START_NS: u64 = 60_000_000_000;

/// The events of a run of `plan` on the machine of `profile`, in order.
///
/// Each trial is a closed loop of the workload's configured requests, each of which thinks before its next one as long
/// as the workload says. The measured window begins at the
/// first completion after the warm-up and ends at its planned length, or earlier once 20 000 requests (or 20 for
/// each in flight) have completed: rates are then known, and the window is shorter than planned. The plan's targets
/// are not looked at; cells whose cut the machine does not have are skipped with a reason.
///
/// # Errors
/// When a value of the profile, or a cell's load, is outside what can be simulated.
///
/// # Cost
/// At most some 150 000 station visits a trial of few requests in flight, at about ten million a second.
pub fn simulate(profile: &SimProfile, plan: &Plan) -> Result<Vec<Event>, SimError> {
    check::plan(plan)?;
    let machine = Machine::new(profile.clone(), plan.seed)?;
    let mut world =
        World { machine, ledger: SimLedger::new(profile), packets: packets(profile), now_ns: RUN_START_NS };
    let mut events = vec![Event::RunStarted { at_ns: Nanos(RUN_START_NS) }];
    if profile.network.is_some() {
        events.push(Event::ServerConnected {
            server: Box::new(server_facts(profile)),
            inventory: Box::new(server_inventory(profile)),
        });
    }
    let mut reason = EndReason::Finished;
    for cell in &plan.cells {
        if let Some(reason) = missing(profile, cell) {
            events.push(Event::CellSkipped(SkippedCell { cell: cell.id.clone(), reason }));
        } else if world.now_ns - RUN_START_NS > plan.budget_ns.0 {
            let skipped = "the time budget was used up before this cell".to_owned();
            events.push(Event::CellSkipped(SkippedCell { cell: cell.id.clone(), reason: skipped }));
            reason = EndReason::BudgetSpent;
        } else if !trials(&mut world, cell, plan.interval_ns, &mut events) {
            reason = EndReason::Failed;
        }
    }
    events.push(Event::RunFinished { at_ns: Nanos(world.now_ns), reason, detail: None });
    Ok(events)
}

/// Runs all repetitions of a cell; whether none hung.
fn trials(world: &mut World, cell: &Cell, interval_ns: Nanos, events: &mut Vec<Event>) -> bool {
    for index in 0..cell.trials {
        if !trial::run(world, cell, index, interval_ns, events) {
            let message = format!(
                "{}: requests to the simulated target never completed; the profile `{}` declares a hang",
                cell.id,
                world.machine.profile().name
            );
            events.push(Event::CellFailed { cell: cell.id.clone(), message });
            return false;
        }
    }
    true
}

/// Why this machine does not have the cell's cut; `None` when it does.
fn missing(profile: &SimProfile, cell: &Cell) -> Option<String> {
    let why = match (cell.cut, profile.network.is_some()) {
        (
            Cut::NetworkStream
            | Cut::DirectStream
            | Cut::ServerMemory
            | Cut::RoundTrip
            | Cut::HotBlocks
            | Cut::MoreConnections
            | Cut::UserClient
            | Cut::ServerStorage
            | Cut::DirectPath
            | Cut::EarlyPath,
            false,
        ) => "the simulated machine has no network and no server",
        (Cut::LocalDevice, true) => {
            "the simulated device is the server's; the cut server-storage measures it"
        }
        _ => return None,
    };
    Some(why.to_owned())
}
