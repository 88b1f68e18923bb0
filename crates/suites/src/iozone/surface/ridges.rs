//! Where a surface breaks: the file size behind which it falls, and the record size from which it is flat.

use super::{Surface, SurfaceMarks};
use narrows_analysis::{FALL_RATIO, NO_EFFECT_RATIO, SIZES_MIN};

/// The fall behind a file size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct SurfaceFall {
    /// The last file in kB before it, and the first behind it.
    pub(in super::super) between_kb: (u64, u64),
    /// The best rate of each in kB/s.
    pub(in super::super) rates: (f64, f64),
}

/// The steepest fall to half or less, after which no larger file comes near again.
pub(in super::super) fn fall(surface: &Surface) -> Option<SurfaceFall> {
    let best: Vec<(u64, f64)> = surface
        .files
        .iter()
        .zip(&surface.rates)
        .filter_map(|(file, row)| Some((*file, row.iter().flatten().copied().max_by(f64::total_cmp)?)))
        .collect();
    if best.len() < SIZES_MIN {
        return None;
    }
    let falls = best.windows(2).enumerate().filter_map(|(index, pair)| {
        let later = best[index + 1..].iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let is_fall = later > 0.0 && pair[0].1 >= FALL_RATIO * later;
        is_fall.then_some(SurfaceFall { between_kb: (pair[0].0, pair[1].0), rates: (pair[0].1, pair[1].1) })
    });
    falls.max_by(|one, other| (one.rates.0 / one.rates.1).total_cmp(&(other.rates.0 / other.rates.1)))
}

/// The record in kB from which larger ones add nothing at the largest file that has several.
pub(in super::super) fn flat(surface: &Surface) -> Option<(u64, u64)> {
    let (file, row) = surface
        .files
        .iter()
        .zip(&surface.rates)
        .rev()
        .find(|(_, row)| row.iter().flatten().count() >= SIZES_MIN)?;
    let known: Vec<(u64, f64)> =
        surface.records.iter().zip(row).filter_map(|(record, rate)| Some((*record, (*rate)?))).collect();
    let best = known.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let (record, _) = known.iter().find(|(_, rate)| rate * NO_EFFECT_RATIO >= best)?;
    let (last, _) = known.last()?;
    (record < last).then_some((*record, *file))
}

/// What records beyond the mount's request size added at the largest file: the best beyond over the best up to it.
pub(in super::super) fn beyond_split(surface: &Surface, marks: &SurfaceMarks) -> Option<f64> {
    let (split_kb, _) = marks.split_kb(surface.column)?;
    let row = surface.rates.last()?;
    let best = |beyond: bool| {
        let rates = surface.records.iter().zip(row).filter(|(record, _)| (**record > split_kb) == beyond);
        rates.filter_map(|(_, rate)| *rate).max_by(f64::total_cmp)
    };
    Some(best(true)? / best(false).filter(|rate| *rate > 0.0)?)
}

#[cfg(test)]
mod tests {
    use super::super::super::columns::IozoneColumn;
    use super::super::super::testing::{point_of, surface};
    use super::*;

    fn surface_of(points: &[super::super::super::figures::IozonePoint], column: &str) -> Surface {
        Surface::from_points(points, IozoneColumn::named(column).unwrap()).unwrap()
    }

    #[test]
    fn the_file_size_behind_which_memory_ran_out_is_found() {
        let found = fall(&surface_of(&surface(), "write")).unwrap();
        assert_eq!(found.between_kb, (16_384, 32_768));
        let flat: Vec<_> = [64, 128, 256].map(|file| point_of("write", file, 4, 1000.0)).to_vec();
        assert_eq!(fall(&surface_of(&flat, "write")), None);
        // A dip from which larger files recover is none.
        let dip: Vec<_> = [(64, 1000.0), (128, 100.0), (256, 990.0)]
            .map(|(file, rate)| point_of("write", file, 4, rate))
            .to_vec();
        assert_eq!(fall(&surface_of(&dip, "write")), None);
    }

    #[test]
    fn the_record_from_which_larger_ones_add_nothing_is_found() {
        assert_eq!(flat(&surface_of(&surface(), "read")), Some((64, 65_536)));
        let rising: Vec<_> = [4, 8, 16].map(|record| point_of("read", 64, record, record as f64)).to_vec();
        assert_eq!(flat(&surface_of(&rising, "read")), None);
    }

    #[test]
    fn what_records_beyond_the_mounts_requests_add_is_reported() {
        let marks = SurfaceMarks { read_kb: Some(64), ..SurfaceMarks::default() };
        let gain = beyond_split(&surface_of(&surface(), "read"), &marks).unwrap();
        assert!((1.0..1.05).contains(&gain), "{gain}");
        assert_eq!(beyond_split(&surface_of(&surface(), "write"), &marks), None);
    }
}
