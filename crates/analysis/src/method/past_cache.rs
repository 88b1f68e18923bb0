//! What the device does by itself under a load that is served through the page cache, as the verdict on that load says beside
//! what the cache does.
//!
//! Not here: whether the device limits, which the rules on the device say.

use super::device_share;
use crate::text;
use crate::verdict::SegmentVerdict;
use crate::view::SummaryView;
use narrows_model::Cut;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::workload::Access;

/// From this share of its bytes at the device on a cut past the page cache measured the device.
const AT_DEVICE_RATIO: f64 = 0.75;

/// `verdict` on `cell` with what the device alone moves past the page cache, at the same block and requests in flight; as it is
/// where the load does not use the page cache, the device was not measured so, or another cache served that too.
pub(crate) fn with_device(
    view: &SummaryView<'_>,
    cell: &CellSummary,
    verdict: SegmentVerdict,
) -> SegmentVerdict {
    match text(view, cell) {
        Some(text) => {
            let command = super::device::command(view);
            verdict.with_evidence(text, "rate of the device alone (O_DIRECT)", &command)
        }
        None => verdict,
    }
}

fn text(view: &SummaryView<'_>, cell: &CellSummary) -> Option<String> {
    let found = view.ceiling(Cut::LocalDevice, cell).filter(|_| cell.requested.access == Access::Buffered)?;
    let alone =
        Some(found.cell).filter(|alone| found.same_settings && device_share(alone) >= AT_DEVICE_RATIO)?;
    let (cached, rate) = (cell.rate_bytes_per_s?.0, alone.rate_bytes_per_s?.0);
    Some(format!(
        "{}: {} through the page cache; past it (O_DIRECT) the device alone moves {}, {:.2} times that",
        cell.id,
        text::storage_rate(cached),
        text::storage_rate(rate),
        ratio(rate, cached)?,
    ))
}
