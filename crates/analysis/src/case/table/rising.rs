//! Observations along which one quantity rises, or several rise together, and nothing else differs: curves of a load, and
//! resources that were added at once.
//!
//! Not here: what a curve says of a segment, which is `method::curve`'s and the rules'.

use super::ObservationTable;
use super::factors::{CLIENTS, same_load, setting_under};
use narrows_model::cell::FactorValue;
use narrows_model::{Observation, Segment};
use std::collections::BTreeSet;

/// Factors that are how much is asked for at once, under the names that load generators have for them.
const OF_LOAD: [&str; 7] = ["threads", "jobs", "numjobs", "workers", "processes", "queue_depth", "iodepth"];

/// A quantity that rises along observations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RisingAxis<'a> {
    Clients,
    InFlight,
    Factor(&'a str),
}

impl RisingAxis<'_> {
    /// Its value in an observation; `None` where that has none, or one that is no number.
    pub(crate) fn value(self, one: &Observation) -> Option<f64> {
        match self {
            Self::Clients => one.clients.map(|clients| clients as f64),
            Self::InFlight => one.in_flight_configured,
            Self::Factor(name) => match one.factors.get(name) {
                Some(FactorValue::Number(number)) => Some(*number),
                _ => None,
            },
        }
    }

    /// Whether it is how much is asked for at once.
    pub(crate) fn is_load(self) -> bool {
        match self {
            Self::Clients | Self::InFlight => true,
            Self::Factor(name) => OF_LOAD.contains(&name),
        }
    }

    /// The segment that limits a load which asks for too little along this axis, or the resource that it is.
    pub(crate) fn segment(self, table: &ObservationTable<'_>) -> Option<Segment> {
        match self {
            Self::Clients => Some(Segment::Client),
            _ if self.is_load() => Some(Segment::WorkloadConcurrency),
            Self::InFlight => None,
            Self::Factor(name) => table.segment_of(name),
        }
    }

    /// Its name in words.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Clients => "clients".to_owned(),
            Self::InFlight => "requests in flight".to_owned(),
            Self::Factor(name) => name.replace('_', " "),
        }
    }
}

/// Observations in which the axes rise together and nothing else differs, the least first.
#[derive(Debug)]
pub(crate) struct RisingSeries<'a> {
    /// The load first, if there is any; one or more.
    pub(crate) axes: Vec<RisingAxis<'a>>,
    /// Two or more.
    pub(crate) rows: Vec<&'a Observation>,
}

impl<'a> RisingSeries<'a> {
    fn along(axis: RisingAxis<'a>, rows: Vec<&'a Observation>) -> Self {
        Self { axes: vec![axis], rows }
    }

    /// The value of its first axis in `one`.
    pub(crate) fn value(&self, one: &Observation) -> Option<f64> {
        self.axes.first()?.value(one)
    }

    /// How many times as much `more` has of the axis that grows the most.
    pub(crate) fn grown(&self, less: &Observation, more: &Observation) -> Option<f64> {
        let grown = |axis: &RisingAxis<'_>| narrows_model::units::ratio(axis.value(more)?, axis.value(less)?);
        self.axes.iter().filter_map(grown).reduce(f64::max)
    }

    /// Whether the clients are among what rises.
    pub(crate) fn has_clients(&self) -> bool {
        self.axes.contains(&RisingAxis::Clients)
    }

    /// The name of its first axis.
    pub(crate) fn first_name(&self) -> String {
        self.axes.first().map(|axis| axis.name()).unwrap_or_default()
    }

    /// What an observation has of it: `8 clients`, `16 clients (with 64 requests in flight)`.
    pub(crate) fn describe(&self, one: &Observation) -> String {
        let of_axis = |axis: &RisingAxis<'_>| Some(format!("{} {}", axis.value(one)?, axis.name()));
        let Some((first, rest)) = self.axes.split_first() else { return String::new() };
        let rest: Vec<String> = rest.iter().filter_map(of_axis).collect();
        let with = if rest.is_empty() { String::new() } else { format!(" (with {})", rest.join(" and ")) };
        of_axis(first).unwrap_or_default() + &with
    }
}

impl<'a> ObservationTable<'a> {
    /// Curves of a load: more clients, more in flight, more threads, and several of them together.
    pub(crate) fn load_curves(&self) -> Vec<RisingSeries<'a>> {
        let in_order = |axis: RisingAxis<'a>, series: Vec<Vec<&'a Observation>>| {
            series.into_iter().map(move |rows| RisingSeries::along(axis, rows))
        };
        let threads = self.factors().into_iter().filter(|name| OF_LOAD.contains(name));
        let clients = in_order(RisingAxis::Clients, self.series(CLIENTS));
        let in_flight = in_order(RisingAxis::InFlight, self.in_flight_series());
        let of_threads = threads.flat_map(|name| in_order(RisingAxis::Factor(name), self.series(name)));
        let together = self.tied_series().into_iter().filter(|series| !self.has_resource(series));
        let together = together.filter(|series| series.axes.iter().any(|axis| axis.is_load()));
        let is_of_numbers =
            |series: &RisingSeries<'_>| series.rows.iter().all(|one| series.value(one).is_some());
        clients.chain(in_flight).chain(of_threads).chain(together).filter(is_of_numbers).collect()
    }

    /// Observations in which several quantities rise together, a resource with a known segment among them.
    pub(crate) fn tied_resources(&self) -> Vec<RisingSeries<'a>> {
        self.tied_series().into_iter().filter(|series| self.has_resource(series)).collect()
    }

    fn has_resource(&self, series: &RisingSeries<'_>) -> bool {
        series.axes.iter().any(|axis| !axis.is_load() && axis.segment(self).is_some())
    }

    /// Observations in which two quantities or more differ, and each step raises all of them.
    fn tied_series(&self) -> Vec<RisingSeries<'a>> {
        let axes = self.number_axes();
        let left_out =
            |name: &str| axes.iter().any(|axis| matches!(axis, RisingAxis::Factor(known) if *known == name));
        let key = |one: &Observation| {
            let given: String =
                axes.iter().map(|axis| if axis.value(one).is_some() { 'x' } else { '-' }).collect();
            let load = Observation { in_flight_configured: None, ..one.clone() };
            let named = |name: &str| name == CLIENTS || left_out(name);
            Some(format!("{given} {}{}", setting_under(one, one.op, &named), same_load(&load)))
        };
        self.groups(key).into_iter().filter_map(|rows| tied(&axes, rows)).collect()
    }

    /// What may rise: the load, and factors whose values are numbers. Buffers are the cost of calls.
    fn number_axes(&self) -> Vec<RisingAxis<'a>> {
        let is_number = |name: &&str| {
            let values = self.observations().iter().filter_map(|one| one.factors.get(*name));
            values.clone().count() > 0 && values.clone().all(|value| matches!(value, FactorValue::Number(_)))
        };
        let factors = self.factors().into_iter().filter(|name| !name.ends_with("_buffer_bytes"));
        let factors = factors.filter(is_number).map(RisingAxis::Factor);
        [RisingAxis::Clients, RisingAxis::InFlight].into_iter().chain(factors).collect()
    }
}

/// `rows` in order, where two axes or more differ between them and rise in every step.
fn tied<'a>(axes: &[RisingAxis<'a>], mut rows: Vec<&'a Observation>) -> Option<RisingSeries<'a>> {
    let bits = |axis: &RisingAxis<'_>, one: &Observation| axis.value(one).map(f64::to_bits);
    let differs =
        |axis: &&RisingAxis<'_>| rows.iter().map(|one| bits(axis, one)).collect::<BTreeSet<_>>().len() > 1;
    let varied: Vec<RisingAxis<'a>> = axes.iter().filter(differs).copied().collect();
    let first = *varied.first().filter(|_| varied.len() > 1)?;
    rows.sort_by(|a, b| first.value(a).unwrap_or(0.0).total_cmp(&first.value(b).unwrap_or(0.0)));
    let rises = |axis: &RisingAxis<'_>, pair: &[&Observation]| match pair {
        [less, more] => axis.value(less) < axis.value(more),
        _ => false,
    };
    let is_repeat = |pair: &[&Observation]| match pair {
        [one, other] => varied.iter().all(|axis| bits(axis, one) == bits(axis, other)),
        _ => false,
    };
    let is_tied = rows.windows(2).all(|pair| is_repeat(pair) || varied.iter().all(|axis| rises(axis, pair)));
    is_tied.then_some(RisingSeries { axes: varied, rows })
}
