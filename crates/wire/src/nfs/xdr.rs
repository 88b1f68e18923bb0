//! XDR: big-endian units of four bytes, read from a slice and appended to a vector.
//!
//! Hot path: a reader borrows and a writer allocates nothing below the capacity of its vector.

/// Why bytes are not what was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XdrError {
    /// They end before the value does: more may arrive, or the record is cut off.
    Short,
    /// They cannot be that value, for this reason.
    Malformed(&'static str),
}

impl std::fmt::Display for XdrError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short => f.write_str("it ends in the middle of a value"),
            Self::Malformed(why) => f.write_str(why),
        }
    }
}

/// A value, or why the bytes are none.
pub type Result<T> = std::result::Result<T, XdrError>;

/// Reads values from the front of a slice.
#[derive(Debug, Clone)]
pub struct XdrReader<'a> {
    rest: &'a [u8],
    whole_bytes: usize,
}

impl<'a> XdrReader<'a> {
    /// A reader of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, whole_bytes: bytes.len() }
    }

    /// How many bytes have been read.
    #[must_use]
    pub fn read_bytes(&self) -> usize {
        self.whole_bytes - self.rest.len()
    }

    /// What has not been read.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `length` bytes, without padding.
    ///
    /// # Errors
    /// `Short` when there are fewer.
    pub fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(XdrError::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    /// An unsigned number of 32 bits.
    ///
    /// # Errors
    /// `Short`.
    pub fn u32(&mut self) -> Result<u32> {
        let (taken, rest) = self.rest.split_first_chunk::<4>().ok_or(XdrError::Short)?;
        self.rest = rest;
        Ok(u32::from_be_bytes(*taken))
    }

    /// An unsigned number of 64 bits.
    ///
    /// # Errors
    /// `Short`.
    pub fn u64(&mut self) -> Result<u64> {
        let (taken, rest) = self.rest.split_first_chunk::<8>().ok_or(XdrError::Short)?;
        self.rest = rest;
        Ok(u64::from_be_bytes(*taken))
    }

    /// Eight opaque bytes, such as a verifier.
    ///
    /// # Errors
    /// `Short`.
    pub fn verifier(&mut self) -> Result<[u8; 8]> {
        let (taken, rest) = self.rest.split_first_chunk::<8>().ok_or(XdrError::Short)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// A yes or no.
    ///
    /// # Errors
    /// `Short`; `Malformed` for another number than 0 and 1.
    pub fn flag(&mut self) -> Result<bool> {
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(XdrError::Malformed("a yes or no is neither 0 nor 1")),
        }
    }

    /// Bytes with their length before them and padding behind them, at most `most`.
    ///
    /// # Errors
    /// `Short`; `Malformed` when the length is above `most`.
    pub fn opaque(&mut self, most: usize) -> Result<&'a [u8]> {
        let length = usize::try_from(self.u32()?).unwrap_or(usize::MAX);
        if length > most {
            return Err(XdrError::Malformed("a length is above what the protocol allows"));
        }
        let taken = self.take(length)?;
        self.take(padding(length))?;
        Ok(taken)
    }
}

/// Bytes of padding behind `length` bytes: up to the next multiple of four.
#[must_use]
pub const fn padding(length: usize) -> usize {
    length.wrapping_neg() & 3
}

/// Appends an unsigned number of 32 bits.
pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends an unsigned number of 64 bits.
pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends bytes with their length before them and padding behind them.
pub fn put_opaque(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(out, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    out.extend_from_slice(bytes);
    out.extend_from_slice(&[0; 3][..padding(bytes.len())]);
}
