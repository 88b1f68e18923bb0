//! Another user of the same machine who may write in the folder around a record, and works against the run that writes it.

use crate::hostile_folder::{ATTACKER, OWNER, Shared};
use crate::support::{Seen, Surroundings};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

/// Moves the record as soon as it has its name and leads that to `other`, which is a path from the shared folder.
fn replaced_by_link(other: &str) -> String {
    format!("until [ -d record ]; do sleep 0.02; done; mv record moved && ln -s {other} record; touch done")
}

/// A second of load that needs no folder.
const STUDY: &str = "title = \"record\"\ntarget = \"null:\"\n[workload]\nop = \"read\"\nblock = \"4KiB\"\n\
                     [stop]\nmeasure = \"300ms\"\ntrials = 3\n";

/// Runs it as the owner with the umask `umask`, into the record `out`.
fn run_into(shared: &Shared, umask: &str, out: &str) -> Seen {
    fs::write(shared.path("home/study.toml"), STUDY).unwrap();
    shared.run_under(umask, &["run", "study.toml", "--out", out])
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_record_moved_and_replaced_by_a_link_is_finished_where_it_is_and_ends_with_exit_4() {
    let Some(shared) = Shared::make() else { return };
    // A record of the same user from before: the one kind of folder that would be read and written as one.
    let earlier = run_into(&shared, "022", "earlier");
    assert_eq!(earlier.code, Some(0), "{earlier:#?}");
    let before = Surroundings::of(&shared.path("home/earlier"));
    let attack = shared.attack(&replaced_by_link("../home/earlier"));
    let seen = run_into(&shared, "0", "../shared/record");
    drop(attack);
    assert!(shared.path("shared/done").exists(), "the attack came in time: {seen:#?}");
    before.assert_same(&shared.path("home/earlier"));
    shared.assert_untouched(&seen);
    assert!(shared.path("shared/record").is_symlink(), "what the other user made is left as it is");
    seen.assert_said(4, &["../shared/record no longer leads to the record of this run", "/shared/moved now"]);
    let moved = shared.path("shared/moved");
    let manifest = fs::read_to_string(moved.join("manifest.json")).unwrap();
    assert!(manifest.contains("\"complete\": \"finished\""), "{manifest}");
    assert!(moved.join("summary.json").exists());
    assert!(!seen.stderr.contains("record: "), "{seen:#?}");
}

#[test]
fn a_folder_of_the_other_user_in_the_place_of_the_record_is_left_as_it_is() {
    let Some(shared) = Shared::make() else { return };
    let attack = shared.attack(
        "until [ -d record ]; do sleep 0.02; done; mv record moved && mkdir -m 777 record \
         && for each in manifest summary; do ln -s ../../home/secret record/$each.json; \
         ln -s ../../home/secret record/$each.json.partial; done; touch done",
    );
    let seen = run_into(&shared, "0", "../shared/record");
    drop(attack);
    assert!(shared.path("shared/done").exists(), "the attack came in time: {seen:#?}");
    shared.assert_untouched(&seen);
    assert_eq!(fs::read_dir(shared.path("shared/record")).unwrap().count(), 4);
    seen.assert_said(4, &["no longer leads to the record of this run"]);
}

#[test]
fn folders_that_are_not_the_users_alone_are_refused_for_a_record_before_the_load() {
    let Some(shared) = Shared::make() else { return };
    let given = shared.path("shared/given");
    fs::create_dir(&given).unwrap();
    let with = |user: u32, mode: u32| {
        chown(&given, Some(user), Some(user)).unwrap();
        fs::set_permissions(&given, fs::Permissions::from_mode(mode)).unwrap();
        run_into(&shared, "0", "../shared/given")
    };
    let hint = "name a folder that does not exist yet, with --out";
    with(OWNER, 0o770)
        .assert_said(2, &["other users may write in the folder (mode 0770)", "chmod go-w", hint]);
    with(ATTACKER, 0o777).assert_said(2, &["belongs to another user, of id 61001", hint]);
    assert_eq!(fs::read_dir(&given).unwrap().count(), 0);
    let seen = with(OWNER, 0o755);
    assert_eq!(seen.code, Some(0), "{seen:#?}");
    assert!(given.join("summary.json").exists());
}

#[test]
fn a_record_is_for_its_user_alone_under_any_umask() {
    let Some(shared) = Shared::make() else { return };
    for umask in ["0", "0777"] {
        let out = format!("record-{umask}");
        let seen = run_into(&shared, umask, &out);
        assert_eq!(seen.code, Some(0), "umask {umask}: {seen:#?}");
        let record = shared.path("home").join(&out);
        assert_eq!(mode(&record), 0o700, "umask {umask}");
        let files: Vec<_> = fs::read_dir(&record).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 6, "{files:?}");
        for file in files {
            assert_eq!(mode(&file), 0o600, "umask {umask}: {}", file.display());
        }
    }
}
