//! The end of what a remote shell writes to stderr, to be reported once it has failed.

use std::io::{ErrorKind, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes that are kept.
const KEPT_BYTES: usize = 2048;
/// Longest wait for the end of the stream once the process has ended: others may have it open.
const END_WAIT: Duration = Duration::from_millis(200);

/// What a process wrote to stderr last.
#[derive(Debug)]
pub(crate) struct LastWords {
    kept: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl LastWords {
    /// Reads `stream` until it ends.
    pub(crate) fn read_from(mut stream: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (end, ended) = channel();
        let written = Arc::clone(&kept);
        std::thread::spawn(move || {
            let _end = end;
            let mut buffer = [0; KEPT_BYTES];
            loop {
                match stream.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(count) => keep(&written, &buffer[..count]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        });
        Self { kept, ended }
    }

    /// The last line with text; empty without one. Of a process that has ended: its end is waited for shortly.
    pub(crate) fn line(&self) -> String {
        let _ = self.ended.recv_timeout(END_WAIT);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }

    /// The last line behind a colon; empty without one.
    pub(crate) fn said(&self) -> String {
        let line = self.line();
        if line.is_empty() { line } else { format!(": {line}") }
    }

    /// How a process with these words ended, as the end of a sentence.
    pub(crate) fn ended(&self, status: ExitStatus) -> String {
        let said = self.said();
        match (status.code(), status.signal()) {
            (Some(code), _) => format!("ended with exit code {code}{said}"),
            (None, Some(signal)) => format!("was killed by signal {signal}{said}"),
            (None, None) => format!("ended{said}"),
        }
    }
}

fn keep(kept: &Mutex<Vec<u8>>, bytes: &[u8]) {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    kept.extend_from_slice(bytes);
    let surplus = kept.len().saturating_sub(KEPT_BYTES);
    kept.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_with_text_is_kept_of_any_length_of_output() {
        let long = "x".repeat(3 * KEPT_BYTES) + "\nssh: connect to host b: refused\n\n";
        let words = LastWords::read_from(std::io::Cursor::new(long.into_bytes()));
        assert_eq!(words.line(), "ssh: connect to host b: refused");
        assert_eq!(LastWords::read_from(std::io::empty()).line(), "");
    }
}
