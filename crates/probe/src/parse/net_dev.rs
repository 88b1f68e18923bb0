//! `/proc/net/dev`: counters of the network interfaces of one network namespace.

use narrows_model::counters::NicCounters;
use narrows_model::units::Bytes;

use super::{Malformed, fields, lines, number, text};

/// One entry an interface, in the kernel's order.
///
/// # Source
/// proc(5), `/proc/net/dev`: two lines of headings, then 8 receive and 8 send counters a line.
pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<NicCounters>, Malformed> {
    lines(bytes).skip(2).map(|(line_number, line)| interface(line_number, line)).collect()
}

fn interface(line_number: usize, line: &[u8]) -> Result<NicCounters, Malformed> {
    // Old kernels leave no space after the colon; counters contain none, so the last colon ends the name.
    let colon = line.iter().rposition(|&byte| byte == b':');
    let colon = colon.ok_or_else(|| Malformed::new(line_number, "an interface and a colon", line))?;
    let mut counts = [0_u64; 12];
    let mut values = fields(&line[colon + 1..]).map(number);
    for count in &mut counts {
        let value = values.next().flatten();
        *count = value.ok_or_else(|| Malformed::new(line_number, "16 counters", line))?;
    }
    Ok(NicCounters {
        name: text(line[..colon].trim_ascii()),
        receive_bytes: Bytes(counts[0]),
        receive_packet_count: counts[1],
        receive_drop_count: counts[3],
        send_bytes: Bytes(counts[8]),
        send_packet_count: counts[9],
        send_drop_count: counts[11],
    })
}
