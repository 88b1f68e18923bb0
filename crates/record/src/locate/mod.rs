//! The key at a place in a JSON text, such as `cells[3].workload.op`, so that an error can name it.
//!
//! Deliberately lenient: the text may be broken after the place, or before it; the path then ends where parsing does.

/// One level of nesting.
#[derive(Debug)]
enum NestingLevel {
    Object(Option<String>),
    Array(u64),
}

/// The path of keys that leads to `line` and `column` (from 1) of `text`; `None` at the top level.
pub(crate) fn key_at(text: &str, line: usize, column: usize) -> Option<String> {
    let mut levels = Vec::new();
    let mut bytes = prefix(text, line, column).iter().copied();
    // A string in an object is a key until a colon follows it.
    let mut last_string = None;
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => last_string = Some(string(&mut bytes)),
            b'{' => levels.push(NestingLevel::Object(None)),
            b'[' => levels.push(NestingLevel::Array(0)),
            b'}' | b']' => drop(levels.pop()),
            b':' => {
                if let Some(NestingLevel::Object(key)) = levels.last_mut() {
                    *key = last_string.take();
                }
            }
            b',' => match levels.last_mut() {
                Some(NestingLevel::Array(index)) => *index += 1,
                Some(NestingLevel::Object(key)) => *key = None,
                None => {}
            },
            _ => {}
        }
    }
    let path = render(&levels);
    (!path.is_empty()).then_some(path)
}

fn prefix(text: &str, line: usize, column: usize) -> &[u8] {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let end = start.saturating_add(column).min(text.len());
    &text.as_bytes()[..end]
}

fn string(bytes: &mut impl Iterator<Item = u8>) -> String {
    let mut content = Vec::new();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => break,
            b'\\' => content.extend(bytes.next()),
            _ => content.push(byte),
        }
    }
    String::from_utf8_lossy(&content).into_owned()
}

fn render(levels: &[NestingLevel]) -> String {
    let mut path = String::new();
    for level in levels {
        match level {
            NestingLevel::Object(Some(key)) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            NestingLevel::Object(None) => {}
            NestingLevel::Array(index) => path.extend(["[", &index.to_string(), "]"]),
        }
    }
    path
}

#[cfg(test)]
mod tests;
