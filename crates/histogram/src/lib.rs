//! Latency histograms: HDR with two significant digits, merged everywhere, stored as HDR V2.
//!
//! Hot path: [`Histogram::record`] allocates nothing and takes no lock.
//!
//! A crate of its own, so that it is built for speed in the tests too: most of what an analysis of many trials computes is
//! sums of histograms, while the rest of the model is built fast or small (design 0028).
#![forbid(unsafe_code)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest latency kept apart: one hour. Longer ones are counted as one hour.
pub const LATENCY_NS_MAX: u64 = 3_600_000_000_000;
/// Two significant digits: a bucket is at most 1 % wide, and a histogram fits the first-level cache.
const SIGNIFICANT_DIGITS: u8 = 2;

/// A latency histogram in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    inner: hdrhistogram::Histogram<u64>,
}

/// Latencies that are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest of them.
    pub low_ns: u64,
    /// The largest of them.
    pub high_ns: u64,
    /// How many there are.
    pub count: u64,
}

/// Why a stored histogram could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("stored histogram is damaged: {0}")]
pub struct HistogramError(String);

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        let inner = hdrhistogram::Histogram::new_with_bounds(1, LATENCY_NS_MAX, SIGNIFICANT_DIGITS);
        // The bounds are constants that the library accepts; a fresh default keeps the signature honest.
        Self { inner: inner.unwrap_or_else(|_| hdrhistogram::Histogram::new_from(&fallback())) }
    }

    /// Counts one latency; values outside 1 ns to one hour count at the nearest end.
    // Compiled with the crate that measures: it is called for each request.
    #[inline]
    pub fn record(&mut self, latency_ns: u64) {
        self.inner.saturating_record(latency_ns.max(1));
    }

    /// Counts one latency `count` times.
    #[inline]
    pub fn record_n(&mut self, latency_ns: u64, count: u64) {
        self.inner.saturating_record_n(latency_ns.max(1), count);
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        if self.inner.add(&other.inner).is_ok() {
            return;
        }
        // A stored histogram may have wider bounds: values outside ours count at the nearest end.
        for value in other.inner.iter_recorded() {
            self.inner.saturating_record_n(value.value_iterated_to(), value.count_at_value());
        }
    }

    /// What was counted since `earlier`, which is the same histogram at an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let mut since = self.clone();
        if since.inner.subtract(&earlier.inner).is_err() {
            // Another histogram, of which nothing is known to be in this one.
            return self.clone();
        }
        since
    }

    /// Forgets all counts; the memory is kept.
    pub fn clear(&mut self) {
        self.inner.reset();
    }

    /// How many latencies were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// The latency at `quantile` (0 to 1); `None` when empty.
    #[must_use]
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.inner.value_at_quantile(quantile))
    }

    /// The largest latency, to the bucket's width; `None` when empty.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.inner.max())
    }

    /// The mean latency, to the bucket's width; `None` when empty.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.inner.mean())
    }

    /// What was counted, bucket by bucket in rising order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.inner.iter_recorded().map(|recorded| Bucket {
            low_ns: self.inner.lowest_equivalent(recorded.value_iterated_to()),
            high_ns: self.inner.highest_equivalent(recorded.value_iterated_to()),
            count: recorded.count_at_value(),
        })
    }

    /// The histogram as HDR V2 in base64.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = Vec::new();
        let mut serializer = V2Serializer::new();
        match serializer.serialize(&self.inner, &mut bytes) {
            Ok(_) => STANDARD.encode(bytes),
            Err(_) => String::new(),
        }
    }

    /// The histogram stored in `text`; an empty text is an empty histogram.
    ///
    /// # Errors
    /// When the text is not base64 or not an HDR V2 histogram.
    pub fn decode(text: &str) -> Result<Self, HistogramError> {
        let mut histogram = Self::new();
        if text.is_empty() {
            return Ok(histogram);
        }
        let bytes = STANDARD.decode(text).map_err(|error| HistogramError(error.to_string()))?;
        let stored: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| HistogramError(error.to_string()))?;
        histogram.merge(&Histogram { inner: stored });
        Ok(histogram)
    }
}

fn fallback() -> hdrhistogram::Histogram<u64> {
    hdrhistogram::Histogram::<u64>::new(SIGNIFICANT_DIGITS)
        .unwrap_or_else(|_| unreachable!("two digits are allowed"))
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.encode())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Histogram::decode(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schemas")]
impl JsonSchema for Histogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "HDR histogram of nanoseconds, V2 encoding, base64." })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        assert_eq!(Histogram::new().quantile_ns(0.5), None);
        assert_eq!(Histogram::decode("").map(|h| h.count()), Ok(0));
    }

    #[test]
    fn a_latency_above_an_hour_counts_as_an_hour() {
        let mut histogram = Histogram::new();
        histogram.record(u64::MAX);
        assert_eq!(histogram.count(), 1);
        assert!(histogram.max_ns().unwrap() >= LATENCY_NS_MAX / 100 * 99);
    }

    #[test]
    fn damaged_text_is_an_error() {
        assert!(Histogram::decode("!!").is_err());
        assert!(Histogram::decode("AAAA").is_err());
    }

    proptest! {
        #[test]
        fn decode_reverses_encode(values in prop::collection::vec(1_u64..LATENCY_NS_MAX, 0..200)) {
            let mut histogram = Histogram::new();
            for value in &values { histogram.record(*value); }
            let back = Histogram::decode(&histogram.encode()).unwrap();
            prop_assert_eq!(back.count(), histogram.count());
            for quantile in [0.0, 0.5, 0.99, 1.0] {
                prop_assert_eq!(back.quantile_ns(quantile), histogram.quantile_ns(quantile));
            }
        }

        #[test]
        fn buckets_contain_every_value_once_and_rise(values in prop::collection::vec(1_u64..LATENCY_NS_MAX, 0..200)) {
            let mut histogram = Histogram::new();
            for value in &values { histogram.record(*value); }
            let buckets: Vec<Bucket> = histogram.buckets().collect();
            prop_assert_eq!(buckets.iter().map(|bucket| bucket.count).sum::<u64>(), histogram.count());
            prop_assert!(buckets.windows(2).all(|pair| pair[0].high_ns < pair[1].low_ns));
            for value in values {
                prop_assert!(buckets.iter().any(|bucket| (bucket.low_ns..=bucket.high_ns).contains(&value)));
            }
        }

        #[test]
        fn a_quantile_is_within_one_percent(value in 1_u64..LATENCY_NS_MAX) {
            let mut histogram = Histogram::new();
            histogram.record(value);
            let read = histogram.quantile_ns(0.5).unwrap() as f64;
            prop_assert!((read - value as f64).abs() <= value as f64 * 0.01);
        }

        #[test]
        fn merging_parts_gives_the_whole(values in prop::collection::vec(1_u64..LATENCY_NS_MAX, 0..100), cut in 0_usize..100) {
            let cut = cut.min(values.len());
            let (mut left, mut right, mut whole) = (Histogram::new(), Histogram::new(), Histogram::new());
            for value in &values[..cut] { left.record(*value); }
            for value in &values[cut..] { right.record(*value); }
            for value in &values { whole.record(*value); }
            left.merge(&right);
            prop_assert_eq!(left.count(), whole.count());
            prop_assert_eq!(left.quantile_ns(0.9), whole.quantile_ns(0.9));
        }
    }
}
