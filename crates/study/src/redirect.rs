//! Plans and targets led elsewhere: a folder of the user to the one that was made in it, so that nothing else in it is
//! touched.

use narrows_model::{Plan, Site, Target};
use std::path::{Path, PathBuf};

/// Sends the cells of `plan` that this machine loads to where `place` says that a path leads; paths of which it knows
/// nothing stay.
pub fn redirect_files(plan: &mut Plan, place: &dyn Fn(&Path) -> Option<PathBuf>) {
    redirect_targets(plan, &|target| redirected(target, place));
}

/// Sends the cells of `plan` that this machine loads to what `place` makes of their targets.
pub fn redirect_targets(plan: &mut Plan, place: &dyn Fn(&Target) -> Target) {
    for cell in plan.cells.iter_mut().filter(|cell| cell.site == Site::Client) {
        for target in std::iter::once(&mut cell.target).chain(&mut cell.more_targets) {
            *target = place(target);
        }
    }
}

/// `target`, or each member of a stripe, where `place` says that its path leads.
#[must_use]
pub fn redirected(target: &Target, place: &dyn Fn(&Path) -> Option<PathBuf>) -> Target {
    let one = |target: &Target| match target {
        Target::File { path } => place(path).map_or_else(|| target.clone(), |path| Target::File { path }),
        other => other.clone(),
    };
    match target {
        // Paths that differ lead to places that differ, so that a stripe over them is one too.
        Target::Stripe(stripe) => stripe.with_members(one).map_or_else(|_| target.clone(), Target::Stripe),
        alone => one(alone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(path: &Path) -> Option<PathBuf> {
        path.starts_with("/srv").then(|| path.join("own"))
    }

    #[test]
    fn folders_of_a_stripe_are_redirected_one_by_one_and_other_targets_stay() {
        let led = |text: &str| redirected(&text.parse::<Target>().unwrap(), &below).to_string();
        assert_eq!(led("/srv/a"), "/srv/a/own");
        assert_eq!(led("/other"), "/other");
        assert_eq!(led("stripe:/srv/a,/srv/b?unit=4KiB"), "stripe:/srv/a/own,/srv/b/own?unit=4KiB");
        assert_eq!(led("tcp://h:1/disk"), "tcp://h:1/disk");
    }
}
