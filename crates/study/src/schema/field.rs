//! Typed fields of keys: the value that a file gives, where, and whether it can be relied on.
//!
//! [`key_table!`] declares the keys of a table and the struct of their fields together, so that no value is looked up by
//! a path. Not here: reading a value from TOML.

use super::choice::Choice;
use super::key::factor_name;
use super::value::{ArithmeticValue, FileValue, LocatedValue};
use super::{KeySpec, Span};
use narrows_model::cell::FactorValue;
use narrows_model::counters::Role;
use narrows_model::observation::ObservedBytes;
use narrows_model::units::{round_to_u64, saturate_u32};
use narrows_model::workload::{BlockShare, OpShare, SyncPolicy};
use narrows_model::{Bytes, BytesPerSec, Nanos, OpsPerSec, Segment, Target};
use std::collections::BTreeMap;

/// What is known of a key besides its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeyMark {
    pub(crate) path: &'static str,
    /// Where it is given, readable or not.
    pub(crate) at: Option<Span>,
    /// Whether its value is one of several below `[sweep]`.
    pub(crate) is_swept: bool,
    /// Whether it was given, or meant, in a way that cannot be read.
    pub(crate) in_doubt: bool,
}

impl KeyMark {
    /// The name in its table.
    pub(crate) fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, name)| name)
    }

    /// The path under which it is given: below `sweep` where it is a factor.
    pub(crate) fn path_as_given(&self) -> String {
        if self.is_swept && self.path != "target" {
            format!("sweep.{}", factor_name(self.path))
        } else {
            self.path.to_owned()
        }
    }
}

/// A key of a file with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeyField<T> {
    /// `None` where it is not given, or cannot be read.
    pub(crate) value: Option<T>,
    pub(crate) mark: KeyMark,
}

impl<T> KeyField<T> {
    pub(crate) fn absent(path: &'static str) -> Self {
        Self { value: None, mark: KeyMark { path, at: None, is_swept: false, in_doubt: false } }
    }
}

/// A field of any type.
pub(crate) trait AnyField {
    fn mark(&self) -> &KeyMark;
    fn mark_mut(&mut self) -> &mut KeyMark;
    fn is_set(&self) -> bool;
    /// Sets the value, and where it is given.
    fn set(&mut self, found: &LocatedValue);
}

impl<T: FromValue> AnyField for KeyField<T> {
    fn mark(&self) -> &KeyMark {
        &self.mark
    }

    fn mark_mut(&mut self) -> &mut KeyMark {
        &mut self.mark
    }

    fn is_set(&self) -> bool {
        self.value.is_some()
    }

    fn set(&mut self, found: &LocatedValue) {
        self.value = T::from_value(&found.value);
        debug_assert!(self.value.is_some(), "{} takes what its kind reads: {found:?}", self.mark.path);
        self.mark.at = Some(found.at.clone());
    }
}

/// The fields of a table's keys.
pub(crate) trait KeyFields {
    fn fields(&self) -> Vec<&dyn AnyField>;
    fn fields_mut(&mut self) -> Vec<&mut dyn AnyField>;

    /// The field of the key with this path.
    fn field_mut(&mut self, path: &str) -> Option<&mut dyn AnyField> {
        self.fields_mut().into_iter().find(|field| field.mark().path == path)
    }

    /// Marks a key, or all keys of a table, that was given or meant in a way that cannot be read.
    fn doubt(&mut self, path: &str) {
        let is_meant = |known: &str| {
            known.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        for field in self.fields_mut().into_iter().filter(|field| is_meant(field.mark().path)) {
            field.mark_mut().in_doubt = true;
        }
    }

    /// As [`Self::doubt`], for a key that is given at `at`.
    fn doubt_at(&mut self, path: &str, at: Span) {
        self.doubt(path);
        if let Some(field) = self.field_mut(path) {
            field.mark_mut().at.get_or_insert(at);
        }
    }
}

/// Declares the keys of a table, with a struct that has a [`KeyField`] for each.
///
/// A line is `name: type, kind, requirement, example, meaning;`. The prefix is the table's path with a point, or empty.
macro_rules! key_table {
    ($(#[$doc:meta])* $name:ident in $prefix:literal {
        $($field:ident: $type:ty, $kind:expr, $requirement:expr, $example:literal, $meaning:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub(crate) struct $name {
            $(pub(crate) $field: $crate::schema::KeyField<$type>,)*
        }

        impl $name {
            pub(crate) const KEYS: &'static [$crate::schema::KeySpec] = &[$($crate::schema::KeySpec {
                path: concat!($prefix, stringify!($field)),
                kind: $kind,
                requirement: $requirement,
                meaning: $meaning,
                example: $example,
                swept: false,
            }),*];
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::schema::KeyField::absent(concat!($prefix, stringify!($field))),)* }
            }
        }

        impl $crate::schema::KeyFields for $name {
            fn fields(&self) -> Vec<&dyn $crate::schema::AnyField> {
                vec![$(&self.$field),*]
            }

            fn fields_mut(&mut self) -> Vec<&mut dyn $crate::schema::AnyField> {
                vec![$(&mut self.$field),*]
            }
        }
    };
}
pub(crate) use key_table;

/// A field for each of `keys`, of which only the schema knows the types.
pub(crate) fn untyped<'k>(keys: impl Iterator<Item = &'k KeySpec>) -> Vec<KeyField<FileValue>> {
    keys.map(|key| KeyField::absent(key.path)).collect()
}

/// What a field can have as its value.
pub(crate) trait FromValue: Sized {
    /// `None` where the value is of another kind.
    fn from_value(value: &FileValue) -> Option<Self>;
}

impl<T: Choice> FromValue for T {
    fn from_value(value: &FileValue) -> Option<Self> {
        match value {
            FileValue::Name(name) => T::from_choice(name),
            _ => None,
        }
    }
}

impl<T: Choice> FromValue for Vec<T> {
    fn from_value(value: &FileValue) -> Option<Self> {
        match value {
            FileValue::Names(names) => names.iter().map(|name| T::from_choice(name)).collect(),
            _ => None,
        }
    }
}

impl FromValue for FileValue {
    fn from_value(value: &FileValue) -> Option<Self> {
        Some(value.clone())
    }
}

/// Types that one variant contains, each with the expression that takes it out.
macro_rules! from_values {
    ($($type:ty: $variant:ident($found:ident) => $made:expr;)*) => {
        $(impl FromValue for $type {
            fn from_value(value: &FileValue) -> Option<Self> {
                match value {
                    FileValue::$variant($found) => Some($made),
                    _ => None,
                }
            }
        })*
    };
}

from_values! {
    String: Text(text) => text.clone();
    bool: Flag(flag) => *flag;
    Target: Target(target) => target.clone();
    u64: Count(count) => *count;
    u32: Count(count) => saturate_u32(*count);
    Nanos: Duration(duration) => *duration;
    BytesPerSec: Number(rate) => BytesPerSec(*rate);
    Vec<OpShare>: OpShares(shares) => shares.clone();
    Vec<BlockShare>: BlockShares(shares) => shares.clone();
    SyncPolicy: Sync(policy) => *policy;
    Segment: Segment(segment) => *segment;
    Vec<f64>: Numbers(numbers) => numbers.clone();
    BTreeMap<Role, f64>: Each(numbers) => by_role(numbers).collect();
    // Counts are below 2^53, so that nothing is lost on the way.
    BTreeMap<Role, u64>: Each(numbers) => by_role(numbers).map(|(role, n)| (role, round_to_u64(n))).collect();
    BTreeMap<Role, Bytes>: Each(numbers) => by_role(numbers).map(|(role, n)| (role, Bytes(round_to_u64(n)))).collect();
    BTreeMap<Segment, f64>: EachSegment(numbers) => numbers.clone();
    BTreeMap<String, Segment>: Segments(segments) => segments.clone();
    BTreeMap<String, FactorValue>: Factors(factors) => factors.clone();
    ObservedBytes: Each(numbers) => observed_bytes(numbers);
    ArithmeticValue: Arithmetic(arithmetic) => arithmetic.clone();
}

impl FromValue for Bytes {
    fn from_value(value: &FileValue) -> Option<Self> {
        match value {
            FileValue::Size(bytes) => Some(*bytes),
            FileValue::Count(count) | FileValue::ByteRate(count) => Some(Bytes(*count)),
            _ => None,
        }
    }
}

impl FromValue for f64 {
    fn from_value(value: &FileValue) -> Option<Self> {
        match value {
            FileValue::Number(number) | FileValue::OpRate(number) => Some(*number),
            _ => None,
        }
    }
}

impl FromValue for OpsPerSec {
    fn from_value(value: &FileValue) -> Option<Self> {
        f64::from_value(value).map(OpsPerSec)
    }
}

fn by_role(numbers: &BTreeMap<&'static str, f64>) -> impl Iterator<Item = (Role, f64)> {
    let role = |name| [Role::Client, Role::Proxy, Role::Server].into_iter().find(|role| role.name() == name);
    numbers.iter().filter_map(move |(name, number)| Some((role(*name)?, *number)))
}

fn observed_bytes(numbers: &BTreeMap<&'static str, f64>) -> ObservedBytes {
    let at = |point: &str| numbers.get(point).map(|bytes| Bytes(round_to_u64(*bytes)));
    ObservedBytes { application: at("application"), wire: at("wire"), device: at("device") }
}
