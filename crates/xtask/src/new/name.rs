//! Names of parts: which are allowed, and what is wrong with another.

use std::fmt;

/// Most characters of a name: it is a column of tables and a part of file names.
const NAME_CHARS_MAX: usize = 30;

/// Words that Rust keeps for itself: no module can be called so.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];

/// A name of modules and types: lower-case letters, digits and underscores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModuleName(String);

/// What is wrong with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameFault {
    Empty,
    TooLong,
    /// A character that no name has.
    Character(char),
    /// A part between underscores that is empty or begins with a digit.
    Part,
    Keyword,
}

impl fmt::Display for NameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::TooLong => write!(f, "it is longer than {NAME_CHARS_MAX} characters"),
            Self::Character(character) => write!(f, "it contains `{character}`"),
            Self::Part => f.write_str("a part of it is empty or begins with a digit"),
            Self::Keyword => f.write_str("it is a keyword of Rust"),
        }
    }
}

impl ModuleName {
    /// The name `text`.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, NameFault> {
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if text.is_empty() {
            Err(NameFault::Empty)
        } else if let Some(character) = text.chars().find(|c| !is_allowed(*c)) {
            Err(NameFault::Character(character))
        } else if text.len() > NAME_CHARS_MAX {
            Err(NameFault::TooLong)
        } else if !text.split('_').all(|part| part.starts_with(|c: char| c.is_ascii_lowercase())) {
            Err(NameFault::Part)
        } else if KEYWORDS.contains(&text) {
            Err(NameFault::Keyword)
        } else {
            Ok(Self(text.to_owned()))
        }
    }

    /// The name of a module.
    pub(crate) fn module(&self) -> &str {
        &self.0
    }

    /// The name of a type.
    pub(crate) fn camel(&self) -> String {
        let upper = |part: &str| part[..1].to_uppercase() + &part[1..];
        self.0.split('_').map(upper).collect()
    }

    /// The name with `separator` between its parts.
    pub(crate) fn joined(&self, separator: &str) -> String {
        self.0.replace('_', separator)
    }

    /// `template` with the name of the module for `@name@`, that of the type for `@Name@`, with hyphens for `@code@` and
    /// with blanks for `@words@`.
    pub(crate) fn fill(&self, template: &str) -> String {
        template
            .replace("@name@", self.module())
            .replace("@Name@", &self.camel())
            .replace("@code@", &self.joined("-"))
            .replace("@words@", &self.joined(" "))
    }
}

/// Why `text` is no name, what is allowed, and the nearest name where there is one.
pub(crate) fn complaint(text: &str, fault: NameFault) -> String {
    let allowed = format!(
        "a name has lower-case letters and digits, `_` between its parts, each of which begins with a letter, and at \
         most {NAME_CHARS_MAX} characters"
    );
    let near: String =
        text.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let hint =
        ModuleName::parse(&near).map_or_else(|_| String::new(), |name| format!("; try `{}`", name.module()));
    format!("`{text}` is not allowed as a name: {fault}; {allowed}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_of_modules() {
        for text in ["zero", "nfs3", "read_back", "types"] {
            assert!(ModuleName::parse(text).is_ok(), "{text}");
        }
        for (text, fault) in [
            ("", NameFault::Empty),
            ("Zero", NameFault::Character('Z')),
            ("a-b", NameFault::Character('-')),
            ("a/b", NameFault::Character('/')),
            ("../a", NameFault::Character('.')),
            ("3nfs", NameFault::Part),
            ("_a", NameFault::Part),
            ("a_", NameFault::Part),
            ("a__b", NameFault::Part),
            ("a_3", NameFault::Part),
            ("type", NameFault::Keyword),
            ("a234567890123456789012345678901", NameFault::TooLong),
        ] {
            assert_eq!(ModuleName::parse(text), Err(fault), "{text}");
        }
        assert_eq!(ModuleName::parse("read_back").expect("a name").camel(), "ReadBack");
    }

    #[test]
    fn a_fault_is_said_with_what_is_allowed_and_the_nearest_name() {
        let said = complaint("a-b", ModuleName::parse("a-b").expect_err("no name"));
        assert!(said.starts_with("`a-b` is not allowed as a name: it contains `-`; a name has "), "{said}");
        assert!(said.ends_with("; try `a_b`"), "{said}");
        let said = complaint("3nfs", NameFault::Part);
        assert!(said.contains("begins with a digit") && !said.contains("try"), "{said}");
    }
}
