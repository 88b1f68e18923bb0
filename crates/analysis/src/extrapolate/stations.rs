//! The stages that all clients share, as stations of a network: what each sustains, by cuts that bind and CPU counters.

use super::after_full::is_absorbed;
use super::refusal;
use crate::scaling::{BYTES_UNIT, Curve, StageCeiling, stage_ceilings};
use crate::view::SummaryView;
use narrows_model::counters::Role;
use narrows_model::extrapolation::{ExtrapolatedStage, ExtrapolationRefusal, StageChange};
use narrows_model::inventory::HostFacts;
use narrows_model::{Cut, Segment, Summary};

/// One station.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathStation {
    pub(super) segment: Segment,
    /// The most of it, in the unit of the curve.
    pub(super) ceiling: f64,
    pub(super) relative_error: f64,
    pub(super) source: String,
    /// Whether more servers have more of it.
    pub(super) is_per_server: bool,
}

/// Every station of a path, and what keeps them from being all.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stations {
    pub(super) known: Vec<PathStation>,
    /// Cuts whose rate still grew with their clients.
    unbound: Vec<StageCeiling>,
    /// Whether the storage at the end of the path was measured by itself.
    has_end: bool,
    /// Whether memory is that end: it acknowledges the writes, and the device has them later.
    is_absorbed: bool,
}

impl Stations {
    /// Those of the path of `curve`.
    pub(super) fn new(summary: &Summary, curve: &Curve<'_>) -> Self {
        let view = SummaryView::new(summary);
        let is_memory = summary.target.to_string().ends_with("/memory");
        let is_absorbed = !is_memory && is_absorbed(curve);
        let is_on_path = |one: &StageCeiling| match one.segment {
            Segment::NetworkBandwidth => !view.loopback(),
            Segment::DeviceBandwidth => !is_absorbed,
            _ => true,
        };
        let ceilings: Vec<StageCeiling> =
            stage_ceilings(summary, curve).into_iter().filter(is_on_path).collect();
        let (bound, unbound): (Vec<StageCeiling>, Vec<StageCeiling>) =
            ceilings.into_iter().partition(|one| one.binds);
        let mut known: Vec<PathStation> = bound.iter().map(of_cut).collect();
        known
            .extend([Role::Client, Role::Server].into_iter().filter_map(|role| of_cpu(summary, curve, role)));
        let is_end = |one: &StageCeiling| match one.segment {
            // What acknowledges is behind these.
            Segment::NetworkBandwidth | Segment::ServerProtocol => is_absorbed,
            segment => segment == Segment::DeviceBandwidth,
        };
        let has_end = is_memory || bound.iter().any(is_end);
        // The server's memory is on the way to its device: without a ceiling of its own it adds nothing that others lack.
        let is_open = |one: &StageCeiling| is_absorbed || one.cut != Cut::ServerMemory;
        let unbound = unbound.into_iter().filter(is_open).collect();
        Self { known, unbound, has_end, is_absorbed }
    }

    /// The stations as an extrapolation shows them.
    pub(super) fn as_measured(&self) -> Vec<ExtrapolatedStage> {
        self.known.iter().map(shown).collect()
    }

    /// Those that a cut measured by itself.
    pub(super) fn of_cuts(&self) -> impl Iterator<Item = &PathStation> {
        let is_cpu = |one: &&PathStation| matches!(one.segment, Segment::ClientCpu | Segment::ServerCpu);
        self.known.iter().filter(move |one| !is_cpu(one))
    }

    /// Whether every station that can end the growth is known; `grows`: whether the rate still grows with the clients that were
    /// measured.
    ///
    /// # Errors
    /// The first that is not, with what to measure.
    pub(super) fn check(&self, grows: bool) -> Result<(), ExtrapolationRefusal> {
        if let Some(open) = self.unbound.first() {
            let (cut, segment) = (open.cut.name(), open.segment);
            return Err(if grows {
                refusal(
                    &format!(
                        "nothing shows that the rate stops to grow with the clients, nor that the cut {cut} does: what \
                         {segment} sustains is not known"
                    ),
                    "measure with more clients (narrows scale --clients), until the rate or the cut stops to grow",
                )
            } else {
                refusal(
                    &format!(
                        "what {segment} sustains is not known: nothing shows that the cut {cut} stops to grow"
                    ),
                    "measure with more clients and more trials (narrows scale --clients, --trials)",
                )
            });
        }
        if !self.has_end {
            let end = if self.is_absorbed { "memory, which acknowledges the writes," } else { "the device" };
            return Err(if grows {
                refusal(
                    &format!(
                        "nothing shows that the rate stops to grow with the clients, and what {end} sustains was not \
                         measured by itself"
                    ),
                    "measure with more clients (narrows scale --clients), until the rate stops to grow",
                )
            } else {
                refusal(
                    &format!(
                        "what {end} sustains was not measured by itself, so that a change cannot be computed"
                    ),
                    "measure the parts too (narrows scale tcp://HOST:PORT/disk, with `narrows serve` at the storage)",
                )
            });
        }
        Ok(())
    }

    /// The stations after `changes`.
    ///
    /// # Errors
    /// A change of a stage of which nothing is known.
    pub(super) fn changed(&self, changes: &[StageChange]) -> Result<Self, ExtrapolationRefusal> {
        let mut changed = self.clone();
        for change in changes {
            let (segment, text) = match change {
                // They have the writes after they are acknowledged.
                StageChange::Disks(_) if self.is_absorbed => continue,
                StageChange::Disks(_) => (Segment::DeviceBandwidth, "disks"),
                StageChange::Link(_) => (Segment::NetworkBandwidth, "link"),
                StageChange::ServerCpu(_) => (Segment::ServerCpu, "server-cpu"),
            };
            let station = changed.known.iter_mut().find(|one| one.segment == segment).ok_or_else(|| {
                refusal(
                    &format!("{text}: what {segment} of this path sustains is not in the record"),
                    "leave the change out, or measure the path with an endpoint (tcp://HOST:PORT/disk)",
                )
            })?;
            match change {
                StageChange::Disks(times) | StageChange::ServerCpu(times) => station.ceiling *= times,
                StageChange::Link(rate) => station.ceiling = rate.0,
            }
            station.source = format!("supposed by {text}");
        }
        Ok(changed)
    }

    /// The ceilings with so many servers.
    pub(super) fn ceilings(&self, servers: u32) -> Vec<(Segment, f64)> {
        let times = |one: &PathStation| if one.is_per_server { f64::from(servers) } else { 1.0 };
        self.known.iter().map(|one| (one.segment, one.ceiling * times(one))).collect()
    }
}

fn shown(station: &PathStation) -> ExtrapolatedStage {
    ExtrapolatedStage {
        segment: station.segment,
        ceiling: station.ceiling,
        source: station.source.clone(),
        is_per_server: station.is_per_server,
    }
}

fn of_cut(ceiling: &StageCeiling) -> PathStation {
    PathStation {
        segment: ceiling.segment,
        ceiling: ceiling.rate,
        relative_error: ceiling.relative_error,
        source: format!("cut {}", ceiling.cut.name()),
        is_per_server: ceiling.segment != Segment::NetworkBandwidth,
    }
}

/// The CPUs of a role: as many operations as they have time for, each as long as with the most clients. `None` where that is
/// not known, or one machine has both roles, whose CPUs then are no station of either.
fn of_cpu(summary: &Summary, curve: &Curve<'_>, role: Role) -> Option<PathStation> {
    let last = curve.last();
    let cpu = SummaryView::cpu(last, role)?;
    let demand_s = cpu.service_demand_s_per_op.filter(|demand| *demand > 0.0)?;
    let host = summary.hosts.iter().find(|host| host.roles.contains(&role))?;
    let elsewhere = host.inventory.cpus_elsewhere(u32::MAX).filter(|_| role == Role::Client);
    let cpus = elsewhere.unwrap_or_else(|| host_cpus(&host.inventory.host).max(cpu.capacity_cpus));
    let per_op = if curve.unit == BYTES_UNIT { last.block_bytes.as_f64() } else { 1.0 };
    let segment = if role == Role::Client { Segment::ClientCpu } else { Segment::ServerCpu };
    Some(PathStation {
        segment,
        ceiling: cpus / demand_s * per_op,
        relative_error: crate::summary::laws::standard_error(last),
        source: format!("{demand_s:.3e} s of {cpus} CPUs an operation"),
        is_per_server: role == Role::Server,
    })
}

/// The CPUs that a process of a machine can use.
fn host_cpus(host: &HostFacts) -> f64 {
    let online = f64::from(host.online_cpus.max(1));
    let affinity = (!host.affinity_cpus.is_empty()).then_some(host.affinity_cpus.len() as f64);
    affinity.into_iter().chain(host.quota_cpus).fold(online, f64::min)
}
