//! A cell of the path beside the same load past the proxy.

use super::is_single;
use crate::facts::time_per_op_s;
use crate::summary::laws::standard_error;
use crate::thresholds::{CONTRADICTION_RATIO, DOMINANT_RATIO, FULL_RATIO};
use crate::verdict::Stance;
use crate::view::{CutCeiling, SummaryView};
use narrows_model::Cut;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// Up to this share the proxy limits: a residual above 25 % is unexplained (methodology, section 11).
const PROXY_LIMIT_RATIO: f64 = 0.8;

/// Whether the same load past the proxy shows that the proxy costs this cell nothing.
pub(crate) fn is_cleared(view: &SummaryView<'_>, cell: &CellSummary) -> bool {
    ProxyComparison::new(view, cell).is_some_and(|past| past.stance() == Some(Stance::Clears))
}

/// A cell of the path beside the same load past the proxy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProxyComparison<'v> {
    pub cell: &'v CellSummary,
    pub direct: CutCeiling<'v>,
    /// Rate of the path over that past the proxy.
    pub share: f64,
    /// Standard error of `share`.
    pub error: f64,
}

impl<'v> ProxyComparison<'v> {
    /// `None` where the load was not measured past the proxy, or was slower there.
    pub(crate) fn new(view: &SummaryView<'v>, cell: &'v CellSummary) -> Option<Self> {
        let direct = view.ceiling(Cut::DirectPath, cell).filter(|direct| direct.same_settings)?;
        let share = if is_single(cell) {
            ratio(time_per_op_s(direct.cell)?, time_per_op_s(cell)?)?
        } else {
            ratio(cell.rate_bytes_per_s?.0, direct.bytes_per_s)?
        };
        let error = share * standard_error(cell).hypot(standard_error(direct.cell));
        (share <= CONTRADICTION_RATIO).then_some(Self { cell, direct, share, error })
    }

    /// What the comparison alone says; `None` where its error leaves it open.
    pub(crate) fn stance(&self) -> Option<Stance> {
        let limit = if is_single(self.cell) { DOMINANT_RATIO } else { PROXY_LIMIT_RATIO };
        match (self.share + 2.0 * self.error <= limit, self.share - 2.0 * self.error >= FULL_RATIO) {
            (true, _) => Some(Stance::Limits),
            (false, true) => Some(Stance::Clears),
            (false, false) => None,
        }
    }
}
