//! How fast the payloads of long replies arrive once they have begun.
//!
//! A link passes the bytes of a reply at its own rate, however slowly the server makes replies: of a full link no reply
//! arrives faster than all of them together. Hot path: one logarithm a long reply.

use crate::clock::Tick;
use narrows_model::rpc::ArrivalCount;

/// Less than this says nothing of a rate: the kernel hands such pieces over at once.
const BYTES_MIN: usize = 128 << 10;
/// Steps of an octave: a rate is known to a tenth.
const STEPS_PER_OCTAVE: f64 = 8.0;
/// Forty octaves of bytes a second, from one byte up.
const STEPS: usize = 40 * 8;

/// Counts of replies by the rate at which they arrived.
#[derive(Debug, Clone)]
pub struct ReplyArrivals {
    counts: [u64; STEPS],
}

impl Default for ReplyArrivals {
    fn default() -> Self {
        Self { counts: [0; STEPS] }
    }
}

impl ReplyArrivals {
    /// Counts a reply of which `bytes` arrived from `began` to `ended`.
    pub fn count(&mut self, bytes: usize, began: Tick, ended: Tick) {
        let took_ns = ended.since(began);
        if bytes < BYTES_MIN || took_ns == 0 {
            return;
        }
        let rate = bytes as f64 * 1e9 / took_ns as f64;
        let step = narrows_model::units::round_to_u64((rate.log2() * STEPS_PER_OCTAVE).floor().max(0.0));
        let last = self.counts.len() - 1;
        self.counts[usize::try_from(step).unwrap_or(last).min(last)] += 1;
    }

    /// Adds what others have counted.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// The counts that are not zero, by the middle of their rates.
    #[must_use]
    pub fn to_model(&self) -> Vec<ArrivalCount> {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let to_count = |(step, count): (usize, &u64)| ArrivalCount {
            rate_bytes_per_s: narrows_model::units::round_to_u64(
                ((step as f64 + 0.5) / STEPS_PER_OCTAVE).exp2(),
            ),
            reply_count: *count,
        };
        counted.map(to_count).collect()
    }
}

/// How fast the bodies of long replies arrive that come over connections of their own: on all of them together, because they
/// share the link.
#[derive(Debug, Default)]
pub struct SharedArrivals {
    counts: ReplyArrivals,
    body_count: usize,
    /// When the piece began that is being counted; `None` before its first bytes.
    began: Option<Tick>,
    bytes: usize,
}

impl SharedArrivals {
    /// A body of `bytes` begins; whether it is long enough to be counted, with its [`Self::arrived`] and [`Self::end`].
    #[must_use]
    pub fn begin(&mut self, bytes: u64) -> bool {
        let is_long = bytes >= BYTES_MIN as u64;
        if is_long {
            if self.body_count == 0 {
                (self.began, self.bytes) = (None, 0);
            }
            self.body_count += 1;
        }
        is_long
    }

    /// `bytes` of a body have arrived.
    pub fn arrived(&mut self, bytes: usize, now: Tick) {
        let Some(began) = self.began else {
            self.began = Some(now);
            return;
        };
        self.bytes += bytes;
        if self.bytes >= BYTES_MIN {
            self.counts.count(self.bytes, began, now);
            (self.began, self.bytes) = (Some(now), 0);
        }
    }

    /// A body has ended.
    pub fn end(&mut self) {
        self.body_count -= 1;
    }

    /// As [`ReplyArrivals::to_model`].
    #[must_use]
    pub fn to_model(&self) -> Vec<ArrivalCount> {
        self.counts.to_model()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_known_to_a_tenth_and_short_pieces_are_not_counted() {
        let mut arrivals = ReplyArrivals::default();
        arrivals.count(1 << 20, Tick(0), Tick(10_000_000));
        arrivals.count(BYTES_MIN - 1, Tick(0), Tick(1));
        arrivals.count(1 << 20, Tick(5), Tick(5));
        let counted = arrivals.to_model();
        assert_eq!((counted.len(), counted[0].reply_count), (1, 1));
        let rate = counted[0].rate_bytes_per_s as f64;
        assert!((rate / 104_857_600.0 - 1.0).abs() < 0.1, "{rate}");
    }

    #[test]
    fn bodies_that_share_a_link_are_counted_together_and_pauses_without_any_are_not() {
        const MS: u64 = 1_000_000;
        let mut shared = SharedArrivals::default();
        assert!(!shared.begin(4096));
        // Two at a time, each with half of 100 MiB/s; then a pause, then another.
        let mut now = 0;
        for _ in 0..10 {
            assert!(shared.begin(1 << 20) && shared.begin(1 << 20));
            for _ in 0..32 {
                now += 625_000;
                shared.arrived(64 << 10, Tick(now));
            }
            shared.end();
            shared.end();
            now += 500 * MS;
        }
        let counted = shared.to_model();
        assert_eq!(counted.len(), 1, "{counted:?}");
        let rate = counted[0].rate_bytes_per_s as f64;
        assert!((rate / 104_857_600.0 - 1.0).abs() < 0.1, "{rate}");
    }
}
