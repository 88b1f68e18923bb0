//! Options of an engine: which there are, and the values that a study gives.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The options of one engine: a table `[workload.NAME]` of a study.
#[derive(Debug, Clone, Copy)]
pub struct OptionTable {
    /// The table's name below `workload`.
    pub name: &'static str,
    /// What the options decide, in one line for the reference.
    pub title: &'static str,
    /// The options, in the order of the reference.
    pub options: &'static [EngineOption],
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct EngineOption {
    /// Its name in its table.
    pub name: &'static str,
    /// What it takes.
    pub kind: OptionKind,
    /// What applies without it, as a value or in words.
    pub default: &'static str,
    /// A value of it, as TOML.
    pub example: &'static str,
    /// What it means, in one line for people.
    pub meaning: &'static str,
}

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// Yes or no.
    Flag,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A whole number.
    Count {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// Bytes.
    Size {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// A text of one line that is not empty.
    Text,
    /// A duration, stored in nanoseconds.
    Duration {
        /// The least, in nanoseconds.
        min_ns: u64,
        /// The most, in nanoseconds.
        max_ns: u64,
    },
}

/// Values of an engine's options by their names; what is not given is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(transparent)]
pub struct EngineOptions(Map<String, Value>);

impl EngineOptions {
    /// Gives the option `name` this value.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Whether no option is given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The options as the type in which an engine reads them.
    ///
    /// # Errors
    /// A value that the type does not take, as in a record of another version.
    pub fn typed<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_value(Value::Object(self.0.clone()))
    }
}
