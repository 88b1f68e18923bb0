//! How the cells of a run share its time: each first gets that of its fewest trials, and the rest is divided equally
//! among cells whose number of trials is open.
//!
//! A noisy cell at the front takes nothing from cells that the plan promises. What a cell does not use passes to those
//! that follow it, and what is left in the end to those that need more trials. It only calculates and runs nothing.

use narrows_model::{Cell, Cut, Repeat};

/// The end of a run's time on the site's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeShare {
    pub(crate) limit_at_ns: u64,
}

impl TimeShare {
    /// Whether the fewest trials of the first of `cells`, those that have not run yet, fit from `now_ns` on: of a cut beside
    /// all cells of the path that are still to come, since a cut explains what without the path was not measured.
    pub(crate) fn fits(self, now_ns: u64, cells: &[Cell]) -> bool {
        let Some((cell, rest)) = cells.split_first() else { return true };
        let is_cut = cell.cut != Cut::Path;
        let paths = rest.iter().filter(|cell| is_cut && cell.cut == Cut::Path);
        let needed_ns = paths.fold(cell.planned_ns().0, |sum, path| sum.saturating_add(path.planned_ns().0));
        now_ns.saturating_add(needed_ns) <= self.limit_at_ns
    }

    /// Until when the first of `cells`, those that have not run yet, may be repeated.
    pub(crate) fn until_ns(self, now_ns: u64, cells: &[Cell]) -> u64 {
        let planned_ns = cells.iter().fold(0_u64, |sum, cell| sum.saturating_add(cell.estimated_ns().0));
        let spare_ns = self.limit_at_ns.saturating_sub(now_ns).saturating_sub(planned_ns);
        let open = cells.iter().filter(|cell| cell.repeat != Repeat::Fixed).count() as u64;
        let own_ns = cells.first().map_or(0, |cell| cell.estimated_ns().0);
        now_ns.saturating_add(own_ns).saturating_add(spare_ns / open.max(1)).min(self.limit_at_ns)
    }
}

/// Whether a cell that ran out of its part may be repeated after others have run: its trials are independent.
/// Rounds until a steady state follow one another, and a server decides about its cells by itself.
pub(crate) fn may_go_on(cell: &Cell) -> bool {
    cell.site == narrows_model::Site::Client && matches!(cell.repeat, Repeat::UntilInterval { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repetition::tests::a_cell as cell;
    use narrows_model::Site;

    const SECOND: u64 = 1_000_000_000;
    const NARROW: Repeat = Repeat::UntilInterval { half_width_ratio: 0.05, level: 0.95, trials_min: 3 };

    #[test]
    fn open_cells_share_what_the_fewest_trials_of_all_leave() {
        let share = TimeShare { limit_at_ns: 100 * SECOND };
        let cells = [cell(NARROW, 30), cell(Repeat::Fixed, 4), cell(NARROW, 30)];
        // Ten trials of 1.15 s are promised: 88.5 s are left for two.
        let until_s = share.until_ns(0, &cells) as f64 / 1e9;
        assert!((until_s - (3.45 + 44.25)).abs() < 1e-6, "{until_s}");
        // The first used it all; then the last has the rest.
        let until_s = share.until_ns(47_700_000_000, &cells[1..]) as f64 / 1e9;
        assert!((until_s - (47.7 + 4.6 + 44.25)).abs() < 1e-6, "{until_s}");
        assert_eq!(share.until_ns(60 * SECOND, &cells[2..]), 100 * SECOND);
    }

    #[test]
    fn where_nothing_is_left_each_has_its_fewest_trials_and_none_more() {
        let share = TimeShare { limit_at_ns: 3 * SECOND };
        let cells = [cell(NARROW, 30), cell(NARROW, 30)];
        assert_eq!(share.until_ns(0, &cells), 3 * SECOND);
        assert!(share.fits(0, &cells[..1]) && !share.fits(1, &cells[..1]));
        let wide = TimeShare { limit_at_ns: 7 * SECOND };
        assert!(wide.until_ns(0, &cells) < 4 * SECOND, "less than one trial beyond the fewest");
    }

    #[test]
    fn a_cut_is_left_out_before_the_path_that_follows_it() {
        let of = |cut| Cell { cut, ..cell(Repeat::Fixed, 3) };
        let cells = [of(Cut::LocalDevice), of(Cut::Path), of(Cut::LocalDevice), of(Cut::Path)];
        let each_ns = cells[0].planned_ns().0;
        let share = TimeShare { limit_at_ns: 3 * each_ns };
        assert!(share.fits(0, &cells) && !share.fits(1, &cells));
        // Left out, it leaves the time to both cells of the path and to no other cut.
        assert!(share.fits(each_ns, &cells[1..]) && !share.fits(2 * each_ns, &cells[2..]));
        assert!(share.fits(2 * each_ns, &cells[3..]) && !share.fits(2 * each_ns + 1, &cells[3..]));
    }

    #[test]
    fn rounds_and_cells_of_a_server_do_not_go_on_after_others() {
        assert!(may_go_on(&cell(NARROW, 30)));
        assert!(!may_go_on(&cell(Repeat::Fixed, 3)));
        assert!(!may_go_on(&cell(Repeat::UntilSteady { window_trials: 5 }, 25)));
        assert!(!may_go_on(&Cell { site: Site::Server, ..cell(NARROW, 30) }));
    }
}
