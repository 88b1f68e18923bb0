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
pub(super) struct ReplyArrivals {
    counts: [u64; STEPS],
}

impl Default for ReplyArrivals {
    fn default() -> Self {
        Self { counts: [0; STEPS] }
    }
}

impl ReplyArrivals {
    /// Counts a reply of which `bytes` arrived from `began` to `ended`.
    pub(super) fn count(&mut self, bytes: usize, began: Tick, ended: Tick) {
        let took_ns = ended.since(began);
        if bytes < BYTES_MIN || took_ns == 0 {
            return;
        }
        let rate = bytes as f64 * 1e9 / took_ns as f64;
        let step = narrows_model::units::round_to_u64((rate.log2() * STEPS_PER_OCTAVE).floor().max(0.0));
        let last = self.counts.len() - 1;
        self.counts[usize::try_from(step).unwrap_or(last).min(last)] += 1;
    }

    /// The counts that are not zero, by the middle of their rates.
    pub(super) fn to_model(&self) -> Vec<ArrivalCount> {
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
}
