//! Documents as JSON: the code that reads and writes one is in the program once, whoever asks for it.
//!
//! Code of generic readers and writers is made for each type, again in each crate that calls them, and once more for each
//! kind of input and layout: a fifth of the program's code was for JSON. The types here contain most others. So they are read
//! from text alone and written in one line alone; [`indented`] makes the other layout, and [`embedded`] puts a document
//! into a message of another crate as finished text.

use crate::cell::Cell;
use crate::collective::CollectiveRun;
use crate::comparison::Comparison;
use crate::counters::CounterSample;
use crate::event::Event;
use crate::extrapolation::Extrapolation;
use crate::figures::FigureComparison;
use crate::inventory::Inventory;
use crate::noise::Noise;
use crate::observation::DiagnosisDocument;
use crate::plan::Plan;
use crate::server::ServerFacts;
use crate::sim_profile::SimProfile;
use crate::summary::Summary;
use crate::trial::IntervalSample;
use serde_json::value::RawValue;

/// A value with its own code for JSON, which all crates share.
pub trait Json: Sized {
    /// The value as JSON in one line; keys are in the order of its type.
    ///
    /// # Errors
    /// A map whose keys are no text.
    fn to_json(&self) -> serde_json::Result<Box<RawValue>>;

    /// Appends the same to `out`.
    ///
    /// # Errors
    /// A map whose keys are no text.
    fn append_json(&self, out: &mut Vec<u8>) -> serde_json::Result<()>;

    /// The value that `text` is.
    ///
    /// # Errors
    /// What is wrong, with its line and column in `text`.
    fn from_json(text: &str) -> serde_json::Result<Self>;
}

/// Makes [`Json`] for a type that serde writes, with the function that reads it from text.
#[macro_export]
macro_rules! json_document {
    ($document:ty, $from_text:path) => {
        impl $crate::json::Json for $document {
            fn to_json(&self) -> ::serde_json::Result<Box<::serde_json::value::RawValue>> {
                ::serde_json::value::to_raw_value(self)
            }

            fn append_json(&self, out: &mut Vec<u8>) -> ::serde_json::Result<()> {
                ::serde_json::to_writer(out, self)
            }

            fn from_json(text: &str) -> ::serde_json::Result<Self> {
                $from_text(text)
            }
        }
    };
}

macro_rules! documents {
    ($($document:ty),* $(,)?) => {$(json_document!($document, serde_json::from_str);)*};
}

documents!(
    Cell,
    CollectiveRun,
    Comparison,
    CounterSample,
    DiagnosisDocument,
    Extrapolation,
    FigureComparison,
    IntervalSample,
    Inventory,
    Noise,
    Plan,
    ServerFacts,
    SimProfile,
    Summary,
);

json_document!(Event, Event::from_text);

impl<T: Json> Json for Box<T> {
    fn to_json(&self) -> serde_json::Result<Box<RawValue>> {
        (**self).to_json()
    }

    fn append_json(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        (**self).append_json(out)
    }

    fn from_json(text: &str) -> serde_json::Result<Self> {
        T::from_json(text).map(Box::new)
    }
}

/// JSON of one line with a line for each value, indented by two spaces, as people read it; without a newline at its end.
#[must_use]
pub fn indented(json: &RawValue) -> String {
    let mut out = String::with_capacity(json.get().len() * 2);
    let mut rest = json.get().chars().peekable();
    let mut depth = 0_usize;
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    };
    while let Some(c) = rest.next() {
        match c {
            '"' => push_string(&mut out, &mut rest),
            '{' | '[' => {
                out.push(c);
                if let Some(end) = rest.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ => out.push(c),
        }
    }
    out
}

/// Copies a string whose opening quote was taken from `rest`, to its closing one.
fn push_string(out: &mut String, rest: &mut impl Iterator<Item = char>) {
    out.push('"');
    while let Some(c) = rest.next() {
        out.push(c);
        match c {
            '\\' => out.extend(rest.next()),
            '"' => return,
            _ => {}
        }
    }
}

/// A document as a field of another crate's message, for `#[serde(with = "narrows_model::json::embedded")]`: the JSON is
/// that of a plain field. Of JSON alone: of other formats there is no text of a part.
pub mod embedded {
    use super::{Json, RawValue};
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the document.
    ///
    /// # Errors
    /// Those of [`Json::to_json`] and of the serializer.
    pub fn serialize<T: Json, S: Serializer>(document: &T, serializer: S) -> Result<S::Ok, S::Error> {
        document.to_json().map_err(S::Error::custom)?.serialize(serializer)
    }

    /// Reads the document.
    ///
    /// # Errors
    /// Those of [`Json::from_json`] and of the deserializer.
    pub fn deserialize<'de, T: Json, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        T::from_json(text.get()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::CellId;
    use crate::plan::SkippedCell;
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};
    use serde_json::value::to_raw_value;
    use serde_json::{Value, json};

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC*|[\"\\\\{}\\[\\],: \n\u{1b}]*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec(("[\"\\\\{}:a]*", inner), 0..5)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_layout_is_that_of_serde_json(value in any_value()) {
            let expected = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(indented(&to_raw_value(&value).unwrap()), expected);
        }
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Message {
        #[serde(with = "embedded")]
        event: Box<Event>,
        count: u32,
    }

    #[test]
    fn an_embedded_document_is_written_and_read_as_a_plain_field() {
        let skipped = SkippedCell { cell: CellId("a \"b\"".into()), reason: "r".into() };
        let message = Message { event: Box::new(Event::CellSkipped(skipped)), count: 2 };
        let text = serde_json::to_string(&message).unwrap();
        let plain = json!({ "event": *message.event, "count": 2 });
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), plain);
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
        assert_eq!(serde_json::from_value::<Message>(plain).unwrap(), message);
        let wrong = text.replace("\"r\"", "5");
        let error = serde_json::from_str::<Message>(&wrong).unwrap_err().to_string();
        assert!(error.contains("expected a string"), "{error}");
    }
}
