//! What the flags of a cell mean, for the lines below its table.

/// Known flags with their meaning.
const MEANINGS: &[(&str, &str)] = &[
    ("short_run", "measured for under half a second or fifty clock ticks: a rough figure"),
    ("few_operations", "fewer than fifty requests completed: a rough figure, and p99 is not meaningful"),
    ("errors", "requests failed; the figures count those that completed"),
    ("data_mismatch", "data read differs from data written: see VERIFIED DATA"),
    (
        "verified",
        "the workers generated and checked the blocks: compare its rates only with other verified cells",
    ),
    ("incomplete", "stopped before its planned end, or a repetition is missing"),
    ("steal", "the hypervisor took more than 1 % of the machine's CPU time"),
    (
        "foreign_load",
        "other programs, or other virtual machines on its host, took CPU time on a machine of the path",
    ),
    (
        "measured_again",
        "measured twice, since others disturbed it or the verdict rests on it: the figures are those of the quieter \
         measurement, of two quiet ones of the second",
    ),
    ("unsteady", "the rate was not steady: repeat with more time per cell"),
    (
        "ceiling_exceeded",
        "faster than a segment measured alone at the same settings: a cache, or a ceiling that is too low",
    ),
    (
        "not_cold",
        "requested as a cold read, but less than nine tenths came from the device: a cache served the rest; limit the \
        load to one pass",
    ),
    ("in_flight_below", "fewer requests in flight than requested: not the intended load"),
    ("interval_not_reached", "its trials ended before the interval was as narrow as requested"),
    ("steady_not_reached", "its trials ended before the rate was steady as requested"),
    (
        "count_not_reached",
        "a trial ran out of time before its count of operations or bytes: raise stop.measure or seconds",
    ),
    ("behind_schedule", "an open loop offered more than was completed: the backlog of requests kept growing"),
    (
        "backlog_at_end",
        "more than a thousandth of an open loop's requests had not been started when their window ended",
    ),
    (
        "generator_late",
        "the load generator started more than a thousandth of an open loop's requests over 1 ms late: these waits are \
         its own, not the path's",
    ),
    ("window_too_short", "the rate did not become steady in the first half of the window: it was changing"),
    ("warm_up_in_window", "the window begins with a warm-up that moves its mean rate by more than 3 %"),
    ("mixture", "rate or response times have more than one mode: their mean describes none of them"),
    (
        "stuck_requests",
        "when a window ended a request had been in flight for longer than any that completed: max and p99.9 do not show it",
    ),
    ("wire_by_interfaces", "bytes on the wire are counted at whole interfaces, including other traffic"),
    ("one_control_group", "client and server share one CPU quota and compete for it"),
    ("little_law_violated", "more requests were in flight than requested: do not use these figures"),
    ("generator_limited", "reached 80 % of the load generator's ceiling: shows narrows, not the path"),
];

/// The meaning of a flag; `None` for one that this version does not know.
pub(crate) fn meaning(flag: &str) -> Option<&'static str> {
    MEANINGS.iter().find(|(code, _)| *code == flag).map(|(_, meaning)| *meaning)
}

/// Every flag of a cell with its meaning.
#[must_use]
pub(crate) fn flags() -> &'static [(&'static str, &'static str)] {
    MEANINGS
}

/// Letters for the flags of a table, in the order in which they are met.
#[derive(Debug, Default)]
pub(crate) struct Legend {
    flags: Vec<String>,
}

impl Legend {
    /// The letters of `flags`: `a`, `ab`.
    pub(crate) fn letters(&mut self, flags: &[String]) -> String {
        let mut letters: Vec<char> = flags.iter().map(|flag| self.letter(flag)).collect();
        letters.sort_unstable();
        letters.into_iter().collect()
    }

    fn letter(&mut self, flag: &str) -> char {
        let index = self.flags.iter().position(|known| known == flag).unwrap_or_else(|| {
            self.flags.push(flag.to_owned());
            self.flags.len() - 1
        });
        // There are some twenty flags; those past the alphabet could not be distinguished anyway.
        ('a'..='z').nth(index).unwrap_or('?')
    }

    /// Each flag that was met: letter, code, meaning.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        self.flags.iter().zip('a'..='z').map(|(flag, letter)| match meaning(flag) {
            Some(meaning) => format!("{letter}: {meaning} ({flag})"),
            None => format!("{letter}: {flag}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_keeps_its_letter() {
        let mut legend = Legend::default();
        let flags = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(legend.letters(&flags(&["steal", "errors"])), "ab");
        assert_eq!(legend.letters(&flags(&["errors", "new_one"])), "bc");
        let lines: Vec<String> = legend.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[2], "c: new_one");
    }
}
