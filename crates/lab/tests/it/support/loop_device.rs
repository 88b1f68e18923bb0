//! Block devices of a test's own: loop devices over images in its lab's folder.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use narrows_lab::Lab;

const MIB: u64 = 1 << 20;

/// A loop device that is detached when it is dropped.
pub(crate) struct LoopDevice {
    path: PathBuf,
    image: PathBuf,
}

impl LoopDevice {
    /// One of `mebibytes`, each of whose bytes is `filling`: no signature of anything.
    pub(crate) fn filled(lab: &Lab, name: &str, mebibytes: u64, filling: u8) -> Self {
        let image = lab.scratch().join(format!("{name}.img"));
        fs::write(&image, vec![filling; usize::try_from(mebibytes * MIB).unwrap()]).unwrap();
        Self::over(&image)
    }

    /// One over what is at `image`.
    pub(crate) fn over(image: &Path) -> Self {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(image).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
        Self { path, image: image.to_path_buf() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The target of commands and studies.
    pub(crate) fn target(&self) -> String {
        format!("blk:{}", self.path.display())
    }

    /// What is on it, past the page cache of the device.
    pub(crate) fn content(&self) -> Vec<u8> {
        let flushed = Command::new("blockdev").arg("--flushbufs").arg(&self.path).status().unwrap();
        assert!(flushed.success());
        fs::read(&self.image).unwrap()
    }

    /// Makes an ext4 on it.
    pub(crate) fn format(&self) {
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&self.path).status().unwrap();
        assert!(made.success());
    }

    /// Writes `bytes` on it at `offset_bytes`.
    pub(crate) fn put(&self, offset_bytes: u64, bytes: &[u8]) {
        let device = fs::File::options().write(true).open(&self.path).unwrap();
        device.write_all_at(bytes, offset_bytes).unwrap();
        device.sync_all().unwrap();
    }

    /// Reads that the kernel has counted, and their sectors of 512 bytes (`/sys/block/NAME/stat`).
    pub(crate) fn counted_reads(&self) -> (u64, u64) {
        let name = self.path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        let numbers: Vec<u64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
        (numbers[0], numbers[2])
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}
