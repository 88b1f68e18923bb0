//! The rate of each member of a stripe alone, for a path over all of them.
//!
//! The slowest member limits a stripe: with n members it can move n times what that one moves.

use super::network::transferred_bytes_per_s as rate;
use super::{has_mix_of, reads};
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Layer, Target};

/// The members of a stripe, each measured alone at one cut.
#[derive(Debug)]
pub(crate) struct StripeMembers<'a> {
    /// The best cell of each member, in the stripe's order; never empty.
    cells: Vec<&'a CellSummary>,
    slowest: &'a CellSummary,
}

impl<'a> StripeMembers<'a> {
    /// What was measured of the members of the stripe that `path` addresses, in its direction; `None` where it
    /// addresses no stripe, or where a member was not measured.
    pub(crate) fn new(cells: &'a [CellSummary], cut: Cut, path: &CellSummary) -> Option<Self> {
        let Target::Stripe(stripe) = &path.target else { return None };
        let same = |cell: &&CellSummary| {
            let is_alike = cell.cut == cut && reads(cell.op) == reads(path.op) && has_mix_of(cell, path);
            is_alike && rate(cell) > 0.0
        };
        let best = |member: &Target| {
            let alone = cells.iter().filter(same).filter(|cell| is_at(&cell.target, member));
            alone.max_by(|a, b| rate(a).total_cmp(&rate(b)))
        };
        let cells: Vec<&CellSummary> = stripe.members().iter().map(best).collect::<Option<_>>()?;
        let slowest = cells.iter().copied().min_by(|a, b| rate(a).total_cmp(&rate(b)))?;
        Some(Self { cells, slowest })
    }

    /// The cell of the slowest member.
    pub(crate) fn slowest(&self) -> &'a CellSummary {
        self.slowest
    }

    /// How many members there are.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The most that all of them move together when each moves as much as the slowest one.
    ///
    /// # Units
    /// Bytes per second.
    pub(crate) fn combined_bytes_per_s(&self) -> f64 {
        rate(self.slowest) * self.cells.len() as f64
    }

    /// The rate of the fastest member over that of the slowest.
    pub(crate) fn spread_ratio(&self) -> f64 {
        let fastest = self.cells.iter().map(|cell| rate(cell)).fold(0.0, f64::max);
        fastest / rate(self.slowest)
    }
}

/// Whether a cut's target is that of a member, whatever the layer that it is cut at.
pub(crate) fn is_at(target: &Target, member: &Target) -> bool {
    let endpoint = |target: &Target| target.at_layer(Layer::Disk);
    target == member || endpoint(member).is_some_and(|place| endpoint(target) == Some(place))
}
