//! Asymptotic bounds of a closed network: what no queueing discipline can beat.
//!
//! It deliberately gives no estimate between the bounds: see [`narrows_stats::mva`].

use narrows_stats::mva::Network;

/// The limits that service demands alone put on a network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AsymptoticBounds {
    /// D, the time a request takes when it is alone, think time left out.
    pub demand_s: f64,
    /// Z, the think time.
    pub think_s: f64,
    /// The station that is full first; `None` when no station with a demand queues. Of equals the first.
    pub bottleneck_index: Option<usize>,
    /// 1 / `D_max`, the most requests in a second at any load; `None` without a bottleneck.
    pub ceiling_per_s: Option<f64>,
    /// 1 / `D_second`, the ceiling once the bottleneck is relieved; `None` when no other station limits.
    pub relieved_ceiling_per_s: Option<f64>,
    /// (D + Z) / `D_max`, the number of requests in flight beyond which some must wait; `None` without a bottleneck.
    pub knee_in_flight: Option<f64>,
}

impl AsymptoticBounds {
    /// The bounds of `network`.
    ///
    /// # Shape
    /// Stations of m servers count with D/m as their limit and with D in the time of a request.
    ///
    /// # Source
    /// Denning and Buzen, ACM Computing Surveys 10 (1978); Lazowska et al., Quantitative System Performance (1984),
    /// chapter 5. Assumes demands that do not depend on the load. Checked against the exact convolution
    /// (`mva.json`): the exact rate never passes these bounds.
    #[must_use]
    pub fn new(network: &Network) -> Self {
        let demand_s: f64 = network.stations().iter().map(|station| station.demand_s).sum();
        let mut first: Option<(usize, f64)> = None;
        let mut second_s = 0.0;
        for (index, station) in network.stations().iter().enumerate() {
            let limit_s = station.queueing_s();
            let largest_s = first.map_or(0.0, |(_, largest_s)| largest_s);
            if limit_s > largest_s {
                second_s = largest_s;
                first = Some((index, limit_s));
            } else if limit_s > second_s {
                second_s = limit_s;
            }
        }
        Self {
            demand_s,
            think_s: network.think_s(),
            bottleneck_index: first.map(|(index, _)| index),
            ceiling_per_s: first.map(|(_, largest_s)| 1.0 / largest_s),
            relieved_ceiling_per_s: (second_s > 0.0).then(|| 1.0 / second_s),
            knee_in_flight: first.map(|(_, largest_s)| (demand_s + network.think_s()) / largest_s),
        }
    }

    /// The highest rate possible with `in_flight` requests: min(N / (D + Z), 1 / `D_max`).
    #[must_use]
    pub fn rate_high_per_s(&self, in_flight: u32) -> f64 {
        let unhindered_per_s = f64::from(in_flight) / (self.demand_s + self.think_s);
        self.ceiling_per_s.map_or(unhindered_per_s, |ceiling_per_s| ceiling_per_s.min(unhindered_per_s))
    }

    /// The shortest response possible with `in_flight` requests: max(D, N · `D_max` - Z).
    #[must_use]
    pub fn response_low_s(&self, in_flight: u32) -> f64 {
        self.ceiling_per_s.map_or(self.demand_s, |ceiling_per_s| {
            self.demand_s.max(f64::from(in_flight) / ceiling_per_s - self.think_s)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::AsymptoticBounds;
    use narrows_stats::mva::{Network, QueueStation, StationKind};

    fn bounds(demands_s: &[f64], think_s: f64) -> AsymptoticBounds {
        let stations =
            demands_s.iter().map(|&demand_s| QueueStation { demand_s, kind: StationKind::Queue }).collect();
        AsymptoticBounds::new(&Network::new(stations, think_s).unwrap())
    }

    #[test]
    fn the_largest_demand_limits_and_the_second_takes_over() {
        let bounds = bounds(&[0.125, 0.5, 0.25], 1.125);
        assert_eq!(bounds.bottleneck_index, Some(1));
        assert_eq!((bounds.ceiling_per_s, bounds.relieved_ceiling_per_s), (Some(2.0), Some(4.0)));
        assert_eq!(bounds.knee_in_flight, Some(4.0));
        assert_eq!((bounds.rate_high_per_s(1), bounds.rate_high_per_s(100)), (0.5, 2.0));
        assert_eq!((bounds.response_low_s(1), bounds.response_low_s(100)), (0.875, 48.875));
    }

    #[test]
    fn of_equal_demands_the_first_limits_and_relief_gains_nothing() {
        let bounds = bounds(&[0.5, 0.5], 0.0);
        assert_eq!(bounds.bottleneck_index, Some(0));
        assert_eq!(bounds.relieved_ceiling_per_s, bounds.ceiling_per_s);
    }

    #[test]
    fn delays_alone_have_no_bottleneck() {
        let stations = vec![QueueStation { demand_s: 0.5, kind: StationKind::Delay }];
        let bounds = AsymptoticBounds::new(&Network::new(stations, 0.5).unwrap());
        assert_eq!(
            (bounds.bottleneck_index, bounds.ceiling_per_s, bounds.knee_in_flight),
            (None, None, None)
        );
        assert_eq!((bounds.rate_high_per_s(10), bounds.response_low_s(10)), (10.0, 0.5));
    }

    #[test]
    fn several_servers_raise_the_ceiling_but_not_the_speed_of_one_request() {
        let kind = StationKind::Servers(4.try_into().unwrap());
        let bounds =
            AsymptoticBounds::new(&Network::new(vec![QueueStation { demand_s: 1.0, kind }], 0.0).unwrap());
        assert_eq!(
            (bounds.ceiling_per_s, bounds.demand_s, bounds.knee_in_flight),
            (Some(4.0), 1.0, Some(4.0))
        );
    }
}
