//! Small symmetric systems of linear equations.
//!
//! It deliberately pivots nothing and serves positive definite matrices alone.

/// Below this share of its diagonal a pivot is rounding, and the matrix is singular for our purpose.
const PIVOT_TOLERANCE: f64 = 1e-13;

/// The x with `matrix` · x = `right`; `None` when the matrix is not positive definite.
///
/// # Shape
/// `matrix` is square and as large as `right`, its lower triangle set; a smaller one panics.
///
/// # Panics
/// Where a row of `matrix` is too short for `right`.
///
/// # Source
/// Cholesky's factorisation, in place: the lower triangle of `matrix` becomes L with L · Lᵀ = `matrix`.
#[must_use]
pub fn solve_positive_definite(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let size = right.len();
    for i in 0..size {
        for j in 0..=i {
            let products: f64 = (0..j).map(|k| matrix[i][k] * matrix[j][k]).sum();
            let rest = matrix[i][j] - products;
            matrix[i][j] = if i > j {
                rest / matrix[j][j]
            } else if rest > PIVOT_TOLERANCE * matrix[i][i] {
                rest.sqrt()
            } else {
                return None;
            };
        }
    }
    for i in 0..size {
        let known: f64 = (0..i).map(|k| matrix[i][k] * right[k]).sum();
        right[i] = (right[i] - known) / matrix[i][i];
    }
    for i in (0..size).rev() {
        let known: f64 = (i + 1..size).map(|k| matrix[k][i] * right[k]).sum();
        right[i] = (right[i] - known) / matrix[i][i];
    }
    right.iter().all(|value| value.is_finite()).then_some(right)
}

#[cfg(test)]
mod tests {
    use super::solve_positive_definite;

    #[test]
    fn a_positive_definite_system_is_solved() {
        let matrix = vec![vec![4.0, 2.0], vec![2.0, 5.0]];
        assert_eq!(solve_positive_definite(matrix, vec![8.0, 12.0]), Some(vec![1.0, 2.0]));
    }

    #[test]
    fn a_singular_matrix_has_no_solution() {
        assert_eq!(solve_positive_definite(vec![vec![1.0, 1.0], vec![1.0, 1.0]], vec![1.0, 1.0]), None);
        assert_eq!(solve_positive_definite(vec![vec![0.0]], vec![1.0]), None);
    }
}
