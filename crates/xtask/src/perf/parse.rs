//! The rates in what the programs print: narrows' summary, fio's and iperf3's JSON, the bare loops' line.

use anyhow::{Context, bail};
use serde_json::Value;

fn json(text: &str) -> anyhow::Result<Value> {
    // fio may say something before its JSON.
    let start = text.find('{').context("the output holds no JSON")?;
    serde_json::from_str(&text[start..]).context("the output is not JSON")
}

fn number(value: &Value, pointer: &str) -> anyhow::Result<f64> {
    let found =
        value.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("no number at {pointer}"))?;
    if found > 0.0 { Ok(found) } else { bail!("{pointer} is {found}: nothing was measured") }
}

/// Operations a second of the only cell of a study.
///
/// # Errors
/// Another number of cells, a cell with failures, or one that measured nothing.
pub(crate) fn study_ops_per_s(text: &str) -> anyhow::Result<f64> {
    let summary = json(text)?;
    let cells = summary.pointer("/cells").and_then(Value::as_array).context("the summary has no cells")?;
    let [cell] = cells.as_slice() else {
        bail!("the summary has {} cells where one was planned", cells.len())
    };
    if let Some(error) = cell.pointer("/errors/0") {
        bail!("operations failed: {error}");
    }
    number(cell, "/ops_per_s")
}

/// Reads a second of fio's only job.
///
/// # Errors
/// JSON of another form, or a job that failed.
pub(crate) fn fio_reads_per_s(text: &str) -> anyhow::Result<f64> {
    let output = json(text)?;
    if let Some(error) = output.pointer("/jobs/0/error").and_then(Value::as_i64).filter(|error| *error != 0) {
        bail!("fio's job failed with error {error}");
    }
    number(&output, "/jobs/0/read/iops")
}

/// Bytes a second that iperf3's receiver counted.
///
/// # Errors
/// JSON of another form, or iperf3's own error.
pub(crate) fn iperf3_bytes_per_s(text: &str) -> anyhow::Result<f64> {
    let output = json(text)?;
    if let Some(error) = output.pointer("/error") {
        bail!("iperf3 says: {error}");
    }
    Ok(number(&output, "/end/sum_received/bits_per_second")? / 8.0)
}

/// Bytes a second of the only point of a buffer experiment.
///
/// # Errors
/// Another number of points, or one without a whole trial.
pub(crate) fn relay_bytes_per_s(text: &str) -> anyhow::Result<f64> {
    let summary = json(text)?;
    let points =
        summary.pointer("/relay/points").and_then(Value::as_array).context("the summary has no points")?;
    match points.as_slice() {
        [point] => number(point, "/rate_mean"),
        points => bail!("the summary has {} points where one was planned", points.len()),
    }
}

/// Rates in the verbose report of PostMark: files created alone, transactions, files deleted alone, a second.
///
/// # Errors
/// A report that lacks one of them.
pub(crate) fn postmark_rates(text: &str) -> anyhow::Result<[f64; 3]> {
    let rate = |words: &str| {
        let (_, behind) = postmark_line(text, words)?.split_once('(').context("a line without a rate")?;
        behind
            .split_whitespace()
            .next()
            .and_then(|word| word.parse().ok())
            .context("a rate that is no number")
    };
    Ok([rate("Creation alone:")?, rate("seconds of transactions")?, rate("Deletion alone:")?])
}

/// Files that PostMark deleted after its transactions.
///
/// # Errors
/// A report without that figure.
pub(crate) fn postmark_deleted_alone(text: &str) -> anyhow::Result<f64> {
    let mut words = postmark_line(text, "Deletion alone:")?.split_whitespace();
    words.find_map(|word| word.parse().ok()).context("a count that is no number")
}

fn postmark_line<'t>(text: &'t str, words: &str) -> anyhow::Result<&'t str> {
    text.lines().find(|line| line.contains(words)).with_context(|| format!("the report has no `{words}`"))
}

/// A number of the line that a bare loop prints.
///
/// # Errors
/// A line of another form.
pub(crate) fn bare(text: &str, key: &str) -> anyhow::Result<f64> {
    number(&json(text)?, &format!("/{key}"))
}

/// Reads a second of iscsi-perf: the average on its last line, which it writes over again and again.
///
/// # Errors
/// Output of another form.
pub(crate) fn iscsi_perf_ops_per_s(text: &str) -> anyhow::Result<f64> {
    let (_, last) = text.rsplit_once("iops average ").context("iscsi-perf reported no average")?;
    let rate = last.split_whitespace().next().and_then(|word| word.parse().ok());
    rate.filter(|rate| *rate > 0.0).context("iscsi-perf reported an average that is no rate")
}

/// Seconds that `qemu-img bench` took for its requests.
///
/// # Errors
/// Output of another form.
pub(crate) fn qemu_img_seconds(text: &str) -> anyhow::Result<f64> {
    let (_, rest) = text.split_once("Run completed in ").context("qemu-img reported no end")?;
    let seconds = rest.split_whitespace().next().and_then(|word| word.parse().ok());
    seconds.filter(|seconds| *seconds > 0.0).context("qemu-img reported a time that is none")
}

/// Where a server says that it listens: the last word of its first line.
pub(crate) fn address(text: &str) -> Option<&str> {
    let (line, _) = text.split_once('\n')?;
    line.split_whitespace().last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_postmark_report_gives_the_rate_of_each_phase() {
        let report = "Time:\n\t7 seconds total\n\t5 seconds of transactions (10000 per second)\n\
                      \t\tCreation alone: 5000 files (2500 per second)\n\t\tDeletion alone: 4850 files (4800 per second)\n";
        assert_eq!(postmark_rates(report).ok(), Some([2500.0, 10_000.0, 4800.0]));
        assert_eq!(postmark_deleted_alone(report).ok(), Some(4850.0));
        assert!(postmark_rates("Creating files...Done\nPerforming transactions..out of files!\n").is_err());
    }

    #[test]
    fn the_last_average_of_iscsi_perf_is_its_rate() {
        let text =
            "\rlba 8, iops current 5 (0 MB/s), iops average 5 (0 MB/s)\riops average 12345 (48 MB/s)\n";
        assert_eq!(iscsi_perf_ops_per_s(text).ok(), Some(12_345.0));
        assert!(iscsi_perf_ops_per_s("failed to connect").is_err());
        assert!(iscsi_perf_ops_per_s("iops average 0 (0 MB/s)").is_err());
    }

    #[test]
    fn the_time_of_qemu_img_is_that_of_its_run() {
        let text =
            "Sending 100 read requests, 4096 bytes each, 8 in parallel\nRun completed in 1.250 seconds.\n";
        assert_eq!(qemu_img_seconds(text).ok(), Some(1.25));
        assert!(qemu_img_seconds("qemu-img: could not open").is_err());
    }

    #[test]
    fn a_studys_rate_is_that_of_its_only_cell() {
        let summary = r#"{"cells":[{"ops_per_s":1000.5,"errors":[]}]}"#;
        assert_eq!(study_ops_per_s(summary).ok(), Some(1000.5));
    }

    #[test]
    fn a_study_of_two_cells_of_failures_or_of_nothing_gives_no_rate() {
        for (summary, why) in [
            (r#"{"cells":[{},{}]}"#, "2 cells"),
            (r#"{"cells":[{"ops_per_s":1.0,"errors":[{"errno":"EIO"}]}]}"#, "EIO"),
            (r#"{"cells":[{"ops_per_s":null,"errors":[]}]}"#, "no number at /ops_per_s"),
            ("", "no JSON"),
        ] {
            let error = study_ops_per_s(summary).expect_err(summary);
            assert!(format!("{error:#}").contains(why), "{error:#}");
        }
    }

    #[test]
    fn the_rate_of_a_buffer_experiment_is_that_of_its_only_point() {
        let summary = r#"{"relay":{"points":[{"rate_mean":5e8}]}}"#;
        assert_eq!(relay_bytes_per_s(summary).ok(), Some(5e8));
        for summary in [r#"{"relay":{"points":[]}}"#, r#"{"relay":{"points":[{"rate_mean":null}]}}"#, "{}"] {
            assert!(relay_bytes_per_s(summary).is_err(), "{summary}");
        }
    }

    #[test]
    fn fios_reads_are_found_behind_what_it_says_first() {
        let output = "note: both iodepth >= 1 ...\n{\"jobs\":[{\"error\":0,\"read\":{\"iops\":2500.0}}]}";
        assert_eq!(fio_reads_per_s(output).ok(), Some(2500.0));
        let failed = r#"{"jobs":[{"error":5,"read":{"iops":2500.0}}]}"#;
        assert!(fio_reads_per_s(failed).expect_err("a job that failed").to_string().contains("error 5"));
    }

    #[test]
    fn iperf3s_bits_become_bytes_and_its_error_is_reported() {
        let output = r#"{"end":{"sum_received":{"bits_per_second":16e9}}}"#;
        assert_eq!(iperf3_bytes_per_s(output).ok(), Some(2e9));
        let error = iperf3_bytes_per_s(r#"{"error":"unable to connect"}"#).expect_err("no test");
        assert!(error.to_string().contains("unable to connect"), "{error}");
    }

    #[test]
    fn a_bare_loops_line_gives_its_numbers_by_name() {
        assert_eq!(bare("{\"ops_per_s\":12.5}\n", "ops_per_s").ok(), Some(12.5));
        assert!(bare("{\"ops_per_s\":0}\n", "ops_per_s").is_err());
    }

    #[test]
    fn an_address_is_the_last_word_of_a_whole_first_line() {
        assert_eq!(address("listening on 127.0.0.1:7300\n"), Some("127.0.0.1:7300"));
        assert_eq!(address("127.0.0.1:7300\n"), Some("127.0.0.1:7300"));
        assert_eq!(address("listening on 127.0"), None, "the line may go on");
    }
}
