//! What is removed with a session's folder, and what is not.

use super::*;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

fn root(path: &Path) -> StoreRoot {
    StoreRoot {
        path: path.to_owned(),
        folder: Arc::new(File::open(path).unwrap()),
        leftovers: Arc::default(),
    }
}

fn leftovers(root: &StoreRoot) -> String {
    root.leftovers.lock().unwrap().join("\n")
}

#[test]
fn a_folder_goes_with_its_files_and_those_of_cells() {
    let place = tempfile::tempdir().unwrap();
    let root = root(place.path());
    let made = SessionFolder::make(&root, "1").unwrap();
    fs::write(made.path.join("data-0"), "x").unwrap();
    made.cells().unwrap();
    fs::write(made.path.join("cells/data-0"), "x").unwrap();
    made.cells().unwrap();
    drop(made);
    assert_eq!((fs::read_dir(place.path()).unwrap().count(), leftovers(&root)), (0, String::new()));
}

#[test]
fn another_folder_of_its_name_stays_with_all_that_is_in_it() {
    let place = tempfile::tempdir().unwrap();
    let root = root(place.path());
    let made = SessionFolder::make(&root, "1").unwrap();
    fs::write(made.path.join("data-0"), "x").unwrap();
    fs::rename(&made.path, place.path().join("moved")).unwrap();
    fs::create_dir(&made.path).unwrap();
    fs::write(made.path.join("precious"), "x").unwrap();
    fs::write(made.path.join(SESSION_MARKER), "x").unwrap();
    let path = made.path.clone();
    drop(made);
    assert!(path.join("precious").is_file() && path.join(SESSION_MARKER).is_file());
    assert!(!place.path().join("moved/data-0").exists());
    assert!(leftovers(&root).contains("was moved"), "{}", leftovers(&root));
}

#[test]
fn without_its_marker_nothing_is_removed() {
    let place = tempfile::tempdir().unwrap();
    let root = root(place.path());
    let made = SessionFolder::make(&root, "1").unwrap();
    fs::remove_file(made.path.join(SESSION_MARKER)).unwrap();
    fs::write(made.path.join("precious"), "x").unwrap();
    let path = made.path.clone();
    drop(made);
    assert!(path.join("precious").is_file());
    assert!(leftovers(&root).contains("marker"), "{}", leftovers(&root));
}

#[test]
fn a_link_in_it_is_removed_and_not_followed() {
    let place = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("precious"), "x").unwrap();
    let root = root(place.path());
    let made = SessionFolder::make(&root, "1").unwrap();
    std::os::unix::fs::symlink(other.path(), made.path.join("link")).unwrap();
    std::os::unix::fs::symlink(other.path(), made.path.join(CELLS)).unwrap();
    assert!(made.cells().is_err());
    drop(made);
    assert!(other.path().join("precious").is_file());
    assert_eq!(leftovers(&root), "");
}

#[test]
fn a_name_that_is_taken_is_refused_and_stays() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join(".narrows-1")).unwrap();
    assert!(SessionFolder::make(&root(place.path()), "1").is_err());
    assert!(place.path().join(".narrows-1").is_dir());
}

/// Something of others that is mounted at `at`; ends with this value.
struct Bound(PathBuf);

impl Bound {
    fn mount(from: &Path, at: &Path) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let done = Command::new("mount").arg("--bind").args([from, at]).output().unwrap();
        if !done.status.success() {
            drop(std::io::stderr().write_all(b"skipped: this user may not mount\n"));
            fs::remove_dir(at).unwrap();
            return None;
        }
        Some(Self(at.to_path_buf()))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        assert!(Command::new("umount").arg(&self.0).status().unwrap().success());
    }
}

#[test]
fn what_is_mounted_in_a_session_or_over_its_cells_stays_and_is_named() {
    for mounted in ["cells", "other"] {
        let place = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        fs::write(other.path().join("precious"), "x").unwrap();
        let root = root(place.path());
        let made = SessionFolder::make(&root, "1").unwrap();
        fs::write(made.path.join("data-0"), "x").unwrap();
        let path = made.path.clone();
        let Some(bound) = Bound::mount(other.path(), &path.join(mounted)) else { return };
        assert_eq!(made.cells().is_err(), mounted == CELLS, "no file of a cell is made across a mount");
        drop(made);
        assert!(other.path().join("precious").is_file(), "{mounted}");
        assert!(path.join(SESSION_MARKER).is_file() && !path.join("data-0").exists(), "{mounted}");
        let left = leftovers(&root);
        assert!(left.contains(mounted) && left.contains("mounted"), "{left}");
        drop(bound);
    }
}

#[test]
fn a_folder_of_another_user_is_not_marked_and_stays_empty() {
    let folder = tempfile::tempdir().unwrap();
    if std::os::unix::fs::chown(folder.path(), Some(65_534), None).is_err() {
        // Only root gives folders away.
        drop(writeln!(std::io::stderr(), "skipped: not root"));
        return;
    }
    let opened = File::open(folder.path()).unwrap();
    assert!(mark(&opened).unwrap_err().to_string().contains("somebody else"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
