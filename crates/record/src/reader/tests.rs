//! What a record gives back, whole and damaged.

use super::*;
use crate::{RecordLine, Writer, samples};
use narrows_model::Sink;
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

fn recorded(events: &[Event]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("record");
    let mut writer =
        Writer::create(&dir, samples::manifest(), &samples::plan(2), &samples::inventory()).unwrap();
    for event in events {
        writer.event(event).unwrap();
    }
    (folder, dir)
}

/// A record whose run has ended.
fn finished() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("record");
    let mut writer =
        Writer::create(&dir, samples::manifest(), &samples::plan(2), &samples::inventory()).unwrap();
    for event in samples::one_of_each() {
        writer.event(&event).unwrap();
    }
    writer.finish(narrows_model::event::EndReason::Finished).unwrap();
    (folder, dir)
}

/// Keeps the first `count` lines of `file`.
fn keep_lines(dir: &Path, file: &str, count: usize) {
    let text = fs::read_to_string(dir.join(file)).unwrap();
    fs::write(dir.join(file), text.split_inclusive('\n').take(count).collect::<String>()).unwrap();
}

fn timeline_damage(dir: &Path) -> Vec<Damage> {
    let mut timeline = Record::open(dir).unwrap().timeline().unwrap();
    assert!(timeline.by_ref().all(|event| event.is_ok()));
    timeline.damage().listed().to_vec()
}

#[test]
fn a_file_of_an_ended_run_that_was_emptied_or_cut_at_a_line_end_is_damaged() {
    for file in ["events.jsonl", "samples.jsonl"] {
        let (_folder, dir) = finished();
        assert_eq!(timeline_damage(&dir), [], "it is whole");
        let lines = fs::read_to_string(dir.join(file)).unwrap().lines().count();
        for kept in [lines - 1, 0] {
            keep_lines(&dir, file, kept);
            let damage = timeline_damage(&dir);
            let missing = u64::try_from(lines - kept).unwrap();
            assert_eq!(damage.len(), 1, "{damage:?}");
            assert_eq!((damage[0].file, damage[0].line), (file, u64::try_from(kept).unwrap() + 1));
            assert_eq!(damage[0].kind, DamageKind::EndMissing { count: missing });
        }
    }
}

#[test]
fn a_torn_end_is_reported_once_and_a_record_without_counts_is_read_as_before() {
    let (_folder, dir) = finished();
    let text = fs::read(dir.join("samples.jsonl")).unwrap();
    fs::write(dir.join("samples.jsonl"), &text[..text.len() - 3]).unwrap();
    let damage = timeline_damage(&dir);
    assert!(matches!(damage[..], [Damage { kind: DamageKind::TornEnd { .. }, .. }]), "{damage:?}");
    keep_lines(&dir, "samples.jsonl", 0);
    let text = fs::read_to_string(dir.join("manifest.json")).unwrap();
    let mut old: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(old.as_object_mut().unwrap().remove("lines").is_some());
    fs::write(dir.join("manifest.json"), old.to_string()).unwrap();
    assert_eq!(timeline_damage(&dir), []);
}

fn edit(dir: &Path, file: &str, from: &str, to: &str) {
    let text = fs::read_to_string(dir.join(file)).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    fs::write(dir.join(file), text.replacen(from, to, 1)).unwrap();
}

fn all(events: Events) -> Vec<Event> {
    events.map(Result::unwrap).collect()
}

#[test]
fn the_plan_contains_what_was_added_while_it_ran() {
    let (_folder, dir) = recorded(&samples::one_of_each());
    let record = Record::open(&dir).unwrap();
    let ids: Vec<_> = record.plan().cells.iter().map(|cell| cell.id.clone()).collect();
    assert_eq!(ids, [samples::id(0), samples::id(1), samples::id(90)]);
    assert_eq!(record.plan().skipped, [samples::skipped(91)]);
    assert_eq!(record.inventory(), &samples::inventory());
    assert_eq!(record.manifest(), &samples::manifest());
}

#[test]
fn a_plan_that_grows_beyond_what_a_run_plans_is_refused_with_its_line() {
    let (_folder, dir) = recorded(&[Event::RunStarted { at_ns: narrows_model::Nanos(1) }]);
    // At 24 bytes an entry the limit of cells is passed before that of bytes.
    let skipped = r#"{"cell":"","reason":""}"#;
    let line = |seq: u64, count: usize| {
        let list = vec![skipped; count].join(",");
        let mut line = Vec::new();
        let data = format!(r#"{{"event":"plan_extended","cells":[],"skipped":[{list}]}}"#);
        crate::line::encode(&mut line, seq, None, data.as_bytes());
        line
    };
    let mut text = fs::read(dir.join("events.jsonl")).unwrap();
    text.extend_from_slice(&line(1, 200_000));
    fs::write(dir.join("events.jsonl"), &text).unwrap();
    assert_eq!(Record::open(&dir).unwrap().plan().skipped.len(), 200_000);
    text.extend_from_slice(&line(2, 50_000));
    fs::write(dir.join("events.jsonl"), &text).unwrap();
    let error = Record::open(&dir).unwrap_err();
    assert_eq!((error.kind(), error.line()), (ErrorKind::Malformed, Some(3)));
    assert!(error.to_string().contains("more than 250000 cells"), "{error}");
}

#[test]
fn samples_are_apart_from_events() {
    let (_folder, dir) = recorded(&samples::one_of_each());
    let record = Record::open(&dir).unwrap();
    let is_sample = |event: &Event| matches!(event, Event::Interval(_) | Event::Counters(_));
    let events = all(record.events().unwrap());
    assert!(!events.iter().any(is_sample));
    assert_eq!(record.event_count(), u64::try_from(events.len()).unwrap());
    let samples = all(record.samples().unwrap());
    assert!(samples.iter().all(is_sample));
    assert_eq!(events.len() + samples.len(), crate::samples::one_of_each().len());
}

#[test]
fn a_folder_without_a_manifest_is_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let error = Record::open(folder.path()).unwrap_err();
    assert_eq!((error.kind(), error.errno()), (ErrorKind::NotARecord, Some("ENOENT")));
    assert!(error.to_string().contains("manifest.json"), "{error}");
}

#[test]
fn a_file_is_no_record_and_the_message_says_what_one_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let error = Record::open(&file).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::NotARecord, file.as_path()));
    assert!(error.to_string().contains("a record is a folder"), "{error}");
}

#[test]
fn a_schema_from_the_future_names_both_versions_and_what_to_do() {
    let (_folder, dir) = recorded(&[]);
    edit(&dir, "manifest.json", "narrows.record/1", "narrows.record/3");
    edit(&dir, "manifest.json", "\"seed\": 7", "\"seed\": {\"of\": \"another kind\"}");
    let error = Record::open(&dir).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FromTheFuture);
    let text = error.to_string();
    for part in ["narrows.record/3", "narrows.record/1", "read it with the narrows that wrote it"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_document_of_another_kind_is_no_record() {
    let (_folder, dir) = recorded(&[]);
    edit(&dir, "plan.json", "narrows.plan/1", "recipe/1");
    assert_eq!(Record::open(&dir).unwrap_err().kind(), ErrorKind::NotARecord);
}

#[test]
fn a_wrong_type_in_the_plan_is_named_with_file_line_and_key() {
    let (_folder, dir) = recorded(&[]);
    edit(&dir, "plan.json", "\"queue_depth\": 1", "\"queue_depth\": \"deep\"");
    let text = fs::read_to_string(dir.join("plan.json")).unwrap();
    let line = text.lines().position(|line| line.contains("deep")).unwrap() + 1;
    let error = Record::open(&dir).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert_eq!(error.line(), u64::try_from(line).ok());
    assert_eq!(error.key(), Some("cells[0].workload.queue_depth"));
    assert!(error.path().ends_with("plan.json"));
}

#[test]
fn a_wrong_type_in_a_line_is_named_with_file_line_and_key() {
    let (_folder, dir) = recorded(&[Event::RunStarted { at_ns: narrows_model::Nanos(1) }]);
    let data = serde_json::to_vec(&samples::trial(0, 1)).unwrap();
    let data = String::from_utf8(data).unwrap().replace("\"complete\":true", "\"complete\":3");
    let mut line = Vec::new();
    crate::line::encode(&mut line, 1, None, data.as_bytes());
    let mut text = fs::read(dir.join("events.jsonl")).unwrap();
    text.extend_from_slice(&line);
    fs::write(dir.join("events.jsonl"), text).unwrap();
    let record = Record::open(&dir).unwrap();
    let error = record.events().unwrap().last().unwrap().unwrap_err();
    assert_eq!((error.line(), error.key()), (Some(2), Some("complete")));
}

#[test]
fn a_missing_event_file_is_damage_and_not_an_error() {
    let (_folder, dir) = recorded(&samples::one_of_each());
    fs::remove_file(dir.join("events.jsonl")).unwrap();
    let record = Record::open(&dir).unwrap();
    assert_eq!(
        record.damage().listed(),
        [Damage { file: "events.jsonl", line: 0, kind: DamageKind::FileMissing }]
    );
    assert!(all(record.events().unwrap()).is_empty());
}

#[test]
fn damage_of_samples_is_found_when_they_are_asked_for() {
    let (_folder, dir) = recorded(&samples::one_of_each());
    edit(&dir, "samples.jsonl", "\"op_count\":3", "\"op_count\":4");
    let record = Record::open(&dir).unwrap();
    assert!(record.damage().is_empty());
    let damage = record.check_samples().unwrap();
    assert!(
        matches!(damage.listed(), [Damage { line: 1, kind: DamageKind::Checksum { .. }, .. }]),
        "{damage:?}"
    );
}

#[test]
fn every_line_is_of_the_published_type() {
    let (_folder, dir) = recorded(&samples::one_of_each());
    for file in ["events.jsonl", "samples.jsonl"] {
        for (index, line) in fs::read_to_string(dir.join(file)).unwrap().lines().enumerate() {
            let line: RecordLine = serde_json::from_str(line).unwrap();
            assert_eq!(line.seq, u64::try_from(index).unwrap());
        }
    }
}

#[test]
fn a_record_without_a_summary_has_none() {
    let (_folder, dir) = recorded(&[]);
    assert_eq!(Record::open(&dir).unwrap().summary().unwrap(), None);
}

/// The events that the timeline still returns, when the record opens.
fn read_events(dir: &Path) -> Option<Vec<Event>> {
    let record = Record::open(dir).ok()?;
    record.samples().ok()?.for_each(drop);
    Some(record.timeline().ok()?.filter_map(Result::ok).collect())
}

const FILES: [&str; 5] = ["manifest.json", "plan.json", "inventory.json", "events.jsonl", "samples.jsonl"];
/// Index of the first of the files above that has lines.
const FIRST_OF_LINES: usize = 3;

fn ends(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_was_written_is_read(order in Just(samples::one_of_each()).prop_shuffle()) {
        let (_folder, dir) = recorded(&order);
        prop_assert_eq!(read_events(&dir), Some(order));
    }

    #[test]
    fn a_cut_of_any_file_never_panics_and_keeps_the_lines_before_it(
        file in 0_usize..5, cut in any::<prop::sample::Index>(),
    ) {
        let written = samples::one_of_each();
        let (_folder, dir) = recorded(&written);
        let path = dir.join(FILES[file]);
        let bytes = fs::read(&path).unwrap();
        let cut = cut.index(bytes.len());
        fs::write(&path, &bytes[..cut]).unwrap();
        let whole = ends(&bytes[..cut]);
        let read = read_events(&dir);
        if file >= FIRST_OF_LINES {
            let lost = ends(&bytes) - whole;
            prop_assert_eq!(read.unwrap().len(), written.len() - lost);
        } else if let Some(read) = read {
            prop_assert_eq!(read, written);
        }
    }

    #[test]
    fn a_changed_byte_of_any_file_never_panics_and_never_invents_an_event(
        file in 0_usize..5, place in any::<prop::sample::Index>(), value in any::<u8>(),
    ) {
        let written = samples::one_of_each();
        let (_folder, dir) = recorded(&written);
        let path = dir.join(FILES[file]);
        let mut bytes = fs::read(&path).unwrap();
        let place = place.index(bytes.len());
        bytes[place] = value;
        fs::write(&path, bytes).unwrap();
        let read = read_events(&dir);
        if file >= FIRST_OF_LINES {
            let read = read.unwrap();
            prop_assert!(read.len() + 2 >= written.len());
            for event in &read { prop_assert!(written.contains(event)); }
        }
    }
}

#[test]
fn pipes_and_links_in_the_place_of_files_are_refused_and_not_waited_for() {
    for name in ["manifest.json", "plan.json", "events.jsonl", "samples.jsonl"] {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("record");
        crate::Writer::create(
            &dir,
            crate::samples::manifest(),
            &crate::samples::plan(2),
            &crate::samples::inventory(),
        )
        .unwrap();
        let path = dir.join(name);
        let open = || Record::open(&dir).and_then(|record| record.timeline().map(|_| ()));
        open().unwrap();
        std::fs::rename(&path, folder.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("moved"), &path).unwrap();
        assert!(open().is_err(), "{name}");
        std::fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = open().unwrap_err();
        assert!(error.to_string().contains("no regular file"), "{name}: {error}");
    }
}
