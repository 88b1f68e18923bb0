//! The native output: what the original prints of each phase, then its report.

use super::figures::{PostmarkEnd, PostmarkOutcome, outcome};
use super::plan::PostmarkPhase;
use super::report::report;
use super::request::Request;
use crate::suite::request_of;
use narrows_model::Summary;

/// The first line: the version whose report this is, for programs that look for it, and who prints it.
pub const BANNER: &str = "PostMark v1.51 : by narrows\n";

/// What the original says where the last file is deleted before the last transaction.
const OUT_OF_FILES: &str = "out of files!\nFor this workload, either increase the number of files or\ndecrease the number of transactions.";

/// The native output of one run, without the first line, in its two parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeOutput {
    /// A line for each phase.
    pub phases: String,
    /// The report; empty for a run that is not whole, of which there is none.
    pub report: String,
}

/// What the original would print of the run of `summary`; `None` where it is of another suite.
#[must_use]
pub fn native_output(summary: &Summary) -> Option<NativeOutput> {
    let source = summary.suite.as_ref().filter(|source| source.name == super::NAME)?;
    request_of(source).map(|request| parts(&request, summary))
}

/// All of it as one text.
pub(super) fn native(request: &Request, summary: &Summary) -> String {
    let NativeOutput { phases, report } = parts(request, summary);
    format!("{BANNER}{phases}{report}")
}

fn parts(request: &Request, summary: &Summary) -> NativeOutput {
    let outcome = outcome(summary, &request.settings);
    let is_whole = outcome.end == PostmarkEnd::Whole;
    let report = is_whole.then(|| report(&outcome.tally, request.settings.report));
    NativeOutput { phases: phases(&outcome, request), report: report.unwrap_or_default() }
}

/// Behind the dots of a phase that broke off: a line of its own, which no phase of the original has.
const BROKE_OFF: &str = "\nincomplete: the run ended in this phase, and has no report";

/// The lines of the phases; of a run that broke off the last one says so.
fn phases(outcome: &PostmarkOutcome, request: &Request) -> String {
    let PostmarkOutcome { tally, end } = outcome;
    let transactions = request.settings.transactions;
    let broken = |phase: PostmarkPhase| *end == PostmarkEnd::Broken(phase);
    let mut lines = Vec::new();
    if request.has_subdirectories() {
        lines.push("Creating subdirectories...Done".to_owned());
    }
    let ending = |phase: PostmarkPhase| if broken(phase) { BROKE_OFF } else { "Done" };
    lines.push(format!("Creating files...{}", ending(PostmarkPhase::Create)));
    if !broken(PostmarkPhase::Create) {
        let halves = tally.created_mixed + tally.deleted_mixed;
        let (done, ending) = match end {
            PostmarkEnd::OutOfFiles => (halves, OUT_OF_FILES),
            PostmarkEnd::Broken(PostmarkPhase::Transactions) => (halves, BROKE_OFF),
            _ => (transactions, "Done"),
        };
        let step = (transactions / 10).max(1);
        let dots = usize::try_from(done.div_ceil(step)).unwrap_or_default();
        lines.push(format!("Performing transactions{}{ending}", ".".repeat(dots)));
    }
    if !broken(PostmarkPhase::Create) && !broken(PostmarkPhase::Transactions) {
        lines.push(format!("Deleting files...{}", ending(PostmarkPhase::Delete)));
        if request.has_subdirectories() && !broken(PostmarkPhase::Delete) {
            lines.push("Deleting subdirectories...Done".to_owned());
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::report::PostmarkTotals;
    use super::super::settings::PostmarkSettings;
    use super::super::testing::request;
    use super::*;

    fn printed_phases(end: PostmarkEnd, transactions: u64, has_subdirectories: bool) -> String {
        let tally = PostmarkTotals { created_mixed: 20, deleted_mixed: 40, ..PostmarkTotals::default() };
        let subdirectories = if has_subdirectories { 2 } else { 0 };
        let settings =
            PostmarkSettings { number: 20, transactions, subdirectories, ..PostmarkSettings::default() };
        phases(&PostmarkOutcome { tally, end }, &Request { settings, ..request() })
    }

    #[test]
    fn a_dot_stands_for_a_tenth_of_the_transactions_that_has_begun() {
        // Read off the original, which ends with a division by zero below ten.
        for (transactions, dots) in
            [(500, 10), (12, 12), (40, 10), (30, 10), (19, 19), (25, 13), (47, 12), (101, 11), (9, 9)]
        {
            let line = format!("Performing transactions{}Done\n", ".".repeat(dots));
            assert!(
                printed_phases(PostmarkEnd::Whole, transactions, false).contains(&line),
                "{transactions}"
            );
        }
    }

    #[test]
    fn a_run_that_is_not_whole_ends_where_it_broke_off() {
        assert_eq!(
            printed_phases(PostmarkEnd::Broken(PostmarkPhase::Create), 100, true),
            format!("Creating subdirectories...Done\nCreating files...{BROKE_OFF}\n")
        );
        let ended = |end: &str, phase: PostmarkPhase| {
            printed_phases(PostmarkEnd::Broken(phase), 100, phase == PostmarkPhase::Delete)
                .ends_with(&format!("{end}{BROKE_OFF}\n"))
        };
        assert!(ended("Done\nPerforming transactions......", PostmarkPhase::Transactions));
        assert!(ended("Done\nDeleting files...", PostmarkPhase::Delete));
        let out = printed_phases(PostmarkEnd::OutOfFiles, 100, false);
        assert!(
            out.ends_with("Performing transactions......out of files!\nFor this workload, either increase the number of files or\n\
                 decrease the number of transactions.\nDeleting files...Done\n"),
            "{out}"
        );
    }
}
