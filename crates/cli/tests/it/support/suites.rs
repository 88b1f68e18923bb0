//! What tests of the suites on a folder share: a run whose verdict is printed beside its output, and mistakes that are refused.

use super::{Seen, Surroundings, run};
use std::fs;

/// Runs `suite` with `words`, cuts and the server's side in a folder of its own; fails unless the verdict is on stderr
/// and nothing but the record is left.
#[track_caller]
pub(crate) fn with_verdict(suite: &str, words: &str) -> Seen {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let line = format!("suite {suite} {words} --cell-seconds 0.1 --server self --out record --quiet");
    let seen = run(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    assert!(matches!(seen.code, Some(0 | 4)), "{seen:?}");
    assert!(seen.stderr.contains("PATH "), "{}", seen.stderr);
    let whole = run(folder.path(), &["diagnose", "record", "--detail"]);
    for word in ["server.cpu", "LIMITING"] {
        assert!(whole.stdout.contains(word), "{word}: {}", whole.stdout);
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["record"]);
    seen
}

/// A folder with a `file` in it, in which a suite is asked for what it cannot do.
pub(crate) struct Mistakes {
    suite: &'static str,
    folder: tempfile::TempDir,
    before: Surroundings,
}

impl Mistakes {
    pub(crate) fn of(suite: &'static str) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        fs::write(folder.path().join("file"), "x").unwrap();
        let before = Surroundings::of(folder.path());
        Self { suite, folder, before }
    }

    /// Fails unless `words` end with code 2 and all of `said` on stderr, without a result, and make nothing.
    #[track_caller]
    pub(crate) fn refused(&self, words: &str, said: &[&str]) {
        let line = format!("suite {} {words} --out record", self.suite);
        let seen = run(self.folder.path(), &line.split_whitespace().collect::<Vec<_>>());
        seen.assert_said(2, said).assert_no_result();
        self.before.assert_same(self.folder.path());
    }
}
