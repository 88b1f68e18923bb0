//! The name and the first line of what marks a place as made by narrows.

/// The file in a folder of ours, and the first line of the mark on a disk without folders.
pub const MARKER: &str = "made-by-narrows";
