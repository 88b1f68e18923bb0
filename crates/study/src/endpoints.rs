//! The endpoints that a run connects to, from the targets that it loads.

use narrows_model::{Target, Via};

/// An endpoint that a plan loads: its host and port, and the proxy on the way.
pub type EndpointAddress = (String, u16, Option<Via>);

/// The endpoints of the first of `targets` that has some. Cells at further ones are left out, because the counters of a
/// run's servers are kept beside its cells.
#[must_use]
pub fn endpoints(targets: &[Target]) -> Vec<EndpointAddress> {
    let of_one = |target: &Target| {
        let mut found: Vec<EndpointAddress> = Vec::new();
        for member in target.members() {
            if let Target::Tcp { host, port, via, .. } = member
                && !found.iter().any(|known| known.0 == *host && known.1 == *port)
            {
                found.push((host.clone(), *port, via.clone()));
            }
        }
        found
    };
    // A stripe comes with its members, which may be targets of their own before it.
    let stripe = targets.iter().filter(|target| matches!(target, Target::Stripe(_))).map(of_one);
    let mut sites = stripe.chain(targets.iter().map(of_one)).filter(|found| !found.is_empty());
    sites.next().unwrap_or_default()
}
