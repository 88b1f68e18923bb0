//! Writing to outputs that nobody may read.
//!
//! Not here: what is written, and that it is escaped.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, write};

/// Bytes of one write: a pipe that takes any takes so many without waiting (`PIPE_BUF`).
const STEP_BYTES: usize = 4096;

/// Writes `text` to `output`, past all locks of this process, and waits no longer than `within` for room for each part of
/// it; what finds none is lost.
///
/// # Source
/// poll(2), write(2).
pub fn write_within(output: impl AsFd, text: &str, within: Duration) {
    let Ok(timeout) = Timespec::try_from(within) else { return };
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let mut room = [PollFd::new(&output, PollFlags::OUT)];
        match poll(&mut room, Some(&timeout)) {
            Err(Errno::INTR) => continue,
            Ok(1) => {}
            _ => return,
        }
        match write(&output, &rest[..rest.len().min(STEP_BYTES)]) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_full_pipe_is_not_waited_for_and_a_read_one_gets_all() {
        let (reader, writer) = std::io::pipe().unwrap();
        let text = "x".repeat(1 << 20);
        // More than a pipe takes: it ends nevertheless.
        write_within(&writer, &text, Duration::from_millis(1));
        let reading = std::thread::spawn(move || {
            let mut reader = reader;
            let mut read = Vec::new();
            reader.read_to_end(&mut read).map(|_| read)
        });
        write_within(&writer, "the end", Duration::from_mins(1));
        drop(writer);
        assert!(reading.join().unwrap().unwrap().ends_with(b"the end"));
    }
}
