//! `cargo xtask new KIND NAME`: a skeleton that compiles, passes `tidy` and is found by its registry.
//!
//! A kind is a file here and a line in [`KINDS`]: it drafts new files and the lines that registries gain. This file
//! checks the draft and writes it. Nothing that exists is overwritten; either all of a draft is written or nothing.

mod engine;
mod importer;
mod rule;
mod suite;

use crate::workspace::Workspace;
use crate::{TaskOutcome, output};
use anyhow::{Context, bail};
use std::path::Path;

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
    pub(crate) unique: Option<Taken>,
    /// New files.
    pub(crate) files: Vec<NewFile>,
    /// Lines for files that exist.
    pub(crate) insertions: Vec<Insertion>,
    /// What to do next, for people.
    pub(crate) next: String,
}

/// A text, such as a code, that is taken once a file of a folder contains it.
#[derive(Debug)]
pub(crate) struct Taken {
    /// From the root of the project.
    pub(crate) folder: &'static str,
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

/// A name of modules and types: lower-case letters, digits and underscores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModuleName(String);

impl ModuleName {
    /// The name `text`; `None` where it is none.
    fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('_').collect();
        let is_part = |part: &&str| {
            part.starts_with(|c: char| c.is_ascii_lowercase())
                && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        };
        (text.len() <= 30 && parts.iter().all(is_part)).then(|| Self(text.to_owned()))
    }

    /// The name of a module.
    pub(crate) fn module(&self) -> &str {
        &self.0
    }

    /// The name of a type.
    pub(crate) fn camel(&self) -> String {
        let upper = |part: &str| part[..1].to_uppercase() + &part[1..];
        self.0.split('_').map(upper).collect()
    }

    /// `template` with the name of the module for `@name@` and that of the type for `@Name@`.
    pub(crate) fn fill(&self, template: &str) -> String {
        template.replace("@name@", self.module()).replace("@Name@", &self.camel())
    }
}

/// Makes what `words` ask for: a kind and a name.
///
/// # Errors
/// Files that cannot be read or written, and registries without their marker.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<TaskOutcome> {
    let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.word).collect();
    let asked = match words {
        [word, name] => KINDS.iter().find(|kind| kind.word == *word).zip(ModuleName::parse(name)),
        _ => None,
    };
    let Some((kind, name)) = asked else {
        output::complaint(&format!(
            "xtask: usage: cargo xtask new {} NAME, NAME of lower-case letters, digits and underscores",
            kinds.join("|")
        ));
        return Ok(TaskOutcome::BadCommand);
    };
    let root = Workspace::load()?.root;
    let draft = (kind.draft)(&name);
    for path in write(&root, &draft)? {
        output::line(&path);
    }
    output::line(&draft.next);
    Ok(TaskOutcome::Healthy)
}

/// Writes the draft, and returns what was written and changed.
fn write(root: &Path, draft: &Draft) -> anyhow::Result<Vec<String>> {
    if let Some(file) = draft.files.iter().find(|file| root.join(&file.path).exists()) {
        bail!("{} exists already", file.path);
    }
    if let Some(taken) = &draft.unique
        && let Some(file) = holder(root, taken)?
    {
        bail!("{file} has `{}` already; choose another name", taken.text);
    }
    let mut changed: Vec<(&str, String)> = Vec::new();
    for insertion in &draft.insertions {
        let index = changed.iter().position(|(path, _)| *path == insertion.path);
        let text = match index {
            Some(index) => changed.swap_remove(index).1,
            None => std::fs::read_to_string(root.join(insertion.path))
                .with_context(|| format!("could not read {}", insertion.path))?,
        };
        let text = inserted(&text, insertion).with_context(|| {
            format!("{} does not have the line `{}` once", insertion.path, insertion.above)
        })?;
        changed.push((insertion.path, text));
    }
    let new = draft.files.iter().map(|file| ("wrote", file.path.as_str(), file.text.as_str()));
    let old = changed.iter().map(|(path, text)| ("changed", *path, text.as_str()));
    let mut written = Vec::new();
    for (what, path, text) in new.chain(old) {
        let at = root.join(path);
        let parent = at.parent().context("a file lies in a folder")?;
        std::fs::create_dir_all(parent).with_context(|| format!("could not create {}", parent.display()))?;
        std::fs::write(&at, text).with_context(|| format!("could not write {path}"))?;
        written.push(format!("{what} {path}"));
    }
    Ok(written)
}

/// The file that has what is taken; `None` where none has.
fn holder(root: &Path, taken: &Taken) -> anyhow::Result<Option<String>> {
    let unreadable = || format!("could not read {}", taken.folder);
    for entry in std::fs::read_dir(root.join(taken.folder)).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        if path.is_file() && std::fs::read_to_string(&path).with_context(unreadable)?.contains(&taken.text) {
            return Ok(Some(path.strip_prefix(root).unwrap_or(&path).display().to_string()));
        }
    }
    Ok(None)
}

/// `text` with the lines above the marker; `None` where the marker is not there once.
fn inserted(text: &str, insertion: &Insertion) -> Option<String> {
    let mut markers = text.lines().filter(|line| line.trim() == insertion.above);
    let marker = markers.next()?;
    if markers.next().is_some() {
        return None;
    }
    let indentation = &marker[..marker.len() - marker.trim_start().len()];
    let mut out = String::new();
    for line in text.lines() {
        if line.trim() == insertion.above {
            for new in insertion.lines.lines() {
                out.extend([indentation, new, "\n"]);
            }
        }
        out.push_str(line);
        out.push('\n');
    }
    Some(out)
}

#[cfg(test)]
mod tests;
