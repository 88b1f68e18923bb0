//! Objects that a load was to write and has not written as a whole: no later load may read their holes.

use super::{PreparedObjects, key_of};
use crate::assignment::{Assignment, ClientOutput, writes_from_nothing};
use narrows_model::{Bytes, Op};

impl PreparedObjects {
    /// Takes note of a trial of blocks that has ended with these `clients`, or without any: where it was to write its objects
    /// itself and a write failed or a client was lost, there is nothing in them that can be relied on.
    pub(crate) fn note_writes(&mut self, assignments: &[Assignment], clients: Option<&[ClientOutput]>) {
        let Some(first) = assignments.first() else { return };
        let workload = &first.cell.workload;
        if workload.objects.is_some() || !writes_from_nothing(workload) {
            return;
        }
        let failed = |client: &ClientOutput| {
            let mut errors = client.workers.iter().flat_map(|worker| &worker.errors);
            errors.any(|error| matches!(error.op, Op::Write | Op::Sync))
        };
        if clients.is_some_and(|clients| !clients.iter().any(failed)) {
            return;
        }
        for assignment in assignments {
            for object in &assignment.objects {
                if let Some(made) = self.objects.get_mut(&key_of(assignment.target(), object)) {
                    made.bytes = Bytes(0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::PreparedObject;
    use super::*;
    use narrows_model::workload::Prefill;
    use narrows_model::{Cell, Cut, Nanos, Stop, Target, Workload};

    /// The load of the first of two clients.
    fn assignment(prefill: Prefill) -> Assignment {
        let workload = Workload { op: Op::Write, prefill, clients: 2, ..Workload::default() };
        let stop = Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(1), bytes_max: None, ops_max: None };
        let cell = Cell::new(Cut::Path, "/folder".parse::<Target>().unwrap(), workload, stop);
        Assignment::plain(cell, 0)
    }

    #[test]
    fn what_a_lost_client_was_to_write_counts_as_nothing_and_what_is_only_overwritten_stays() {
        let (lost, over) = (assignment(Prefill::Nothing), assignment(Prefill::Kept));
        let mut prepared = PreparedObjects::default();
        for object in &lost.objects {
            let made = PreparedObject { bytes: Bytes(4096), spec: lost.open_spec(), is_kept: false };
            prepared.objects.insert(key_of(lost.target(), object), made);
        }
        let sizes = |prepared: &PreparedObjects| -> Vec<u64> {
            prepared.objects.values().map(|made| made.bytes.0).collect()
        };
        prepared.note_writes(std::slice::from_ref(&lost), Some(&[]));
        assert_eq!(sizes(&prepared), [4096, 4096], "nothing failed");
        prepared.note_writes(&[over], None);
        assert_eq!(sizes(&prepared), [4096, 4096], "what was there before is still there");
        prepared.note_writes(&[lost], None);
        assert_eq!(sizes(&prepared), [0, 0]);
    }
}
