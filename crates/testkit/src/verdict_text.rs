//! Whether a printed verdict contradicts itself: the bar of the path beside the statement of what limits, and beside what is
//! called cleared.
//!
//! Not here: whether the verdict is right.

/// From this share on a segment is no cleared one.
const FULL_PERCENT: f64 = 90.0;

/// What contradicts what in `text`, a verdict as it is printed without colour and in ASCII; empty where nothing does.
///
/// A segment whose row says that it limits has the share of its bar in the first statement about it, or no bar; one that is
/// cleared is below 90 %.
#[must_use]
pub fn contradictions(text: &str) -> Vec<String> {
    let rows = section(text, "PATH").into_iter().filter_map(DecidedRow::new);
    rows.filter_map(|row| row.contradiction(text)).collect()
}

/// The rows of a printed path that have a bar and say that their segment limits or is cleared: a check of none checks nothing.
#[must_use]
pub fn decided_bars(text: &str) -> usize {
    section(text, "PATH").into_iter().filter_map(DecidedRow::new).count()
}

/// A row of the path with a bar, whose segment is said to limit or to be cleared.
struct DecidedRow<'t> {
    segment: &'t str,
    /// `86 %`, `under 0.1 %`.
    share: &'t str,
    is_raised: bool,
    limits: bool,
}

impl<'t> DecidedRow<'t> {
    fn new(line: &'t str) -> Option<Self> {
        let bar = |word: &&str| word.len() == 10 && word.chars().all(|sign| matches!(sign, '#' | '.'));
        let segment = line.split_whitespace().next()?;
        let drawn = line.split_whitespace().find(bar)?;
        let rest = line.split_once(drawn)?.1.trim_start();
        let end = rest.find('%')? + 1;
        let (share, mark) = rest.split_at_checked(end)?;
        let limits = mark.contains("LIMIT") || mark.contains("SERVED HERE");
        let is_raised = mark.contains(" raised");
        (limits || mark.contains("cleared")).then_some(Self { segment, share, is_raised, limits })
    }

    fn percent(&self) -> Option<f64> {
        self.share.trim_start_matches("under").trim_end_matches('%').trim().parse().ok()
    }

    fn contradiction(&self, text: &str) -> Option<String> {
        let Self { segment, share, .. } = self;
        let Some(percent) = self.percent() else {
            return Some(format!("{segment}: the bar's share {share} is no number"));
        };
        if !self.limits {
            return (percent >= FULL_PERCENT).then(|| format!("{segment}: cleared, with a bar of {share}"));
        }
        let Some(statement) = statement(text, segment) else {
            return Some(format!("{segment}: limits in the path, and is in no list"));
        };
        // The bar ends at 100 %; the statement has how far above the path was.
        let says = statement.contains(share) || (self.is_raised && statement.contains(" 10"));
        (!says).then(|| format!("{segment}: a bar of {share}, and the statement is: {statement}"))
    }
}

/// The first statement about a segment in the list of what limits, as one line.
fn statement(text: &str, segment: &str) -> Option<String> {
    let lines = section(text, "LIMITING");
    let is_head = |line: &&str| line.strip_prefix("  ").is_some_and(|line| line.starts_with(segment));
    let first = lines.iter().position(is_head)?;
    let own = lines.iter().skip(first + 1).take_while(|line| line.starts_with("    "));
    Some(own.map(|line| line.trim()).collect::<Vec<_>>().join(" "))
}

/// The lines below a heading, up to the next empty one.
fn section<'t>(text: &'t str, heading: &str) -> Vec<&'t str> {
    let starts = |line: &&str| line.starts_with(heading);
    let below = text.lines().skip_while(|line| !starts(line)).skip(1);
    below.take_while(|line| !line.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(bar: &str, mark: &str, statement: &str) -> String {
        format!(
            "PATH  data\n  segment  reaches alone  filled by the path\n  device.bandwidth  1 GiB/s  {bar}  {mark}\n\n\
             LIMITING  in brackets\n  device.bandwidth: bulk read\n    path moves much, {statement} of\n    the \
             device\n  unknown: bulk write\n    42 %\n\n"
        )
    }

    #[test]
    fn a_bar_that_the_statement_repeats_contradicts_nothing() {
        for bar in ["#########.  86 %", "#########.  86 % of the time"] {
            let text = verdict(bar, "LIMIT  bulk read", "86 %");
            assert_eq!((contradictions(&text), decided_bars(&text)), (Vec::new(), 1), "{text}");
        }
        assert!(contradictions(&verdict("##########  100 % raised", "LIMIT  bulk", "103 %")).is_empty());
        assert!(contradictions(&verdict("#.........  12 %", "cleared", "86 %")).is_empty());
    }

    #[test]
    fn another_share_than_the_statements_is_a_contradiction() {
        assert_eq!(contradictions(&verdict("##........  23 %", "LIMIT  bulk read", "86 %")).len(), 1);
        assert_eq!(contradictions(&verdict("####......  42 %", "LIMIT  bulk read", "86 %")).len(), 1);
        assert_eq!(contradictions(&verdict("##########  100 %", "LIMIT?  bulk read", "86 %")).len(), 1);
    }

    #[test]
    fn what_is_cleared_is_not_full() {
        assert_eq!(contradictions(&verdict("##########  100 %", "cleared", "86 %")).len(), 1);
        assert_eq!(contradictions(&verdict("##########  100 % raised", "cleared", "86 %")).len(), 1);
    }

    #[test]
    fn undecided_segments_and_those_without_a_bar_are_not_looked_at() {
        assert_eq!(decided_bars(&verdict("##########  100 %", "undecided", "86 %")), 0);
        assert_eq!(decided_bars(&verdict("", "LIMIT  bulk", "86 %")), 0);
    }
}
