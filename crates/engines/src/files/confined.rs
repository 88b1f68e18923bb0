//! The folder that a server is confined to, with the files that were made in it.

use narrows_sys::file::MadeFiles;
use std::fs::File;
use std::sync::Arc;

/// The open folder beneath which alone files are opened, and what was made in it.
#[derive(Debug, Clone)]
pub struct ConfinedFolder {
    pub(super) folder: Arc<File>,
    pub(super) made: Arc<MadeFiles>,
}

impl ConfinedFolder {
    /// The open `folder`, in which the files `made` were made.
    #[must_use]
    pub fn new(folder: File, made: Arc<MadeFiles>) -> Self {
        Self { folder: Arc::new(folder), made }
    }
}

impl From<File> for ConfinedFolder {
    /// A folder in which nothing was made yet.
    fn from(folder: File) -> Self {
        Self::new(folder, Arc::default())
    }
}
