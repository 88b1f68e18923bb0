//! Closed queueing networks of one class, solved exactly by mean value analysis.
//!
//! It deliberately knows neither several classes nor open arrivals.

use std::num::NonZeroU32;

use crate::error::{StatsError, require_finite};

/// What a station does with several requests at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StationKind {
    /// One server: requests wait for each other.
    Queue,
    /// As many servers as requests: nobody waits.
    Delay,
    /// This many equal servers behind one queue.
    Servers(NonZeroU32),
}

/// One station of a network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueStation {
    /// Service demand: seconds of one server that a request uses in all its visits, zero or more.
    pub demand_s: f64,
    /// Whether requests wait for each other.
    pub kind: StationKind,
}

impl QueueStation {
    /// The part of the demand at which requests wait for each other, after Seidmann's transformation.
    #[must_use]
    pub fn queueing_s(&self) -> f64 {
        match self.kind {
            StationKind::Queue => self.demand_s,
            StationKind::Delay => 0.0,
            StationKind::Servers(servers) => self.demand_s / f64::from(servers.get()),
        }
    }

    fn delay_s(&self) -> f64 {
        match self.kind {
            StationKind::Queue => 0.0,
            StationKind::Delay => self.demand_s,
            StationKind::Servers(servers) => {
                let servers = f64::from(servers.get());
                self.demand_s * (servers - 1.0) / servers
            }
        }
    }
}

/// A closed network: a fixed number of requests circulates through its stations.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    stations: Vec<QueueStation>,
    think_s: f64,
}

/// One station under a given load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StationLoad {
    /// How long a request spends here, waiting included.
    pub residence_s: f64,
    /// How many requests are here on average.
    pub queue_len: f64,
    /// Share of its servers that is busy, 0 to 1; `None` for a delay, which cannot be full.
    pub utilisation_ratio: Option<f64>,
}

/// The whole network with a given number of requests in flight.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkLoad {
    /// How many requests circulate.
    pub in_flight: u32,
    /// Requests completed in a second.
    pub rate_per_s: f64,
    /// How long a request takes, think time left out.
    pub response_s: f64,
    /// One for each station, in the order of the network.
    pub stations: Vec<StationLoad>,
}

impl Network {
    /// A network of `stations`, each request pausing for `think_s` seconds between two rounds.
    ///
    /// # Errors
    /// [`StatsError::NotFinite`] or [`StatsError::OutOfRange`] for a demand that is not finite and at least 0,
    /// [`StatsError::BadArgument`] for such a think time, [`StatsError::Degenerate`] when everything is 0, so that the
    /// rate would be infinite.
    pub fn new(stations: Vec<QueueStation>, think_s: f64) -> Result<Self, StatsError> {
        require_finite(stations.iter().map(|station| station.demand_s), 0)?;
        if let Some(value_index) = stations.iter().position(|station| station.demand_s < 0.0) {
            return Err(StatsError::OutOfRange { value_index, requirement: "a demand must not be below 0" });
        }
        if !(think_s >= 0.0 && think_s.is_finite()) {
            return Err(StatsError::BadArgument { requirement: "a think time must not be below 0" });
        }
        if think_s + stations.iter().map(|station| station.demand_s).sum::<f64>() <= 0.0 {
            return Err(StatsError::Degenerate { reason: "all demands and the think time are 0" });
        }
        Ok(Self { stations, think_s })
    }

    /// The stations, in the order given.
    #[must_use]
    pub fn stations(&self) -> &[QueueStation] {
        &self.stations
    }

    /// The pause of a request between two rounds.
    #[must_use]
    pub fn think_s(&self) -> f64 {
        self.think_s
    }

    /// The load at 1, 2, ... `most_in_flight` requests in flight; empty for 0.
    ///
    /// # Cost
    /// O(stations · `most_in_flight`) in time and memory.
    ///
    /// # Source
    /// Reiser and Lavenberg, JACM 27 (1980): `R_k(n)` = `D_k` (1 + Q_k(n-1)) where requests queue, `D_k` at a delay;
    /// X(n) = n / (Z + sum `R_k(n)`); `Q_k(n)` = X(n) `R_k(n)`. Exact for product-form networks: exponential service at
    /// first-come stations, or processor sharing. A station of m servers is a queue of D/m and a delay of D(m-1)/m
    /// (Seidmann, Schweitzer and Shalev-Oren, 1987), which is an approximation: exact for one request and for many,
    /// pessimistic for a few. Checked against Buzen's convolution in exact fractions (`mva.json`).
    #[must_use]
    pub fn solve(&self, most_in_flight: u32) -> Vec<NetworkLoad> {
        let mut waiting = vec![0.0; self.stations.len()];
        (1..=most_in_flight).map(|in_flight| self.step(in_flight, &mut waiting)).collect()
    }

    /// The rates of [`Network::solve`] alone.
    ///
    /// # Cost
    /// O(stations · `most_in_flight`) in time, O(`most_in_flight`) in memory.
    #[must_use]
    pub fn rates(&self, most_in_flight: u32) -> Vec<f64> {
        let delay_s: f64 = self.think_s + self.stations.iter().map(QueueStation::delay_s).sum::<f64>();
        let queueing: Vec<f64> = self.stations.iter().map(QueueStation::queueing_s).collect();
        let mut waiting = vec![0.0; queueing.len()];
        let step = |in_flight: u32| {
            let stays = || queueing.iter().zip(&waiting).map(|(demand_s, queue)| demand_s * (1.0 + queue));
            let rate = f64::from(in_flight) / (delay_s + stays().sum::<f64>());
            waiting = stays().map(|stay_s| rate * stay_s).collect();
            rate
        };
        (1..=most_in_flight).map(step).collect()
    }

    /// One step of the recursion; `waiting` is the queue of each station's queueing part, before and after.
    fn step(&self, in_flight: u32, waiting: &mut [f64]) -> NetworkLoad {
        let parts: Vec<(f64, f64)> = self
            .stations
            .iter()
            .zip(waiting.iter())
            .map(|(station, queue)| (station.queueing_s() * (1.0 + queue), station.delay_s()))
            .collect();
        let response_s: f64 = parts.iter().map(|(queueing_s, delay_s)| queueing_s + delay_s).sum();
        let rate_per_s = f64::from(in_flight) / (self.think_s + response_s);
        for (queue, (queueing_s, _)) in waiting.iter_mut().zip(&parts) {
            *queue = rate_per_s * queueing_s;
        }
        let load_of = |(station, (queueing_s, delay_s)): (&QueueStation, &(f64, f64))| StationLoad {
            residence_s: queueing_s + delay_s,
            queue_len: rate_per_s * (queueing_s + delay_s),
            utilisation_ratio: (station.kind != StationKind::Delay)
                .then(|| (rate_per_s * station.queueing_s()).min(1.0)),
        };
        let stations = self.stations.iter().zip(&parts).map(load_of).collect();
        NetworkLoad { in_flight, rate_per_s, response_s, stations }
    }
}

#[cfg(test)]
mod tests {
    use super::{Network, QueueStation, StationKind};
    use crate::error::StatsError;

    fn queue(demand_s: f64) -> QueueStation {
        QueueStation { demand_s, kind: StationKind::Queue }
    }

    #[test]
    fn one_queue_without_think_time_is_always_full() {
        let network = Network::new(vec![queue(0.5)], 0.0).unwrap();
        for load in network.solve(5) {
            assert_eq!((load.rate_per_s, load.stations[0].utilisation_ratio), (2.0, Some(1.0)));
        }
    }

    #[test]
    fn delays_alone_scale_without_limit() {
        let network =
            Network::new(vec![QueueStation { demand_s: 0.5, kind: StationKind::Delay }], 0.5).unwrap();
        let last = network.solve(64).pop().unwrap();
        assert_eq!((last.rate_per_s, last.response_s, last.stations[0].utilisation_ratio), (64.0, 0.5, None));
    }

    #[test]
    fn a_lone_request_never_waits_at_several_servers() {
        let kind = StationKind::Servers(4.try_into().unwrap());
        let network = Network::new(vec![QueueStation { demand_s: 1.0, kind }], 0.0).unwrap();
        let loads = network.solve(200);
        assert_eq!((loads[0].in_flight, loads[0].response_s), (1, 1.0));
        assert!((loads[199].rate_per_s - 4.0).abs() < 1e-6);
    }

    #[test]
    fn rates_alone_are_those_of_the_whole_solution() {
        let kind = StationKind::Servers(4.try_into().unwrap());
        let network = Network::new(vec![queue(0.3), QueueStation { demand_s: 1.0, kind }], 0.2).unwrap();
        let whole: Vec<f64> = network.solve(40).iter().map(|load| load.rate_per_s).collect();
        let rates = network.rates(40);
        assert!(rates.len() == 40 && rates.iter().zip(&whole).all(|(a, b)| (a / b - 1.0).abs() < 1e-12));
    }

    #[test]
    fn no_stations_leave_the_think_time_alone() {
        let network = Network::new(Vec::new(), 2.0).unwrap();
        assert_eq!(network.solve(4).last().map(|load| load.rate_per_s), Some(2.0));
        assert!(network.solve(0).is_empty());
    }

    #[test]
    fn networks_without_a_finite_rate_are_refused() {
        assert!(matches!(Network::new(vec![queue(0.0)], 0.0), Err(StatsError::Degenerate { .. })));
        assert!(matches!(
            Network::new(vec![queue(-1.0)], 9.0),
            Err(StatsError::OutOfRange { value_index: 0, .. })
        ));
        assert!(matches!(
            Network::new(vec![queue(f64::NAN)], 9.0),
            Err(StatsError::NotFinite { value_index: 0 })
        ));
        assert!(matches!(Network::new(Vec::new(), -1.0), Err(StatsError::BadArgument { .. })));
    }
}
