//! Texts in studies that are made, not written by hand.

use std::fmt::Write;

/// `text` as a string of TOML.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            // Writing into a string cannot fail.
            control if control.is_control() => drop(write!(out, "\\U{:08X}", u32::from(control))),
            plain => out.push(plain),
        }
    }
    out + "\""
}
