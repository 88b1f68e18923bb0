//! Trees of folders, and the sets of objects in them: all sets with one tree are in one folder, in which the tree is made before
//! the objects and emptied with them.
//!
//! Not here: sets without a tree.

use super::{ObjectPrepareContext, PreparedSet, SetIdentity, SetState, factory, fill, whole};
use crate::assignment::Assignment;
use crate::error::RunError;
use crate::prepare::PreparedObjects;
use narrows_model::Workload;
use narrows_model::workload::ObjectSet;

impl SetIdentity {
    /// That of the folders of the tree which the objects are in; `None` where they are in none.
    fn of_tree(&self) -> Option<Self> {
        let tree = self.set.tree.filter(|_| self.set.is_in_tree())?;
        let clients = if tree.each_client { self.clients } else { 1 };
        Some(Self {
            set: ObjectSet::tree_folders(tree).identity(),
            targets: self.targets.clone(),
            clients,
            workers: 1,
        })
    }

    /// Whether both have the same tree, in the same folder.
    fn shares_tree(&self, other: &Self) -> bool {
        self.set.tree.is_some() && self.set.tree == other.set.tree && self.targets == other.targets
    }
}

impl PreparedObjects {
    /// The set after which the folder of the one of this index is named: the first with the same tree, or itself.
    pub(super) fn folder_index(&self, index: usize) -> usize {
        let own = &self.sets[index].identity;
        self.sets.iter().position(|made| made.identity.shares_tree(own)).unwrap_or(index)
    }

    /// Readies what the objects of the set of this index are in, for a load that `makes` them or one that does not: a tree
    /// whose folders are made anew has nothing in it, and objects that are made anew find none before them.
    pub(super) fn ready_tree(
        &mut self,
        index: usize,
        makes: bool,
        assignments: &[Assignment],
        context: &ObjectPrepareContext<'_>,
    ) -> Result<(), RunError> {
        let own = self.sets[index].identity.clone();
        let Some(tree) = own.of_tree() else {
            if makes && own.set.tree.is_some() {
                self.empty_tree(&own, context)?;
            }
            return Ok(());
        };
        if makes && !self.sets[index].is_empty() {
            self.empty_tree(&own, context)?;
        }
        let tree_index = self.set_index(tree);
        match &self.sets[tree_index].state {
            SetState::Known { live_count: 1.., .. } => Ok(()),
            SetState::Known { .. } => {
                self.empty_tree(&own, context)?;
                self.sets[tree_index].make_untimed(assignments, context)
            }
            // As of objects: what is there of it is not known.
            SetState::Unknown { cell } => Err(super::missing_after(cell, assignments)),
        }
    }

    /// Removes the folder of a tree with all that is in it, of whatever set.
    fn empty_tree(&mut self, own: &SetIdentity, context: &ObjectPrepareContext<'_>) -> Result<(), RunError> {
        for made in self.sets.iter_mut().filter(|made| made.identity.shares_tree(own)) {
            for spec in &made.specs {
                factory(context, spec)?.remove(spec)?;
            }
            made.state = SetState::empty(made.identity.clients);
        }
        Ok(())
    }
}

impl PreparedSet {
    fn is_empty(&self) -> bool {
        matches!(self.state, SetState::Known { live_count: 0, .. })
    }

    /// Makes all folders of a tree, for the clients of a load of objects in it.
    fn make_untimed(
        &mut self,
        assignments: &[Assignment],
        context: &ObjectPrepareContext<'_>,
    ) -> Result<(), RunError> {
        let set: ObjectSet = self.identity.set;
        let owners = assignments.iter().take(self.identity.clients as usize);
        self.specs.clear();
        for assignment in owners {
            let mut spec = assignment.open_spec();
            spec.workload.objects = Some(set);
            self.specs.push(spec);
        }
        for (owner, spec) in (0..).zip(&self.specs) {
            fill(owner, &set, spec, context)?;
        }
        let workload = Workload { clients: self.identity.clients, ..Workload::default() };
        self.state = SetState::Known {
            steps: vec![vec![whole(&set, &workload)]; self.identity.clients as usize],
            live_count: set.count.saturating_mul(u64::from(self.identity.clients)),
        };
        Ok(())
    }
}
