//! Commands that messages advise, to be copied into a shell.
//!
//! Not here: when they are advised.

use narrows_model::printable::shell_path;
use std::path::Path;

/// The command that removes what is left in the folder `parent`: nothing but what narrows made, through no link and across
/// no mount, unlike `rm -r`.
pub(crate) fn clean_command(parent: &Path) -> String {
    format!("narrows clean {} --remove", shell_path(&parent.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_folder_as_one_word() {
        assert_eq!(clean_command(Path::new("a b")), "narrows clean 'a b' --remove");
    }
}
