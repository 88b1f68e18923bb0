//! What more clients cost where software is full: the fall of the rate with each doubling.
//!
//! A link or a device that is full is taken to serve as much whoever asks. Software that is full takes longer for an operation with more
//! connections, threads and caches that they share, and its rate falls. Not here: what is full, which is `scaling`'s.

use super::{NORMAL_WIDTH, point_error};
use crate::scaling::{Curve, is_hardware_full};
use narrows_model::Summary;
use narrows_stats::moments::mean;
use narrows_stats::scaling::ScalingPoint;

/// What a prediction by this line assumes.
pub(super) const COST_ASSUMPTION: &str = "no link or device was seen full, so that a doubling of the clients may lower the rate by as much as the measured ones leave \
     open";

/// The logarithm of the rate as a line over the doublings of the clients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CostLine {
    /// The clients at the middle of the points.
    pub(super) clients_mean: f64,
    /// By how much a doubling lowers the rate, and the standard error of that.
    fall: f64,
    fall_error: f64,
}

/// By how many natural logarithms a rate falls.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct CostFall {
    /// At the least, by the fall that the points show beyond their errors.
    pub(super) least: f64,
    /// By that of the line.
    expected: f64,
    /// At the most.
    most: f64,
}

impl CostFall {
    /// How far below a level the rate may be that is known to within `side` besides.
    pub(super) fn lowest(&self, side: f64) -> f64 {
        self.expected + (self.most - self.expected).hypot(side)
    }
}

impl CostLine {
    /// That of the points of `curve` from `clients_min` clients on; `None` where a link or a device was full with the most
    /// clients, and for a single point.
    pub(super) fn of_software(summary: &Summary, curve: &Curve<'_>, clients_min: f64) -> Option<Self> {
        if is_hardware_full(summary, curve, curve.last()) {
            return None;
        }
        let mut points = curve.law_points();
        points.retain(|point| point.clients >= clients_min);
        Self::new(&points, point_error(curve))
    }

    fn new(points: &[ScalingPoint], point_error: f64) -> Option<Self> {
        let clients: Vec<f64> = points.iter().map(|point| point.clients.log2()).collect();
        let rates: Vec<f64> = points.iter().map(|point| point.rate.ln()).collect();
        let (clients_mean, rate_mean) = (mean(&clients)?, mean(&rates)?);
        let apart = || clients.iter().map(|clients| clients - clients_mean);
        let squares = apart().map(|apart| apart * apart).sum::<f64>();
        if squares <= 0.0 {
            return None;
        }
        let below = || rates.iter().map(|rate| rate_mean - rate);
        let fall = apart().zip(below()).map(|(apart, below)| apart * below).sum::<f64>() / squares;
        let residuals =
            apart().zip(below()).map(|(apart, below)| (below - fall * apart).powi(2)).sum::<f64>();
        let degrees = points.len().saturating_sub(2).max(1) as f64;
        let deviation = (residuals / degrees).sqrt().max(point_error);
        Some(Self { clients_mean: clients_mean.exp2(), fall, fall_error: deviation / squares.sqrt() })
    }

    /// The fall from one number of clients to a larger one. It is no rise: that of the points may be chance.
    pub(super) fn fall(&self, from: f64, to: f64) -> CostFall {
        let by = |fall: f64| fall.max(0.0) * (to / from).log2();
        let width = NORMAL_WIDTH * self.fall_error;
        CostFall { least: by(self.fall - width), expected: by(self.fall), most: by(self.fall + width) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(rates: [f64; 3]) -> Vec<ScalingPoint> {
        let point = |(clients, rate)| ScalingPoint { clients, rate, relative_error: None };
        [1.0, 2.0, 4.0].into_iter().zip(rates).map(point).collect()
    }

    #[test]
    fn a_fall_of_a_tenth_with_each_doubling_is_continued() {
        let fall = CostLine::new(&points([1.0, 0.9, 0.81]), 0.0).unwrap().fall(4.0, 16.0);
        let exact = -2.0 * 0.9_f64.ln();
        assert!((fall.expected - exact).abs() < 1e-9 && (fall.least - exact).abs() < 1e-9, "{fall:?}");
        assert!((fall.lowest(0.1) - exact - 0.1).abs() < 1e-9, "{fall:?}");
    }

    #[test]
    fn level_points_leave_a_fall_as_far_as_their_errors_do_and_rising_ones_expect_none() {
        let line = |error: f64| CostLine::new(&points([1.0, 1.0, 1.0]), error).unwrap();
        // From the middle, 2 clients, three doublings, each to within 1.96 x 0.02 / sqrt(2).
        let fall = line(0.02).fall(line(0.02).clients_mean, 16.0);
        let exact = 3.0 * 1.96 * 0.02 / 2.0_f64.sqrt();
        assert!((fall.most - exact).abs() < 1e-9 && fall.expected.abs() + fall.least < 1e-9, "{fall:?}");
        assert!(line(0.005).fall(4.0, 16.0).most < line(0.02).fall(4.0, 16.0).most);
        let rising = CostLine::new(&points([1.0, 2.0, 4.0]), 0.01).unwrap().fall(4.0, 16.0);
        assert_eq!(rising, CostFall::default());
    }

    #[test]
    fn points_that_scatter_about_their_line_leave_more_open_than_their_own_errors() {
        let most = |rates: [f64; 3]| CostLine::new(&points(rates), 0.01).unwrap().fall(4.0, 16.0).most;
        assert!(most([0.8, 1.08, 0.7]) > 3.0 * most([0.8, 0.75, 0.7]));
    }
}
