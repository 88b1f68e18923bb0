//! Whether a trial is a result: all bytes passed every role, in calls that its buffer allows.

use narrows_model::counters::Role;
use narrows_model::relay::{CallSizes, RelayBuffers, RelayCell, RelayPlan, RelayRoleOutput, RelayTrial};
use narrows_model::{Bytes, Nanos};

/// Why `trial` is no result, for people; `None` where it is one.
pub(crate) fn problem(trial: &RelayTrial, cell: &RelayCell, plan: &RelayPlan) -> Option<String> {
    if let Some(problem) = &trial.problem {
        return Some(problem.clone());
    }
    if !trial.whole {
        return Some("not all bytes arrived".to_owned());
    }
    if trial.received != plan.total {
        return Some(format!("{} of {} arrived", trial.received, plan.total));
    }
    if trial.elapsed_ns == Nanos(0) {
        return Some("no time passed".to_owned());
    }
    roles(cell).iter().find_map(|role| match trial.role(*role) {
        None => Some(format!("the {} sent no report", role.name())),
        Some(output) => of_role(output, cell.buffers, plan.total),
    })
}

/// The roles of a point, client first.
pub(crate) fn roles(cell: &RelayCell) -> &'static [Role] {
    if cell.buffers.proxy.is_some() {
        &[Role::Client, Role::Proxy, Role::Server]
    } else {
        &[Role::Client, Role::Server]
    }
}

/// What a role says that cannot be: other bytes than passed it, or a call beyond its buffer.
fn of_role(output: &RelayRoleOutput, buffers: RelayBuffers, total: Bytes) -> Option<String> {
    let buffer = match output.role {
        Role::Client => buffers.client,
        Role::Proxy => buffers.proxy?,
        Role::Server => buffers.server,
    };
    let calls = |what: &str, sizes: &CallSizes| {
        let most = sizes.by_bytes.iter().rfind(|(_, count)| **count > 0).map_or(0, |(bytes, _)| *bytes);
        if sizes.total() != total {
            let moved = sizes.total();
            Some(format!("the {} counted {what}s of {moved} for a transfer of {total}", output.role.name()))
        } else if most > buffer.0 {
            let most = Bytes(most);
            Some(format!("the {} reports a {what} of {most} with a buffer of {buffer}", output.role.name()))
        } else {
            None
        }
    };
    let reads = (output.role != Role::Client).then(|| calls("read", &output.reads)).flatten();
    let writes = (output.role != Role::Server).then(|| calls("write", &output.writes)).flatten();
    reads.or(writes)
}
