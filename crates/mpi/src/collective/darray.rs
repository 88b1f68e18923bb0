//! A three-dimensional array of integers, distributed over all ranks in blocks, and the part of a file that a rank has of it.

use super::constants::constant;
use mpi::ffi;
use std::mem::MaybeUninit;
use std::os::raw::c_int;

/// Dimensions of the array.
const DIMENSIONS: usize = 3;

/// How many ranks there are along each dimension.
///
/// # Errors
/// When the library refuses.
pub(super) fn grid(rank_count: c_int) -> Result<[c_int; DIMENSIONS], String> {
    let mut dims = [0; DIMENSIONS];
    let dimensions = constant(DIMENSIONS)?;
    // SAFETY: there is room for three numbers, all zero, which the call sets.
    let outcome = unsafe { ffi::MPI_Dims_create(rank_count, dimensions, dims.as_mut_ptr()) };
    if outcome == 0 { Ok(dims) } else { Err(format!("MPI_Dims_create failed (error {outcome})")) }
}

/// The block of one rank along each dimension: its first index and its length.
///
/// # Source
/// MPI 3.1, 4.1.4: block distribution with the default argument, ranks of the grid in row-major order.
pub(super) fn block(
    rank: u64,
    sizes: [u64; DIMENSIONS],
    grid: [u64; DIMENSIONS],
) -> [(u64, u64); DIMENSIONS] {
    let places = [rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]];
    std::array::from_fn(|dimension| {
        let usual = sizes[dimension].div_ceil(grid[dimension]);
        let from = (places[dimension] * usual).min(sizes[dimension]);
        (from, usual.min(sizes[dimension] - from))
    })
}

/// What of the file one rank sees.
pub(super) struct FileView {
    kind: ffi::MPI_Datatype,
}

impl FileView {
    /// The block of `rank` in an array of `sizes` in the order of C.
    ///
    /// # Errors
    /// When the library refuses.
    pub(super) fn of_block(
        rank: c_int,
        rank_count: c_int,
        sizes: [c_int; DIMENSIONS],
        grid: [c_int; DIMENSIONS],
    ) -> Result<Self, String> {
        let distributions = [constant(ffi::MPI_DISTRIBUTE_BLOCK)?; DIMENSIONS];
        let arguments = [constant(ffi::MPI_DISTRIBUTE_DFLT_DARG)?; DIMENSIONS];
        let (dimensions, order) = (constant(DIMENSIONS)?, constant(ffi::MPI_ORDER_C)?);
        let mut kind = MaybeUninit::uninit();
        // SAFETY: each list has as many numbers as there are dimensions, and the handle is written by the call.
        let outcome = unsafe {
            ffi::MPI_Type_create_darray(
                rank_count,
                rank,
                dimensions,
                sizes.as_ptr(),
                distributions.as_ptr(),
                arguments.as_ptr(),
                grid.as_ptr(),
                order,
                ffi::RSMPI_INT32_T,
                kind.as_mut_ptr(),
            )
        };
        if outcome != 0 {
            return Err(format!("MPI_Type_create_darray failed (error {outcome})"));
        }
        // SAFETY: a successful call has set the handle.
        let mut view = Self { kind: unsafe { kind.assume_init() } };
        // SAFETY: the type is valid.
        let outcome = unsafe { ffi::MPI_Type_commit(&raw mut view.kind) };
        if outcome == 0 { Ok(view) } else { Err(format!("MPI_Type_commit failed (error {outcome})")) }
    }

    pub(super) fn as_raw(&self) -> ffi::MPI_Datatype {
        self.kind
    }
}

impl Drop for FileView {
    fn drop(&mut self) {
        // SAFETY: the type is valid, and not used any more; files keep their own reference.
        unsafe { ffi::MPI_Type_free(&raw mut self.kind) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_of_all_ranks_cover_every_element_once() {
        let (sizes, grid) = ([7, 5, 9], [2, 3, 2]);
        let mut seen = vec![0; 7 * 5 * 9];
        for rank in 0..12 {
            let [x, y, z] = block(rank, sizes, grid);
            for i in x.0..x.0 + x.1 {
                for j in y.0..y.0 + y.1 {
                    for k in z.0..z.0 + z.1 {
                        seen[usize::try_from((i * 5 + j) * 9 + k).unwrap()] += 1;
                    }
                }
            }
        }
        assert!(seen.iter().all(|count| *count == 1));
    }
}
