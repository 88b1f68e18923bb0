//! A three-dimensional array, distributed over all ranks in blocks.

use crate::view::grid_of_ranks;
use std::os::raw::c_int;

/// Dimensions of the array.
const DIMENSIONS: usize = 3;

/// How many ranks there are along each dimension.
///
/// # Errors
/// When the library refuses.
pub(super) fn grid(rank_count: c_int) -> Result<[c_int; DIMENSIONS], String> {
    let mut dims = [0; DIMENSIONS];
    grid_of_ranks(rank_count, &mut dims)?;
    Ok(dims)
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
