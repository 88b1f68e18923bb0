//! The metrics of a server on which nothing of ours runs, as `--server-metrics` names them.
//!
//! They are read once before any load: a URL that leads elsewhere, or to this machine itself, is found then. Reading them is `remote`'s; a build without
//! that crate has none.

use crate::exit::CommandFailure;
use narrows_engines::Clock;
use narrows_model::Target;
use narrows_model::inventory::{Inventory, PathKind};
use narrows_run::ServerMetrics;
use std::sync::Arc;

/// The metrics of a server, connected.
pub(crate) type ConnectedMetrics = Box<dyn ServerMetrics>;

/// The metrics at `url`; `None` where none are asked for.
///
/// # Errors
/// When they cannot be read now.
pub(crate) fn connect_metrics(
    url: Option<&str>,
    clock: &Arc<dyn Clock>,
) -> Result<Option<ConnectedMetrics>, CommandFailure> {
    url.map(|url| connected(url, clock)).transpose()
}

/// Fails where `--server-metrics` is given and none of `targets` is on a server whose counters are not known without it.
///
/// # Errors
/// Why there is no such server.
pub(crate) fn check_metrics_use(
    url: Option<&str>,
    targets: &[Target],
    inventory: &Inventory,
) -> Result<(), CommandFailure> {
    if url.is_none() {
        return Ok(());
    }
    let members = || targets.iter().flat_map(Target::members);
    if members().any(|target| matches!(target, Target::Tcp { .. })) {
        return Err(CommandFailure::bad_input(
            "--server-metrics is for servers on which nothing of narrows runs; an endpoint (tcp://) reports its own counters: \
             omit it",
        ));
    }
    if members().any(|target| is_served(target, inventory)) {
        return Ok(());
    }
    Err(CommandFailure::bad_input(
        "--server-metrics needs a target on a server: nfs://, iscsi://, s3://, or a folder that is mounted from one; the counters \
         of this machine are read anyway",
    ))
}

/// Whether a server of others is behind `target`.
fn is_served(target: &Target, inventory: &Inventory) -> bool {
    match target {
        Target::Scheme { engine, .. } => engine.declaration().probe.is_some(),
        Target::File { .. } => {
            let mut paths = inventory.path.iter().chain(&inventory.more_paths);
            paths.any(|path| matches!(path.kind, PathKind::Nfs | PathKind::OtherNetwork | PathKind::Fuse))
        }
        _ => false,
    }
}

#[cfg(not(feature = "s3"))]
fn connected(_url: &str, _clock: &Arc<dyn Clock>) -> Result<ConnectedMetrics, CommandFailure> {
    Err(CommandFailure::bad_input(
        "--server-metrics is not in this build, which has no HTTP: build narrows with the feature s3",
    ))
}

#[cfg(feature = "s3")]
fn connected(url: &str, clock: &Arc<dyn Clock>) -> Result<ConnectedMetrics, CommandFailure> {
    use narrows_remote::metrics::{MetricsErrorKind, MetricsReader, MetricsUrl};
    let place: MetricsUrl =
        url.parse().map_err(|error| CommandFailure::bad_input(format!("--server-metrics: {error}")))?;
    let shown = place.to_string();
    match MetricsReader::connect(place, Arc::clone(clock)) {
        Ok(reader) if own::is_this_machine(reader.boot_time_s(), own::boot_time_s()) => {
            Err(CommandFailure::bad_input(format!(
                "--server-metrics: {shown} reports this machine itself (it booted at the same second): narrows reads its counters \
                 already; give the exporter of the server"
            )))
        }
        Ok(reader) => Ok(Box::new(reading::ExportedMetrics(reader))),
        Err(error) if error.kind() == MetricsErrorKind::Unreachable => {
            Err(CommandFailure::could_not_run(format!(
                "--server-metrics: read {shown}: {error}; check that node_exporter runs there, or omit the option"
            )))
        }
        Err(error) => Err(CommandFailure::bad_input(format!(
            "--server-metrics: read {shown}: {error}; give the URL of the server's node_exporter, such as http://HOST:9100/metrics"
        ))),
    }
}

#[cfg(feature = "s3")]
mod own {
    //! Whether metrics are those of the machine that the load comes from: its CPU would be charged to the server.

    /// So many seconds one machine's time of boot may differ between two readings: the kernel computes it from the wall clock,
    /// which is adjusted, and rounds it.
    const TOLERANCE_S: u64 = 2;

    /// Whether a machine that booted at `reported` is this one, which booted at `own`; an unknown time is no match.
    pub(super) fn is_this_machine(reported: Option<u64>, own: Option<u64>) -> bool {
        reported.zip(own).is_some_and(|(reported, own)| reported.abs_diff(own) <= TOLERANCE_S)
    }

    /// When this machine booted, in seconds of the wall clock.
    pub(super) fn boot_time_s() -> Option<u64> {
        boot_time_in(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// The time of boot in the text of `/proc/stat`.
    fn boot_time_in(stat: &str) -> Option<u64> {
        stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_machine_that_booted_within_two_seconds_is_this_one() {
            for (reported, same) in [(998, true), (1000, true), (1002, true), (997, false), (1003, false)] {
                assert_eq!(is_this_machine(Some(reported), Some(1000)), same, "{reported}");
            }
            assert!(!is_this_machine(None, Some(1000)) && !is_this_machine(Some(1000), None));
            assert!(!is_this_machine(None, None));
        }

        #[test]
        fn the_time_of_boot_is_a_line_of_its_own() {
            assert_eq!(
                boot_time_in("cpu  1 2 3 4\nctxt 5\nbtime 1732571234\nprocesses 7\n"),
                Some(1_732_571_234)
            );
            assert_eq!(boot_time_in("cpu  1 2 3 4\nctxt 5\n"), None);
            assert!(boot_time_s().is_some());
        }
    }
}

#[cfg(feature = "s3")]
mod reading {
    //! The reader of `remote` as `run` asks it.

    use narrows_remote::metrics::MetricsReader;
    use narrows_run::{ServerMetrics, ServerReading, StopFlag};

    pub(super) struct ExportedMetrics(pub(super) MetricsReader);

    impl ServerMetrics for ExportedMetrics {
        fn url(&self) -> String {
            self.0.url().to_string()
        }

        fn ask(&mut self) {
            self.0.ask();
        }

        fn answers(&mut self, stop: &StopFlag) -> Vec<Result<ServerReading, String>> {
            let answers = self.0.answers(stop).into_iter();
            answers
                .map(|answer| {
                    let reading = answer.map_err(|error| error.to_string())?;
                    Ok(ServerReading { sample: reading.sample, took_ns: reading.took_ns })
                })
                .collect()
        }
    }
}
