//! Bytes as text: outputs of old machines are not always UTF-8, and some files that are called outputs are no text.
//!
//! Not here: what the text says.

use super::TEXT_BYTES_MAX;
use narrows_model::located::Complaint;
use std::borrow::Cow;

/// Starts of binary spreadsheets: OLE, and the bare BIFF records that `iozone -b` writes.
const SPREADSHEETS: [&[u8]; 3] = [b"\xd0\xcf\x11\xe0", b"\x09\x00\x04\x00", b"\x09\x08"];
/// Starts of what is packed.
const PACKED: [&[u8]; 4] = [b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh"];

/// A text and what was done to read it.
#[derive(Debug)]
pub(super) struct DecodedText<'b> {
    pub text: Cow<'b, str>,
    pub remark: Option<String>,
}

/// The text of `bytes`.
pub(super) fn decode(bytes: &[u8]) -> Result<DecodedText<'_>, Complaint> {
    const ALLOWED: &str = "the text that the tool printed";
    let refused = |found: String, hint: &str| Err(Complaint::new("", found, ALLOWED, hint));
    if bytes.len() > TEXT_BYTES_MAX {
        return refused(
            format!("more than {TEXT_BYTES_MAX} bytes"),
            "is this the right file? cut out the results and import these",
        );
    }
    let starts = |all: &[&[u8]]| all.iter().any(|start| bytes.starts_with(start));
    if starts(&SPREADSHEETS) {
        return refused(
            "a binary spreadsheet".to_owned(),
            "import what iozone printed (its stdout, with -R the same tables as text), or save the sheet as text",
        );
    }
    if starts(&PACKED) {
        return refused(
            "a compressed file".to_owned(),
            "decompress it: `zcat FILE | narrows import FORMAT -`",
        );
    }
    if bytes.contains(&0) {
        return refused(
            "a binary file: it has bytes of value 0".to_owned(),
            "name the file with the tool's printed results",
        );
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return refused(
            "an empty file".to_owned(),
            "run the tool again and save its output: `TOOL ... | tee FILE`",
        );
    }
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').map(|rest| Cow::Owned(rest.to_owned())).unwrap_or(text);
    let remark = std::str::from_utf8(bytes).is_err().then(|| {
        "The file has bytes that are not UTF-8; each is read as a replacement character. Figures are not affected."
            .to_owned()
    });
    Ok(DecodedText { text, remark })
}
