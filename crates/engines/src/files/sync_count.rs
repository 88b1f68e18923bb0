//! When a sync is due: after every so many writes.

use narrows_model::workload::SyncPolicy;

/// Counts writes up to the next sync.
#[derive(Debug)]
pub(crate) struct SyncCount {
    /// Writes from one sync to the next; `None` where none is asked for.
    every: Option<u32>,
    writes_since: u32,
}

impl SyncCount {
    /// For `policy`; syncs of other policies are not by count.
    pub(crate) fn new(policy: SyncPolicy) -> Self {
        let every = match policy {
            SyncPolicy::Every(count) => Some(count.max(1)),
            _ => None,
        };
        Self { every, writes_since: 0 }
    }

    /// Counts a write and returns whether a sync is due after it.
    pub(crate) fn is_due_after_write(&mut self) -> bool {
        let Some(every) = self.every else { return false };
        self.writes_since += 1;
        if self.writes_since < every {
            return false;
        }
        self.writes_since = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_is_due_after_every_so_many_writes_and_never_unasked() {
        let due = |policy| {
            let mut count = SyncCount::new(policy);
            (0..6).map(|_| count.is_due_after_write()).collect::<Vec<bool>>()
        };
        assert_eq!(due(SyncPolicy::Every(3)), [false, false, true, false, false, true]);
        assert_eq!(due(SyncPolicy::Every(1)), [true; 6]);
        for policy in [SyncPolicy::None, SyncPolicy::Dsync, SyncPolicy::AtEnd] {
            assert_eq!(due(policy), [false; 6]);
        }
    }
}
