//! How the rates of several clients spread, as metrics of their cell.

use super::service::metric;
use crate::collect::CellData;
use crate::spread::{ClientSpread, MixtureOutcome};
use narrows_model::summary::Metric;
use narrows_model::trial::ClientTotals;
use narrows_model::units::ratio;

/// The metrics of one cell: each client's bytes over its own time; none of one client, or where one moved nothing that is
/// counted in bytes.
///
/// # Units
/// Rates are bytes a second, the rest ratios: the coefficient of variation, and Jain's index, 1 for equal shares and 1/n
/// where one of n has all. Modes are counted from as many clients on as the mixture test needs.
pub(super) fn metrics(data: &CellData) -> Vec<Metric> {
    let rate = |client: &ClientTotals| ratio(client.bytes.as_f64(), client.elapsed_ns.as_secs_f64());
    let rates: Option<Vec<f64>> = data.clients.iter().map(rate).collect();
    let several = rates.filter(|rates| rates.len() > 1);
    let Some(spread) = several.and_then(|rates| ClientSpread::from_rates(&rates)) else { return Vec::new() };
    let modes = match &spread.mixture {
        MixtureOutcome::Untold => None,
        MixtureOutcome::One => Some(1),
        MixtureOutcome::Several(modes) => Some(modes.len()),
    };
    let figures = [
        ("client_rate_bytes_per_s_sum", spread.sum, "B/s"),
        ("client_rate_bytes_per_s_median", spread.median, "B/s"),
        ("client_rate_bytes_per_s_min", spread.min, "B/s"),
        ("client_rate_bytes_per_s_max", spread.max, "B/s"),
        ("client_rate_variation_ratio", spread.variation, "ratio"),
        ("client_rate_fairness_ratio", spread.fairness, "ratio"),
    ];
    let modes = modes.map(|count| metric("client_rate_mode_count", count as f64, "modes"));
    figures.into_iter().map(|(id, value, unit)| metric(id, value, unit)).chain(modes).collect()
}
