//! What is on a block device, as libblkid finds it: by `blkid` of util-linux, which probes the device itself and no cache.

use super::tool::{self, ToolFailure};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// Longest wait: it reads some MiB at most.
const ENDS_WITHIN: Duration = Duration::from_secs(20);
/// Bytes of each end in which libblkid looks for signatures.
const END_BYTES: u64 = 1 << 20;
/// Its exit code where it found something.
const FOUND: i32 = 0;
/// Its exit code where it found nothing.
const NOTHING: i32 = 2;
/// Its exit code where it found several things that exclude each other.
const AMBIVALENT: i32 = 8;

/// What is on the device at `path`, in words; `None` where there is no signature.
///
/// # Errors
/// When `blkid` is missing, fails, or does not end.
pub(super) fn signature(path: &Path) -> Result<Option<String>, String> {
    let failed = |what: String| {
        Err(format!(
            "{}: whether anything is on it is not known: {what}; `blkid` of util-linux must work for it to be written",
            path.display()
        ))
    };
    // Without details of a partition: its place in a table is no content of its own.
    let words = ["--probe", "--no-part-details", "--output", "export"].map(OsStr::new);
    let answer = match tool::run("blkid", &[&words[..], &[path.as_os_str()]].concat(), ENDS_WITHIN) {
        Ok(answer) => answer,
        Err(ToolFailure::Missing) => return failed("blkid is not installed".to_owned()),
        Err(ToolFailure::Failed(what)) => return failed(what),
    };
    match answer.code {
        Some(FOUND) => Ok(Some(described(&answer.text))),
        // It ends so too where it could not open or read the device, and does not always complain.
        Some(NOTHING) if !answer.complaint.trim().is_empty() => failed(answer.complaint.trim().to_owned()),
        Some(NOTHING) => match read_ends(path) {
            Ok(()) => Ok(None),
            Err(error) => failed(format!("its beginning and end cannot be read: {error}")),
        },
        Some(AMBIVALENT) => Ok(Some("signatures of several kinds".to_owned())),
        Some(code) => failed(format!("blkid ended with code {code}")),
        None => failed("a signal ended blkid".to_owned()),
    }
}

/// Reads the beginning and the end of the device, where signatures are.
fn read_ends(path: &Path) -> std::io::Result<()> {
    let mut device = File::open(path)?;
    let length_bytes = device.seek(SeekFrom::End(0))?;
    let mut bytes = vec![0; usize::try_from(length_bytes.min(END_BYTES)).unwrap_or_default()];
    device.read_exact_at(&mut bytes, 0)?;
    device.read_exact_at(&mut bytes, length_bytes.saturating_sub(END_BYTES))
}

/// The lines `NAME=VALUE` of an answer in words.
fn described(answer: &str) -> String {
    let value = |name: &str| answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let content = value("TYPE").map(|kind| match value("LABEL") {
        Some(label) => format!("{kind} ({label})"),
        None => kind.to_owned(),
    });
    let table = value("PTTYPE").map(|kind| format!("a partition table ({kind})"));
    match (content, table) {
        (Some(content), Some(table)) => format!("{content}, {table}"),
        (Some(content), None) => content,
        (None, Some(table)) => table,
        (None, None) => "a signature".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_cannot_be_opened_is_not_taken_for_a_blank_one() {
        let folder = tempfile::tempdir().unwrap();
        let why = signature(&folder.path().join("no-device")).unwrap_err();
        assert!(why.contains("whether anything is on it is not known"), "{why}");
    }

    #[test]
    fn what_blkid_found_is_said_in_its_words() {
        let ext4 = "DEVNAME=/dev/loop0\nUUID=1\nBLOCK_SIZE=4096\nTYPE=ext4\n";
        assert_eq!(described(ext4), "ext4");
        assert_eq!(described("LABEL=home\nTYPE=xfs\n"), "xfs (home)");
        assert_eq!(described("PTUUID=1\nPTTYPE=gpt\n"), "a partition table (gpt)");
        assert_eq!(described("TYPE=iso9660\nPTTYPE=dos\n"), "iso9660, a partition table (dos)");
        assert_eq!(described(""), "a signature");
    }
}
