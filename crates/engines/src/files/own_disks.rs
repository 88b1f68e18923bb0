//! The parts of disks without folders that this process has claimed, LUNs and block devices: what clears each, and what is
//! said where that is not done.
//!
//! `narrows clean` looks into folders and knows nothing of them: the next run that may write there clears what is left.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Removes a folder of ours on a server, or clears what was claimed of a disk; why it stays.
pub type RemoteRemover = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

struct OwnDisks {
    clear: BTreeMap<String, RemoteRemover>,
    /// Why none of them may be cleared; `None` where all may.
    kept: Option<String>,
}

static DISKS: Mutex<OwnDisks> = Mutex::new(OwnDisks { clear: BTreeMap::new(), kept: None });

fn table() -> MutexGuard<'static, OwnDisks> {
    DISKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This process has claimed a part of the disk `name`, which `remover` clears.
pub(crate) fn note_disk(name: &str, remover: RemoteRemover) {
    table().clear.insert(name.to_owned(), remover);
}

/// The part of the disk `name` is cleared, or is left to the next run.
pub(crate) fn forget_disk(name: &str) {
    table().clear.remove(name);
}

/// From now on nothing that was claimed is cleared, because of `why`: something that cannot be stopped may still write there.
/// The marks stay, so that the next run knows whose data it is.
pub fn keep_disks(why: &str) {
    table().kept.get_or_insert_with(|| why.to_owned());
}

/// Clears the part of the disk `name` by `clear`, unless it has to stay; what is left, in a sentence.
pub(crate) fn clear_disk(name: &str, clear: &dyn Fn() -> Result<(), String>) -> Result<(), String> {
    // Not locked while it is cleared, which may take long.
    let kept = table().kept.clone();
    clear_unless(kept, name, clear)
}

fn clear_unless(
    kept: Option<String>,
    name: &str,
    clear: &dyn Fn() -> Result<(), String>,
) -> Result<(), String> {
    let cleared = match kept {
        Some(why) => Err(why),
        None => clear(),
    };
    cleared.map_err(|why| left_words(name, &why))
}

/// Clears all of them; what is left, in sentences.
pub(super) fn clear_disks() -> Vec<String> {
    let claimed = table().clear.clone();
    claimed.iter().filter_map(|(name, remover)| clear_disk(name, &|| remover()).err()).collect()
}

/// Where this process has claimed something and not cleared it, in sentences; `None` if a thread keeps the table.
#[must_use]
pub fn uncleared_disks() -> Option<Vec<String>> {
    let table = DISKS.try_lock().ok()?;
    Some(table.clear.keys().map(|name| left_words(name, "there was no time to clear it")).collect())
}

fn left_words(name: &str, why: &str) -> String {
    format!("test data is left on {name}: {why}; the next run that may write there clears it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_on_a_disk_is_said_with_what_clears_it() {
        assert_eq!(clear_unless(None, "blk:/dev/x", &|| Ok(())), Ok(()));
        let left = clear_unless(None, "blk:/dev/x", &|| Err("it is gone".to_owned())).unwrap_err();
        assert_eq!(
            left,
            "test data is left on blk:/dev/x: it is gone; the next run that may write there clears it"
        );
    }
    #[test]
    fn what_may_still_be_written_is_not_cleared() {
        let why = Some("rank 2 was lost".to_owned());
        let left = clear_unless(why, "blk:/dev/x", &|| panic!("it was cleared")).unwrap_err();
        assert!(left.contains("left on blk:/dev/x: rank 2 was lost; the next run"), "{left}");
    }
}
