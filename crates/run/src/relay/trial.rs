//! One trial: roles are asked from the server to the client, then all are waited for.

use super::RelaySite;
use super::link::RoleLink;
pub(super) use super::trial_spec::RelayTrialSpec;
use crate::stop::StopFlag;
use narrows_model::counters::Role;
use narrows_wire::relay::{Hop, RoleCommand, RoleReply, RoleReport, RoleSpec};
use std::time::Duration;

/// Wait for one role before the others are looked at.
const SLICE: Duration = Duration::from_millis(20);

const SLICES_PER_S: u64 = 50;

/// Time that roles have to end once one of them has failed: their sockets show it.
const GRACE_SLICES_MAX: u64 = 2 * SLICES_PER_S;

/// Time beyond the silence that roles are granted, after which a role that says nothing is given up.
const ANSWER_SLICES: u64 = 5 * SLICES_PER_S;

/// Why a trial ends that is to stop at once.
const STOPPED: &str = "stopped on request";

/// What the roles of a trial reported, in the order of the path.
pub(super) type RoleReports = Vec<(RoleSpec, RoleReport)>;

/// A trial that failed: why, and what roles reported nevertheless.
#[derive(Debug)]
pub(super) struct TrialFailure {
    pub(super) problems: Vec<String>,
    pub(super) reports: RoleReports,
}

impl TrialFailure {
    /// The stop that ended the trial was asked for because of `why`, a sentence.
    pub(super) fn stopped_by(&mut self, why: &str) {
        for problem in self.problems.iter_mut().filter(|problem| problem.ends_with(STOPPED)) {
            why.clone_into(problem);
        }
    }
}

/// A role of a trial and what it was asked.
struct TrialRole<'a> {
    role: Role,
    link: &'a mut dyn RoleLink,
    asked: Option<RoleSpec>,
    done: Option<RoleReport>,
    /// Whether nothing more is expected from it.
    over: bool,
}

impl TrialRole<'_> {
    fn name(&self) -> &'static str {
        self.role.name()
    }
}

/// One trial that is made.
pub(super) struct TrialAttempt<'a> {
    trial_spec: RelayTrialSpec,
    stop: StopFlag,
    /// From the server to the client.
    parts: Vec<TrialRole<'a>>,
    problems: Vec<String>,
}

impl<'a> TrialAttempt<'a> {
    pub(super) fn new(trial_spec: RelayTrialSpec, site: &'a mut RelaySite, has_proxy: bool) -> Self {
        let part = |role, link: &'a mut Box<dyn RoleLink>| TrialRole {
            role,
            link: &mut **link as &mut dyn RoleLink,
            asked: None,
            done: None,
            over: false,
        };
        let mut parts = vec![part(Role::Server, &mut site.server)];
        if has_proxy {
            parts.push(part(Role::Proxy, &mut site.proxy));
        }
        parts.push(part(Role::Client, &mut site.client));
        Self { trial_spec, stop: site.stop.clone(), parts, problems: Vec::new() }
    }

    /// Makes the trial; what all roles reported, in the order of the path.
    pub(super) fn run(&mut self) -> Result<RoleReports, TrialFailure> {
        if self.prepare() {
            self.wait_for_all();
        }
        let whole = self.problems.is_empty();
        let mut reports = RoleReports::new();
        for part in self.parts.iter_mut().rev() {
            if !whole {
                part.link.abandon();
            }
            if let (Some(asked), Some(done)) = (part.asked.take(), part.done.take()) {
                reports.push((asked, done));
            }
        }
        if whole {
            Ok(reports)
        } else {
            Err(TrialFailure { problems: std::mem::take(&mut self.problems), reports })
        }
    }

    /// Asks the roles from the server to the client; whether all take part.
    fn prepare(&mut self) -> bool {
        let mut next = None;
        for part in &mut self.parts {
            match prepare_role(part, &self.trial_spec, next.take(), &self.stop) {
                Ok(hop) => next = hop,
                Err(problem) => {
                    self.problems.push(format!("{}: {problem}", part.name()));
                    return false;
                }
            }
        }
        true
    }

    /// Receives from the roles until all are done, one has failed and the others had time to follow, or a stop is asked for.
    fn wait_for_all(&mut self) {
        let mut slices_left = None;
        // The client ends first; whoever follows has as long as a stream may be silent.
        let slices_max = slices(self.trial_spec.silence_ns.0) + ANSWER_SLICES;
        while let Some(first) = self.parts.iter().rposition(|part| !part.over) {
            for index in (0..self.parts.len()).rev() {
                let wait = if index == first { SLICE } else { Duration::ZERO };
                self.receive_from(index, wait);
            }
            if self.stop.is_now() {
                self.problems.push(STOPPED.to_owned());
                return;
            }
            let limit = match (self.problems.is_empty(), self.parts.last().is_some_and(|client| client.over))
            {
                (false, _) => GRACE_SLICES_MAX,
                (true, true) => slices_max,
                (true, false) => continue,
            };
            let left = slices_left.get_or_insert(limit);
            *left = (*left).min(limit).saturating_sub(1);
            if *left == 0 {
                let silent: Vec<_> =
                    self.parts.iter().filter(|part| !part.over).map(TrialRole::name).collect();
                self.problems.push(format!("{} did not answer", silent.join(" and ")));
                return;
            }
        }
    }

    fn receive_from(&mut self, index: usize, wait: Duration) {
        let Some(part) = self.parts.get_mut(index).filter(|part| !part.over) else { return };
        let problem = match part.link.receive(wait) {
            Ok(None) => return,
            Ok(Some(RoleReply::Done(done))) => {
                part.done = Some(*done);
                None
            }
            Ok(Some(RoleReply::Failed { message })) => Some(message),
            Ok(Some(RoleReply::Ready { .. })) => Some("it reported ready twice".to_owned()),
            Err(problem) => Some(problem),
        };
        part.over = true;
        self.problems.extend(problem.map(|problem| format!("{}: {problem}", part.name())));
    }
}

fn slices(ns: u64) -> u64 {
    ns.div_ceil(1_000_000_000 / SLICES_PER_S)
}

/// Asks one role and waits until it takes part; returns where the hop before it connects.
fn prepare_role(
    part: &mut TrialRole<'_>,
    trial_spec: &RelayTrialSpec,
    next: Option<Hop>,
    stop: &StopFlag,
) -> Result<Option<Hop>, String> {
    let asked = trial_spec.role_spec(part.role, next);
    asked.check().map_err(|error| error.to_string())?;
    part.link.send(&RoleCommand::Prepare(Box::new(asked.clone())))?;
    let transport = asked.sockets.transport;
    part.asked = Some(asked);
    for _ in 0..slices(trial_spec.silence_ns.0) + ANSWER_SLICES {
        if stop.is_now() {
            return Err(STOPPED.to_owned());
        }
        match part.link.receive(SLICE)? {
            None => {}
            Some(RoleReply::Ready { listens: None }) if part.role == Role::Client => return Ok(None),
            Some(RoleReply::Ready { listens: Some(hop) }) if part.role != Role::Client => {
                hop.check(transport).map_err(|error| error.to_string())?;
                return Ok(Some(Hop { place: part.link.reached_at(hop.place), ..hop }));
            }
            Some(RoleReply::Failed { message }) => {
                part.over = true;
                return Err(message);
            }
            Some(_) => return Err("it sent an unexpected answer".to_owned()),
        }
    }
    Err("it did not answer".to_owned())
}
