//! The description of a trace event: its number, and where its fields are.

use super::{Malformed, lines, number};

/// A trace event as its `format` file describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TraceFormat {
    /// Its number, which its samples begin with.
    pub(crate) id: u64,
    fields: Vec<TraceField>,
}

/// Where a field of a sample is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraceField {
    name: String,
    pub(crate) offset_bytes: usize,
    pub(crate) size_bytes: usize,
}

impl TraceFormat {
    /// The field with this name; `None` where the event of this kernel has none.
    pub(crate) fn field(&self, name: &str) -> Option<&TraceField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// The event that a `format` file describes.
///
/// # Source
/// The kernel's `Documentation/trace/events.rst`, "Event formats".
pub(crate) fn parse(bytes: &[u8]) -> Result<TraceFormat, Malformed> {
    let mut format = TraceFormat::default();
    let mut has_id = false;
    for (line_number, line) in lines(bytes) {
        let line = line.trim_ascii();
        if let Some(id) = line.strip_prefix(b"ID:") {
            format.id = number(id.trim_ascii())
                .ok_or_else(|| Malformed::new(line_number, "the number of an event", line))?;
            has_id = true;
        } else if line.starts_with(b"field:") {
            let field = field(line)
                .ok_or_else(|| Malformed::new(line_number, "a field with its offset and size", line))?;
            format.fields.push(field);
        }
    }
    if has_id { Ok(format) } else { Err(Malformed::new(1, "a line `ID: NUMBER`", b"")) }
}

/// `field:char rwbs[10]; offset:34; size:10; signed:0;`, with tabs after the semicolons.
fn field(line: &[u8]) -> Option<TraceField> {
    let mut parts = line.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
    let declaration = parts.next()?.strip_prefix(b"field:")?;
    let name = declaration.rsplit(|&byte| byte == b' ').next()?;
    let name = name.split(|&byte| byte == b'[').next()?;
    let (mut offset_bytes, mut size_bytes) = (None, None);
    for part in parts {
        let value = |prefix: &[u8]| part.strip_prefix(prefix).and_then(number);
        offset_bytes = offset_bytes.or_else(|| value(b"offset:"));
        size_bytes = size_bytes.or_else(|| value(b"size:"));
    }
    Some(TraceField {
        name: super::text(name),
        offset_bytes: usize::try_from(offset_bytes?).ok()?,
        size_bytes: usize::try_from(size_bytes?).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPLETE: &str = "name: block_rq_complete\nID: 2107\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n\
        \tfield:__data_loc char[] cmd;\toffset:44;\tsize:4;\tsigned:0;\n\n\
        print fmt: \"%d,%d\", REC->dev\n";

    #[test]
    fn fields_are_found_by_name_with_their_places() {
        let format = parse(COMPLETE.as_bytes()).unwrap();
        assert_eq!(format.id, 2107);
        let at = |name: &str| format.field(name).map(|field| (field.offset_bytes, field.size_bytes));
        assert_eq!([at("dev"), at("sector"), at("rwbs")], [Some((8, 4)), Some((16, 8)), Some((34, 10))]);
        assert_eq!((at("cmd"), at("nr_sector")), (Some((44, 4)), None));
    }

    #[test]
    fn a_description_without_a_number_or_with_a_broken_field_is_malformed() {
        assert!(parse(b"").is_err());
        assert!(parse(b"ID: many\n").is_err());
        assert!(parse(b"ID: 4\n\tfield:dev_t dev;\tsize:4;\n").is_err());
        assert!(parse(b"ID: 4\n\tfield:dev_t dev;\toffset:-4;\tsize:4;\n").is_err());
    }
}
