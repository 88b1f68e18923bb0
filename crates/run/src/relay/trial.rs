//! One trial: roles are asked from the server to the client, then all are waited for.

use super::RelaySite;
pub(super) use super::asked::Terms;
use super::link::RoleLink;
use crate::stop::StopFlag;
use narrows_model::counters::Role;
use narrows_wire::relay::{FromRole, Hop, Prepare, RoleDone, ToRole};
use std::time::Duration;

/// Wait for one role before the others are looked at.
const SLICE: Duration = Duration::from_millis(20);

const SLICES_PER_S: u64 = 50;

/// Time that roles have to end once one of them has failed: their sockets tell them.
const GRACE_SLICES_MAX: u64 = 2 * SLICES_PER_S;

/// Time beyond the silence that roles are granted, after which a role that says nothing is given up.
const ANSWER_SLICES: u64 = 5 * SLICES_PER_S;

/// What the roles of a trial reported, in the order of the path.
pub(super) type Reports = Vec<(Prepare, RoleDone)>;

/// A trial that failed: why, and what roles reported nevertheless.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) problems: Vec<String>,
    pub(super) reports: Reports,
}

/// A role of a trial and what it was asked.
struct Part<'a> {
    role: Role,
    link: &'a mut dyn RoleLink,
    asked: Option<Prepare>,
    done: Option<RoleDone>,
    /// Whether it needs not be heard any more.
    over: bool,
}

impl Part<'_> {
    fn name(&self) -> &'static str {
        match self.role {
            Role::Client => "client",
            Role::Proxy => "proxy",
            Role::Server => "server",
        }
    }
}

/// One trial that is made.
pub(super) struct Attempt<'a> {
    terms: Terms,
    stop: StopFlag,
    /// From the server to the client.
    parts: Vec<Part<'a>>,
    problems: Vec<String>,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(terms: Terms, site: &'a mut RelaySite, has_proxy: bool) -> Self {
        let part = |role, link: &'a mut Box<dyn RoleLink>| Part {
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
        Self { terms, stop: site.stop.clone(), parts, problems: Vec::new() }
    }

    /// Makes the trial; what all roles reported, in the order of the path.
    pub(super) fn run(&mut self) -> Result<Reports, Failure> {
        if self.prepare() {
            self.wait_for_all();
        }
        let whole = self.problems.is_empty();
        let mut reports = Reports::new();
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
            Err(Failure { problems: std::mem::take(&mut self.problems), reports })
        }
    }

    /// Asks the roles from the server to the client; whether all take part.
    fn prepare(&mut self) -> bool {
        let mut next = None;
        for part in &mut self.parts {
            match ready(part, &self.terms, next.take(), &self.stop) {
                Ok(hop) => next = hop,
                Err(problem) => {
                    self.problems.push(format!("{}: {problem}", part.name()));
                    return false;
                }
            }
        }
        true
    }

    /// Hears the roles until all are done, one has failed and the others had time to follow, or a stop is asked for.
    fn wait_for_all(&mut self) {
        let mut slices_left = None;
        // The client ends first; whoever follows has as long as a stream may be silent.
        let patience = slices(self.terms.silence_ns.0) + ANSWER_SLICES;
        while let Some(first) = self.parts.iter().rposition(|part| !part.over) {
            for index in (0..self.parts.len()).rev() {
                let wait = if index == first { SLICE } else { Duration::ZERO };
                self.hear(index, wait);
            }
            if self.stop.is_now() {
                self.problems.push("stopped on request".to_owned());
                return;
            }
            let limit = match (self.problems.is_empty(), self.parts.last().is_some_and(|client| client.over))
            {
                (false, _) => GRACE_SLICES_MAX,
                (true, true) => patience,
                (true, false) => continue,
            };
            let left = slices_left.get_or_insert(limit);
            *left = (*left).min(limit).saturating_sub(1);
            if *left == 0 {
                let silent: Vec<_> = self.parts.iter().filter(|part| !part.over).map(Part::name).collect();
                self.problems.push(format!("{} did not answer", silent.join(" and ")));
                return;
            }
        }
    }

    fn hear(&mut self, index: usize, wait: Duration) {
        let Some(part) = self.parts.get_mut(index).filter(|part| !part.over) else { return };
        let problem = match part.link.heard(wait) {
            Ok(None) => return,
            Ok(Some(FromRole::Done(done))) => {
                part.done = Some(*done);
                None
            }
            Ok(Some(FromRole::Failed { message })) => Some(message),
            Ok(Some(FromRole::Ready { .. })) => Some("it was ready twice".to_owned()),
            Err(problem) => Some(problem),
        };
        part.over = true;
        self.problems.extend(problem.map(|problem| format!("{}: {problem}", part.name())));
    }
}

fn slices(ns: u64) -> u64 {
    ns.div_ceil(1_000_000_000 / SLICES_PER_S)
}

/// Asks one role, and waits until it takes part; where the hop before it goes.
fn ready(
    part: &mut Part<'_>,
    terms: &Terms,
    next: Option<Hop>,
    stop: &StopFlag,
) -> Result<Option<Hop>, String> {
    let asked = terms.asked(part.role, next);
    asked.check().map_err(|error| error.to_string())?;
    part.link.tell(&ToRole::Prepare(Box::new(asked.clone())))?;
    let transport = asked.sockets.transport;
    part.asked = Some(asked);
    for _ in 0..slices(terms.silence_ns.0) + ANSWER_SLICES {
        if stop.is_now() {
            return Err("stopped on request".to_owned());
        }
        match part.link.heard(SLICE)? {
            None => {}
            Some(FromRole::Ready { listens: None }) if part.role == Role::Client => return Ok(None),
            Some(FromRole::Ready { listens: Some(hop) }) if part.role != Role::Client => {
                hop.check(transport).map_err(|error| error.to_string())?;
                return Ok(Some(Hop { place: part.link.reached_at(hop.place), ..hop }));
            }
            Some(FromRole::Failed { message }) => {
                part.over = true;
                return Err(message);
            }
            Some(_) => return Err("it answered something else than was asked".to_owned()),
        }
    }
    Err("it did not answer".to_owned())
}
