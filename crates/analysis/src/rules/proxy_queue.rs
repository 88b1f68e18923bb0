//! A proxy that holds back though its CPU is idle.

use super::judge::{self, Shown};
use super::{Basis, Rule, Stance, Verdict, network_bandwidth};
use crate::summary::laws::standard_error;
use crate::text;
use crate::view::{Ceiling, View, time_per_op_s};
use narrows_model::counters::Role;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "proxy-holds-back",
    slug: "proxy_queue",
    segment: Segment::ProxyQueue,
    title: "the proxy holds back, though its CPU is idle",
    definition: "The path's own load is clearly faster past the proxy than through it, and the proxy has CPUs of its own that \
                 are not full: its buffers, its queue or its links hold back. Where both are alike, their error included, \
                 the proxy is cleared, unless another load leaves it open. Over a network the way past it is another route, \
                 and a leg to the proxy that is slower looks the same: the verdict is at most 60 % sure then, with the network \
                 beside it where the raw stream through the proxy carried no more than the path. Nothing is said without the \
                 load past it, and where the proxy's CPU is not known or others use it too.",
    formula: "r = path / direct-path, e = its standard error; r + 2 e <= 0.8; at one request in flight: 1 - r >= half of the \
              time of one request; cleared: r - 2 e >= 0.9; above 1.1 no measurement; proxy's CPU under 0.95 of its capacity \
              and not held back by a quota, one connection under 0.9 of one CPU; gain: 1 / r",
    source: "Substitution: one segment is taken out and the rate compared (asymptotic bounds of Denning and Buzen, ACM Computing \
             Surveys 10, 1978)",
    example: "64 KiB writes at 11 MiB/s through the proxy and 112 MiB/s past it, the proxy's CPU at 3 %",
    how_to_measure: "give the path as tcp://HOST:PORT/LAYER?via=PROXYHOST:PORT, on a machine that reaches HOST:PORT without the \
                     proxy too",
    run,
};

/// From this share of the rate past it on the path through the proxy is as good.
const ALIKE_RATIO: f64 = 0.9;
/// Up to this share the proxy holds back: a residual above 25 % is unexplained (DESIGN).
const HELD_RATIO: f64 = 0.8;
/// Above this share the load past the proxy was held by something else than the path is.
const BEYOND_RATIO: f64 = 1.1;
/// How sure the verdict is at most where the way past the proxy may be the faster one.
const OTHER_ROUTE_CONFIDENCE: f64 = 0.6;

fn run(view: &View<'_>) -> Vec<Verdict> {
    let past: Vec<Past<'_>> =
        view.regimes().iter().filter_map(|regime| Past::of(view, regime.cell)).collect();
    // One that holds any load back, for want of CPU too, no other load clears.
    let holds = past.iter().any(|past| past.stance() == Some(Stance::Limits));
    let judged = past.iter().filter_map(|past| past.judge(view));
    judged.filter(|verdict| !holds || verdict.stance == Stance::Limits).collect()
}

/// Whether the same load past the proxy shows that the proxy costs this cell nothing.
pub(super) fn is_cleared(view: &View<'_>, cell: &CellSummary) -> bool {
    Past::of(view, cell).is_some_and(|past| past.stance() == Some(Stance::Clears))
}

/// A cell of the path beside the same load past the proxy.
#[derive(Debug, Clone, Copy)]
struct Past<'v> {
    cell: &'v CellSummary,
    direct: Ceiling<'v>,
    /// Rate of the path over that past the proxy.
    share: f64,
    /// Standard error of `share`.
    error: f64,
}

impl<'v> Past<'v> {
    /// `None` where the load was not measured past the proxy, or was slower there.
    fn of(view: &View<'v>, cell: &'v CellSummary) -> Option<Self> {
        let direct = view.ceiling(Cut::DirectPath, cell).filter(|direct| direct.same_settings)?;
        let share = if judge::is_single(cell) {
            ratio(time_per_op_s(direct.cell)?, time_per_op_s(cell)?)?
        } else {
            ratio(cell.rate_bytes_per_s?.0, direct.bytes_per_s)?
        };
        let error = share * standard_error(cell).hypot(standard_error(direct.cell));
        (share <= BEYOND_RATIO).then_some(Self { cell, direct, share, error })
    }

    /// What the comparison alone says; `None` where its error leaves it open.
    fn stance(&self) -> Option<Stance> {
        let held = if judge::is_single(self.cell) { judge::DOMINANT_RATIO } else { HELD_RATIO };
        match (self.share + 2.0 * self.error <= held, self.share - 2.0 * self.error >= ALIKE_RATIO) {
            (true, _) => Some(Stance::Limits),
            (false, true) => Some(Stance::Clears),
            (false, false) => None,
        }
    }

    /// Whether what is lost is the proxy's own, and not for want of CPU.
    fn is_the_proxys(&self, view: &View<'_>) -> bool {
        let idle = View::cpu(self.cell, Role::Proxy)
            .is_some_and(|cpu| !judge::is_cpu_full(cpu, self.cell) && !judge::fills_a_thread(cpu, self.cell));
        idle && view.proxy_is_alone(self.cell)
    }

    fn judge(&self, view: &View<'_>) -> Option<Verdict> {
        match self.stance()? {
            // How full it is stays open: it carries as much as the way past it, and perhaps more.
            Stance::Clears if view.proxy_is_alone(self.cell) => {
                let verdict = Verdict::on(RULE.segment, &self.cell.id, Stance::Clears, Basis::State, 0.0);
                Some(self.told(verdict, view))
            }
            Stance::Limits if self.is_the_proxys(view) => Some(self.limits(view)),
            _ => None,
        }
    }

    fn limits(&self, view: &View<'_>) -> Verdict {
        let (basis, load) = if judge::is_single(self.cell) {
            (Basis::TimeShare, 1.0 - self.share)
        } else {
            (Basis::Utilisation, 1.0)
        };
        let error = ratio(self.error, self.share);
        let verdict = Verdict::on(RULE.segment, &self.cell.id, Stance::Limits, basis, load)
            .within(error)
            .gains(ratio(1.0, self.share));
        let verdict = self.told(verdict, view);
        let verdict = match View::cpu(self.cell, Role::Proxy) {
            None => verdict,
            Some(cpu) => {
                let (busy, all) = (text::percent(cpu.busy_ratio), text::cpus(cpu.capacity_cpus));
                let idle = format!("{}: the proxy's CPU is at {busy} of {all}", self.cell.id);
                verdict.because(idle, "CPU time of the proxy", "")
            }
        };
        if !view.has_network() {
            return verdict;
        }
        let text = match network_bandwidth::carried_through(view, self.cell) {
            Some(carried) => format!(
                "the raw stream through the proxy carried {}, and the way past it is another route: a slower leg to the \
                 proxy would look the same",
                text::network_rate(carried)
            ),
            None => {
                "the way past the proxy, 1 leg for 2, is another route: a longer leg to it would look the same".to_owned()
            }
        };
        verdict.at_most(OTHER_ROUTE_CONFIDENCE).because(
            text,
            "payload acknowledged or received (TCP_INFO)",
            "",
        )
    }

    /// `verdict` with what both carried.
    fn told(&self, verdict: Verdict, view: &View<'_>) -> Verdict {
        let text = format!(
            "{} moves {} through the proxy and {} past it ({} +- {})",
            self.cell.id,
            text::storage_rate(self.cell.rate_bytes_per_s.unwrap_or_default().0),
            text::storage_rate(self.direct.bytes_per_s),
            text::percent(self.share),
            text::percent(2.0 * self.error),
        );
        let command = command(view);
        let shown =
            Shown { counter: "rate of the path, and of the same load past the proxy", command: &command };
        verdict.because(text, shown.counter, shown.command)
    }
}

fn command(view: &View<'_>) -> String {
    match view.summary.target.via() {
        Some(via) => format!("ss -tmi dst {}; ss -tmi (on the proxy's machine)", via.host),
        None => "ss -tmi (on the proxy's machine)".to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found};
    use narrows_model::Summary;
    use narrows_model::diagnosis::Relation;
    use narrows_model::summary::{CpuBasis, HostSummary, SegmentSummary};

    /// A proxy put on the path of a simulated machine.
    #[derive(Debug, Clone, Copy)]
    pub(in crate::rules) struct Proxied {
        /// How many times as fast the stream past it is.
        pub past: f64,
        pub busy: f64,
        pub capacity_cpus: f64,
        pub quota: bool,
        pub shares_client: bool,
    }

    impl Proxied {
        pub(in crate::rules) fn healthy() -> Self {
            Self { past: 1.02, busy: 0.1, capacity_cpus: 2.0, quota: false, shares_client: false }
        }

        /// One that lets a tenth of the network through.
        pub(in crate::rules) fn slow() -> Self {
            Self { past: 10.0, capacity_cpus: 0.3, ..Self::healthy() }
        }
    }

    /// Whether a check measures this cell of the path past the proxy too.
    fn is_corner(cell: &CellSummary) -> bool {
        let load = (cell.block_bytes.0, cell.in_flight.configured);
        cell.cut == Cut::Path && [(1 << 20, 16), (4 << 10, 1)].contains(&load)
    }

    /// A path over a wire that is full, of which the proxy shows `proxied`.
    pub(in crate::rules) fn proxied(proxied: Proxied) -> Summary {
        let mut summary = builtin("gigabit-nfs");
        summary.target = "tcp://storage:7300/disk?via=proxy:7301".parse().unwrap();
        let template = summary.cells[0].cpu[&Role::Client].clone();
        let basis = if proxied.quota { CpuBasis::Cgroup } else { CpuBasis::Process };
        for cell in
            summary.cells.iter_mut().filter(|cell| !matches!(cell.cut, Cut::Generator | Cut::MemoryCopy))
        {
            let used_s = proxied.busy * proxied.capacity_cpus * cell.elapsed_s.last_done;
            let cpu = narrows_model::summary::RoleCpu {
                basis,
                capacity_cpus: proxied.capacity_cpus,
                busy_ratio: proxied.busy,
                user_s: 0.0,
                system_s: used_s,
                ..template.clone()
            };
            cell.cpu.insert(Role::Proxy, cpu);
            if cell.cut == Cut::Path {
                cell.target = summary.target.clone();
            }
        }
        let streams: Vec<_> =
            summary.cells.iter().filter(|cell| cell.cut == Cut::NetworkStream).cloned().collect();
        for mut cell in streams {
            cell.cut = Cut::DirectStream;
            cell.id = cell.id.replace("network-stream", "direct-stream");
            cell.cpu.remove(&Role::Proxy);
            cell.rate_bytes_per_s.as_mut().unwrap().0 *= proxied.past;
            cell.ops_per_s.as_mut().unwrap().0 *= proxied.past;
            summary.cells.push(cell);
        }
        let paths: Vec<_> = summary.cells.iter().filter(|cell| is_corner(cell)).cloned().collect();
        for mut cell in paths {
            (cell.cut, cell.target) = (Cut::DirectPath, cell.target.past_the_proxy());
            cell.id = format!("direct-{}", cell.id);
            cell.cpu.remove(&Role::Proxy);
            let faster = if cell.in_flight.configured > 1 { proxied.past } else { 1.02 };
            cell.rate_bytes_per_s.as_mut().unwrap().0 *= faster;
            cell.ops_per_s.as_mut().unwrap().0 *= faster;
            for edge in cell.interval.iter_mut().flat_map(|seen| [&mut seen.low, &mut seen.high]) {
                *edge *= faster;
            }
            summary.cells.push(cell);
        }
        for segment in [Segment::ProxyCpu, Segment::ProxyQueue] {
            summary.segments.push(SegmentSummary { measured: true, ..SegmentSummary::unmeasured(segment) });
        }
        let mut inventory = summary.hosts[0].inventory.clone();
        if !proxied.shares_client {
            inventory.host.boot_id = Some("proxy".to_owned());
        }
        summary.hosts.push(HostSummary { roles: vec![Role::Proxy], inventory, server: None });
        summary.prediction = crate::predict::predict(&summary);
        summary.diagnosis = crate::diagnose(&summary);
        summary
    }

    fn bulk(summary: &Summary) -> Vec<&narrows_model::Limiting> {
        summary.diagnosis.limiting.iter().filter(|entry| entry.regime.starts_with("bulk")).collect()
    }

    /// The rates of these cells, so many times what they were.
    fn scale(summary: &mut Summary, factor: f64, which: fn(&CellSummary) -> bool) {
        for cell in summary.cells.iter_mut().filter(|cell| which(cell)) {
            cell.rate_bytes_per_s.as_mut().unwrap().0 *= factor;
            cell.ops_per_s.as_mut().unwrap().0 *= factor;
            for edge in cell.interval.iter_mut().flat_map(|seen| [&mut seen.low, &mut seen.high]) {
                *edge *= factor;
            }
        }
        summary.diagnosis = crate::diagnose(summary);
    }

    #[test]
    fn an_idle_proxy_past_which_the_path_is_faster_is_named_beside_a_leg_as_slow() {
        let summary = proxied(Proxied { busy: 0.03, ..Proxied::slow() });
        let entries = bulk(&summary);
        let segments: Vec<Segment> = entries.iter().map(|entry| entry.segment).collect();
        assert_eq!(segments, [Segment::ProxyQueue, Segment::NetworkBandwidth], "{entries:#?}");
        assert!(entries.iter().all(|entry| entry.relation == Relation::OneOf && entry.confidence <= 0.6));
        let first = entries[0];
        assert!(first.relief_gain_ratio.is_some_and(|gain| (gain - 10.0).abs() < 0.01), "{first:?}");
        let texts: Vec<&str> = first.evidence.iter().map(|evidence| evidence.text.as_str()).collect();
        assert!(texts.iter().any(|text| text.contains("through the proxy and")), "{texts:?}");
        assert!(texts.iter().any(|text| text.contains("the proxy's CPU is at 3.0 %")), "{texts:?}");
        assert!(texts.iter().any(|text| text.contains("a slower leg")), "{texts:?}");
        assert!(first.evidence[0].command.contains("ss -tmi dst proxy"));
        assert!(cleared(&summary, Segment::ProxyCpu) && !cleared(&summary, Segment::NetworkBandwidth));
    }

    #[test]
    fn small_buffers_through_which_a_stream_passes_are_the_proxys_and_the_network_is_cleared() {
        let mut summary = proxied(Proxied { busy: 0.03, ..Proxied::slow() });
        // Requests and replies wait for each other, and a stream keeps the buffers full.
        scale(&mut summary, 3.0, |cell| cell.cut == Cut::NetworkStream);
        let entries = bulk(&summary);
        assert_eq!((entries.len(), entries[0].segment), (1, Segment::ProxyQueue), "{entries:#?}");
        assert!(entries[0].confidence <= 0.6 && cleared(&summary, Segment::NetworkBandwidth));
    }

    #[test]
    fn a_proxy_with_its_cpu_full_is_not_said_to_queue() {
        assert!(!found(&proxied(Proxied { busy: 0.99, quota: true, ..Proxied::slow() }), RULE.code));
    }

    #[test]
    fn a_difference_within_the_error_is_neither_blamed_nor_cleared() {
        for (past, noisy) in [(1.30, true), (1.02, true), (1.18, false), (0.85, false)] {
            let mut summary = proxied(Proxied { past, busy: 0.03, capacity_cpus: 2.0, ..Proxied::slow() });
            let bulk_alone =
                |cell: &CellSummary| cell.cut != Cut::DirectPath || cell.in_flight.configured > 1;
            summary.cells.retain(bulk_alone);
            for cell in summary.cells.iter_mut().filter(|cell| noisy && cell.cut == Cut::DirectPath) {
                let rate = cell.rate_bytes_per_s.unwrap().0;
                let interval = cell.interval.as_mut().unwrap();
                (interval.low, interval.high) = (rate * 0.8, rate * 1.2);
            }
            summary.diagnosis = crate::diagnose(&summary);
            let told = (found(&summary, RULE.code), cleared(&summary, Segment::ProxyQueue));
            assert_eq!(told, (false, false), "{past} {noisy}");
        }
    }

    #[test]
    fn a_proxy_that_costs_small_requests_most_of_their_time_is_not_cleared_by_bulk() {
        let mut summary = proxied(Proxied::healthy());
        assert!(cleared(&summary, Segment::ProxyQueue));
        scale(&mut summary, 3.0, |cell| cell.cut == Cut::DirectPath && cell.in_flight.configured == 1);
        assert!(!cleared(&summary, Segment::ProxyQueue) && found(&summary, RULE.code));
        let small = summary.diagnosis.limiting.iter().find(|entry| entry.segment == Segment::ProxyQueue);
        assert!(small.is_some_and(|entry| entry.regime.starts_with("small synchronous")), "{small:?}");
    }

    #[test]
    fn on_cpus_that_others_use_too_nothing_is_said_of_its_queue() {
        for past in [1.02, 10.0] {
            let shared = Proxied { past, busy: 0.03, shares_client: true, ..Proxied::slow() };
            let summary = proxied(shared);
            assert!(!found(&summary, RULE.code) && !cleared(&summary, Segment::ProxyQueue), "{past}");
        }
        // One quota of its own is not enough: the client's turns still hold it back.
        let summary = proxied(Proxied { busy: 0.03, quota: true, shares_client: true, ..Proxied::slow() });
        assert!(!found(&summary, RULE.code));
    }

    #[test]
    fn a_proxy_that_lets_as_much_through_is_cleared_and_the_wire_named() {
        let summary = proxied(Proxied::healthy());
        assert!(cleared(&summary, Segment::ProxyQueue) && !found(&summary, RULE.code));
        assert_eq!(summary.diagnosis.limiting[0].segment, Segment::NetworkBandwidth);
    }

    #[test]
    fn without_the_load_past_it_nothing_is_said_of_it_and_the_wire_is_less_sure() {
        let mut summary = proxied(Proxied { busy: 0.03, ..Proxied::slow() });
        summary.cells.retain(|cell| !matches!(cell.cut, Cut::DirectStream | Cut::DirectPath));
        summary.diagnosis = crate::diagnose(&summary);
        assert!(!found(&summary, RULE.code) && !cleared(&summary, Segment::ProxyQueue));
        let wire: Vec<_> =
            summary.diagnosis.limiting.iter().filter(|e| e.segment == Segment::NetworkBandwidth).collect();
        assert!(!wire.is_empty() && wire.iter().all(|entry| entry.confidence <= 0.6), "{wire:#?}");
        assert!(
            wire[0].evidence.iter().any(|evidence| evidence.text.contains("this stream passed the proxy"))
        );
    }
}
