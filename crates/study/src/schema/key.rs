//! Keys and tables of a file as data: what reading, the reference and the tests walk.
//!
//! Not here: the keys of a file, which its own module declares.

use super::kind::ValueKind;

/// Whether a key must be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// It must be.
    Required,
    /// Without it this applies: a value as TOML, or a phrase.
    Optional(&'static str),
}

/// One key.
#[derive(Debug, Clone, Copy)]
pub struct KeySpec {
    /// Its path in messages, such as `workload.block`.
    pub path: &'static str,
    /// What it takes.
    pub kind: ValueKind,
    /// Whether it must be given, and its default.
    pub requirement: Requirement,
    /// What it means, in one line for people.
    pub meaning: &'static str,
    /// A value of it, as TOML.
    pub example: &'static str,
    /// Whether it may be swept, below `[sweep]` under its name without `workload.`.
    pub swept: bool,
}

impl KeySpec {
    /// Its name in its table.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, name)| name)
    }

    /// The path of its table; empty at the top.
    #[must_use]
    pub fn table(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// Its name below `[sweep]`, and as a factor.
    #[must_use]
    pub fn factor(&self) -> &'static str {
        factor_name(self.path)
    }

    /// Its default: a value as TOML, or a phrase.
    #[must_use]
    pub fn default(&self) -> &'static str {
        match self.requirement {
            Requirement::Required => "required",
            Requirement::Optional(default) => default,
        }
    }
}

/// The name of the key with this path below `[sweep]`.
pub(super) fn factor_name(path: &'static str) -> &'static str {
    path.strip_prefix("workload.").unwrap_or(path)
}

/// How often a table may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableForm {
    /// `[name]`, once; at the top without a head.
    Once,
    /// `[[name]]`, as often as needed.
    Repeated,
}

/// One table.
#[derive(Debug, Clone, Copy)]
pub struct TableSpec {
    /// Its path; empty for the keys above all tables.
    pub path: &'static str,
    /// How often it may be given.
    pub form: TableForm,
    /// What it contains, for the reference.
    pub meaning: &'static str,
}

impl TableSpec {
    /// Its head as in the file; for people.
    #[must_use]
    pub fn head(&self) -> String {
        match self.form {
            TableForm::Once => format!("[{}]", self.path),
            TableForm::Repeated => format!("[[{}]]", self.path),
        }
    }
}

/// Everything that a kind of file may contain.
#[derive(Debug)]
pub struct FileSchema {
    /// Keys, in the order of the reference.
    pub keys: Vec<KeySpec>,
    /// Tables, in the order of the reference.
    pub tables: Vec<TableSpec>,
    /// Names that other tools use, in lower case, with the path of ours.
    pub(crate) synonyms: &'static [(&'static str, &'static str)],
    /// What to add where a value of the key with this path is above its range.
    pub(crate) excess_hints: &'static [(&'static str, &'static str)],
}

impl FileSchema {
    /// The key of this path.
    #[must_use]
    pub fn key(&self, path: &str) -> Option<&KeySpec> {
        self.keys.iter().find(|key| key.path == path)
    }

    /// The table of this path.
    #[must_use]
    pub fn table(&self, path: &str) -> Option<&TableSpec> {
        self.tables.iter().find(|table| table.path == path)
    }

    /// The key with this name below `[sweep]`.
    pub(crate) fn swept_key(&self, factor: &str) -> Option<&KeySpec> {
        self.keys.iter().find(|key| key.swept && key.factor() == factor)
    }
}
