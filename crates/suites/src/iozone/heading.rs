//! The lines that stand over the figures: what was asked for in the original's words and order, and what is known of the
//! machine.
//!
//! Not here: lines on what narrows does not have or know, which stand nowhere. The cache of the original is a size that is
//! compiled in; here it is the one that was given or that the machine tells, or there is no line.

use super::asked::size;
use super::letters::Letter;
use super::options::Options;
use super::request::Unit;
use std::fmt::Write;

/// The line of direct access.
pub(super) const DIRECT: &str = "O_DIRECT feature enabled";
/// The line of files whose pages are dropped; the original, which mounts anew, prints none.
pub(super) const COLD: &str = "Each file's pages are dropped before each test";

/// The line of a letter, where it has one.
pub(super) fn line(letter: &Letter) -> Option<String> {
    let kb = || letter.values.first().and_then(|value| size("", value, u64::MAX).ok()).unwrap_or_default();
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
        "-+u" => "CPU utilization Excel chart enabled".to_owned(),
        _ => return None,
    })
}

/// All of it, above the table or the first group of throughput mode.
pub(super) fn text(options: &Options, command: &[String]) -> String {
    let mut out = "\tIozone: Performance Test of File I/O, by narrows\n\n".to_owned();
    for line in &options.settings {
        out.extend(["\t", line, "\n"]);
    }
    // Writing into a string cannot fail.
    let _ = writeln!(out, "\tCommand line used: {}", one_line(command));
    if options.unit == Unit::KbPerS {
        out += "\tOutput is in kBytes/sec\n";
    }
    // The clock's nanoseconds, in as many digits as the original prints.
    out += "\tTime Resolution = 0.000001 seconds.\n";
    if let Some(cache_kb) = options.cache_kb {
        let _ = writeln!(out, "\tProcessor cache size set to {cache_kb} kBytes.");
    }
    if let Some(line_bytes) = options.cache_line_bytes {
        let _ = writeln!(out, "\tProcessor cache line size set to {line_bytes} bytes.");
    }
    let _ = writeln!(out, "\tFile stride size set to {} * record size.", options.stride);
    if let (true, Some(least), Some(most)) =
        (options.range, options.processes.first(), options.processes.last())
    {
        let _ = writeln!(out, "\tMin process = {least} \n\tMax process = {most} ");
    }
    out
}

/// The words of a command in a line.
fn one_line(command: &[String]) -> String {
    command.join(" ").chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{options, words};
    use super::*;

    #[test]
    fn a_command_is_one_line() {
        assert_eq!(one_line(&["narrows".to_owned(), "a\nb".to_owned()]), "narrows a b");
    }

    #[test]
    fn letters_have_the_originals_lines_in_the_order_that_they_were_typed() {
        let line = "-r 64k -s 1m -s 2m -Rec -i 0 -w -U /mnt -o -p -S 2m -+n -+u -V 1";
        let options = Options { cache_line_bytes: Some(64), ..options(line) };
        insta::assert_snapshot!("heading", text(&options, &words(&format!("narrows suite iozone {line}"))));
        let auto = super::super::testing::options("-az -n 64 -g 1m -y 4k -q 16 -O -I");
        insta::assert_snapshot!("heading_auto", text(&auto, &words("narrows suite iozone -az")));
    }

    #[test]
    fn what_is_not_known_of_the_machine_has_no_line() {
        let told = text(&options("-i 0"), &[]);
        assert!(!told.contains("Processor"), "{told}");
        // A purge without a known cache is of a size of its own, which is a fact.
        assert!(text(&options("-i 0 -p"), &[]).contains("Processor cache size set to 1024 kBytes."));
    }

    #[test]
    fn a_range_of_processes_has_its_ends() {
        let ends =
            |line: &str| text(&options(line), &[]).contains("\tMin process = 1 \n\tMax process = 3 \n");
        assert!(ends("-u 3") && ends("-l 1 -u 3") && !ends("-t 3"));
    }
}
