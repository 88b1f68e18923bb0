//! One line of `events.jsonl` or `samples.jsonl`: made, and taken apart again.
//!
//! Text in, text out; no files. The CRC-32 (IEEE 802.3) is over the exact bytes of the data's JSON text.

use crate::damage::DamageKind;
use narrows_model::printable::lines;
use narrows_model::{Event, Json};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// One line of a record, as its schema is published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RecordLine {
    /// Position in its file, from 0, without gaps.
    pub seq: u64,
    /// CRC-32 of the exact bytes of `data`, eight hexadecimal digits.
    pub crc32: String,
    /// In `samples.jsonl`: how many lines `events.jsonl` had when this one was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_events: Option<u64>,
    /// What happened.
    pub data: Event,
}

/// A line taken apart, its data not yet read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineHeader {
    pub(crate) seq: u64,
    pub(crate) after_events: Option<u64>,
    /// Where the data's JSON text is in the line.
    pub(crate) data: Range<usize>,
}

/// Writes the line of `data` into `line`, its end included; the previous content of `line` is replaced.
pub(crate) fn encode(line: &mut Vec<u8>, seq: u64, after_events: Option<u64>, data: &[u8]) {
    line.clear();
    let after = after_events.map(|count| format!("\"after_events\":{count},")).unwrap_or_default();
    let head = format!("{{\"seq\":{seq},\"crc32\":\"{:08x}\",{after}\"data\":", crc32fast::hash(data));
    line.extend_from_slice(head.as_bytes());
    line.extend_from_slice(data);
    line.extend_from_slice(b"}\n");
}

/// Takes a line apart, its end not included.
pub(crate) fn parse(line: &[u8]) -> Result<LineHeader, DamageKind> {
    #[derive(Deserialize)]
    struct RawLine<'a> {
        seq: u64,
        crc32: &'a str,
        #[serde(default)]
        after_events: Option<u64>,
        #[serde(borrow)]
        data: &'a RawValue,
    }
    let parts: RawLine<'_> =
        serde_json::from_slice(line).map_err(|error| DamageKind::not_a_line(&error.to_string()))?;
    let stored = Some(parts.crc32)
        .filter(|digits| digits.len() == 8)
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .ok_or_else(|| DamageKind::not_a_line(&format!("`{}` is not a CRC-32", parts.crc32)))?;
    let text = parts.data.get();
    let computed = crc32fast::hash(text.as_bytes());
    if stored != computed {
        return Err(DamageKind::Checksum { stored, computed });
    }
    // The data was borrowed from the line, so its address is inside it.
    let start = text.as_ptr().addr() - line.as_ptr().addr();
    Ok(LineHeader { seq: parts.seq, after_events: parts.after_events, data: start..start + text.len() })
}

/// Writes an event as JSON text into `data`, whose previous content is replaced.
pub(crate) fn encode_event(data: &mut Vec<u8>, event: &Event) -> serde_json::Result<()> {
    data.clear();
    event.append_json(data)?;
    // JSON leaves some characters as they are that terminals act on; none of them below DEL.
    if data.iter().any(|byte| *byte >= 0x7f) {
        let text = String::from_utf8_lossy(data);
        if let Cow::Owned(escaped) = lines(&text) {
            *data = escaped.into_bytes();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;

    #[test]
    fn the_check_value_of_the_algorithm_is_that_of_ieee_802_3() {
        // The published check value of CRC-32/ISO-HDLC, for the text "123456789".
        let mut line = Vec::new();
        encode(&mut line, 0, None, b"123456789");
        assert_eq!(line, b"{\"seq\":0,\"crc32\":\"cbf43926\",\"data\":123456789}\n");
    }

    #[test]
    fn what_a_terminal_acts_on_is_escaped_in_a_line_and_read_as_it_was() {
        let message = "a\u{1b}[2J\u{7f}\u{9b}\u{202e}é".to_owned();
        let event = Event::CellFailed { cell: narrows_model::CellId("x".into()), message };
        let mut data = Vec::new();
        encode_event(&mut data, &event).unwrap();
        let text = String::from_utf8(data).unwrap();
        assert!(text.contains("a\\u001b[2J\\u007f\\u009b\\u202eé"), "{text}");
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }

    #[test]
    fn a_line_is_json_of_the_published_type() {
        let event = Event::RunStarted { at_ns: Nanos(7) };
        let (mut data, mut line) = (Vec::new(), Vec::new());
        encode_event(&mut data, &event).unwrap();
        encode(&mut line, 3, Some(2), &data);
        let read: RecordLine = serde_json::from_slice(&line).unwrap();
        assert_eq!((read.seq, read.after_events, read.data), (3, Some(2), event));
        assert_eq!(read.crc32, format!("{:08x}", crc32fast::hash(&data)));
    }

    #[test]
    fn the_data_is_found_where_it_lies() {
        let mut line = Vec::new();
        encode(&mut line, 12, Some(9), br#"{"a":[1,2]}"#);
        let header = parse(line.trim_ascii_end()).unwrap();
        assert_eq!(&line[header.data], br#"{"a":[1,2]}"#);
        assert_eq!((header.seq, header.after_events), (12, Some(9)));
    }

    #[test]
    fn changed_data_is_distinguished_from_text_that_is_no_line() {
        assert!(matches!(
            parse(br#"{"seq":0,"crc32":"00000000","data":1}"#),
            Err(DamageKind::Checksum { stored: 0, .. })
        ));
        for text in
            ["", "{", "[]", r#"{"seq":0,"crc32":"zz","data":1}"#, r#"{"seq":-1,"crc32":"00000000","data":1}"#]
        {
            assert!(matches!(parse(text.as_bytes()), Err(DamageKind::NotALine { .. })), "{text}");
        }
    }
}
