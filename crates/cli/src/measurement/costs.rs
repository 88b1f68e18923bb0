//! Refuses what costs more than is done without `--yes`, before any load.

use crate::exit::CommandFailure;
use narrows_model::costs::{
    COST_MEMORY_ASSUMED, COST_MEMORY_MULTIPLE, COST_NS_MAX, CostExcess, PlanCosts, SLOW_BYTES_PER_S,
};
use narrows_model::quantity::{amount, rounded_duration};
use narrows_model::{Bytes, Inventory, Nanos, Plan};

/// Fails where `plan` costs more than is done without a confirmation on the machine of `inventory`.
///
/// # Errors
/// With what it would cost, what of that exceeds a limit, and what to do.
pub(super) fn check(plan: &Plan, inventory: &Inventory) -> Result<(), CommandFailure> {
    check_costs(&PlanCosts::from_plan(plan), inventory.host.usable_memory())
}

/// The same for `costs` on a machine with `memory`.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_costs(costs: &PlanCosts, memory: Option<Bytes>) -> Result<(), CommandFailure> {
    let excesses = costs.excesses(memory);
    if excesses.is_empty() {
        return Ok(());
    }
    let advice = "Add --yes to run it, --plan to see what would be run, or make it smaller";
    Err(CommandFailure::bad_input(message(costs, &excesses, memory, advice)))
}

/// Why a run that moves `bytes` on this machine needs a confirmation (`--yes`); `None` where it needs none.
#[must_use]
pub fn refusal_of_bytes(bytes: Bytes) -> Option<String> {
    // A machine that cannot be looked at is taken as a small one.
    let memory = super::machine(None, 0).ok().and_then(|inventory| inventory.host.usable_memory());
    let open_ns = Nanos((bytes.0 / SLOW_BYTES_PER_S).saturating_mul(1_000_000_000));
    let costs = PlanCosts { load_bytes: bytes, open_ns, ..PlanCosts::default() };
    let excesses = costs.excesses(memory);
    let advice = "Add --yes to run it, or make it smaller";
    (!excesses.is_empty()).then(|| message(&costs, &excesses, memory, advice))
}

fn message(costs: &PlanCosts, excesses: &[CostExcess], memory: Option<Bytes>, advice: &str) -> String {
    let phrases = narrows_report::text::costs(costs).join("; it ");
    let reasons: Vec<String> = excesses.iter().map(|excess| reason(*excess, memory)).collect();
    let smaller: Vec<&str> = excesses.iter().map(|excess| smaller(*excess)).collect();
    format!(
        "this run {phrases}.\n  It needs a confirmation, since {}. Nothing was run.\n  {advice}: {}",
        reasons.join(", and "),
        smaller.join("; ")
    )
}

fn reason(excess: CostExcess, memory: Option<Bytes>) -> String {
    match excess {
        CostExcess::Bytes => {
            let limit = amount(PlanCosts::bytes_max(memory));
            let machine = match memory {
                Some(_) => "the memory that this command can use".to_owned(),
                None => {
                    format!("{}, as the memory of this machine is not known", amount(COST_MEMORY_ASSUMED))
                }
            };
            format!("it moves more than {limit} ({COST_MEMORY_MULTIPLE} times {machine})")
        }
        CostExcess::Duration => format!("it may last longer than {}", rounded_duration(COST_NS_MAX)),
        CostExcess::DisplacedCaches => {
            "it displaces what others have in the page cache of the serving machines".to_owned()
        }
    }
}

fn smaller(excess: CostExcess) -> &'static str {
    match excess {
        CostExcess::Bytes => "smaller files, fewer bytes or fewer trials",
        CostExcess::Duration => "less time, fewer cells or fewer trials",
        CostExcess::DisplacedCaches => "a cache state that reads no dummy file",
    }
}
