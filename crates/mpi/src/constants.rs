//! Constants of the MPI header, which have other types in the bindings of each library.

use std::fmt::Display;
use std::os::raw::c_int;

/// A constant of the header, whatever type the bindings give it.
///
/// # Errors
/// Where it is no `int`, as the calls take it.
pub(crate) fn constant<T: TryInto<c_int> + Copy + Display>(value: T) -> Result<c_int, String> {
    value.try_into().map_err(|_| {
        format!("the constant {value} of this MPI library is no int; build narrows-mpi with the library that it runs with")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_that_is_no_int_is_an_error_and_not_0() {
        assert_eq!(constant(4_u32), Ok(4));
        assert!(constant(u32::MAX).unwrap_err().contains("the constant 4294967295"));
    }
}
