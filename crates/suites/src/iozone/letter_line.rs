//! The line of the heading that each letter makes, in the original's words.
//!
//! Not here: lines on what is known of the machine, which are the heading's.

use super::letters::Letter;
use super::size::size_kb;

/// The line of direct access.
pub(super) const DIRECT: &str = "O_DIRECT feature enabled";
/// The line of processes on several hosts.
pub(super) const DISTRIBUTED: &str = "Network distribution mode enabled.";
/// The line of files whose pages are dropped; the original, which mounts anew, prints none.
pub(super) const COLD: &str = "Each file's pages are dropped before each test";

/// The line of a letter, where it has one.
pub(super) fn line(letter: &Letter) -> Option<String> {
    let kb = || letter.values.first().and_then(|value| size_kb("", value, u64::MAX).ok()).unwrap_or_default();
    Some(match letter.name.as_str() {
        "-a" => "Auto Mode".to_owned(),
        "-c" => "Include close in write timing".to_owned(),
        "-e" => "Include fsync in write timing".to_owned(),
        "-s" => format!("File size set to {} kB", kb()),
        "-r" => format!("Record Size {} kB", kb()),
        "-n" => format!("Using minimum file size of {} kilobytes.", kb()),
        "-g" => format!("Using maximum file size of {} kilobytes.", kb()),
        "-y" => format!("Using Minimum Record Size {} kB", kb()),
        "-q" => format!("Using Maximum Record Size {} kB", kb()),
        "-z" => "Cross over of record size disabled.".to_owned(),
        "-R" => "Excel chart generation enabled".to_owned(),
        // What the original calls O_DSYNC; its own -o is O_SYNC, which narrows does not use.
        "-o" => ">>> O_DSYNC mode enabled. <<<".to_owned(),
        "-I" => DIRECT.to_owned(),
        "-p" => "Purge Mode On".to_owned(),
        "-U" => COLD.to_owned(),
        "-O" => "OPS Mode. Output is in operations per second.".to_owned(),
        "-N" => "Microseconds/op Mode. Output is in microseconds per operation.".to_owned(),
        "-V" => "Verify Mode".to_owned(),
        "-w" => "Setting no_unlink".to_owned(),
        "-+n" => "No retest option selected".to_owned(),
        "-+m" => DISTRIBUTED.to_owned(),
        "-+u" => "CPU utilization Excel chart enabled".to_owned(),
        _ => return None,
    })
}
