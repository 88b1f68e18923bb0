//! Constants of the MPI header, which have other types in the bindings of each library.

use std::os::raw::c_int;

/// A constant of the header, whatever type the bindings give it.
pub(super) fn constant<T: TryInto<c_int>>(value: T) -> c_int {
    value.try_into().unwrap_or_default()
}
