//! PostMark: its report, verbose or terse, as version 1.5 and its successors print it.
//!
//! Deliberately absent: its command language, and running it.

mod report;

use crate::import::{Import, ImportOptions, Importer};
use narrows_model::located::Findings;
use narrows_model::observation::{Claim, ObservedOp, Quality};
use narrows_model::units::{BytesPerSec, OpsPerSec, ratio};
use narrows_model::{Observation, Observations};
use report::{PostmarkReport, ReportClock};

/// The clock of the report ticks once a second; with fewer ticks a rate is off by more than 2 %.
const TICKS_MIN: f64 = 50.0;

/// The importer.
pub(crate) static IMPORTER: Importer = Importer {
    name: "postmark",
    title: "PostMark",
    definition: "The report, verbose or terse; several in one file are several runs. Counts and times become \
                 observations of the transactions, of what they read, append to, create and delete, of creating and \
                 deleting alone and in all, and of the data read and written; rates are recomputed from counts. Times are whole seconds: rates over fewer than 50 seconds are approximate, \
                 and those over one second, which may be much less, are lower bounds. Reports of `narrows suite \
                 postmark` have finer times, which are used as they are; a terse one has their rates, which are used as \
                 printed.",
    source: "PostMark 1.51 of Debian (postmark 1.53), what it prints",
    example: "22 seconds of transactions (4545 per second)",
    takes: &[],
    looks_like: report::looks_like,
    reads_tables: false,
    read,
};

fn read(text: &str, _: &ImportOptions, findings: &mut Findings<'_>) -> Import {
    let reports = report::reports(text, findings);
    let mut made = Import {
        observations: Observations { title: "PostMark".to_owned(), ..Observations::default() },
        ..Import::default()
    };
    let several = reports.len() > 1;
    for (index, report) in reports.iter().enumerate() {
        let run = if several { format!("run {} ", index + 1) } else { String::new() };
        made.observations.observations.extend(observations(&run, report));
        let (checked, claims) = checks(&run, report);
        made.observations.claims.extend(claims);
        made.remarks.extend(checked);
        if report.transactions_s < TICKS_MIN && report.clock == ReportClock::WholeSeconds {
            made.remarks.push(format!(
                "{run}transactions took {} s on a clock of whole seconds: their rate is {}.",
                report.transactions_s,
                if report.transactions_s > 1.0 { "approximate" } else { "a lower bound" }
            ));
        }
    }
    made
}

fn observations(run: &str, report: &PostmarkReport) -> Vec<Observation> {
    let clock = report.clock;
    let of_count = |name: &str, count: f64, seconds: f64| {
        let mut one = timed(format!("{run}{name}"), ObservedOp::Metadata, seconds, clock);
        one.ops_per_s = Some(OpsPerSec(clock.rate(count, seconds).0));
        one
    };
    let mut all = vec![of_count("transactions", report.transactions(), report.transactions_s)];
    let alone = [
        ("creation alone", report.created_alone, report.creation_s()),
        ("deletion alone", report.deleted_alone, report.deletion_s()),
    ];
    all.extend(alone.into_iter().filter_map(|(name, count, seconds)| Some(of_count(name, count?, seconds?))));
    let parts = [
        ("read with transactions", report.read, report.transactions_s),
        ("appended with transactions", report.appended, report.transactions_s),
        ("created with transactions", report.created_mixed, report.transactions_s),
        ("deleted with transactions", report.deleted_mixed, report.transactions_s),
        ("created in all", report.created, report.total_s),
        ("deleted in all", report.deleted, report.total_s),
    ];
    all.extend(parts.into_iter().filter_map(|(name, count, seconds)| Some(of_count(name, count?, seconds))));
    let (read, written) = (report.bytes_read, report.bytes_written);
    let data = [
        ("data", ObservedOp::Mixed, read + written),
        ("data read", ObservedOp::Read, read),
        ("data written", ObservedOp::Write, written),
    ];
    all.extend(data.map(|(name, op, bytes)| {
        let mut one = timed(format!("{run}{name}"), op, report.total_s, clock);
        one.bytes_per_s = Some(BytesPerSec(clock.rate(bytes, report.total_s).0));
        one.note = Some(format!("{:.2} MiB over the whole run", bytes / 1_048_576.0));
        one
    }));
    all.retain(|one| {
        one.ops_per_s.is_some_and(|rate| rate.0 > 0.0) || one.bytes_per_s.is_some_and(|rate| rate.0 > 0.0)
    });
    all
}

fn timed(id: String, op: ObservedOp, seconds: f64, clock: ReportClock) -> Observation {
    let quality = clock.rate(1.0, seconds).1;
    let is_timed = quality != Quality::LowerBound && seconds > 0.0 && clock != ReportClock::FineRates;
    let elapsed_s = is_timed.then_some(seconds);
    Observation { id, op, elapsed_s, quality, clients: Some(1), ..Observation::default() }
}

impl ReportClock {
    /// A rate, and how it is to be taken. One whole second is also printed for none: then it was less than two.
    fn rate(self, amount: f64, seconds: f64) -> (f64, Quality) {
        match self {
            Self::Fine | Self::FineRates => (ratio(amount, seconds).unwrap_or(0.0), Quality::Exact),
            Self::WholeSeconds if seconds <= 1.0 => (amount / 2.0, Quality::LowerBound),
            Self::WholeSeconds if seconds < TICKS_MIN => (amount / seconds, Quality::Approximate),
            Self::WholeSeconds => (amount / seconds, Quality::Exact),
        }
    }
}

/// Printed rates and sums, computed again.
fn checks(run: &str, report: &PostmarkReport) -> (Option<String>, Vec<Claim>) {
    let printed: Vec<Claim> = report.claims(run);
    let count = printed.len();
    let is_true =
        |claim: &Claim| (claim.left_value - claim.right).abs() <= claim.tolerance_ratio * claim.right.abs();
    let broken: Vec<Claim> = printed.into_iter().filter(|claim| !is_true(claim)).collect();
    let remark = format!("{run}{} of {count} printed sums and rates are correct.", count - broken.len());
    ((count > 0).then_some(remark), broken)
}

/// How far a rate that was truncated to a whole number may be from its quotient.
fn cut(right: f64) -> f64 {
    ratio(1.0, right).unwrap_or(0.0).min(10.0)
}
