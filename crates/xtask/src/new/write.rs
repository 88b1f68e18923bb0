//! From a draft to files: everything is checked and formatted in memory first, then all of it is written or nothing.

use super::{Draft, Insertion, Taken};
use anyhow::{Context, bail};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file as it will be.
#[derive(Debug)]
pub(super) struct Change {
    /// From the root of the project.
    path: String,
    /// Its text so far; `None` where it is new.
    before: Option<String>,
    after: String,
}

/// Writes the draft, and returns what was written and changed.
///
/// # Errors
/// Names that are taken, files that exist or lack their marker, texts that rustfmt refuses, files that cannot be read or
/// written. Then the project is as it was.
pub(super) fn write(root: &Path, draft: &Draft) -> anyhow::Result<Vec<String>> {
    apply(root, &changes(root, draft)?)
}

/// What the draft changes, checked and formatted; nothing is written.
pub(super) fn changes(root: &Path, draft: &Draft) -> anyhow::Result<Vec<Change>> {
    if let Some(file) = draft.files.iter().find(|file| root.join(&file.path).exists()) {
        bail!("{} exists already; choose another name", file.path);
    }
    for taken in &draft.unique {
        if let Some(file) = holder(root, taken)? {
            bail!("{file} has `{}` already; choose another name", taken.text.trim());
        }
    }
    let mut changes: Vec<Change> = draft
        .files
        .iter()
        .map(|file| Change { path: file.path.clone(), before: None, after: file.text.clone() })
        .collect();
    for insertion in &draft.insertions {
        let change = existing(root, insertion.path, &mut changes)?;
        if let Some(module) = insertion
            .lines
            .lines()
            .filter_map(declared_module)
            .find(|module| change.after.lines().filter_map(declared_module).any(|known| known == *module))
        {
            bail!("{} has the module `{module}` already; choose another name", insertion.path);
        }
        change.after = inserted(&change.after, insertion).with_context(|| {
            format!("{} does not have the line `{}` once", insertion.path, insertion.above)
        })?;
    }
    for change in &mut changes {
        if Path::new(&change.path).extension().is_some_and(|extension| extension == "rs") {
            change.after = formatted(root, &change.after).with_context(|| change.path.clone())?;
        }
    }
    Ok(changes)
}

/// The change of a file that exists, added where none is of it yet.
fn existing<'a>(root: &Path, path: &str, changes: &'a mut Vec<Change>) -> anyhow::Result<&'a mut Change> {
    let known = changes.iter().position(|change| change.path == path);
    let index = known.unwrap_or(changes.len());
    if known.is_none() {
        let text = fs::read_to_string(root.join(path)).with_context(|| format!("could not read {path}"))?;
        changes.push(Change { path: path.to_owned(), before: Some(text.clone()), after: text });
    }
    Ok(&mut changes[index])
}

/// The first file that has what is taken; `None` where none has.
pub(super) fn holder(root: &Path, taken: &Taken) -> anyhow::Result<Option<String>> {
    let mut left = vec![root.join(taken.below)];
    while let Some(path) = left.pop() {
        let unreadable = || format!("could not read {}", path.display());
        if path.is_dir() {
            for entry in fs::read_dir(&path).with_context(unreadable)? {
                left.push(entry.with_context(unreadable)?.path());
            }
        } else if (path == root.join(taken.below)
            || path.extension().is_some_and(|extension| extension == "rs"))
            && fs::read_to_string(&path).with_context(unreadable)?.contains(&taken.text)
        {
            return Ok(Some(path.strip_prefix(root).unwrap_or(&path).display().to_string()));
        }
    }
    Ok(None)
}

/// The module that a line declares; `None` where it declares none.
fn declared_module(line: &str) -> Option<&str> {
    let line = line.trim();
    let declaration = line.strip_suffix(';').or_else(|| line.strip_suffix(" {"))?;
    let (visibility, name) = declaration.rsplit_once("mod ")?;
    let visibility = visibility.trim();
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && (visibility.is_empty() || visibility.starts_with("pub"))).then_some(name)
}

/// `text` with the lines above the marker; `None` where the marker is not there once.
pub(super) fn inserted(text: &str, insertion: &Insertion) -> Option<String> {
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

/// The text of a Rust file as rustfmt writes it with the settings of `root`.
fn formatted(root: &Path, text: &str) -> anyhow::Result<String> {
    let program = std::env::var_os("RUSTFMT").unwrap_or_else(|| OsString::from("rustfmt"));
    let mut child = Command::new(program)
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("could not start rustfmt; install it with `rustup component add rustfmt`")?;
    // It reads all of its input before it prints. One that ended early says why.
    let fed = child.stdin.take().context("rustfmt has no input")?.write_all(text.as_bytes());
    let output = child.wait_with_output().context("rustfmt was not waited for")?;
    if !output.status.success() {
        bail!("rustfmt refuses it: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    fed.context("rustfmt did not read all of it")?;
    String::from_utf8(output.stdout).context("rustfmt printed no UTF-8")
}

/// Writes every change, or undoes those that were made.
fn apply(root: &Path, changes: &[Change]) -> anyhow::Result<Vec<String>> {
    let mut folders = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        if let Err(error) = write_one(root, change, &mut folders) {
            let left = undo(root, &changes[..=index], &folders);
            return Err(if left.is_empty() {
                error.context("nothing was changed")
            } else {
                error.context(format!("what was written could not be undone: {}", left.join(", ")))
            });
        }
    }
    let what = |change: &Change| if change.before.is_none() { "wrote" } else { "changed" };
    Ok(changes.iter().map(|change| format!("{} {}", what(change), change.path)).collect())
}

/// Writes one file; folders that it makes are added to `folders`, the outer ones first.
fn write_one(root: &Path, change: &Change, folders: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let at = root.join(&change.path);
    let parent = at.parent().context("a file is in a folder")?;
    let missing: Vec<&Path> = parent.ancestors().take_while(|folder| !folder.exists()).collect();
    for folder in missing.into_iter().rev() {
        fs::create_dir(folder).with_context(|| format!("could not create {}", folder.display()))?;
        folders.push(folder.to_owned());
    }
    fs::write(&at, &change.after).with_context(|| format!("could not write {}", change.path))
}

/// Brings files back to what they were, and removes folders that were made; the paths for which that failed.
fn undo(root: &Path, changes: &[Change], folders: &[PathBuf]) -> Vec<String> {
    let mut left = Vec::new();
    for change in changes.iter().rev() {
        let at = root.join(&change.path);
        let undone = match &change.before {
            Some(before) => fs::write(&at, before),
            // The one that failed may not be there.
            None if !at.is_file() => Ok(()),
            None => fs::remove_file(&at),
        };
        if let Err(error) = undone {
            left.push(format!("{} ({error})", change.path));
        }
    }
    for folder in folders.iter().rev() {
        if let Err(error) = fs::remove_dir(folder) {
            left.push(format!("{} ({error})", folder.display()));
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::new::NewFile;

    fn folder_with_list() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("list.rs"), "// new\n").expect("it is writable");
        folder
    }

    fn insertion(lines: &str) -> Insertion {
        Insertion { path: "list.rs", above: "// new", lines: lines.to_owned() }
    }

    fn draft(paths: &[&str]) -> Draft {
        let file = |path: &&str| NewFile { path: (*path).to_owned(), text: "//! A file.\n".to_owned() };
        Draft {
            files: paths.iter().map(file).collect(),
            insertions: vec![insertion("mod b;\n"), insertion("mod   a;\n")],
            ..Draft::default()
        }
    }

    fn list(folder: &tempfile::TempDir) -> String {
        fs::read_to_string(folder.path().join("list.rs")).expect("it is there")
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("it is readable");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn lines_come_above_their_marker_with_its_indentation() {
        let insertion = insertion("one\ntwo\n");
        assert_eq!(
            inserted("a\n    // new\nb\n", &insertion).as_deref(),
            Some("a\n    one\n    two\n    // new\nb\n")
        );
        assert_eq!(inserted("a\n", &insertion), None);
        assert_eq!(inserted("// new\n// new\n", &insertion), None);
    }

    #[test]
    fn a_draft_is_written_whole_and_formatted_and_never_over_anything() {
        let folder = folder_with_list();
        let written = write(folder.path(), &draft(&["in/it.rs"])).expect("nothing is in the way");
        assert_eq!(written, ["wrote in/it.rs", "changed list.rs"]);
        assert_eq!(list(&folder), "mod a;\nmod b;\n// new\n");
        let refused = write(folder.path(), &draft(&["in/it.rs"])).expect_err("it exists");
        assert!(refused.to_string().contains("in/it.rs exists already"), "{refused}");
        let refused = write(folder.path(), &draft(&["other.rs"])).expect_err("the modules are there");
        assert!(refused.to_string().contains("list.rs has the module `b` already"), "{refused}");
        assert_eq!(list(&folder), "mod a;\nmod b;\n// new\n", "what is refused changes nothing");
    }

    #[test]
    fn an_error_half_way_leaves_nothing_behind() {
        let folder = folder_with_list();
        // The second file cannot be written: the first is in the place of its folder.
        let refused =
            write(folder.path(), &draft(&["in/deep/it", "in/deep/it/too.rs"])).expect_err("no folder");
        assert!(refused.to_string().contains("nothing was changed"), "{refused:#}");
        assert_eq!(names(folder.path()), ["list.rs"]);
        assert_eq!(list(&folder), "// new\n");
    }

    #[test]
    fn a_change_that_was_made_before_an_error_is_undone() {
        let folder = folder_with_list();
        let change = |path: &str, before: Option<&str>| Change {
            path: path.to_owned(),
            before: before.map(str::to_owned),
            after: "mod a;\n".to_owned(),
        };
        let changes = [change("list.rs", Some("// new\n")), change("list.rs/no.rs", None)];
        let refused = apply(folder.path(), &changes).expect_err("a file is no folder");
        assert!(format!("{refused:#}").contains("could not write list.rs/no.rs"), "{refused:#}");
        assert_eq!(list(&folder), "// new\n");
    }

    #[test]
    fn what_rustfmt_refuses_is_refused_before_anything_is_written() {
        let folder = folder_with_list();
        let broken = Draft { insertions: vec![insertion("mod {\n")], ..draft(&["it.rs"]) };
        let refused = write(folder.path(), &broken).expect_err("no Rust");
        assert!(format!("{refused:#}").contains("list.rs: rustfmt refuses it"), "{refused:#}");
        assert_eq!(names(folder.path()), ["list.rs"]);
    }

    #[test]
    fn a_module_is_found_in_each_form_of_its_declaration() {
        for line in ["mod a;", "pub mod a;", "    pub(crate) mod a;", "pub mod a {"] {
            assert_eq!(declared_module(line), Some("a"), "{line}");
        }
        for line in ["use a::mod_b;", "// mod a;", "let x = mod a + b;"] {
            assert_eq!(declared_module(line), None, "{line}");
        }
    }
}
