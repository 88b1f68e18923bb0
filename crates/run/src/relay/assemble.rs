//! Whether what the roles reported is a trial: reports that agree with what was asked and with each other.

use super::trial::{RoleReports, TrialFailure};
use narrows_model::counters::Role;
use narrows_model::relay::{RelayCell, RelayPlan, RelayTrial};
use narrows_model::{Bytes, Nanos};

/// Problems of one trial that are reported: roles fail because others did.
const PROBLEMS_MAX: usize = 3;

/// Longest text of a problem that a peer wrote.
const PROBLEM_CHARS_MAX: usize = 400;

/// The trial, with its problem where it has one.
pub(super) fn assemble_trial(
    cell: &RelayCell,
    trial: u32,
    plan: &RelayPlan,
    outcome: Result<RoleReports, TrialFailure>,
) -> RelayTrial {
    let (reports, problem) = match outcome {
        Ok(reports) => {
            let problem = contradiction(&reports, plan);
            (reports, problem)
        }
        Err(failure) => (failure.reports, Some(join_problems(&failure.problems))),
    };
    // What contradicts itself is printed nowhere.
    let roles = reports.iter().filter(|(asked, done)| done.check(asked).is_ok());
    let mut made = RelayTrial {
        cell: cell.id.clone(),
        trial,
        elapsed_ns: Nanos(0),
        received: Bytes(0),
        whole: problem.is_none(),
        problem,
        roles: roles.clone().map(|(_, done)| done.output.clone()).collect(),
    };
    for (asked, done) in roles {
        match asked.role {
            Role::Client => made.elapsed_ns = done.trial_elapsed_ns.unwrap_or_default(),
            Role::Server => made.received = done.output.reads.total(),
            Role::Proxy => {}
        }
    }
    made
}

fn join_problems(problems: &[String]) -> String {
    let clean = |problem: &String| -> String {
        problem.chars().filter(|letter| !letter.is_control()).take(PROBLEM_CHARS_MAX).collect()
    };
    problems.iter().take(PROBLEMS_MAX).map(clean).collect::<Vec<_>>().join("; ")
}

/// What in the reports cannot be of a whole trial.
fn contradiction(reports: &RoleReports, plan: &RelayPlan) -> Option<String> {
    // The client's time includes the others', from the first byte to the last role's confirmation.
    let client = reports.iter().find(|(asked, _)| asked.role == Role::Client);
    let trial = client.and_then(|(_, done)| done.trial_elapsed_ns).unwrap_or(Nanos(u64::MAX));
    for (asked, done) in reports {
        if let Err(error) = done.check(asked).and_then(|()| done.check_within(trial)) {
            return Some(error.to_string());
        }
        let output = &done.output;
        let (name, passed) = match asked.role {
            Role::Client => ("client wrote", output.writes.total()),
            Role::Proxy => ("proxy passed on", output.writes.total()),
            Role::Server => ("server received", output.reads.total()),
        };
        if passed != plan.total {
            return Some(format!("the {name} {} bytes of {}", passed.0, plan.total.0));
        }
        if let Some(fault) = &done.content_fault {
            return Some(join_problems(&[format!(
                "the content received differs from the content sent: {fault}"
            )]));
        }
    }
    None
}
