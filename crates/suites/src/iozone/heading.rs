//! The lines above the figures: what was asked for in the original's words and order, and what is known of the
//! machine.
//!
//! Not here: lines on what narrows does not have or know, which are not printed. The cache of the original is a size
//! that is compiled in; here it is the one that was given or that the machine reports, or there is no line.

use super::request::{FigureUnit, Request};
use std::fmt::Write;

/// All of it, above the table or the first group of throughput mode.
pub(super) fn text(request: &Request, command: &[String]) -> String {
    let mut out = "\tIozone: Performance Test of File I/O, by narrows\n\n".to_owned();
    for line in &request.options().heading {
        out.extend(["\t", line, "\n"]);
    }
    // Writing into a string cannot fail.
    let _ = writeln!(out, "\tCommand line used: {}", one_line(command));
    if request.unit() == FigureUnit::KbPerS {
        out += "\tOutput is in kBytes/sec\n";
    }
    // The clock's nanoseconds, in as many digits as the original prints.
    out += "\tTime Resolution = 0.000001 seconds.\n";
    if let Some(cache_kb) = request.purged_cache().map(|bytes| bytes.0 / 1024) {
        let _ = writeln!(out, "\tProcessor cache size set to {cache_kb} kBytes.");
    }
    if let Some(line_bytes) = request.cpu_cache_line.map(|bytes| bytes.0) {
        let _ = writeln!(out, "\tProcessor cache line size set to {line_bytes} bytes.");
    }
    let _ = writeln!(out, "\tFile stride size set to {} * record size.", request.stride());
    let processes = request.processes();
    if let (true, Some(least), Some(most)) = (request.has_range(), processes.first(), processes.last()) {
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
    use super::super::testing::{request, words};
    use super::*;
    use narrows_model::Bytes;

    #[test]
    fn a_command_is_one_line() {
        assert_eq!(one_line(&["narrows".to_owned(), "a\nb".to_owned()]), "narrows a b");
    }

    #[test]
    fn letters_have_the_originals_lines_in_the_order_that_they_were_typed() {
        let line = "-r 64k -s 1m -s 2m -Rec -i 0 -w -U /mnt -o -p -S 2m -+n -+u -V 1";
        let request = Request { cpu_cache_line: Some(Bytes(64)), ..request(line) };
        insta::assert_snapshot!("heading", text(&request, &words(&format!("narrows suite iozone {line}"))));
        let auto = super::super::testing::request("-az -n 64 -g 1m -y 4k -q 16 -O -I");
        insta::assert_snapshot!("heading_auto", text(&auto, &words("narrows suite iozone -az")));
    }

    #[test]
    fn what_is_not_known_of_the_machine_has_no_line() {
        let printed = text(&request("-i 0"), &[]);
        assert!(!printed.contains("Processor"), "{printed}");
        // A purge without a known cache is of a size of its own, which is a fact.
        assert!(text(&request("-i 0 -p"), &[]).contains("Processor cache size set to 1024 kBytes."));
    }

    #[test]
    fn a_range_of_processes_has_its_ends() {
        let ends =
            |line: &str| text(&request(line), &[]).contains("\tMin process = 1 \n\tMax process = 3 \n");
        assert!(ends("-u 3") && ends("-l 1 -u 3") && !ends("-t 3"));
    }
}
