//! The words that reports use beside codes, segments and notes, each with its meaning, for `narrows explain WORD`.

use super::flags::{self, flags};
use super::style::Style;
use super::wrap::{Indent, paragraph};
use narrows_model::Cut;

/// A word of reports.
#[derive(Debug, Clone, Copy)]
struct ReportWord {
    /// As reports write it.
    word: &'static str,
    /// Other forms of it in reports.
    others: &'static [&'static str],
    meaning: &'static str,
}

const fn word(word: &'static str, others: &'static [&'static str], meaning: &'static str) -> ReportWord {
    ReportWord { word, others, meaning }
}

/// Kinds of load.
const LOADS: &[ReportWord] = &[
    word(
        "bulk",
        &[],
        "the largest blocks of the run with the most requests in flight: what copying large files does",
    ),
    word(
        "random",
        &["random read", "random write"],
        "the smallest blocks in random order with the most requests in flight: what many users or a database with many \
         connections do",
    ),
    word("small parallel", &[], "the smallest blocks in their order, with the most requests in flight"),
    word(
        "one-at-a-time",
        &[],
        "the smallest blocks with one request in flight: each waits for the one before, so the rate is one over the time \
         of a request",
    ),
    word(
        "synchronous",
        &["sync", "durable write", "synchronous write"],
        "the smallest blocks, one in flight, each write on stable storage before the next: what the log of a database does",
    ),
    word("several targets together", &[], "the load on all members or targets at once"),
    word(
        "files",
        &[
            "making files",
            "reading files",
            "appending to files",
            "stat of files",
            "deleting files",
            "transactions on files",
        ],
        "operations on whole files by name: creating, reading, appending, looking at attributes, deleting",
    ),
];

/// Figures and their units.
const FIGURES: &[ReportWord] = &[
    word(
        "in flight",
        &["x1", "x16", "at a time"],
        "requests that are not answered yet, those of all workers and clients together; `x16` is 16 of them",
    ),
    word("read", &["write"], "the direction of a load: read from the storage, or written to it"),
    word(
        "rate",
        &["MiB/s", "GiB/s", "KiB/s", "B/s"],
        "bytes that were completed, over the time to the last completion; KiB, MiB and GiB are powers of 1024",
    ),
    word(
        "op/s",
        &["thousand op/s", "million op/s", "iops"],
        "requests that were completed a second, whatever their size",
    ),
    word(
        "Mbit/s",
        &["Gbit/s", "kbit/s", "bit/s"],
        "the rate of a network, in powers of 1000 bits a second; 1 MiB/s is 8.39 Mbit/s",
    ),
    word(
        "each",
        &[],
        "mean time from the start of a request to its answer, where one is in flight: one over the rate",
    ),
    word(
        "p99",
        &["p50", "p90", "p99.9", "p999"],
        "a quantile of the response time: 99 of 100 requests were answered within it; p50 is the median, p99.9 leaves out one in a thousand",
    ),
    word("ns", &["us", "ms", "s"], "nanoseconds, microseconds, milliseconds and seconds"),
    word(
        "interval",
        &["+/-", "95 %"],
        "where the true mean is by the run's own variation, with the level in percent; other runs may differ by more, which `narrows noise` measures",
    ),
    word(
        "CPUs",
        &["CPU"],
        "processors as the kernel counts them; 2.00 CPUs is what two of them can do, and `client.cpu` is one where the load has one thread",
    ),
    word("KiB", &["MiB", "GiB", "B"], "1024 bytes, 1024 KiB, 1024 MiB; of a load the size of one request"),
    word(
        "round trip",
        &["RTT"],
        "the smallest time to a machine and back that the kernel measured on the connections of the load",
    ),
    word(
        "cell",
        &["cells", "cells measured"],
        "one load on one cut of the path; its id is CUT/OPERATION/BLOCK/DEPTH/CLIENTS, with qd for the depth of one worker, w for workers, c for clients",
    ),
    word(
        "skipped",
        &["left out"],
        "cells that were planned and not measured, each with its reason in `--detail` and in the record",
    ),
    word("trial", &["trials"], "one repetition of a cell"),
];

/// What is found, and the parts of a screen.
const FINDINGS: &[ReportWord] = &[
    word(
        "sure",
        &["confidence", "% sure"],
        "probability that the named segment is right, from simulated machines with a known fault: at most 90 % unless --confirm changed the segment, 80 % where client and server share a machine, 70 % where no rate could be predicted, 60 % where they share its CPUs or the segments do not add up",
    ),
    word(
        "limited by",
        &["LIMIT", "LIMIT?", "LIMITING", "limits"],
        "the segment that sets the rate of this load: relieving another one would not raise it",
    ),
    word(
        "without this limit",
        &["without these limits", "times as fast", "relief"],
        "the most that the load could gain if the named segment had no limit: what the next segment sustains, over the rate",
    ),
    word(
        "together with",
        &[],
        "several segments add up to the time of a request, and none of them alone is most of it",
    ),
    word(
        "cleared",
        &["not the limit", "exonerated"],
        "shown not to limit, by a figure of its own that `--detail` prints",
    ),
    word("undecided", &["not decided"], "measured, and neither shown to limit nor shown not to"),
    word(
        "not measured",
        &["NOT MEASURED"],
        "no figure of it exists in this run, so it is never called cleared; `--detail` says how to measure it",
    ),
    word(
        "not found",
        &["closest", "unknown"],
        "no measured segment was at its limit; the closest is the one with the least room left",
    ),
    word(
        "careful",
        &["Careful"],
        "findings that make figures doubtful; each has a code, and its evidence in `--detail`",
    ),
    word(
        "PATH",
        &[],
        "the segments that requests pass, each with how full the path made it and what it sustains alone",
    ),
    word("NEXT", &[], "what helps most now: what to measure, or what to change, with a command"),
    word(
        "segment",
        &["part"],
        "one stretch of the way from the application to the storage, which can limit alone: a CPU, the network, a cache, a device",
    ),
    word(
        "cut",
        &["SEGMENTS ALONE", "cut short"],
        "a load that goes only a part of the way, so that this part is measured alone; `narrows explain` lists the segments",
    ),
    word(
        "worker",
        &["workers", "w16", "x16, 2 workers"],
        "a thread of the load; each has its own requests in flight",
    ),
    word("client", &["clients", "c2", "c4"], "a process of the load, as one application or machine is"),
    word(
        "FUSE",
        &["daemon"],
        "a file system that a process serves (sshfs, bindfs, rclone): each request waits for that process",
    ),
    word(
        "hot blocks",
        &["hot-blocks"],
        "reads of the same few blocks again and again: the server has them in its memory, so that no device is waited for",
    ),
    word(
        "stuck",
        &["(stuck requests)"],
        "requests that were sent and not answered by the end of the measurement",
    ),
    word(
        "record",
        &["RECORD"],
        "the folder that a run writes: `narrows diagnose RECORD` gives the same verdict again",
    ),
    word(
        "FAIL IF",
        &["FAILED", "passed"],
        "the conditions of --fail-if. FAILED: the condition holds, for the whole interval where one is known; passed: it holds for none of it; undecided: the interval includes the threshold",
    ),
    word(
        "INCOMPLETE",
        &["incomplete run"],
        "not all that was planned was measured: the run was stopped, failed, or had too little time",
    ),
    word(
        "DATA LOST",
        &["DATA", "LOST", "EIO", "PEER_GONE"],
        "requests failed, with the names of their errors: the rates are of those that completed, and the run is not \
         trustworthy",
    ),
    word(
        "NOT TRUSTWORTHY",
        &["TRUSTWORTHY"],
        "the run ends with exit code 4: its first lines say why its figures are no basis for a decision",
    ),
    word(
        "MOUNT",
        &["FILE", "HOST", "HOST:PORT", "PORT", "DIR", "PROXYHOST"],
        "a part of an advised command that you fill in: where the storage is mounted, a file with the token, the address \
         of the storage server",
    ),
    word(
        "suspect",
        &[],
        "what seems to limit by the cells measured so far; the verdict may name another one",
    ),
    word(
        "PREDICTION",
        &["residual"],
        "the path computed from its segments alone; the residual is what that does not explain",
    ),
    word("raised", &[], "the path was faster than the segment alone, so the path's rate is its ceiling"),
    word("of the time", &[], "a share of the time of the load's requests or threads, not of a rate"),
    word(
        "served by",
        &["SERVED HERE", "SERVED", "HERE", "cache"],
        "the data came from a cache, so that what is behind it was not measured",
    ),
    word(
        "offered load",
        &["delivered"],
        "a load that asks for a fixed rate, which the path delivers: nothing limits it",
    ),
];

fn all() -> impl Iterator<Item = &'static ReportWord> {
    [LOADS, FIGURES, FINDINGS].into_iter().flatten()
}

/// Cuts, which are in the ids of cells.
const CUTS: [Cut; 16] = [
    Cut::Generator,
    Cut::MemoryCopy,
    Cut::PageCache,
    Cut::NetworkStream,
    Cut::DirectStream,
    Cut::ServerMemory,
    Cut::ServerStorage,
    Cut::LocalDevice,
    Cut::DirectPath,
    Cut::EarlyPath,
    Cut::ChangedPath,
    Cut::RoundTrip,
    Cut::HotBlocks,
    Cut::MoreConnections,
    Cut::UserClient,
    Cut::Path,
];

/// Every word, note and cut that has a page, for what was probably meant by another word.
#[must_use]
pub fn explained_words() -> Vec<&'static str> {
    let forms = all().flat_map(|known| std::iter::once(known.word).chain(known.others.iter().copied()));
    let notes = flags().iter().map(|(note, _)| *note);
    forms.chain(notes).chain(CUTS.iter().map(|cut| cut.name())).collect()
}

/// The meaning of a word, note or cut of a report as a page; `None` where it is none. Upper and lower case are alike.
#[must_use]
pub fn word_page(asked: &str, style: &Style) -> Option<String> {
    let meaning = flags::meaning(asked)
        .map(|meaning| format!("a note on a cell. {}", super::headline::capitalised(meaning)));
    let text = meaning
        .or_else(|| found(asked).map(|known| known.meaning.to_owned()))
        .or_else(|| cut_meaning(asked))?;
    let text = if text.ends_with('.') { text } else { text + "." };
    Some(format!("{asked}\n{}", paragraph(&text, Indent::all("  "), style.width)))
}

fn found(asked: &str) -> Option<&'static ReportWord> {
    let asked = asked.trim().trim_end_matches(':').to_lowercase();
    let count = asked.strip_prefix('x').is_some_and(|count| count.parse::<u32>().is_ok());
    let asked = if count { "x16" } else { &asked };
    let is_named = |known: &&ReportWord| {
        std::iter::once(&known.word).chain(known.others).any(|form| form.to_lowercase() == asked)
    };
    all().find(is_named)
}

fn cut_meaning(asked: &str) -> Option<String> {
    let cut = CUTS.iter().find(|cut| cut.name() == asked)?;
    let use_of = match cut.segment() {
        Some(segment) => format!("Its rate is the ceiling of {segment}: {}", segment.title()),
        None => "The others are compared with it".to_owned(),
    };
    Some(format!("a cut: the load measured up to this layer only. {use_of}. See docs/reference/cuts.md"))
}

/// Every note of a cell and every word, with its meaning, for a list.
#[must_use]
pub fn all_words() -> Vec<(&'static str, &'static str)> {
    flags().iter().copied().chain(all().map(|known| (known.word, known.meaning))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_form_of_a_word_has_two_meanings() {
        // A word may have one form in several cases.
        let forms_of = |known: &ReportWord| -> BTreeSet<String> {
            std::iter::once(&known.word).chain(known.others).map(|form| form.to_lowercase()).collect()
        };
        let forms: Vec<String> = all().flat_map(forms_of).collect();
        for form in &forms {
            assert_eq!(forms.iter().filter(|other| *other == form).count(), 1, "{form}");
        }
    }

    #[test]
    fn words_are_found_in_any_case_and_with_any_count_in_flight() {
        for asked in ["Bulk", "P99", "x64", "short_run", "network-stream", "limit"] {
            assert!(word_page(asked, &Style::default()).is_some(), "{asked}");
        }
        assert_eq!(word_page("xylophone", &Style::default()), None);
    }
}
