//! What clients on several hosts reached together in one test: whether the link is full, whether more of them add anything,
//! and which of them differ from the others.
//!
//! Not here: the rates, which are each suite's.

use narrows_analysis::spread::{ClientSpread, MixtureOutcome};
use narrows_analysis::{BUSY_RATIO, PAYLOAD_RATIO, UNEQUAL_RATIO};
use narrows_model::Segment;
use narrows_model::quantity::storage_rate;
use narrows_model::summary::SegmentSummary;
use narrows_model::units::{BytesPerSec, ratio};

/// KB are 1024 bytes, as in all classic tables.
const KB: f64 = 1024.0;
/// From this share of its ceiling on a link is full: the limit of the verdict.
const FULL_RATIO: f64 = 0.9;
/// A rate above the ceiling by less than this is the ceiling's own noise.
const ABOVE_RATIO: f64 = 1.02;
/// Below this ratio of all clients to one alone, more of them have added nothing.
const ADDED_RATIO: f64 = 1.1;
/// Most names of one kind in a sentence.
const NAMES_MAX: usize = 8;

/// The data that a link which all hosts share can transfer, and how that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LinkCeiling {
    /// The rate of data in KB/s.
    pub(crate) kb_per_s: f64,
    /// Whether it is of the link's rate as it was given, not measured.
    pub(crate) is_given: bool,
}

impl LinkCeiling {
    /// Of the link whose rate was `given`, the part that is data in full packets; else that of the network as measured from all
    /// hosts at once.
    pub(crate) fn new(given: Option<BytesPerSec>, segments: &[SegmentSummary]) -> Option<Self> {
        let measured = || {
            let network = segments.iter().find(|segment| segment.id == Segment::NetworkBandwidth)?;
            network.ceiling_bytes_per_s
        };
        let ceiling = |rate: BytesPerSec, is_given| Self { kb_per_s: rate.0 / KB, is_given };
        let of_data = |rate: BytesPerSec| BytesPerSec(rate.0 * PAYLOAD_RATIO);
        given.map(|rate| ceiling(of_data(rate), true)).or_else(|| measured().map(|rate| ceiling(rate, false)))
    }

    /// What is above this did not come over the link, in KB/s. Of a link as given that is its whole rate: large packets have
    /// hardly any headers, and rate limits of virtual links do not count all of them.
    fn most_kb_per_s(&self) -> f64 {
        let whole = if self.is_given { self.kb_per_s / PAYLOAD_RATIO } else { self.kb_per_s };
        ABOVE_RATIO * whole
    }

    /// The ceiling for people.
    pub(crate) fn words(&self) -> String {
        let source =
            if self.is_given { "as given, without headers" } else { "as measured from all hosts at once" };
        format!("the {} of the link, {source}", data_rate(self.kb_per_s))
    }
}

/// What several clients reached in one test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostLoad<'a> {
    /// The test.
    pub(crate) test: &'a str,
    /// The names of the clients, in their order.
    pub(crate) names: &'a [String],
    /// The rate of each: KB/s, or operations a second.
    pub(crate) rates: &'a [f64],
    /// That of all together: all that they moved over the longest time of any. The sum of their rates is more where they did
    /// not end together.
    pub(crate) over_longest: f64,
    /// That of one client with no other beside it.
    pub(crate) alone: Option<f64>,
    /// The share of a CPU that each used, in percent.
    pub(crate) cpu_percent: Option<f64>,
    /// What they share.
    pub(crate) link: Option<LinkCeiling>,
    /// A rate for people: [`data_rate`], or that of operations.
    pub(crate) shown: fn(f64) -> String,
}

impl HostLoad<'_> {
    /// The sentences on it; none for a single client.
    pub(crate) fn sentences(&self) -> Vec<String> {
        if self.rates.len() < 2 || self.names.len() != self.rates.len() {
            return Vec::new();
        }
        self.verdict().into_iter().chain(self.different()).collect()
    }

    fn sum(&self) -> f64 {
        self.rates.iter().sum()
    }

    /// `N clients reach R together`, with both ends where they are apart.
    fn combined(&self) -> String {
        let (least, most) = (self.over_longest, self.sum());
        let rate = if most > ADDED_RATIO * least {
            format!("{} to {}", (self.shown)(least), (self.shown)(most))
        } else {
            (self.shown)(most)
        };
        format!("{}: {} clients reach {rate} together", self.test, self.rates.len())
    }

    fn is_busy(&self) -> bool {
        self.cpu_percent.is_some_and(|percent| percent >= 100.0 * BUSY_RATIO)
    }

    fn verdict(&self) -> Option<String> {
        self.by_link().or_else(|| self.by_one_alone())
    }

    /// What the link's ceiling shows. The sum of rates of clients that did not end together is more than what the link
    /// transferred at any time: what is certain is all of it over the longest time.
    fn by_link(&self) -> Option<String> {
        let link = self.link?;
        let (least, most) = (ratio(self.over_longest, link.kb_per_s)?, ratio(self.sum(), link.kb_per_s)?);
        let combined = self.combined();
        let of_link = format!("{:.0} % of {}", 100.0 * least, link.words());
        let faster = self.rates.iter().filter(|rate| **rate > link.most_kb_per_s()).count();
        if faster > 0 {
            return Some(format!(
                "{combined}; {faster} of them are each above {}: caches served them, and the sum shows nothing of what is \
                 shared",
                link.words()
            ));
        }
        if self.over_longest > link.most_kb_per_s() {
            return Some(format!("{combined}, {of_link}: caches served at least a part of it"));
        }
        if least >= FULL_RATIO {
            return Some(format!(
                "network saturated: {combined}, {of_link}: more hosts add nothing, and the clients are cleared"
            ));
        }
        (most >= FULL_RATIO).then(|| {
            format!(
                "{combined}, {of_link} over the longest time of any: they did not end together, and the figures do not show \
                 whether it was full"
            )
        })
    }

    /// What one client alone shows, where it is not its own CPU that limits it.
    fn by_one_alone(&self) -> Option<String> {
        let times = ratio(self.sum(), self.alone?)?;
        if self.is_busy() {
            return None;
        }
        let combined = self.combined();
        let of_link = |link: LinkCeiling| {
            let share = ratio(self.sum(), link.kb_per_s)?;
            Some(format!("; it is not the link, of which that is {:.0} %", 100.0 * share))
        };
        let count = self.rates.len() as f64;
        Some(if times < ADDED_RATIO {
            let rest = self
                .link
                .and_then(of_link)
                .unwrap_or_else(|| "; whether it is the link was not measured".to_owned());
            format!(
                "{combined}, {times:.2} x what one reaches alone: a shared resource is full with one client, and the \
                 clients are cleared{rest}"
            )
        } else if times >= FULL_RATIO * count {
            format!(
                "{combined}, {times:.2} x what one reaches alone: each is as fast as alone, and nothing that they share is full"
            )
        } else {
            format!(
                "{combined}, {times:.2} x what one reaches alone, so that each is at {:.0} % of its rate alone: they wait for \
                 what they share",
                100.0 * times / count
            )
        })
    }

    /// Hosts that are of another kind than the rest, by name.
    fn different(&self) -> Option<String> {
        let spread = ClientSpread::from_rates(self.rates)?;
        match &spread.mixture {
            MixtureOutcome::Several(modes) => {
                let centres: Vec<f64> = modes.iter().map(|mode| mode.centre).collect();
                let kinds = centres.iter().enumerate().map(|(index, centre)| {
                    let of_kind = |rate: f64| nearest(&centres, rate) == index;
                    format!("{} at about {}", self.named(of_kind), (self.shown)(*centre))
                });
                Some(format!(
                    "{}: hosts of several kinds, and no mean describes any of them: {}",
                    self.test,
                    kinds.collect::<Vec<_>>().join("; ")
                ))
            }
            MixtureOutcome::Untold | MixtureOutcome::One => {
                let is_slow = |rate: f64| rate * UNEQUAL_RATIO <= spread.median;
                let is_any = self.rates.len() > 2 && self.rates.iter().any(|rate| is_slow(*rate));
                is_any.then(|| {
                    format!(
                        "{}: stragglers, with half of the median of {} or less: {}",
                        self.test,
                        (self.shown)(spread.median),
                        self.named(is_slow)
                    )
                })
            }
        }
    }

    /// The names of the clients whose rate is of a kind.
    fn named(&self, is_of_kind: impl Fn(f64) -> bool) -> String {
        let all: Vec<&str> = self
            .names
            .iter()
            .zip(self.rates)
            .filter(|(_, rate)| is_of_kind(**rate))
            .map(|(name, _)| name.as_str())
            .collect();
        let first = all.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
        match all.len().saturating_sub(NAMES_MAX) {
            0 => first,
            more => format!("{first} and {more} more"),
        }
    }
}

/// The centre that a rate is nearest to, as a factor.
fn nearest(centres: &[f64], rate: f64) -> usize {
    let distance = |centre: f64| (rate.max(f64::MIN_POSITIVE) / centre).ln().abs();
    let all = centres.iter().enumerate();
    all.min_by(|one, other| distance(*one.1).total_cmp(&distance(*other.1))).map_or(0, |(index, _)| index)
}

/// A rate in KB/s for people.
pub(crate) fn data_rate(kb_per_s: f64) -> String {
    storage_rate(kb_per_s * KB)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (1..=count).map(|number| format!("n{number}")).collect()
    }

    const LINK: LinkCeiling = LinkCeiling { kb_per_s: 12_000.0, is_given: false };

    /// What is said of clients with these rates, which did equal work, beside `alone` and `link`.
    fn said(rates: &[f64], alone: Option<f64>, link: Option<LinkCeiling>) -> String {
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let load = HostLoad {
            test: "fwrite",
            names: &names(rates.len()),
            rates,
            over_longest: least * rates.len() as f64,
            alone,
            cpu_percent: Some(2.0),
            link,
            shown: data_rate,
        };
        load.sentences().join("\n")
    }

    #[test]
    fn a_full_link_is_called_saturated_and_clears_the_clients() {
        let text = said(&[2950.0; 4], Some(6000.0), Some(LINK));
        assert_eq!(
            text,
            "network saturated: fwrite: 4 clients reach 11.5 MiB/s together, 98 % of the 11.7 MiB/s of the link, as measured \
             from all hosts at once: more hosts add nothing, and the clients are cleared"
        );
        // The sum of rates is the link's, but one client had most of the time for itself.
        let apart = said(&[2000.0, 4000.0, 5900.0], None, Some(LINK));
        assert!(apart.contains("50 % of the") && apart.contains("did not end together"), "{apart}");
        // As measured: the sum is above the link, since one ended before the others.
        let text = said(&[2900.0, 3300.0, 3400.0, 3500.0], None, Some(LINK));
        assert!(text.starts_with("network saturated: ") && text.contains("97 % of the 11.7 MiB/s"), "{text}");
    }

    #[test]
    fn clients_that_add_nothing_below_the_link_are_cleared_and_so_is_the_link() {
        let text = said(&[750.0; 4], Some(2900.0), Some(LINK));
        assert!(
            text.contains("1.03 x what one reaches alone: a shared resource is full with one client"),
            "{text}"
        );
        assert!(
            text.ends_with("the clients are cleared; it is not the link, of which that is 25 %"),
            "{text}"
        );
        let text = said(&[750.0; 4], Some(2900.0), None);
        assert!(text.contains("; whether it is the link was not measured"), "{text}");
    }

    #[test]
    fn clients_that_scale_share_nothing_that_is_full() {
        let text = said(&[2800.0; 4], Some(2900.0), None);
        assert!(text.contains("3.86 x what one reaches alone: each is as fast as alone"), "{text}");
        let text = said(&[1500.0; 4], Some(2900.0), None);
        assert!(text.contains("each is at 52 % of its rate alone: they wait for what they share"), "{text}");
    }

    #[test]
    fn more_than_the_link_transfers_came_from_caches() {
        assert!(said(&[9000.0; 4], Some(2900.0), Some(LINK)).contains("caches served at least a part of it"));
        let text = said(&[500.0, 13_000.0], None, Some(LINK));
        assert!(text.contains("1 of them are each above the 11.7 MiB/s of the link"), "{text}");
    }

    #[test]
    fn a_link_as_given_is_full_up_to_its_whole_rate_as_packets_may_be_large() {
        let given = LinkCeiling::new(Some(BytesPerSec(12_500_000.0)), &[]);
        // Measured on a link of 100 Mbit/s: 102.4 % of what small packets leave for data.
        let text = said(&[2939.0; 4], None, given);
        assert!(
            text.starts_with("network saturated: ") && text.contains("102 % of the 11.2 MiB/s"),
            "{text}"
        );
        let text = said(&[3200.0; 4], None, given);
        assert!(text.contains("caches served at least a part of it"), "{text}");
    }

    #[test]
    fn a_process_that_uses_its_cpu_shows_nothing_of_what_is_shared() {
        let load = HostLoad {
            test: "putc",
            names: &names(2),
            rates: &[900.0, 900.0],
            over_longest: 1800.0,
            alone: Some(1700.0),
            cpu_percent: Some(96.0),
            link: None,
            shown: data_rate,
        };
        assert!(load.sentences().is_empty());
        assert!(HostLoad { rates: &[900.0], ..load }.sentences().is_empty());
    }

    #[test]
    fn stragglers_are_named_and_of_two_clients_neither_is_one() {
        let text = said(&[900.0, 1000.0, 400.0, 1100.0], None, None);
        assert_eq!(text, "fwrite: stragglers, with half of the median of 950 KiB/s or less: n3");
        assert_eq!(said(&[900.0, 100.0], None, None), "");
        assert_eq!(said(&[900.0, 1000.0, 800.0], None, None), "");
    }

    #[test]
    fn a_given_link_transfers_headers_too() {
        let link = LinkCeiling::new(Some(BytesPerSec(12.5e6)), &[]).unwrap();
        assert!((link.kb_per_s - 12.5e6 * 1448.0 / 1538.0 / 1024.0).abs() < 1e-6);
        assert_eq!(LinkCeiling::new(None, &[]), None);
        assert!(link.words().ends_with("of the link, as given, without headers"));
    }
}
