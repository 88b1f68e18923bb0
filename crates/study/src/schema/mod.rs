//! TOML files that people write: their keys declared as data, their values read into typed fields, every problem at once.
//!
//! Study files and observation files each declare tables of keys with `key_table!` and a [`FileSchema`]; reading, ranges,
//! hints and messages are here, once. Deliberately absent: any key, and what values mean together.

mod arithmetic;
mod choice;
mod document;
mod field;
mod key;
mod kind;
mod names;
mod nearest;
mod range;
mod read;
mod scalar;
mod shares;
mod suggest;
mod table;
mod toml_value;
mod value;

pub use key::{FileSchema, KeySpec, Requirement, TableForm, TableSpec};
pub use kind::ValueKind;
pub use narrows_model::located::{FileProblem, FileProblems};
pub use nearest::nearest;

pub(crate) use choice::{Choice, choices};
pub(crate) use document::{FileType, parsed};
pub(crate) use field::{AnyField, KeyField, KeyFields, KeyMark, key_table, untyped};
pub(crate) use kind::{BLOCK_BYTES, ROLE_NAMES};
pub(crate) use narrows_model::located::{Complaint, Findings, Span};
pub(crate) use read::FileReader;
pub(crate) use table::{DeclaredEntry, TableRow, missing};
pub(crate) use toml_value::{FoundName, FoundValue, in_file_order, joined};
pub(crate) use value::{ArithmeticValue, FileValue, LocatedValue};
