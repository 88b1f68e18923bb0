//! Arguments of the calls that are no transfers of blocks.

use super::attributes::FileHandle;
use super::xdr::{put_opaque, put_u32, put_u64};

/// Appends a handle: the arguments of GETATTR and FSINFO.
pub fn put_handle(out: &mut Vec<u8>, file: &FileHandle) {
    put_opaque(out, file.as_bytes());
}

/// Appends a name in a folder: the arguments of LOOKUP, REMOVE and RMDIR.
pub fn put_name(out: &mut Vec<u8>, folder: &FileHandle, name: &str) {
    put_opaque(out, folder.as_bytes());
    put_opaque(out, name.as_bytes());
}

/// Appends the arguments of CREATE, of an empty file of this mode: `is_new` refuses a name that is taken.
pub fn put_create(out: &mut Vec<u8>, folder: &FileHandle, name: &str, mode: u32, is_new: bool) {
    put_name(out, folder, name);
    put_u32(out, u32::from(is_new));
    put_new_attributes(out, mode);
}

/// Appends the arguments of MKDIR, of a folder of this mode.
pub fn put_make_folder(out: &mut Vec<u8>, folder: &FileHandle, name: &str, mode: u32) {
    put_name(out, folder, name);
    put_new_attributes(out, mode);
}

/// Attributes of which only the mode is set.
fn put_new_attributes(out: &mut Vec<u8>, mode: u32) {
    put_u32(out, 1);
    put_u32(out, mode);
    // User, group, length, time of access, time of modification: the server's choice.
    for _ in 0..5 {
        put_u32(out, 0);
    }
}

/// Appends the arguments of SETATTR that sets the length alone, whatever the file's time is.
pub fn put_set_length(out: &mut Vec<u8>, file: &FileHandle, length_bytes: u64) {
    put_opaque(out, file.as_bytes());
    // Mode, user, group: unchanged.
    for _ in 0..3 {
        put_u32(out, 0);
    }
    put_u32(out, 1);
    put_u64(out, length_bytes);
    // Times: unchanged. No guard.
    for _ in 0..3 {
        put_u32(out, 0);
    }
}

/// Appends the arguments of RENAME within a folder.
pub fn put_rename(out: &mut Vec<u8>, folder: &FileHandle, from: &str, to: &str) {
    put_name(out, folder, from);
    put_name(out, folder, to);
}

/// Where a listing continues.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListingPosition {
    /// The last name's cookie; 0 at the start.
    pub cookie: u64,
    /// The folder's verifier; zeros at the start.
    pub verifier: [u8; 8],
}

/// Appends the arguments of READDIRPLUS with replies of up to `reply_bytes`.
pub fn put_list(out: &mut Vec<u8>, folder: &FileHandle, from: ListingPosition, reply_bytes: u32) {
    put_opaque(out, folder.as_bytes());
    put_u64(out, from.cookie);
    out.extend_from_slice(&from.verifier);
    // Names alone count for the first limit; the second is that of the reply.
    put_u32(out, reply_bytes / 4);
    put_u32(out, reply_bytes);
}
