//! A sharp fall where files grow: a memory ran out, and smaller files measured it.

use super::{Basis, Rule, SegmentVerdict, Stance, Tier};
use crate::case::Cases;
use crate::case::table;
use crate::text;
use crate::thresholds::{FALL_RATIO, INFERRED_CONFIDENCE, SIZES_MIN};
use narrows_model::counters::Role;
use narrows_model::diagnosis::Severity;
use narrows_model::observation::ObservedOp;
use narrows_model::{Bytes, Observation, Segment};

/// The factor that says the file size again, where a file names what is compared.
const FILE_FACTOR: &str = "file_kib";

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "file-size-fall",
    slug: "cache_served",
    segment: Segment::ClientCache,
    title: "the rate falls where files no longer fit in memory",
    definition: "Of loads that differ only in file size, all above some size have at most half the rate of those \
                 below: the page cache was exhausted there. Smaller files measured the cache, larger ones the path \
                 behind it; the fall itself is not a property of the device. Where memory_bytes of the client are \
                 given and the files that fell were smaller than them, the cache of the server is meant.",
    formula: "rate(file) >= 2 x the largest rate of any larger file, over 3 sizes or more",
    source: "IOzone's documentation on the surface of file and record sizes; Traeger et al., ACM Transactions on Storage 4 \
             (2008)",
    example: "reads of 2.4 GB/s up to files of 512 MiB and 90 MB/s from 1 GiB on",
    how_to_measure: None,
    how_to_write: Some(
        "repeat the load with files of several sizes, some of them twice the memory of client and server",
    ),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    let of_file = |name: &str| name == FILE_FACTOR;
    let groups = table
        .groups(|one| one.file_bytes.map(|_| table::setting_under(one, one.op, &of_file)))
        .into_iter()
        .filter(|group| group.len() >= SIZES_MIN);
    groups.flat_map(of_group).collect()
}

/// Observations by file size with their rates, the smallest first.
fn of_group(group: Vec<&Observation>) -> Vec<SegmentVerdict> {
    let mut sized: Vec<(Bytes, f64, &Observation)> = group
        .into_iter()
        .filter_map(|one| Some((one.file_bytes?, table::bytes_per_s(one)?.high, one)))
        .collect();
    sized.sort_by_key(|(bytes, _, _)| *bytes);
    let Some(last) = (1..sized.len()).rev().find_map(|index| fall(&sized, index)) else { return Vec::new() };
    sized
        .iter()
        .take(last.index)
        .filter(|(_, rate, _)| *rate >= FALL_RATIO * last.most_after)
        .map(|(_, _, one)| report_fall(one, &last))
        .collect()
}

/// Where the rates fall.
struct FileSizeFall {
    /// The first that fell.
    index: usize,
    before: Bytes,
    after: Bytes,
    /// The fastest of those that fell.
    most_after: f64,
    times: f64,
}

fn fall(sized: &[(Bytes, f64, &Observation)], index: usize) -> Option<FileSizeFall> {
    let (before, after) = sized.split_at(index);
    let (last, rate, _) = *before.last()?;
    let (first, _, _) = *after.first()?;
    let most_after = after.iter().map(|(_, rate, _)| *rate).fold(0.0, f64::max);
    let fell = first > last && most_after > 0.0 && rate >= FALL_RATIO * most_after;
    fell.then(|| FileSizeFall { index, before: last, after: first, most_after, times: rate / most_after })
}

fn report_fall(one: &Observation, fall: &FileSizeFall) -> SegmentVerdict {
    let of_client = one.memory_bytes.get(&Role::Client);
    let at_server = of_client.is_some_and(|memory| fall.after < *memory);
    let cache = if at_server { Segment::ServerCache } else { Segment::ClientCache };
    let memory = of_client.map_or_else(String::new, |memory| format!(" (memory: {})", text::amount(*memory)));
    let why = if one.op == ObservedOp::Write {
        "below, memory absorbed the writes; above, the rate is that of write-back"
    } else {
        "below, memory served the load"
    };
    let text = format!(
        "{}: from files of {} to {} the rate falls {:.1} times{memory}: {why}",
        one.id,
        text::amount(fall.before),
        text::amount(fall.after),
        fall.times
    );
    let verdict = SegmentVerdict::new(cache, &one.id, Stance::Limits, Basis::State, 1.0)
        .with_confidence_max(INFERRED_CONFIDENCE);
    SegmentVerdict { severity: Severity::Warning, ..verdict }.with_tier(Tier::Voids).with_evidence(
        text,
        "rates by file size",
        "",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::observed::{first, named, read, slugs};
    use std::fmt::Write as _;

    fn observations(rates: [f64; 4], rest: &str) -> narrows_model::Observations {
        let mut rows = String::new();
        for (index, rate) in rates.iter().enumerate() {
            let bytes = 1_u64 << (28 + index);
            writeln!(rows, "[[observation]]\nid = \"{index}\"\nop = \"read\"\nbytes_per_s = {rate}\nfile_bytes = {bytes}\n{rest}").unwrap();
        }
        read(&rows)
    }

    #[test]
    fn a_fall_that_stays_is_the_cache_running_out() {
        let all = observations([2.4e9, 2.3e9, 9e7, 8.8e7], "");
        assert_eq!(first(&all), Segment::ClientCache);
        assert!(slugs(&all).contains(&"cache_served".to_owned()));
    }

    #[test]
    fn no_fall_and_a_dip_are_none() {
        for rates in [[2.4e9, 2.3e9, 2.4e9, 2.2e9], [2.4e9, 4e8, 2.3e9, 2.4e9], [9e7, 9e7, 2.4e9, 2.3e9]] {
            assert!(!named(&observations(rates, "")).contains(&Segment::ClientCache), "{rates:?}");
        }
    }

    #[test]
    fn files_that_still_fit_the_client_fell_at_the_server() {
        let all = observations([2.4e9, 2.3e9, 9e7, 8.8e7], "memory_bytes = { client = 17179869184 }");
        assert_eq!(first(&all), Segment::ServerCache);
    }
}
