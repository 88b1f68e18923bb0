//! What the writer leaves on disk, and what it leaves alone.

use super::*;
use crate::error::ErrorKind;
use crate::{Record, samples};
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn create(dir: &Path) -> Result<Writer, RecordError> {
    Writer::create(dir, samples::manifest(), &samples::plan(2), &samples::inventory())
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_folder_with_anything_in_it_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.txt"), "years").unwrap();
    let error = create(folder.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Occupied);
    assert!(error.to_string().contains("not empty"), "{error}");
    assert_eq!(names(folder.path()), ["thesis.txt"]);
}

#[test]
fn a_file_in_the_place_of_the_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("thesis.txt");
    fs::write(&path, "years").unwrap();
    assert_eq!(create(&path).unwrap_err().kind(), ErrorKind::Occupied);
    assert_eq!(fs::read_to_string(&path).unwrap(), "years");
}

#[test]
fn an_empty_folder_and_a_missing_one_are_filled_and_nothing_is_left_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let (empty, missing) = (folder.path().join("empty"), folder.path().join("made/missing"));
    fs::create_dir(&empty).unwrap();
    // A umask may let a group write.
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o755)).unwrap();
    for dir in [&empty, &missing] {
        create(dir).unwrap();
        let files = ["events.jsonl", "inventory.json", "manifest.json", "plan.json", "samples.jsonl"];
        assert_eq!(names(dir), files);
        assert!(Record::open(dir).unwrap().damage().is_empty());
    }
    assert_eq!(names(folder.path()), ["empty", "made"]);
    assert_eq!(names(&folder.path().join("made")), ["missing"]);
}

#[test]
fn a_folder_that_was_taken_meanwhile_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("record");
    let place = RecordFolder::claim(&dir, "a").unwrap();
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("thesis.txt"), "years").unwrap();
    assert_eq!(place.publish().unwrap_err().kind(), ErrorKind::Occupied);
    assert_eq!(names(folder.path()), ["record"]);
    assert_eq!(names(&dir), ["thesis.txt"]);
}

#[test]
fn every_event_is_on_disk_as_soon_as_it_was_taken() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = create(&folder.path().join("record")).unwrap();
    let mut taken = Vec::new();
    for event in samples::one_of_each() {
        writer.event(&event).unwrap();
        taken.push(event);
        let record = Record::open(writer.dir()).unwrap();
        assert!(record.damage().is_empty());
        let read: Vec<_> = record.timeline().unwrap().map(Result::unwrap).collect();
        assert_eq!(read, taken);
    }
}

#[test]
fn the_end_of_the_run_is_in_the_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = create(&folder.path().join("record")).unwrap();
    assert_eq!(Record::open(writer.dir()).unwrap().manifest().complete, None);
    writer.finish(EndReason::Interrupted).unwrap();
    let record = Record::open(writer.dir()).unwrap();
    assert_eq!(record.manifest().complete, Some(EndReason::Interrupted));
    assert_eq!(record.manifest(), writer.manifest());
}

#[test]
fn a_planted_link_is_not_followed_and_what_it_leads_to_stays() {
    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join("precious");
    fs::write(&precious, "years").unwrap();
    let dir = folder.path().join("record");
    let mut writer = create(&dir).unwrap();
    for name in ["summary.json", "manifest.json"] {
        std::os::unix::fs::symlink(&precious, dir.join(format!("{name}.partial"))).unwrap();
    }
    let summary = writer.manifest.clone();
    for error in [
        crate::files::write_whole(&writer.folder, "summary.json", &summary).unwrap_err(),
        writer.finish(narrows_model::event::EndReason::Finished).unwrap_err(),
    ] {
        assert!(error.to_string().contains("somebody else put a file or a link there"), "{error}");
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "years");
    assert!(dir.join("summary.json.partial").is_symlink(), "what others put there stays");
}

#[test]
fn a_new_record_is_for_its_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    create(&folder.path().join("record")).unwrap();
    let mode = fs::metadata(folder.path().join("record")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o700);
}
