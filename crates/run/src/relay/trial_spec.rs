//! What each role of a trial is asked.

use super::RelaySite;
use narrows_model::counters::Role;
use narrows_model::relay::{RelayCell, RelayPlan};
use narrows_model::units::{Bytes, Nanos};
use narrows_sys::entropy::member_seed;
use narrows_wire::relay::{Hop, RoleSpec};

/// What all roles of a trial have in common.
#[derive(Debug, Clone)]
pub(super) struct RelayTrialSpec {
    pub(super) cell: RelayCell,
    plan: RelayPlan,
    content_key: Option<u64>,
    pub(super) silence_ns: Nanos,
}

impl RelayTrialSpec {
    /// The terms of a point's next trial, the run's `trial_index`th.
    pub(super) fn for_trial(plan: &RelayPlan, cell: &RelayCell, site: &RelaySite, trial_index: u64) -> Self {
        Self {
            cell: cell.clone(),
            // The points are not needed, and there may be many.
            plan: RelayPlan { cells: Vec::new(), ..*plan },
            content_key: plan.verify.then(|| member_seed(site.seed, trial_index)),
            silence_ns: site.silence_ns,
        }
    }

    /// What `role` is asked, with the stream forwarded to `next`.
    pub(super) fn role_spec(&self, role: Role, next: Option<Hop>) -> RoleSpec {
        let buffers = &self.cell.buffers;
        let buffer = match role {
            Role::Client => buffers.client,
            Role::Proxy => buffers.proxy.unwrap_or(Bytes(0)),
            Role::Server => buffers.server,
        };
        RoleSpec {
            role,
            buffer,
            total: self.plan.total,
            sockets: self.plan.sockets,
            forward: self.plan.forward,
            content_key: self.content_key,
            next,
            silence_ns: self.silence_ns,
        }
    }
}
