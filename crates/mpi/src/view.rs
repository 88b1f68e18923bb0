//! Data types that select a part of an array: of a file what one rank sees, of memory what it transfers.

use crate::constants::constant;
use crate::failure::{MpiFailure, checked};
use mpi::ffi;
use std::mem::MaybeUninit;
use std::os::raw::c_int;

/// A part of an array.
pub(crate) struct ArrayPart {
    kind: ffi::MPI_Datatype,
    element: ffi::MPI_Datatype,
    /// Elements of the whole array.
    array_count: u64,
}

/// What files and buffers consist of.
pub(crate) trait Element {
    /// Its data type.
    fn kind() -> ffi::MPI_Datatype;
}

impl Element for u8 {
    fn kind() -> ffi::MPI_Datatype {
        ArrayElement::Byte.kind()
    }
}

impl Element for i32 {
    fn kind() -> ffi::MPI_Datatype {
        ArrayElement::Integer.kind()
    }
}

/// What the elements of an array are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArrayElement {
    /// Bytes.
    Byte,
    /// Integers of 32 bits.
    Integer,
}

impl ArrayElement {
    fn kind(self) -> ffi::MPI_Datatype {
        // SAFETY: constants of the library.
        unsafe {
            match self {
                Self::Byte => ffi::RSMPI_UINT8_T,
                Self::Integer => ffi::RSMPI_INT32_T,
            }
        }
    }
}

/// Sets `dims`, which are zero, to how many of `rank_count` ranks there are along each dimension, in descending order.
///
/// # Errors
/// When the library refuses.
pub(crate) fn grid_of_ranks(rank_count: c_int, dims: &mut [c_int]) -> Result<(), MpiFailure> {
    let dimensions = constant(dims.len())?;
    // SAFETY: the call sets so many numbers as there is room for.
    let outcome = unsafe { ffi::MPI_Dims_create(rank_count, dimensions, dims.as_mut_ptr()) };
    checked(outcome, "MPI_Dims_create", "a grid of ranks")
}

/// A rank among those that an array is distributed over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankPosition {
    pub(crate) rank: c_int,
    pub(crate) count: c_int,
}

impl ArrayPart {
    /// The block that `position` has of an array of `sizes` in the order of C, which is distributed over a grid of ranks
    /// (`MPI_Type_create_darray`).
    ///
    /// # Errors
    /// When the library refuses.
    pub(crate) fn from_grid<const D: usize>(
        position: RankPosition,
        sizes: [c_int; D],
        grid: [c_int; D],
        element: ArrayElement,
    ) -> Result<Self, MpiFailure> {
        let distributions = [constant(ffi::MPI_DISTRIBUTE_BLOCK)?; D];
        let arguments = [constant(ffi::MPI_DISTRIBUTE_DFLT_DARG)?; D];
        let (dimensions, order) = (constant(D)?, constant(ffi::MPI_ORDER_C)?);
        let mut kind = MaybeUninit::uninit();
        // SAFETY: each list has as many numbers as there are dimensions, and the handle is written by the call.
        let outcome = unsafe {
            ffi::MPI_Type_create_darray(
                position.count,
                position.rank,
                dimensions,
                sizes.as_ptr(),
                distributions.as_ptr(),
                arguments.as_ptr(),
                grid.as_ptr(),
                order,
                element.kind(),
                kind.as_mut_ptr(),
            )
        };
        checked(outcome, "MPI_Type_create_darray", "an array")?;
        // SAFETY: a successful call has set the handle.
        Self::committed(unsafe { kind.assume_init() }, element, sizes)
    }

    /// The part of `part` elements from `starts` on, along each dimension, of an array of `sizes` in the order of C
    /// (`MPI_Type_create_subarray`).
    ///
    /// # Errors
    /// When the library refuses.
    pub(crate) fn from_part<const D: usize>(
        sizes: [c_int; D],
        part: [c_int; D],
        starts: [c_int; D],
        element: ArrayElement,
    ) -> Result<Self, MpiFailure> {
        let (dimensions, order) = (constant(D)?, constant(ffi::MPI_ORDER_C)?);
        let mut kind = MaybeUninit::uninit();
        // SAFETY: each list has as many numbers as there are dimensions, and the handle is written by the call.
        let outcome = unsafe {
            ffi::MPI_Type_create_subarray(
                dimensions,
                sizes.as_ptr(),
                part.as_ptr(),
                starts.as_ptr(),
                order,
                element.kind(),
                kind.as_mut_ptr(),
            )
        };
        checked(outcome, "MPI_Type_create_subarray", "an array")?;
        // SAFETY: a successful call has set the handle.
        Self::committed(unsafe { kind.assume_init() }, element, sizes)
    }

    fn committed<const D: usize>(
        kind: ffi::MPI_Datatype,
        element: ArrayElement,
        sizes: [c_int; D],
    ) -> Result<Self, MpiFailure> {
        let wide = sizes.map(|length| u64::from(length.unsigned_abs()));
        let array_count = wide.iter().fold(1, |product: u64, length| product.saturating_mul(*length));
        let mut part = Self { kind, element: element.kind(), array_count };
        // SAFETY: the type is valid.
        let outcome = unsafe { ffi::MPI_Type_commit(&raw mut part.kind) };
        checked(outcome, "MPI_Type_commit", "an array")?;
        Ok(part)
    }

    /// How many elements it selects of `elements`, which are the array.
    ///
    /// # Errors
    /// Where they are fewer than the array has, or of another type.
    pub(crate) fn selected_of<T: Element>(&self, elements: &[T]) -> Result<c_int, MpiFailure> {
        let found_count = elements.len() as u64;
        if found_count < self.array_count || self.element != T::kind() {
            return Err(MpiFailure::invalid(format!(
                "a buffer of {found_count} elements for an array of {}",
                self.array_count
            )));
        }
        let mut selected_bytes: c_int = 0;
        // SAFETY: the type is valid, and the number is written by the call.
        let outcome = unsafe { ffi::MPI_Type_size(self.kind, &raw mut selected_bytes) };
        checked(outcome, "MPI_Type_size", "an array")?;
        // More bytes than an `int` counts have a negative size in this call.
        let element_bytes = constant(size_of::<T>())?;
        if selected_bytes < 0 || element_bytes == 0 {
            return Err(MpiFailure::invalid("a part of more than 2147483647 bytes in one call".to_owned()));
        }
        Ok(selected_bytes / element_bytes)
    }

    pub(crate) fn as_raw(&self) -> ffi::MPI_Datatype {
        self.kind
    }

    /// The data type of its elements.
    pub(crate) fn element(&self) -> ffi::MPI_Datatype {
        self.element
    }
}

impl Drop for ArrayPart {
    fn drop(&mut self) {
        // SAFETY: the type is valid, and not used any more; files keep their own reference.
        unsafe { ffi::MPI_Type_free(&raw mut self.kind) };
    }
}
