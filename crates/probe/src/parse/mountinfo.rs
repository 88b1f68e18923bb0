//! `/proc/[pid]/mountinfo`: the mounts that a process sees, as a tree.
//!
//! Which of them contains a path is decided in the crate's `mounts` module.

use super::{Malformed, fields, lines, number, text};

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) id: u64,
    pub(crate) parent_id: u64,
    /// `major:minor` of the file system.
    pub(crate) device: String,
    /// The folder of the file system that is mounted; not `/` for bind mounts and subvolumes.
    pub(crate) root: String,
    pub(crate) point: String,
    /// Options of this mount.
    pub(crate) options: Vec<String>,
    pub(crate) fs_type: String,
    pub(crate) source: String,
    /// Options of the file system.
    pub(crate) super_options: Vec<String>,
}

/// All mounts, in the kernel's order.
///
/// # Source
/// proc(5), `/proc/[pid]/mountinfo`: the optional fields end with a lone `-`.
pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<Mount>, Malformed> {
    lines(bytes).map(|(line_number, line)| mount(line_number, line)).collect()
}

fn mount(line_number: usize, line: &[u8]) -> Result<Mount, Malformed> {
    let bad = |expected: &str| Malformed::new(line_number, expected, line);
    // The kernel writes an empty source as nothing between two spaces, so single spaces separate.
    let mut parts = line.split(|&byte| byte == b' ');
    let id = parts.next().and_then(number).ok_or_else(|| bad("a mount id"))?;
    let parent_id = parts.next().and_then(number).ok_or_else(|| bad("a parent's id"))?;
    let device = parts.next().filter(|field| field.contains(&b':'));
    let device = text(device.ok_or_else(|| bad("major:minor"))?);
    let root = unescape(parts.next().ok_or_else(|| bad("a root"))?);
    let point = unescape(parts.next().ok_or_else(|| bad("a mount point"))?);
    let options = split_options(parts.next().ok_or_else(|| bad("mount options"))?);
    if !parts.by_ref().any(|field| field == b"-") {
        return Err(bad("a lone `-` after the optional fields"));
    }
    let fs_type = unescape(parts.next().ok_or_else(|| bad("a file-system type"))?);
    let source = unescape(parts.next().unwrap_or_default());
    let super_options = parts.next().map(split_options).unwrap_or_default();
    Ok(Mount { id, parent_id, device, root, point, options, fs_type, source, super_options })
}

/// Options at commas; a comma inside a value is escaped by the kernel, so none is split.
pub(crate) fn split_options(field: &[u8]) -> Vec<String> {
    let field = fields(field).next().unwrap_or_default();
    field.split(|&byte| byte == b',').filter(|option| !option.is_empty()).map(unescape).collect()
}

/// The field with `\ooo` (space, tab, newline, backslash, hash, comma) made bytes again.
pub(crate) fn unescape(field: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        if let (b'\\', Some(value)) = (first, after.get(..3).and_then(octal)) {
            bytes.push(value);
            rest = &after[3..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    text(&bytes)
}

fn octal(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0_u8, |value, &byte| {
        let digit = matches!(byte, b'0'..=b'7').then(|| byte - b'0')?;
        value.checked_mul(8)?.checked_add(digit)
    })
}
