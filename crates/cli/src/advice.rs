//! Commands that messages advise, to be copied into a shell.
//!
//! Not here: when they are advised.

use std::path::Path;

/// The command that removes what is left in the folder `parent`: nothing but what narrows made, through no link and across
/// no mount, unlike `rm -r`.
pub(crate) fn clean_command(parent: &Path) -> String {
    format!("narrows clean {} --remove", quoted(&parent.display().to_string()))
}

/// `text` as one word of a shell.
fn quoted(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+,:@%=".contains(letter);
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('-') {
        return text.to_owned();
    }
    let dashed = if text.starts_with('-') { "./" } else { "" };
    format!("'{dashed}{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(quoted("/srv/a b/it's"), r"'/srv/a b/it'\''s'");
        assert_eq!(quoted("-rf/x"), "'./-rf/x'");
        assert_eq!(quoted("./.narrows-01"), "./.narrows-01");
    }

    #[test]
    fn a_command_names_its_folder_as_one_word() {
        assert_eq!(clean_command(Path::new("a b")), "narrows clean 'a b' --remove");
    }
}
