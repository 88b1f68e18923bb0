//! The native output: a table for each direction, with the published labels, in MB/s of 1,048,576 bytes.

use super::figures::{JovianRate, JovianRow};
use super::label::Label;
use super::request::Request;
use crate::figure::mb_per_s;
use narrows_model::Op;
use std::fmt::Write;

/// What is printed where a figure is missing.
const MISSING: &str = "-";

/// The tables of `rows`.
pub(super) fn tables(rows: &[JovianRow], request: &Request) -> String {
    let mut out = format!("Jovian-2: {}\n{}\n", request.load(), means(rows, request));
    for op in [Op::Write, Op::Read] {
        // Writing into a string cannot fail.
        let _ = write!(out, "\n{}\n{}", op.name(), table(rows, op));
    }
    out
}

/// How the means were made, as reported by the trials themselves.
fn means(rows: &[JovianRow], request: &Request) -> String {
    let all = rows.iter().flat_map(|row| [row.write, row.read]).flatten();
    let fewest = all.map(|rate| rate.bytes_per_s.kept_count + rate.bytes_per_s.dropped_count).min();
    match fewest {
        None => "nothing was measured".to_owned(),
        Some(made) if made < 3 => {
            format!(
                "plain means of {made} of {} trials: fewer than 3 have no least and greatest to leave out",
                request.trials
            )
        }
        Some(made) => format!("means of {made} trials without the least and the greatest"),
    }
}

fn table(rows: &[JovianRow], op: Op) -> String {
    let mut lines = vec![["", "request", "MB/s", "MB/s a server", "scaling"].map(str::to_owned)];
    lines.extend(rows.iter().map(|row| line(row, op)));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5).map(width).collect();
    lines.iter().fold(String::new(), |mut out, line| {
        let _ = write!(out, "  {:<1$}", line[0], widths[0]);
        for (field, width) in line.iter().zip(&widths).skip(1) {
            let _ = write!(out, "  {field:>width$}");
        }
        out.push('\n');
        out
    })
}

fn line(row: &JovianRow, op: Op) -> [String; 5] {
    let rate = row.rate(op);
    let or_missing =
        |text_of: &dyn Fn(JovianRate) -> String| rate.map_or_else(|| MISSING.to_owned(), text_of);
    let servers = f64::from(row.label.servers());
    [
        row.label.to_string(),
        row.request.to_string(),
        or_missing(&|rate| mb_per_s(rate.bytes_per_s.mean)),
        or_missing(&|rate| {
            if row.label == Label::Local {
                MISSING.to_owned()
            } else {
                mb_per_s(rate.bytes_per_s.mean / servers)
            }
        }),
        or_missing(&|rate| rate.scaling.map_or_else(|| MISSING.to_owned(), |ratio| format!("{ratio:.2}"))),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{published as published_request, rows_of};
    use super::*;
    use crate::figure::trimmed_mean;

    /// The published figures of one node, beside configurations as the same publication names them.
    const PUBLISHED: &str = include_str!("data/jovian2_alpha_1996.csv");

    fn published(quantity: &str) -> f64 {
        // quantity,value,unit,certainty: commas are in the quantity too.
        let line = PUBLISHED.lines().find(|line| line.contains(quantity)).unwrap();
        line.rsplit(',').nth(2).unwrap().parse().unwrap()
    }

    #[test]
    fn the_published_node_is_reported_with_its_figures_and_labels() {
        let (write, read) = (published("write ceiling"), published("read ceiling"));
        let rows = rows_of(&[
            ("local", write, read),
            ("c1-s1", write, 0.9 * read),
            ("c1-s2", 2.0 * write, 1.8 * read),
            ("c1-s4", 15.2, 14.9),
            ("pp-6", 24.0, 18.0),
        ]);
        insta::assert_snapshot!("published", tables(&rows, &published_request()));
    }

    #[test]
    fn fewer_than_three_trials_are_reported_as_plain_means() {
        let mut rows = rows_of(&[("c1-s1", 1.0, 2.0)]);
        for row in &mut rows {
            row.write =
                row.write.map(|rate| JovianRate { bytes_per_s: trimmed_mean(&[1.0, 3.0]).unwrap(), ..rate });
        }
        let text = tables(&rows, &published_request());
        assert!(text.contains("plain means of 2 of 5 trials"), "{text}");
    }

    #[test]
    fn what_was_not_measured_has_no_figure() {
        let mut rows = rows_of(&[("c1-s1", 1.0, 2.0)]);
        rows[0].read = None;
        let text = tables(&rows, &published_request());
        assert_eq!(
            text.lines().last().unwrap().split_whitespace().collect::<Vec<_>>(),
            ["c1-s1", "64KiB", "-", "-", "-"]
        );
        assert!(tables(&[], &published_request()).contains("nothing was measured"));
    }
}
