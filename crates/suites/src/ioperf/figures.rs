//! The figures of a run: three columns a test, a row a kind, and means over processes.

use super::request::{Request, RowKind};
use super::{KB, TESTS};
use narrows_analysis::SHORT_RUN_S;
use narrows_model::summary::{CellSummary, ClientSummary};
use narrows_model::units::ratio;
use narrows_model::{Cut, Summary};

/// The three columns of one test; `None` for what is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct IoperfFigure {
    /// KB over wall time.
    pub(super) kb_per_s: Option<f64>,
    /// KB over CPU time.
    pub(super) real_kb_per_s: Option<f64>,
    /// The share of the wall time that the CPU was used, in percent.
    pub(super) cpu_percent: Option<f64>,
}

impl IoperfFigure {
    /// The columns of `kb` that took `wall_s`, and `cpu_s` of the processor.
    ///
    /// # Source
    /// IOPerf: KB/sec, RealKB/sec = KB / CPU time, CPU% = 100 x KB/sec / RealKB/sec; 51 of the 54 published rows obey it.
    pub(super) fn from_times(kb: f64, wall_s: f64, cpu_s: f64) -> Self {
        let (kb_per_s, real_kb_per_s) = (ratio(kb, wall_s), ratio(kb, cpu_s));
        let cpu = kb_per_s.zip(real_kb_per_s).and_then(|(rate, real)| ratio(rate, real));
        Self { kb_per_s, real_kb_per_s, cpu_percent: cpu.map(|ratio| 100.0 * ratio) }
    }

    /// The plain mean of every column, CPU% too: the published means are means of ratios.
    pub(super) fn mean(all: &[Self]) -> Self {
        let column = |of: fn(&Self) -> Option<f64>| {
            let known: Option<Vec<f64>> = all.iter().map(of).collect();
            known.and_then(|known| ratio(known.iter().sum(), known.len() as f64))
        };
        Self {
            kb_per_s: column(|figure| figure.kb_per_s),
            real_kb_per_s: column(|figure| figure.real_kb_per_s),
            cpu_percent: column(|figure| figure.cpu_percent),
        }
    }

    /// As it is printed: with two digits after the point, so that means are those of what can be read.
    fn rounded(self) -> Self {
        let round = |value: Option<f64>| value.map(|value| format!("{value:.2}").parse().unwrap_or(value));
        Self {
            kb_per_s: round(self.kb_per_s),
            real_kb_per_s: round(self.real_kb_per_s),
            cpu_percent: round(self.cpu_percent),
        }
    }

    /// The columns in their order.
    pub(super) fn columns(&self) -> [Option<f64>; 3] {
        [self.kb_per_s, self.real_kb_per_s, self.cpu_percent]
    }
}

/// One test of one row.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct IoperfMeasurement {
    /// Each process's, in their order.
    pub(super) each: Vec<IoperfFigure>,
    /// The shortest pass of any process, in seconds.
    pub(super) shortest_s: Option<f64>,
    /// Some process did not do all of its I/Os.
    pub(super) cut_short: bool,
}

impl IoperfMeasurement {
    /// The mean of its processes: of one, that one's.
    pub(super) fn figure(&self) -> IoperfFigure {
        let each: Vec<IoperfFigure> = self.each.iter().map(|figure| figure.rounded()).collect();
        if each.is_empty() { IoperfFigure::default() } else { IoperfFigure::mean(&each) }
    }

    /// Whether a pass was too short for its rate to be one.
    pub(super) fn is_short(&self) -> bool {
        self.shortest_s.is_some_and(|shortest| shortest < SHORT_RUN_S)
    }

    /// Rates of its processes in KB/sec.
    pub(super) fn rates(&self) -> Vec<f64> {
        self.each.iter().filter_map(|figure| figure.kb_per_s).collect()
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IoperfRow {
    pub(super) kind: RowKind,
    /// In the order of [`TESTS`]; `None` for one that was not measured.
    pub(super) tests: [Option<IoperfMeasurement>; TESTS.len()],
}

/// The rows that were measured, in their order.
pub(super) fn rows(summary: &Summary, request: &Request) -> Vec<IoperfRow> {
    let cells = |kind: RowKind| {
        summary.cells.iter().filter(move |cell| {
            cell.cut == Cut::Path && cell.test.as_deref().and_then(RowKind::named) == Some(kind)
        })
    };
    let row = |kind: RowKind| IoperfRow {
        kind,
        tests: TESTS.map(|test| {
            let cell = cells(kind).find(|cell| cell.phase.as_deref() == Some(test.name));
            cell.filter(|cell| cell.ops_per_s.is_some()).map(|cell| measured(cell, request))
        }),
    };
    RowKind::ALL.into_iter().filter(|kind| cells(*kind).next().is_some()).map(row).collect()
}

fn measured(cell: &CellSummary, request: &Request) -> IoperfMeasurement {
    let passes = cell.trials.len().max(1) as f64;
    let mean_pass = |client: &ClientSummary| client.elapsed_s / passes;
    let times = cell.trials.iter().map(|trial| trial.elapsed_s).chain(cell.per_client.iter().map(mean_pass));
    IoperfMeasurement {
        each: cell.per_client.iter().map(figure).collect(),
        shortest_s: times.min_by(f64::total_cmp),
        cut_short: cell.per_client.iter().any(|client| client.ops < request.ios()),
    }
}

/// A process's figure over all passes: what it moved over the time that all of them took.
fn figure(client: &ClientSummary) -> IoperfFigure {
    IoperfFigure::from_times(client.bytes.as_f64() / KB, client.elapsed_s, client.user_s + client.system_s)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{PUBLISHED, Published, published};
    use super::*;

    fn near(one: f64, other: f64, tolerance: f64) -> bool {
        (one - other).abs() <= tolerance
    }

    /// Whether CPU% is the quotient of the two rates, as far as two decimals show.
    fn obeys(row: &Published, test: usize) -> bool {
        let [rate, real, cpu] = row.figures[test].columns().map(Option::unwrap);
        let made = IoperfFigure::from_times(row.file_kb, row.file_kb / rate, row.file_kb / real);
        assert!(near(made.kb_per_s.unwrap(), rate, 1e-6) && near(made.real_kb_per_s.unwrap(), real, 1e-6));
        near(made.cpu_percent.unwrap(), cpu, 0.0051 + cpu * (0.005 / rate + 0.005 / real))
    }

    #[test]
    fn the_published_rows_obey_the_formulas_but_for_the_means_over_processes() {
        let rows = published();
        let breaks: Vec<&str> = rows
            .iter()
            .filter(|row| !(0..5).all(|test| obeys(row, test)))
            .map(|row| row.row.as_str())
            .collect();
        assert_eq!(rows.len(), 54);
        assert_eq!(breaks, ["NPV_ibmtest_test", "NPV_ibmtest_test", "<rcas6*>"], "{PUBLISHED}");
    }

    #[test]
    fn the_published_gross_average_is_the_plain_mean_of_its_hosts_to_the_last_digit() {
        let rows = published();
        let average = rows.iter().position(|row| row.row == "<rcas6*>").unwrap();
        let hosts = &rows[average + 1..average + 48];
        assert!(hosts.iter().all(|host| host.row.starts_with("rcas6")));
        for test in 0..5 {
            let each: Vec<IoperfFigure> = hosts.iter().map(|host| host.figures[test]).collect();
            let printed =
                |figure: &IoperfFigure| figure.columns().map(|value| format!("{:.2}", value.unwrap()));
            assert_eq!(printed(&IoperfFigure::mean(&each)), printed(&rows[average].figures[test]), "{test}");
        }
    }

    #[test]
    fn a_seek_counts_twenty_bytes() {
        // Published: 1627.60 KB/sec at 5000 I/Os is 97.65625 KB in 0.06 s, six ticks of 10 ms.
        let figure = IoperfFigure::from_times(20.0 * 5000.0 / 1024.0, 0.06, 0.05);
        assert_eq!(
            figure.columns().map(|value| format!("{:.2}", value.unwrap())),
            ["1627.60", "1953.12", "83.33"]
        );
    }

    #[test]
    fn without_time_there_is_no_figure_and_without_one_of_them_no_mean() {
        let figure = IoperfFigure::from_times(10.0, 2.0, 0.0);
        assert_eq!(figure.columns(), [Some(5.0), None, None]);
        assert_eq!(
            IoperfFigure::mean(&[figure, IoperfFigure::from_times(10.0, 1.0, 1.0)]).columns(),
            [Some(7.5), None, None]
        );
    }
}
