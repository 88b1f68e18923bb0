//! The event in a line's data, or the key at which it is not what the schema says.
//!
//! The three events that make up nearly all of a record are read straight into their types; the tagged form would first
//! copy every value in memory, and its errors would not know their place.

use crate::files::without_position;
use crate::locate::key_at;
use narrows_model::Event;
use serde::de::DeserializeOwned;

/// Why data is no event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecodeError {
    pub(crate) key: Option<String>,
    pub(crate) found: String,
}

/// Start of the data of an event that adds to the plan.
pub(crate) const PLAN_EXTENDED: &str = r#"{"event":"plan_extended""#;

/// The event in `data`.
pub(crate) fn event(data: &str) -> Result<Event, DecodeError> {
    if data.starts_with(r#"{"event":"trial_finished""#) {
        parse(data).map(|trial| Event::TrialFinished(Box::new(trial)))
    } else if data.starts_with(r#"{"event":"interval""#) {
        parse(data).map(|sample| Event::Interval(Box::new(sample)))
    } else if data.starts_with(r#"{"event":"counters""#) {
        parse(data).map(|sample| Event::Counters(Box::new(sample)))
    } else {
        parse(data)
    }
}

fn parse<T: DeserializeOwned>(data: &str) -> Result<T, DecodeError> {
    serde_json::from_str(data).map_err(|error| DecodeError {
        key: key_at(data, error.line(), error.column()),
        found: without_position(&error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn the_short_way_reads_what_the_tagged_form_reads() {
        for expected in samples::one_of_each() {
            let data = serde_json::to_string(&expected).unwrap();
            assert_eq!(event(&data).unwrap(), expected);
            assert_eq!(serde_json::from_str::<Event>(&data).unwrap(), expected);
        }
    }

    #[test]
    fn a_wrong_type_is_named_with_its_key() {
        let data = serde_json::to_string(&samples::trial(0, 0)).unwrap();
        let wrong = data.replace("\"user_ns\":1", "\"user_ns\":\"one\"");
        let mismatch = event(&wrong).unwrap_err();
        assert_eq!(mismatch.key.as_deref(), Some("clients[0].user_ns"));
        assert!(mismatch.found.contains("expected u64"), "{}", mismatch.found);
    }

    #[test]
    fn an_unknown_event_is_named() {
        let mismatch = event(r#"{"event":"moon_landed"}"#).unwrap_err();
        assert!(mismatch.found.contains("moon_landed"), "{}", mismatch.found);
    }
}
