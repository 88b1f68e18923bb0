//! The port mapper and MOUNT: from an exported path to its handle.

use super::attributes::FileHandle;
use super::procedure::RpcProgram;
use super::results::CallResult;
use super::status::Status;
use super::xdr::{Result, XdrError, XdrReader, put_opaque, put_u32};

/// TCP, as the port mapper numbers protocols.
const TCP: u32 = 6;
/// Longest exported path, and longest name of a group.
const PATH_BYTES_MAX: usize = 1024;

/// Appends the arguments of GETPORT: where `program` listens.
pub fn put_port_of(out: &mut Vec<u8>, program: RpcProgram) {
    for value in [program.number, program.version, TCP, 0] {
        put_u32(out, value);
    }
}

/// Reads the results of GETPORT; `None` where the program is not registered.
///
/// # Errors
/// `Short`; `Malformed` for a number that is no port.
pub fn read_port(reader: &mut XdrReader<'_>) -> Result<Option<u16>> {
    match u16::try_from(reader.u32()?) {
        Ok(0) => Ok(None),
        Ok(port) => Ok(Some(port)),
        Err(_) => Err(XdrError::Malformed("a port is above 65535")),
    }
}

/// Appends a path: the arguments of MNT and UMNT.
pub fn put_path(out: &mut Vec<u8>, path: &str) {
    put_opaque(out, path.as_bytes());
}

/// Reads the results of MNT: the handle, and the kinds of credentials that are accepted.
///
/// # Errors
/// `Short`; `Malformed`.
pub fn read_mount(reader: &mut XdrReader<'_>) -> Result<CallResult<FileHandle>> {
    let status = Status(reader.u32()?);
    if !status.is_ok() {
        return Ok(Err(status));
    }
    // The kinds of credentials follow; a server that does not accept ours refuses the calls.
    FileHandle::read(reader).map(Ok)
}

/// Reads the results of EXPORT: at most `most` paths.
///
/// # Errors
/// `Short`; `Malformed` for a path that is no text.
pub fn read_exports<'a>(reader: &mut XdrReader<'a>, most: usize) -> Result<Vec<&'a str>> {
    let mut paths = Vec::new();
    while reader.flag()? {
        let path = reader.opaque(PATH_BYTES_MAX)?;
        while reader.flag()? {
            reader.opaque(PATH_BYTES_MAX)?;
        }
        if paths.len() < most {
            paths.push(std::str::from_utf8(path).map_err(|_| XdrError::Malformed("a path is no text"))?);
        }
    }
    Ok(paths)
}
