//! `cargo xtask new KIND NAME`: a skeleton that compiles, passes `tidy` and is found by its registry.
//!
//! A kind is a file here and a line in [`KINDS`]: it drafts new files and the lines that registries gain. `name` says which
//! names are allowed; `write` checks a draft and writes all of it or nothing, and nothing that exists is overwritten.

mod engine;
mod importer;
mod name;
mod rule;
mod suite;
mod write;

use crate::workspace::Workspace;
use crate::{TaskOutcome, output};
use name::ModuleName;

/// What can be made, in the order of the help.
const KINDS: &[SkeletonKind] = &[engine::KIND, rule::KIND, suite::KIND, importer::KIND];

/// Something that a skeleton can be made of.
pub(crate) struct SkeletonKind {
    /// The word on the command line.
    pub(crate) word: &'static str,
    /// The files and lines of one of this name.
    pub(crate) draft: fn(&ModuleName) -> Draft,
}

/// A skeleton before it is written.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// What no file may contain yet.
    pub(crate) unique: Vec<Taken>,
    /// New files.
    pub(crate) files: Vec<NewFile>,
    /// Lines for files that exist.
    pub(crate) insertions: Vec<Insertion>,
    /// What to do next, for people.
    pub(crate) next: String,
}

/// A text, such as a code, that is taken once a file contains it.
#[derive(Debug)]
pub(crate) struct Taken {
    /// A file, or a folder whose Rust files are meant, those in its folders too; from the root of the project.
    pub(crate) below: &'static str,
    pub(crate) text: String,
}

/// A file with its text.
#[derive(Debug)]
pub(crate) struct NewFile {
    /// From the root of the project.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Lines above a line that is there once.
#[derive(Debug)]
pub(crate) struct Insertion {
    /// From the root of the project.
    pub(crate) path: &'static str,
    /// The marker: the only line with this text, blanks around it aside.
    pub(crate) above: &'static str,
    /// The lines, without indentation: they get that of the marker.
    pub(crate) lines: String,
}

/// Makes what `words` ask for: a kind and a name.
///
/// # Errors
/// As [`write::write`].
pub(crate) fn run(words: &[&str]) -> anyhow::Result<TaskOutcome> {
    let (kind, name) = match asked(words) {
        Ok(asked) => asked,
        Err(complaint) => {
            output::complaint(&format!("xtask: {complaint}"));
            return Ok(TaskOutcome::BadCommand);
        }
    };
    let root = Workspace::load()?.root;
    let draft = (kind.draft)(&name);
    for path in write::write(&root, &draft)? {
        output::line(&path);
    }
    output::line(&draft.next);
    Ok(TaskOutcome::Healthy)
}

/// The kind and the name of a command line, or what is wrong with it.
fn asked(words: &[&str]) -> Result<(&'static SkeletonKind, ModuleName), String> {
    let known: Vec<&str> = KINDS.iter().map(|kind| kind.word).collect();
    let [word, name] = words else {
        return Err(format!("usage: cargo xtask new {} NAME", known.join("|")));
    };
    let Some(kind) = KINDS.iter().find(|kind| kind.word == *word) else {
        return Err(format!("`{word}` is no kind of part; there are {}", known.join(", ")));
    };
    let parsed = ModuleName::parse(name).map_err(|fault| name::complaint(name, fault))?;
    Ok((kind, parsed))
}

#[cfg(test)]
mod tests;
