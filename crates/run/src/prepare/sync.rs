//! Brings what a trial wrote to its device once the trial is over, so that the next one does not run beside the writing.
//!
//! Not here: syncs that belong to a load, which its workers do.

use super::filling::ObjectFiller;
use super::{PrepareContext, PreparedObjects, key_of, open};
use crate::assignment::Assignment;
use crate::error::RunError;
use narrows_engines::EngineError;
use narrows_model::fault::ErrorCount;
use narrows_model::workload::SyncPolicy;
use narrows_model::{Bytes, Op, Workload};

impl PreparedObjects {
    /// Syncs the objects of `assignment`, if its load writes and asks for that; what failed is returned, since the data
    /// of the trial is lost then.
    ///
    /// # Errors
    /// When all is to stop now.
    pub(crate) fn sync_after(
        &self,
        assignment: &Assignment,
        prepare: &PrepareContext<'_>,
    ) -> Result<Vec<ErrorCount>, RunError> {
        let mut failed = Vec::new();
        if !is_asked(&assignment.cell.workload) {
            return Ok(failed);
        }
        for object in &assignment.objects {
            match self.sync_one(assignment, object, prepare) {
                Ok(()) => {}
                Err(RunError::Engine(error)) => failed.push(failure(&error)),
                Err(error) => return Err(error),
            }
        }
        Ok(failed)
    }

    fn sync_one(
        &self,
        assignment: &Assignment,
        object: &str,
        prepare: &PrepareContext<'_>,
    ) -> Result<(), RunError> {
        let Some(made) = self.objects.get(&key_of(assignment.target(), object)) else { return Ok(()) };
        let mut spec = made.spec.clone();
        spec.create = false;
        let engine = open(&mut spec, prepare)?;
        let mut whole = ObjectFiller::new(engine, &spec, None, prepare.clock.now().0);
        whole.sync(Bytes(0), prepare)?;
        Ok(whole.engine.close()?)
    }
}

/// Workers that end apart have synced what they wrote.
fn is_asked(workload: &Workload) -> bool {
    !workload.edges.ends_apart
        && workload.sync == SyncPolicy::AfterEnd
        && workload.ops().iter().any(|share| share.op == Op::Write)
}

fn failure(error: &EngineError) -> ErrorCount {
    ErrorCount { op: Op::Sync, errno: error.errno(), first_message: error.to_string(), count: 1 }
}
