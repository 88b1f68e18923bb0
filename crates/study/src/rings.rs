//! The rings that a cell of the engine `uring` needs.

use narrows_model::units::saturate_u32;
use narrows_model::workload::RingOptions;
use narrows_model::{Bytes, EngineId, Target, Workload};

/// Rings that a cell of the engine `uring` needs at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RingDemand {
    /// Requests in flight in each.
    pub queue_depth: u32,
    /// Largest block.
    pub block_bytes: Bytes,
    /// Rings of all its clients together.
    pub count: u32,
    /// Requested features.
    pub options: RingOptions,
}

impl RingDemand {
    /// What `workload` needs on its way to `target`; `None` where that is no ring.
    #[must_use]
    pub fn new(workload: &Workload, target: &Target) -> Option<Self> {
        let members = saturate_u32(target.members().len() as u64);
        (workload.engine == Some(EngineId::Uring)).then(|| Self {
            queue_depth: workload.queue_depth,
            block_bytes: workload.blocks().iter().map(|share| share.block_bytes).max().unwrap_or_default(),
            count: workload.workers.saturating_mul(workload.clients).saturating_mul(members),
            options: workload.ring,
        })
    }
}
