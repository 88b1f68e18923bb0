//! Outputs that tools really printed, as files: those in `tests/data` that are named after their format, and those in the
//! folders `outputs` of importers. A new file is found by itself.

use narrows_suites::IMPORTERS;
use std::path::{Path, PathBuf};

/// An output, with the name of the importer that reads it.
#[derive(Debug, Clone)]
pub(crate) struct ToolOutput {
    pub(crate) format: &'static str,
    /// Its file, for messages.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Every output, by importer and name.
pub(crate) fn all() -> Vec<ToolOutput> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let of_format = |format: &'static str| {
        let mut paths = files(&root.join("tests/data"));
        paths.retain(|path| named(path).starts_with(&format!("{format}_")));
        paths.extend(files(&root.join("src/import").join(format).join("outputs")));
        paths.retain(|path| path.extension().is_some_and(|extension| extension != "md"));
        paths.sort();
        assert!(!paths.is_empty(), "{format} has no real output");
        paths.into_iter().map(move |path| ToolOutput {
            format,
            name: named(&path),
            bytes: std::fs::read(&path).unwrap(),
        })
    };
    IMPORTERS.iter().flat_map(|importer| of_format(importer.name)).collect()
}

fn named(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// The files in a folder; none where it does not exist.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
}
