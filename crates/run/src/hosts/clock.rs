//! How far the clock of a host is from this one's, by round trips.

use narrows_model::Nanos;

/// An offset between two monotonic clocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HostClock {
    /// The other clock minus this one.
    pub(crate) offset_ns: i64,
    /// Largest error of it.
    pub(crate) uncertainty_ns: u64,
}

/// A reading of another clock, within a round trip on this one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundTrip {
    /// When it was asked for.
    pub(crate) asked: Nanos,
    /// What the other clock showed.
    pub(crate) read: Nanos,
    /// When the answer arrived.
    pub(crate) answered: Nanos,
}

impl HostClock {
    /// By the shortest of `trips`; `None` without any.
    ///
    /// # Source
    /// Cristian, Probabilistic clock synchronization (1989): the reading is taken to be of the middle of the round trip,
    /// and is at most half of it away from that.
    pub(crate) fn by_shortest(trips: &[RoundTrip]) -> Option<Self> {
        let offset = |trip: &RoundTrip| {
            let half_ns = trip.answered.saturating_sub(trip.asked).0 / 2;
            let signed = |at_ns: u64| i64::try_from(at_ns).unwrap_or(i64::MAX);
            let middle_ns = signed(trip.asked.0.saturating_add(half_ns));
            Self { offset_ns: signed(trip.read.0).saturating_sub(middle_ns), uncertainty_ns: half_ns }
        };
        trips.iter().map(offset).min_by_key(|offset| offset.uncertainty_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_decides_whichever_clock_is_ahead() {
        let trip = |asked, read, answered| RoundTrip {
            asked: Nanos(asked),
            read: Nanos(read),
            answered: Nanos(answered),
        };
        let (slow, fast) = (trip(1000, 600, 3000), trip(5000, 4100, 5200));
        let behind = HostClock::by_shortest(&[slow, fast]).unwrap();
        assert_eq!(behind, HostClock { offset_ns: -1000, uncertainty_ns: 100 });
        let ahead = trip(10, 1_000_020, 30);
        assert_eq!(HostClock::by_shortest(&[ahead]).unwrap().offset_ns, 1_000_000);
        assert_eq!(HostClock::by_shortest(&[]), None);
    }
}
