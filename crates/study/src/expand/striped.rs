//! The path to one member of a stripe alone, with its part of the stripe's load: what cuts of members are made of.

use narrows_model::target::Stripe;
use narrows_model::workload::BlockShare;
use narrows_model::{Cell, Cut, Target, Workload};

/// The path to each member of the stripe that is the target of `path`; none if that is no stripe, or where members are not
/// measured alone at this cut.
pub(super) fn members(which: Cut, path: &Cell) -> Vec<Cell> {
    match &path.target {
        Target::Stripe(stripe) if is_alone(which) && stripe.members().len() > 1 => {
            let load = share(stripe, &path.workload);
            let to =
                |member: &Target| Cell { target: member.clone(), workload: load.clone(), ..path.clone() };
            stripe.members().iter().map(to).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether members are measured alone at this cut: its links and devices may be of different speed, or shared.
fn is_alone(which: Cut) -> bool {
    matches!(which, Cut::NetworkStream | Cut::ServerStorage | Cut::LocalDevice)
}

/// A member's part of each block and of the file.
fn share(stripe: &Stripe, load: &Workload) -> Workload {
    let block_mix = load.block_mix.iter();
    Workload {
        block_bytes: stripe.member_share(load.block_bytes),
        block_mix: block_mix
            .map(|part| BlockShare { block_bytes: stripe.member_share(part.block_bytes), ..*part })
            .collect(),
        file_bytes: stripe.member_share(load.file_bytes),
        ..load.clone()
    }
}
