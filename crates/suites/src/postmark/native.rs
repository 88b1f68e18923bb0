//! The native output: what the original prints of each phase, then its report.

use super::figures::{End, Outcome, outcome};
use super::options::Options;
use super::plan::Phase;
use super::report::report;
use narrows_model::Summary;

/// What the original says where the last file is deleted before the last transaction.
const OUT_OF_FILES: &str = "out of files!\nFor this workload, either increase the number of files or\ndecrease the number of transactions.";

/// The native output in its two parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// A line for each phase.
    pub phases: String,
    /// The report; empty for a run that is not whole, of which there is none.
    pub report: String,
}

/// What the original would print of the run of `summary`; `None` where it is of another suite.
#[must_use]
pub fn printed(summary: &Summary) -> Option<Printed> {
    let options = Options::of(summary.suite.as_ref()?)?;
    let outcome = outcome(summary, &options);
    let report =
        if outcome.end == End::Whole { report(&outcome.tally, options.report) } else { String::new() };
    Some(Printed { phases: phases(&outcome, &options), report })
}

/// Both parts as one text.
pub(super) fn native(summary: &Summary) -> Option<String> {
    printed(summary).map(|printed| printed.phases + &printed.report)
}

/// Behind the dots of a phase that broke off: a line of its own, which no phase of the original has.
const BROKE_OFF: &str = "\nincomplete: the run ended in this phase, and has no report";

/// The lines of the phases; of a run that broke off the last one says so.
fn phases(outcome: &Outcome, options: &Options) -> String {
    let Outcome { tally, end } = outcome;
    let broken = |phase: Phase| *end == End::Broken(phase);
    let mut lines = Vec::new();
    if options.has_subdirectories {
        lines.push("Creating subdirectories...Done".to_owned());
    }
    let ending = |phase: Phase| if broken(phase) { BROKE_OFF } else { "Done" };
    lines.push(format!("Creating files...{}", ending(Phase::Create)));
    if !broken(Phase::Create) {
        let halves = tally.created_mixed + tally.deleted_mixed;
        let (done, ending) = match end {
            End::OutOfFiles => (halves, OUT_OF_FILES),
            End::Broken(Phase::Transactions) => (halves, BROKE_OFF),
            _ => (options.transactions, "Done"),
        };
        let step = (options.transactions / 10).max(1);
        let dots = usize::try_from(done / step).unwrap_or_default();
        lines.push(format!("Performing transactions{}{ending}", ".".repeat(dots)));
    }
    if !broken(Phase::Create) && !broken(Phase::Transactions) {
        lines.push(format!("Deleting files...{}", ending(Phase::Delete)));
        if options.has_subdirectories && !broken(Phase::Delete) {
            lines.push("Deleting subdirectories...Done".to_owned());
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::report::Tally;
    use super::super::settings::Report;
    use super::*;
    use narrows_model::Bytes;

    fn told(end: End, transactions: u64, has_subdirectories: bool) -> String {
        let tally = Tally { created_mixed: 20, deleted_mixed: 40, ..Tally::default() };
        let options = Options {
            number: 20,
            transactions,
            has_subdirectories,
            set_bytes: Bytes(1),
            report: Report::Verbose,
            memory: None,
        };
        phases(&Outcome { tally, end }, &options)
    }

    #[test]
    fn a_dot_stands_for_a_tenth_of_the_transactions() {
        // Read off the original, which ends with a division by zero below ten.
        for (transactions, dots) in [(500, 10), (12, 12), (40, 10), (30, 10), (19, 19), (25, 12), (9, 9)] {
            let line = format!("Performing transactions{}Done\n", ".".repeat(dots));
            assert!(told(End::Whole, transactions, false).contains(&line), "{transactions}");
        }
    }

    #[test]
    fn a_run_that_is_not_whole_ends_where_it_broke_off() {
        assert_eq!(
            told(End::Broken(Phase::Create), 100, true),
            format!("Creating subdirectories...Done\nCreating files...{BROKE_OFF}\n")
        );
        let ended = |end: &str, phase: Phase| {
            told(End::Broken(phase), 100, phase == Phase::Delete).ends_with(&format!("{end}{BROKE_OFF}\n"))
        };
        assert!(ended("Done\nPerforming transactions......", Phase::Transactions));
        assert!(ended("Done\nDeleting files...", Phase::Delete));
        let out = told(End::OutOfFiles, 100, false);
        assert!(
            out.ends_with("Performing transactions......out of files!\nFor this workload, either increase the number of files or\n\
                 decrease the number of transactions.\nDeleting files...Done\n"),
            "{out}"
        );
    }
}
