//! Results of the calls that are no transfers of blocks.

use super::attributes::{Attributes, FileHandle, read_change};
use super::calls::ListingPosition;
use super::status::Status;
use super::xdr::{Result, XdrError, XdrReader};

/// What a call returned, or its status.
pub type CallResult<T> = std::result::Result<T, Status>;

/// Longest name in a folder: longer than file systems have.
const NAME_BYTES_MAX: usize = 4096;

/// Reads the results of GETATTR.
///
/// # Errors
/// `Short`; `Malformed`.
pub fn read_attributes(reader: &mut XdrReader<'_>) -> Result<CallResult<Attributes>> {
    let status = Status(reader.u32()?);
    if status.is_ok() { Attributes::read(reader).map(Ok) } else { Ok(Err(status)) }
}

/// A file that was found by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookupResult {
    /// Its handle.
    pub handle: FileHandle,
    /// Its attributes, where the server says them.
    pub attributes: Option<Attributes>,
}

/// Reads the results of LOOKUP.
///
/// # Errors
/// `Short`; `Malformed`.
pub fn read_lookup(reader: &mut XdrReader<'_>) -> Result<CallResult<LookupResult>> {
    let status = Status(reader.u32()?);
    if !status.is_ok() {
        Attributes::read_optional(reader)?;
        return Ok(Err(status));
    }
    let handle = FileHandle::read(reader)?;
    let attributes = Attributes::read_optional(reader)?;
    Attributes::read_optional(reader)?;
    Ok(Ok(LookupResult { handle, attributes }))
}

/// Reads the results of CREATE and MKDIR: the handle, where the server says it.
///
/// # Errors
/// `Short`; `Malformed`.
pub fn read_created(reader: &mut XdrReader<'_>) -> Result<CallResult<Option<FileHandle>>> {
    let status = Status(reader.u32()?);
    if !status.is_ok() {
        read_change(reader)?;
        return Ok(Err(status));
    }
    let handle = if reader.flag()? { Some(FileHandle::read(reader)?) } else { None };
    Attributes::read_optional(reader)?;
    read_change(reader)?;
    Ok(Ok(handle))
}

/// Reads the results of SETATTR, REMOVE and RMDIR.
///
/// # Errors
/// `Short`; `Malformed`.
pub fn read_changed(reader: &mut XdrReader<'_>) -> Result<CallResult<()>> {
    let status = Status(reader.u32()?);
    read_change(reader)?;
    Ok(if status.is_ok() { Ok(()) } else { Err(status) })
}

/// Reads the results of RENAME.
///
/// # Errors
/// `Short`; `Malformed`.
pub fn read_renamed(reader: &mut XdrReader<'_>) -> Result<CallResult<()>> {
    let answer = read_changed(reader)?;
    read_change(reader)?;
    Ok(answer)
}

/// Sizes that a server supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerSizes {
    /// Most bytes of a READ.
    pub read_bytes_max: u32,
    /// Most bytes of a WRITE.
    pub write_bytes_max: u32,
}

/// Reads the results of FSINFO.
///
/// # Errors
/// `Short`; `Malformed`.
pub fn read_server_sizes(reader: &mut XdrReader<'_>) -> Result<CallResult<ServerSizes>> {
    let status = Status(reader.u32()?);
    Attributes::read_optional(reader)?;
    if !status.is_ok() {
        return Ok(Err(status));
    }
    let (read_bytes_max, _preferred, _multiple) = (reader.u32()?, reader.u32()?, reader.u32()?);
    Ok(Ok(ServerSizes { read_bytes_max, write_bytes_max: reader.u32()? }))
}

/// Reads the results of FSSTAT: the bytes that this caller may still write.
///
/// # Errors
/// `Short`; `Malformed`.
pub fn read_free_bytes(reader: &mut XdrReader<'_>) -> Result<CallResult<u64>> {
    let status = Status(reader.u32()?);
    Attributes::read_optional(reader)?;
    if !status.is_ok() {
        return Ok(Err(status));
    }
    let (_total_bytes, _free_bytes, available_bytes) = (reader.u64()?, reader.u64()?, reader.u64()?);
    // Files: all, free, available; how long it stays so.
    for _ in 0..3 {
        reader.u64()?;
    }
    reader.u32()?;
    Ok(Ok(available_bytes))
}

/// A name of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedName<'a> {
    /// The name, of any bytes.
    pub name: &'a [u8],
    /// Where the listing continues behind it.
    pub cookie: u64,
    /// Its attributes, where the server says them.
    pub attributes: Option<Attributes>,
    /// Its handle, where the server says it.
    pub handle: Option<FileHandle>,
}

/// What ends a part of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListingEnd {
    /// Where the next part begins.
    pub next: ListingPosition,
    /// Whether there is none.
    pub is_end: bool,
}

/// Reads the results of READDIRPLUS, and passes each name to `visit`.
///
/// # Errors
/// `Short`; `Malformed`.
pub fn read_list<'a>(
    reader: &mut XdrReader<'a>,
    visit: &mut dyn FnMut(ListedName<'a>),
) -> Result<CallResult<ListingEnd>> {
    let status = Status(reader.u32()?);
    Attributes::read_optional(reader)?;
    if !status.is_ok() {
        return Ok(Err(status));
    }
    let verifier = reader.verifier()?;
    let mut cookie = None;
    // Bounded: each name takes bytes of the reply.
    while reader.flag()? {
        reader.u64()?;
        let name = reader.opaque(NAME_BYTES_MAX)?;
        let entry_cookie = reader.u64()?;
        let attributes = Attributes::read_optional(reader)?;
        let handle = if reader.flag()? { Some(FileHandle::read(reader)?) } else { None };
        cookie = Some(entry_cookie);
        visit(ListedName { name, cookie: entry_cookie, attributes, handle });
    }
    let is_end = reader.flag()?;
    match cookie {
        None if !is_end => Err(XdrError::Malformed("a part of a listing has no name and is not its end")),
        cookie => {
            let next = ListingPosition { cookie: cookie.unwrap_or(0), verifier };
            Ok(Ok(ListingEnd { next, is_end }))
        }
    }
}
