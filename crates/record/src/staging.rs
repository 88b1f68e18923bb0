//! Names of folders in which records are begun: `.NAME.ID.partial` beside NAME.
//!
//! Not here: how they are made and filled, which is the writer's.

use crate::files::PARTIAL;
use std::ffi::{OsStr, OsString};

/// Characters of a run's name in the name of the folder at most.
const ID_CHARS_MAX: usize = 64;

/// The passing name of the record `name` of the run `record_id`.
pub(crate) fn staging_name(name: &OsStr, record_id: &str) -> OsString {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    let id: String =
        record_id.chars().map(|c| if is_plain(&c) { c } else { '_' }).take(ID_CHARS_MAX).collect();
    let mut staging = OsString::from(".");
    staging.push(name);
    staging.push(format!(".{id}{PARTIAL}"));
    staging
}
