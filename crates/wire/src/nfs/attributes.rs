//! File handles and attributes.

use super::xdr::{Result, XdrError, XdrReader};

/// Longest handle of NFSv3.
pub const HANDLE_BYTES_MAX: usize = 64;

/// A server's name for a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileHandle {
    bytes: [u8; HANDLE_BYTES_MAX],
    length: u8,
}

impl std::fmt::Debug for FileHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FileHandle({} bytes)", self.length)
    }
}

impl FileHandle {
    /// The handle of these bytes; `None` above [`HANDLE_BYTES_MAX`].
    #[must_use]
    pub fn new(handle: &[u8]) -> Option<Self> {
        let mut bytes = [0; HANDLE_BYTES_MAX];
        bytes.get_mut(..handle.len())?.copy_from_slice(handle);
        Some(Self { bytes, length: u8::try_from(handle.len()).ok()? })
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Reads a handle.
    ///
    /// # Errors
    /// `Short`; `Malformed` above [`HANDLE_BYTES_MAX`].
    pub fn read(reader: &mut XdrReader<'_>) -> Result<Self> {
        let bytes = reader.opaque(HANDLE_BYTES_MAX)?;
        Self::new(bytes).ok_or(XdrError::Malformed("a handle is too long"))
    }
}

/// What a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A file with data.
    File,
    /// A folder.
    Folder,
    /// A link, a device, a socket or a pipe.
    Other,
}

/// The attributes that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// What it is.
    pub kind: FileKind,
    /// Who may do what with it, as in `chmod`.
    pub mode: u32,
    /// Its owner's number.
    pub user_id: u32,
    /// Its length.
    pub length_bytes: u64,
    /// When its content changed, in seconds of the epoch.
    pub modified_s: u32,
}

/// Bytes of `fattr3`.
const ATTRIBUTES_BYTES: usize = 84;
/// Bytes of `wcc_attr`.
const BEFORE_BYTES: usize = 24;

impl Attributes {
    /// Reads attributes.
    ///
    /// # Errors
    /// `Short`; `Malformed` for a kind of file that NFSv3 does not have.
    pub fn read(reader: &mut XdrReader<'_>) -> Result<Self> {
        let mut fields = XdrReader::new(reader.take(ATTRIBUTES_BYTES)?);
        let kind = match fields.u32()? {
            1 => FileKind::File,
            2 => FileKind::Folder,
            3..=7 => FileKind::Other,
            _ => return Err(XdrError::Malformed("a kind of file is unknown")),
        };
        let (mode, _links, user_id) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let _group = fields.u32()?;
        let length_bytes = fields.u64()?;
        // Used space, device, file system, file id, time of access.
        for _ in 0..5 {
            fields.u64()?;
        }
        Ok(Self { kind, mode, user_id, length_bytes, modified_s: fields.u32()? })
    }

    /// Reads attributes that a server may leave out.
    ///
    /// # Errors
    /// As [`Attributes::read`].
    pub fn read_optional(reader: &mut XdrReader<'_>) -> Result<Option<Self>> {
        if reader.flag()? { Self::read(reader).map(Some) } else { Ok(None) }
    }
}

/// Reads what a server says about a file before and after a call (`wcc_data`); the attributes after it.
///
/// # Errors
/// As [`Attributes::read`].
pub fn read_change(reader: &mut XdrReader<'_>) -> Result<Option<Attributes>> {
    if reader.flag()? {
        reader.take(BEFORE_BYTES)?;
    }
    Attributes::read_optional(reader)
}
