//! The metrics of a server on which nothing of ours runs, as `--server-metrics` names them.
//!
//! They are read once before any load: a URL that leads elsewhere, or to this machine itself, is found then. Reading them is
//! `remote`'s; a build without that crate has none.

use crate::exit::CommandFailure;
use narrows_engines::Clock;
use narrows_model::inventory::{Inventory, PathFacts, PathKind};
use narrows_model::{EngineId, IscsiAddress, NfsAddress, S3Address, Target};
use narrows_run::ServerMetrics;
use std::collections::BTreeSet;
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

/// Fails where `--server-metrics` is given and none of `targets` is on a server whose counters are not known without it, or
/// where they are on several.
///
/// # Errors
/// Why there is not one such server.
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
        return check_one_server(&servers(members(), inventory.path.iter().chain(&inventory.more_paths)));
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

/// Fails where the targets are on several servers: the counters of one would be taken for those of the others.
fn check_one_server(servers: &BTreeSet<String>) -> Result<(), CommandFailure> {
    if servers.len() <= 1 {
        return Ok(());
    }
    let names: Vec<&str> = servers.iter().map(String::as_str).collect();
    Err(CommandFailure::bad_input(format!(
        "--server-metrics is of one server; this study has targets on several ({}): run a study for each of them, or omit it",
        names.join(", ")
    )))
}

/// The hosts of the servers that `targets`, and the mounts under `paths`, name; one that is not known by a name is left out.
fn servers<'a>(
    targets: impl Iterator<Item = &'a Target>,
    paths: impl Iterator<Item = &'a PathFacts>,
) -> BTreeSet<String> {
    let mounts = paths
        .filter(|path| matches!(path.kind, PathKind::Nfs | PathKind::OtherNetwork))
        .filter_map(|path| host_of_mount(&path.mount.source));
    targets.filter_map(host_of_target).chain(mounts).map(|host| host.to_ascii_lowercase()).collect()
}

/// The host that a target of a protocol names.
fn host_of_target(target: &Target) -> Option<String> {
    let Target::Scheme { engine, rest } = target else { return None };
    match *engine {
        EngineId::Nfs => Some(NfsAddress::parse(rest).ok()?.host),
        EngineId::Iscsi => Some(IscsiAddress::parse(rest).ok()?.host),
        EngineId::S3 => host_of_url(&S3Address::parse(rest).ok()?.endpoint?),
        _ => None,
    }
}

fn host_of_url(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?']).next()?;
    let host = match authority.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next()?,
        None => authority.split(':').next()?,
    };
    Some(host.to_owned())
}

/// The host in the source of a mount: `HOST:/EXPORT`, or `//HOST/SHARE`.
fn host_of_mount(source: &str) -> Option<String> {
    let host = match source.strip_prefix("//") {
        Some(share) => share.split('/').next()?,
        None => source.split_once(":/")?.0.trim_matches(['[', ']']),
    };
    Some(host.to_owned())
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

    use crate::progress::NOT_READ_ANY_MORE;
    use narrows_remote::metrics::{MetricsError, MetricsErrorKind, MetricsReader};
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
                    let reading = answer.map_err(|error| reason(&error))?;
                    Ok(ServerReading { sample: reading.sample, took_ns: reading.took_ns })
                })
                .collect()
        }
    }

    fn reason(error: &MetricsError) -> String {
        match error.kind() {
            MetricsErrorKind::GivenUp => format!("{NOT_READ_ANY_MORE}: {error}"),
            _ => error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers_of(targets: &[&str]) -> BTreeSet<String> {
        let targets: Vec<Target> = targets.iter().map(|target| target.parse().unwrap()).collect();
        servers(targets.iter(), std::iter::empty())
    }

    #[test]
    fn targets_on_several_servers_are_refused_with_their_names() {
        let several = servers_of(&["nfs://one/export", "nfs://two/export"]);
        let refusal = check_one_server(&several).unwrap_err().message();
        assert!(refusal.contains("--server-metrics is of one server"), "{refusal}");
        assert!(refusal.contains("targets on several (one, two)"), "{refusal}");
    }

    #[test]
    fn one_server_by_several_protocols_ports_and_letters_is_one() {
        let one = servers_of(&[
            "nfs://store/export",
            "nfs://STORE:2050/other",
            "s3://bucket/prefix?endpoint=http://store:9000",
            "iscsi://store/iqn.2020-01.org.example:disk/0",
            "null:",
            "/data",
        ]);
        assert_eq!(one, BTreeSet::from(["store".to_owned()]));
        assert!(check_one_server(&one).is_ok() && check_one_server(&BTreeSet::new()).is_ok());
        let by_address =
            servers_of(&["s3://bucket/p?endpoint=https://[fd00::1]:9000", "nfs://[fd00::1]/export"]);
        assert_eq!(by_address, BTreeSet::from(["fd00::1".to_owned()]));
    }

    #[test]
    fn a_mount_names_its_server_in_its_source() {
        for (source, host) in [
            ("store:/export/a", Some("store")),
            ("[fd00::1]:/export", Some("fd00::1")),
            ("//files/share", Some("files")),
            ("tmpfs", None),
        ] {
            assert_eq!(host_of_mount(source).as_deref(), host, "{source}");
        }
    }
}
