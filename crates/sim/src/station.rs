//! One station: servers that take requests in the order of their arrival.
//!
//! Hot path: nothing is allocated while requests arrive in the order of time.
//!
//! Deliberately absent: what a request costs, and which stations it visits.

/// Most idle spans a server remembers; older ones are forgotten and count as used.
const IDLE_SPANS_MAX: usize = 256;

/// When a request was served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ServiceSpan {
    /// Start of the service.
    pub(crate) start_ns: u64,
    /// End of the service.
    pub(crate) finish_ns: u64,
}

/// Servers that take requests first come, first served.
///
/// Requests may be announced out of the order of their arrival, as they are when a request's whole way is laid out
/// at its submission. Idle time that an earlier announcement left in front of it is then used, in pieces if need
/// be, so that no capacity is lost. Announced in order of arrival, the station is exactly first come, first served.
#[derive(Debug, Clone)]
pub(crate) struct Station {
    servers: Vec<StationServer>,
}

#[derive(Debug, Clone, Default)]
struct StationServer {
    /// Nothing is announced from here on.
    free_ns: u64,
    /// Idle spans before that, in order.
    idle: Vec<ServiceSpan>,
}

impl Station {
    /// A station of so many servers, at least one.
    pub(crate) fn new(server_count: u32) -> Self {
        Self { servers: vec![StationServer::default(); server_count.max(1) as usize] }
    }

    /// Serves a request that arrives at `arrival_ns` for `service_ns`; no request announced later arrives before
    /// `horizon_ns`.
    pub(crate) fn serve(&mut self, arrival_ns: u64, service_ns: u64, horizon_ns: u64) -> ServiceSpan {
        let mut best = (0, ServiceSpan { start_ns: u64::MAX, finish_ns: u64::MAX });
        for (index, server) in self.servers.iter().enumerate() {
            let span = server.offer(arrival_ns, service_ns);
            if span.finish_ns < best.1.finish_ns {
                best = (index, span);
            }
        }
        let (index, span) = best;
        self.servers[index].take(arrival_ns, span.finish_ns, horizon_ns);
        span
    }
}

impl StationServer {
    /// When this server would serve the request: in its idle time from the arrival on.
    fn offer(&self, arrival_ns: u64, service_ns: u64) -> ServiceSpan {
        let mut left_ns = service_ns;
        let mut start_ns = None;
        for idle in &self.idle {
            let from_ns = idle.start_ns.max(arrival_ns);
            if from_ns >= idle.finish_ns {
                continue;
            }
            let start_ns = *start_ns.get_or_insert(from_ns);
            let room_ns = idle.finish_ns - from_ns;
            if room_ns >= left_ns {
                return ServiceSpan { start_ns, finish_ns: from_ns + left_ns };
            }
            left_ns -= room_ns;
        }
        let from_ns = self.free_ns.max(arrival_ns);
        ServiceSpan { start_ns: start_ns.unwrap_or(from_ns), finish_ns: from_ns.saturating_add(left_ns) }
    }

    /// Uses up all idle time from the arrival to the finish.
    fn take(&mut self, arrival_ns: u64, finish_ns: u64, horizon_ns: u64) {
        if !self.idle.is_empty() {
            self.cut_idle(arrival_ns, finish_ns, horizon_ns);
        }
        if finish_ns <= self.free_ns {
            return;
        }
        if arrival_ns > self.free_ns && arrival_ns > horizon_ns {
            if self.idle.len() == IDLE_SPANS_MAX {
                self.idle.remove(0);
            }
            self.idle.push(ServiceSpan { start_ns: self.free_ns.max(horizon_ns), finish_ns: arrival_ns });
        }
        self.free_ns = finish_ns;
    }

    fn cut_idle(&mut self, from_ns: u64, to_ns: u64, horizon_ns: u64) {
        let mut kept = Vec::with_capacity(self.idle.len() + 1);
        for idle in &self.idle {
            let before = ServiceSpan { start_ns: idle.start_ns, finish_ns: idle.finish_ns.min(from_ns) };
            let after = ServiceSpan { start_ns: idle.start_ns.max(to_ns), finish_ns: idle.finish_ns };
            for part in [before, after] {
                if part.start_ns < part.finish_ns && part.finish_ns > horizon_ns {
                    kept.push(part);
                }
            }
        }
        self.idle = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_in_order_wait_for_each_other() {
        let mut station = Station::new(1);
        assert_eq!(station.serve(0, 10, 0), ServiceSpan { start_ns: 0, finish_ns: 10 });
        assert_eq!(station.serve(3, 10, 3), ServiceSpan { start_ns: 10, finish_ns: 20 });
        assert_eq!(station.serve(50, 10, 50), ServiceSpan { start_ns: 50, finish_ns: 60 });
    }

    #[test]
    fn two_servers_take_two_at_once() {
        let mut station = Station::new(2);
        let finishes: Vec<u64> = (0..4).map(|_| station.serve(0, 10, 0).finish_ns).collect();
        assert_eq!(finishes, [10, 10, 20, 20]);
    }

    #[test]
    fn idle_time_before_an_announced_request_is_used_in_pieces() {
        let mut station = Station::new(1);
        station.serve(100, 10, 0);
        assert_eq!(station.serve(0, 60, 0), ServiceSpan { start_ns: 0, finish_ns: 60 });
        assert_eq!(station.serve(0, 60, 0), ServiceSpan { start_ns: 60, finish_ns: 130 });
        assert_eq!(station.serve(0, 1, 0), ServiceSpan { start_ns: 130, finish_ns: 131 });
    }

    proptest! {
        #[test]
        fn no_capacity_is_lost_whatever_the_order_of_announcement(
            requests in prop::collection::vec((0_u64..1_000, 1_u64..50), 1..60)
        ) {
            // Work conservation: at one server the last finish does not depend on the order of announcement.
            let last = |requests: &[(u64, u64)]| {
                let mut station = Station::new(1);
                requests.iter().map(|(at, service)| station.serve(*at, *service, 0).finish_ns).max()
            };
            let mut sorted = requests.clone();
            sorted.sort_unstable();
            prop_assert_eq!(last(&requests), last(&sorted));
        }
    }
}
