//! Reading of an event: its kind first, then the same text once more as what this kind has.
//!
//! A derived reader of a tagged type copies every value in memory before it knows the kind. Its errors then have no place
//! in the text, and the program has a second reader of all types that an event can contain, a twelfth of its size.

use super::{EndReason, Event, Phase};
use crate::cell::{Cell, CellId};
use crate::inventory::Inventory;
use crate::plan::SkippedCell;
use crate::server::ServerFacts;
use crate::units::Nanos;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The beginning of an event as narrows writes it.
const FIRST_KEY: &str = r#"{"event":"#;

/// The kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EventKind {
    RunStarted,
    ServerConnected,
    ProxyConnected,
    MetricsConnected,
    MetricsMissed,
    PlanExtended,
    PhaseStarted,
    Interval,
    Counters,
    TrialFinished,
    RelayTrialFinished,
    CellSkipped,
    CellFailed,
    CellRepeated,
    RunFinished,
}

impl Event {
    /// The event that `text` is, whatever the order of its keys.
    ///
    /// # Errors
    /// What is wrong, with its line and column in `text`.
    pub(crate) fn from_text(text: &str) -> serde_json::Result<Self> {
        match kind(text)? {
            EventKind::RunStarted => run_started(text),
            EventKind::ServerConnected => server_connected(text),
            EventKind::ProxyConnected => proxy_connected(text),
            EventKind::MetricsConnected => metrics_connected(text),
            EventKind::MetricsMissed => metrics_missed(text),
            EventKind::PlanExtended => plan_extended(text),
            EventKind::PhaseStarted => phase_started(text),
            EventKind::Interval => fields(text).map(Self::Interval),
            EventKind::Counters => fields(text).map(Self::Counters),
            EventKind::TrialFinished => fields(text).map(Self::TrialFinished),
            EventKind::RelayTrialFinished => fields(text).map(Self::RelayTrialFinished),
            EventKind::CellSkipped => fields(text).map(Self::CellSkipped),
            EventKind::CellFailed => cell_failed(text),
            EventKind::CellRepeated => cell_repeated(text),
            EventKind::RunFinished => run_finished(text),
        }
    }
}

/// Of JSON alone: of other formats there is no text of a part.
impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_text(text.get()).map_err(D::Error::custom)
    }
}

/// The kind is the first key in all that narrows writes; elsewhere it is looked for.
fn kind(text: &str) -> serde_json::Result<EventKind> {
    #[derive(Deserialize)]
    struct KindAlone {
        event: EventKind,
    }
    let first = text.strip_prefix(FIRST_KEY).and_then(|rest| {
        let end = rest.find('"')?;
        serde_json::from_str(&text[FIRST_KEY.len() - 1..=FIRST_KEY.len() + end]).ok()
    });
    first.map_or_else(|| serde_json::from_str::<KindAlone>(text).map(|found| found.event), Ok)
}

fn fields<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text)
}

fn run_started(text: &str) -> serde_json::Result<Event> {
    #[derive(Deserialize)]
    struct RunStartedFields {
        at_ns: Nanos,
    }
    fields(text).map(|RunStartedFields { at_ns }| Event::RunStarted { at_ns })
}

fn server_connected(text: &str) -> serde_json::Result<Event> {
    #[derive(Deserialize)]
    struct ServerConnectedFields {
        server: Box<ServerFacts>,
        inventory: Box<Inventory>,
    }
    fields(text)
        .map(|ServerConnectedFields { server, inventory }| Event::ServerConnected { server, inventory })
}

fn proxy_connected(text: &str) -> serde_json::Result<Event> {
    #[derive(Deserialize)]
    struct ProxyConnectedFields {
        proxy: Box<ServerFacts>,
        inventory: Box<Inventory>,
    }
    fields(text).map(|ProxyConnectedFields { proxy, inventory }| Event::ProxyConnected { proxy, inventory })
}

fn metrics_connected(text: &str) -> serde_json::Result<Event> {
    #[derive(Deserialize)]
    struct MetricsConnectedFields {
        url: String,
    }
    fields(text).map(|MetricsConnectedFields { url }| Event::MetricsConnected { url })
}

fn metrics_missed(text: &str) -> serde_json::Result<Event> {
    #[derive(Deserialize)]
    struct MetricsMissedFields {
        cell: CellId,
        trial: u32,
        reason: String,
    }
    fields(text).map(|MetricsMissedFields { cell, trial, reason }| Event::MetricsMissed {
        cell,
        trial,
        reason,
    })
}

fn plan_extended(text: &str) -> serde_json::Result<Event> {
    #[derive(Deserialize)]
    struct PlanExtendedFields {
        cells: Vec<Cell>,
        skipped: Vec<SkippedCell>,
    }
    fields(text).map(|PlanExtendedFields { cells, skipped }| Event::PlanExtended { cells, skipped })
}

fn phase_started(text: &str) -> serde_json::Result<Event> {
    #[derive(Deserialize)]
    struct PhaseStartedFields {
        cell: CellId,
        trial: u32,
        phase: Phase,
        at_ns: Nanos,
    }
    fields(text).map(|PhaseStartedFields { cell, trial, phase, at_ns }| Event::PhaseStarted {
        cell,
        trial,
        phase,
        at_ns,
    })
}

fn cell_failed(text: &str) -> serde_json::Result<Event> {
    #[derive(Deserialize)]
    struct CellFailedFields {
        cell: CellId,
        message: String,
    }
    fields(text).map(|CellFailedFields { cell, message }| Event::CellFailed { cell, message })
}

fn cell_repeated(text: &str) -> serde_json::Result<Event> {
    #[derive(Deserialize)]
    struct CellRepeatedFields {
        cell: CellId,
        reason: String,
    }
    fields(text).map(|CellRepeatedFields { cell, reason }| Event::CellRepeated { cell, reason })
}

fn run_finished(text: &str) -> serde_json::Result<Event> {
    #[derive(Deserialize)]
    struct RunFinishedFields {
        at_ns: Nanos,
        reason: EndReason,
        #[serde(default)]
        detail: Option<String>,
    }
    fields(text).map(|RunFinishedFields { at_ns, reason, detail }| Event::RunFinished {
        at_ns,
        reason,
        detail,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one_of_each() -> Vec<Event> {
        let cell = CellId("a".into());
        vec![
            Event::RunStarted { at_ns: Nanos(1) },
            Event::MetricsConnected { url: "http://s:9100/metrics".into() },
            Event::MetricsMissed { cell: cell.clone(), trial: 2, reason: "r".into() },
            Event::PlanExtended { cells: vec![], skipped: vec![] },
            Event::PhaseStarted { cell: cell.clone(), trial: 3, phase: Phase::WarmUp, at_ns: Nanos(4) },
            Event::CellSkipped(SkippedCell { cell: cell.clone(), reason: "r".into() }),
            Event::CellFailed { cell: cell.clone(), message: "m".into() },
            Event::CellRepeated { cell, reason: "r".into() },
            Event::RunFinished { at_ns: Nanos(9), reason: EndReason::Failed, detail: Some("d".into()) },
        ]
    }

    #[test]
    fn what_was_written_is_read_from_text_as_part_of_text_and_from_values() {
        for event in one_of_each() {
            let text = serde_json::to_string(&event).unwrap();
            assert!(text.starts_with(FIRST_KEY), "{text}");
            assert_eq!(Event::from_text(&text).unwrap(), event);
            let both: Vec<Event> = serde_json::from_str(&format!("[ {text} , {text} ]")).unwrap();
            assert_eq!(both, [event.clone(), event.clone()]);
            assert_eq!(
                serde_json::from_value::<Event>(serde_json::to_value(&event).unwrap()).unwrap(),
                event
            );
        }
    }

    #[test]
    fn the_kind_may_be_anywhere_and_written_with_escapes() {
        let expected = Event::RunStarted { at_ns: Nanos(7) };
        for text in [
            r#"{"at_ns":7,"event":"run_started"}"#,
            r#" { "event" : "run_started", "at_ns" : 7, "later" : [] }"#,
            r#"{"event":"run_\u0073tarted","at_ns":7}"#,
        ] {
            assert_eq!(Event::from_text(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn an_error_has_its_place_in_the_text() {
        let error = Event::from_text(r#"{"event":"cell_failed","cell":"a","message":5}"#).unwrap_err();
        assert_eq!((error.line(), error.column()), (1, 45), "{error}");
        let unknown = Event::from_text(r#"{"event":"moon_landed"}"#).unwrap_err().to_string();
        assert!(
            unknown.contains("unknown variant `moon_landed`, expected one of `run_started`"),
            "{unknown}"
        );
        let absent = Event::from_text(r#"{"at_ns":7}"#).unwrap_err().to_string();
        assert!(absent.contains("missing field `event`"), "{absent}");
        for text in ["", "{", "[]", "null", r#"{"event":"run_started""#, r#"{"event":""#, r#"{"event":5}"#] {
            assert!(Event::from_text(text).is_err(), "{text}");
        }
    }

    #[cfg(feature = "schemas")]
    #[test]
    fn every_kind_of_the_published_schema_is_known() {
        let schema = schemars::schema_for!(Event);
        let kinds = schema.as_value()["oneOf"].as_array().unwrap();
        assert_eq!(kinds.len(), 15);
        for kind in kinds {
            let name = &kind["properties"]["event"]["const"];
            assert!(serde_json::from_value::<EventKind>(json!(name)).is_ok(), "{name}");
        }
    }
}
