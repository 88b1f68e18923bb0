//! The event in a line's data, or the key at which it is not what the schema says.

use crate::files::without_position;
use crate::locate::key_at;
use narrows_model::{Event, Json};

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
    Event::from_json(data).map_err(|error| DecodeError {
        key: key_at(data, error.line(), error.column()),
        found: without_position(&error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn each_event_is_read_as_it_was_written() {
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
