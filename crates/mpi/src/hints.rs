//! Hints of a file, as pairs of texts and as the library takes and reports them.

use crate::constants::constant;
use crate::failure::{MpiFailure, checked};
use mpi::ffi;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::raw::{c_char, c_int};

/// Bytes of the longest key of a known library, and more (MPICH: 255).
const KEY_BYTES: usize = 512;
/// Bytes of the longest value of a known library, and more (MPICH: 1024).
const VALUE_BYTES: usize = 2048;

/// The hints.
pub(crate) struct Hints {
    info: ffi::MPI_Info,
}

impl Hints {
    /// These pairs.
    ///
    /// # Errors
    /// What the library reports.
    pub(crate) fn new(hints: &[(String, String)]) -> Result<Self, MpiFailure> {
        let mut info = MaybeUninit::uninit();
        // SAFETY: the handle is written by the call.
        checked(unsafe { ffi::MPI_Info_create(info.as_mut_ptr()) }, "MPI_Info_create", "hints")?;
        // SAFETY: a successful call has set the handle.
        let made = Self { info: unsafe { info.assume_init() } };
        for (key, value) in hints {
            let shown = format!("the hint {key}={value}");
            let text = |text: &str| {
                CString::new(text).map_err(|_| MpiFailure::invalid(format!("{shown} has a zero byte")))
            };
            let (key, value) = (text(key)?, text(value)?);
            // SAFETY: the handle is valid, and both texts end with a zero byte.
            let outcome = unsafe { ffi::MPI_Info_set(made.info, key.as_ptr(), value.as_ptr()) };
            checked(outcome, "MPI_Info_set", &shown)?;
        }
        Ok(made)
    }

    /// Those of a handle.
    ///
    /// # Safety
    /// The handle is valid, and nobody else frees it.
    pub(crate) unsafe fn from_raw(info: ffi::MPI_Info) -> Self {
        Self { info }
    }

    /// The handle, for as long as this value lives.
    pub(crate) fn as_raw(&self) -> ffi::MPI_Info {
        self.info
    }

    /// All pairs.
    ///
    /// # Errors
    /// What the library reports.
    pub(crate) fn pairs(&self) -> Result<BTreeMap<String, String>, MpiFailure> {
        let mut count: c_int = 0;
        // SAFETY: the handle is valid, and the number is written by the call.
        let outcome = unsafe { ffi::MPI_Info_get_nkeys(self.info, &raw mut count) };
        checked(outcome, "MPI_Info_get_nkeys", "hints")?;
        let mut pairs = BTreeMap::new();
        for index in 0..count {
            let mut key = [0_u8; KEY_BYTES];
            // SAFETY: the handle is valid, the key is one of those counted, and there is room for the longest one.
            let outcome =
                unsafe { ffi::MPI_Info_get_nthkey(self.info, index, key.as_mut_ptr().cast::<c_char>()) };
            checked(outcome, "MPI_Info_get_nthkey", "hints")?;
            if let Some(value) = self.value(&key)? {
                pairs.insert(text_of(&key), value);
            }
        }
        Ok(pairs)
    }

    /// The value of a key, which ends with a zero byte.
    fn value(&self, key: &[u8; KEY_BYTES]) -> Result<Option<String>, MpiFailure> {
        let room = constant(VALUE_BYTES - 1)?;
        let mut value = [0_u8; VALUE_BYTES];
        let mut is_there: c_int = 0;
        // SAFETY: the handle is valid, the key ends with a zero byte, and there is room for so many bytes and a zero byte.
        let outcome = unsafe {
            ffi::MPI_Info_get(
                self.info,
                key.as_ptr().cast::<c_char>(),
                room,
                value.as_mut_ptr().cast::<c_char>(),
                &raw mut is_there,
            )
        };
        checked(outcome, "MPI_Info_get", "hints")?;
        Ok((is_there != 0).then(|| text_of(&value)))
    }
}

/// The text before the first zero byte.
fn text_of(bytes: &[u8]) -> String {
    CStr::from_bytes_until_nul(bytes).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

impl Drop for Hints {
    fn drop(&mut self) {
        // SAFETY: the handle is valid, and not used any more; files keep a copy.
        unsafe { ffi::MPI_Info_free(&raw mut self.info) };
    }
}
