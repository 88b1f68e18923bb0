//! Files that a command writes beside its record: never one that is there already.

use crate::exit::CommandFailure;
use narrows_sys::file::check_to_append;
use std::io::Write;
use std::path::Path;

/// Checks before any load that `path`, which `option` names, can be made: that must not show after hours of measuring.
///
/// # Errors
/// When it is there already, its folder is not, or this user may not write there.
pub(crate) fn check_new(option: &str, path: &Path) -> Result<(), CommandFailure> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let problem = if std::fs::symlink_metadata(path).is_ok() {
        "exists already; name another file, or remove it"
    } else if !parent.unwrap_or(Path::new(".")).is_dir() {
        "is in a folder that does not exist; create it first"
    } else {
        // Makes it, and removes it again.
        return check_to_append(path)
            .map_err(|error| CommandFailure::bad_input(format!("{option}: {error}; name a file elsewhere")));
    };
    Err(CommandFailure::bad_input(format!("{option} {}: {problem}", path.display())))
}

/// Makes the file `path`, which `option` names, with `text`.
///
/// # Errors
/// When it was made by somebody else meanwhile, or cannot be written.
pub(crate) fn write_new(option: &str, path: &Path, text: &str) -> Result<(), CommandFailure> {
    let written = std::fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        CommandFailure::could_not_run(format!(
            "{option} {}: {error}; the record has all of it",
            path.display()
        ))
    })
}
