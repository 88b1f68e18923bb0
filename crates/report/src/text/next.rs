//! What to do next: one to three commands.

use super::remedy::{device_remedy, quota_remedy, remedy};
use super::style::{Paint, Style};
use super::wrap::{Indent, paragraph};
use narrows_analysis::GROUP_LIMIT;
use narrows_model::diagnosis::Relation;
use narrows_model::inventory::PathKind;
use narrows_model::plan::{SkippedCell, StudySource};
use narrows_model::printable::shell_word;
use narrows_model::{Cut, Limiting, Segment, Summary, Target};

/// Steps shown.
const STEPS_MAX: usize = 3;
/// What is in the reason of a cell for which the time was over before its turn.
const MORE_SECONDS: &str = "give more with --seconds";
/// Budget of `check` when none is given, in seconds.
const BUDGET_DEFAULT_S: u64 = 60;
/// The same of `scale`.
const SCALE_BUDGET_DEFAULT_S: u64 = 180;
/// The option of suites for the time of each cut, and the longest of their defaults in seconds.
const CUT_SECONDS: &str = "--cell-seconds";
const CUT_SECONDS_DEFAULT: f64 = 1.0;

/// The section with the next steps; empty when there is none.
pub(crate) fn render(summary: &Summary, style: &Style) -> String {
    let steps = steps(summary);
    if steps.is_empty() {
        return String::new();
    }
    let heading = style.heading("NEXT", "");
    steps.iter().take(STEPS_MAX).fold(heading, |out, step| {
        let purpose = style.paint(Paint::Faint, &format!("# {}", step.purpose));
        out + &format!(
            "  {purpose}
  {}
",
            step.command
        )
    })
}

/// The first step alone, with all commands that it takes; empty where there is none.
pub(crate) fn first(summary: &Summary, style: &Style) -> String {
    let mut steps = steps(summary).into_iter();
    let Some(first) = steps.next() else { return String::new() };
    let then = steps.next().filter(|_| first.command.starts_with(SERVE));
    let purpose = format!("NEXT: {}", first.purpose);
    let heading = format!("\n{}", paragraph(&purpose, Indent { first: "", rest: "      " }, style.width));
    let second = then.map(|then| format!("  {}\n", then.command)).unwrap_or_default();
    format!("{heading}  {}\n{second}", first.command)
}

/// What shows the parts of a server.
const AT_SERVER: &str = "top -H; iostat -x 1 (on the server)";
/// The command on the storage server, which one here follows.
const SERVE: &str = "narrows serve";

/// A command and what it is for.
struct NextStep {
    purpose: String,
    command: String,
}

fn steps(summary: &Summary) -> Vec<NextStep> {
    let mut steps = Vec::new();
    let path_failed = summary.failed.iter().any(|cell| cell.cell.0.starts_with(Cut::Path.name()));
    let no_path = path_failed && summary.cells.iter().all(|cell| cell.cut != Cut::Path);
    let failed =
        (no_path && summary.ended_by.is_none()) || summary.cells.iter().any(|cell| !cell.errors.is_empty());
    let unknown = |entry: &Limiting| entry.segment == Segment::Unknown;
    let is_study = summary.study.is_some();
    // What was left out because the verdict was decided without it would not change it.
    let lacked_time = summary.skipped.iter().any(SkippedCell::is_past_budget);
    let nothing = (!is_study && summary.diagnosis.limiting.is_empty())
        || (lacked_time && summary.diagnosis.limiting.iter().any(unknown));
    if failed {
        steps
            .push(step("fix what failed (see the first lines), then measure again", repeated(summary, None)));
    } else if summary.ended_by.is_some() {
        // More time changes nothing.
        let purpose = "mend what ended the run (see the first lines), then measure again";
        steps.push(step(purpose, repeated(summary, None)));
    } else if summary.study.as_ref().is_some_and(|study| study.name != StudySource::OF_SCALE)
        && !summary.complete
    {
        let purpose = "measure what is missing (raise seconds in the study where time was short)";
        steps.push(step(purpose, repeated(summary, None)));
    } else if nothing || !summary.complete {
        steps.push(missing(summary));
    }
    let change = change(summary);
    // A machine that client and server share distorts what both use, and neither a device that is full nor a limit that is set.
    let (first, last) = match change {
        Some((true, step)) => (Some(step), None),
        change => (None, change.map(|(_, step)| step)),
    };
    steps.extend(first);
    if summary.diagnosis.preface.is_some() && serves_already(summary) {
        steps.push(step(
            "on a different machine than the endpoint, so that the network is measured",
            remote_check(&summary.target),
        ));
    } else if summary.diagnosis.preface.is_some() || network_unseen(summary) {
        steps.extend(split_by_server(&summary.target).into_iter().flatten());
    }
    steps.extend(last);
    if let Some(code) = summary.diagnosis.limiting.iter().find_map(|entry| entry.codes.first()) {
        steps.push(step("the basis of the verdict", format!("narrows explain {code}")));
    }
    if steps.is_empty() && !is_study {
        steps.push(step("what this means", format!("narrows explain {}", Segment::Unknown)));
    }
    steps
}

/// What to change about the limit that a control group sets, or else about the one whose removal gains most, with the command
/// that shows it, and whether it limits wherever client and server run; `None` where that is no part of the path.
fn change(summary: &Summary) -> Option<(bool, NextStep)> {
    let is_set = |entry: &Limiting| {
        entry.scope.as_deref() == Some(GROUP_LIMIT) || quota_remedy(summary, entry).is_some()
    };
    let gain = |entry: &&Limiting| entry.relief_gain_ratio.unwrap_or(1.0);
    let entry = summary
        .diagnosis
        .limiting
        .iter()
        // Of one request at a time there are as many as were asked for.
        .filter(|entry| entry.segment != Segment::WorkloadConcurrency || entry.relation == Relation::Sole)
        .filter(|entry| remedy(entry).is_some())
        .max_by(|a, b| is_set(a).cmp(&is_set(b)).then(gain(a).total_cmp(&gain(b))))?;
    let load = entry.regime.split(" (").next().unwrap_or_default();
    let known = device_remedy(summary, entry).or_else(|| quota_remedy(summary, entry));
    let words = known.or_else(|| remedy(entry).map(str::to_owned))?;
    let purpose = format!("to speed up {load}: {words}; what shows it:");
    let shown = entry.evidence.iter().map(|evidence| &evidence.command).find(|command| !command.is_empty());
    // What is named from outside is seen inside.
    let at_server = (entry.segment == Segment::Server).then(|| AT_SERVER.to_owned());
    let code = || entry.codes.first().map(|code| format!("narrows explain {code}"));
    let is_anywhere = entry.segment.is_within(Segment::Device) || is_set(entry);
    Some((is_anywhere, NextStep { purpose, command: at_server.or_else(|| shown.cloned()).or_else(code)? }))
}

/// The time that measures everything, as the reasons of what was left out state it; `None` where none does.
fn sufficient_s(summary: &Summary) -> Option<u64> {
    summary.skipped.iter().filter_map(SkippedCell::sufficient_s).max()
}

/// The run again with the time that it needs, or else twice the time: of the whole command, or of each cut of a suite, whose
/// tests end with their counts.
fn missing(summary: &Summary) -> NextStep {
    let Some(suite) = &summary.suite else {
        let was_stopped = summary.skipped.iter().any(|cell| cell.reason == SkippedCell::NOT_REACHED);
        let lacks_time = summary.skipped.iter().any(|cell| cell.reason.contains(MORE_SECONDS));
        if was_stopped && !lacks_time && sufficient_s(summary).is_none() {
            return step("measure what is missing: the run was stopped", repeated(summary, None));
        }
        let seconds = sufficient_s(summary).unwrap_or(budget_s(summary).saturating_mul(2));
        let option = OptionOverride { name: "--seconds", value: seconds.to_string() };
        return step("measure what is missing, with more time", repeated(summary, Some(&option)));
    };
    if !suite.has_cuts() {
        let words = again(summary, None).into_iter().filter(|word| word != "--no-verdict");
        let purpose = "also measure cuts of the path: without them there is no verdict";
        return step(purpose, words.collect::<Vec<_>>().join(" "));
    }
    if !summary.complete {
        return step("measure what is missing", repeated(summary, None));
    }
    let given = option_of(&summary.command, CUT_SECONDS).and_then(|value| value.parse::<f64>().ok());
    let more = 2.0 * given.unwrap_or(CUT_SECONDS_DEFAULT);
    let option = OptionOverride { name: CUT_SECONDS, value: more.to_string() };
    step("measure what is missing, with more time for each cut", repeated(summary, Some(&option)))
}

/// An option that gives more of what was short.
struct OptionOverride {
    name: &'static str,
    value: String,
}

fn step(purpose: &str, command: String) -> NextStep {
    NextStep { purpose: purpose.to_owned(), command }
}

/// The two commands that put an endpoint on the storage server; `None` where the target is no storage.
fn split_by_server(target: &Target) -> Option<[NextStep; 2]> {
    let check = match target {
        Target::Tcp { layer, .. } => {
            let target = shell_word(&format!("tcp://HOST:7300/{}{}", layer.name(), via(target)));
            format!("narrows check {target} --token-file FILE")
        }
        Target::File { .. } => {
            format!("narrows check {} --server HOST:7300 --token-file FILE", shell_word(&target.to_string()))
        }
        Target::Block(_)
        | Target::Null { .. }
        | Target::Sim { .. }
        | Target::Scheme { .. }
        | Target::Stripe(_) => return None,
    };
    let serve = format!("{SERVE} --listen 0.0.0.0:7300 --root DIR --token-file FILE");
    Some([
        step("on the storage server, to distinguish network, server and device", serve),
        step("then here", check),
    ])
}

/// Whether an endpoint took part that the command did not start itself.
fn serves_already(summary: &Summary) -> bool {
    let served = summary.hosts.iter().any(|host| host.server.is_some());
    served && option_of(&summary.command, "--server") != Some("self")
}

/// The check of what an endpoint serves, from a machine that is not the endpoint's.
fn remote_check(target: &Target) -> String {
    match target {
        Target::Tcp { port, layer, .. } => {
            let target = shell_word(&format!("tcp://HOST:{port}/{}{}", layer.name(), via(target)));
            format!("narrows check {target} --token-file FILE")
        }
        _ => "narrows check MOUNT --server HOST:PORT --token-file FILE".to_owned(),
    }
}

/// The part of a target that names its proxy; its address on this machine may be no other's.
fn via(target: &Target) -> String {
    target.via().map_or_else(String::new, |via| format!("?via=PROXYHOST:{}", via.port))
}

/// Whether the folder is on another machine that took no part.
fn network_unseen(summary: &Summary) -> bool {
    let served = summary.hosts.iter().any(|host| host.server.is_some());
    let kind = summary.hosts.first().and_then(|host| host.inventory.path.as_ref()).map(|path| path.kind);
    !served && matches!(kind, Some(PathKind::Nfs | PathKind::OtherNetwork))
}

/// The command of the run again, with an option of its own where `more` says so, and without the folder of the record:
/// that is taken now.
fn repeated(summary: &Summary, more: Option<&OptionOverride>) -> String {
    again(summary, more).join(" ")
}

fn again(summary: &Summary, more: Option<&OptionOverride>) -> Vec<String> {
    let mut words = vec!["narrows".to_owned()];
    match summary.command.get(1..) {
        Some(given) if !given.is_empty() => words.extend(kept_words(given, more.map(|more| more.name))),
        _ => words.extend(["check".to_owned(), shell_word(&summary.target.to_string())]),
    }
    words.extend(more.map(|OptionOverride { name, value }| format!("{name} {value}")));
    words
}

/// The words of a command that are said again, without those of the option `replaced`.
fn kept_words(given: &[String], replaced: Option<&str>) -> Vec<String> {
    let mut words = Vec::new();
    let mut given = given.iter();
    while let Some(word) = given.next() {
        let dropped = replaced.and_then(|option| value_of(word, option));
        match dropped.or_else(|| value_of(word, "--out")) {
            Some("") => drop(given.next()),
            Some(_) => {}
            None => words.push(shell_word(word)),
        }
    }
    words
}

/// The budget that the run had.
fn budget_s(summary: &Summary) -> u64 {
    let seconds = option_of(&summary.command, "--seconds").and_then(|value| value.parse().ok());
    seconds.unwrap_or(if summary.study.is_some() { SCALE_BUDGET_DEFAULT_S } else { BUDGET_DEFAULT_S })
}

/// The value of `option` in a command; of several the first.
fn option_of<'a>(command: &'a [String], option: &str) -> Option<&'a str> {
    let mut words = command.iter();
    while let Some(word) = words.next() {
        match value_of(word, option) {
            Some("") => return words.next().map(String::as_str),
            Some(value) => return Some(value),
            None => {}
        }
    }
    None
}

/// The value of `option` in `word`, empty where it is the next word; `None` for another word.
fn value_of<'a>(word: &'a str, option: &str) -> Option<&'a str> {
    let rest = word.strip_prefix(option)?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('=').filter(|value| !value.is_empty()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_said_again_leaves_out_the_record_that_is_there_and_the_time_that_was_too_short() {
        let given =
            ["check", "a b", "--out", "r", "--seconds=3", "--out=r", "--seconds", "4"].map(str::to_owned);
        assert_eq!(kept_words(&given, Some("--seconds")).join(" "), "check 'a b'");
        assert_eq!(kept_words(&given, None).join(" "), "check 'a b' --seconds=3 --seconds 4");
    }

    #[test]
    fn an_option_is_found_in_both_of_its_forms() {
        let given = ["check", "--server", "self", "--seconds=3"].map(str::to_owned);
        assert_eq!(option_of(&given, "--server"), Some("self"));
        assert_eq!(option_of(&given, "--seconds"), Some("3"));
        assert_eq!(option_of(&given, "--out"), None);
    }

    #[test]
    fn a_path_through_a_proxy_is_said_again_with_its_proxy() {
        let target: Target = "tcp://127.0.0.1:7300/memory?via=127.0.0.1:7301".parse().unwrap();
        let expected = "narrows check 'tcp://HOST:7300/memory?via=PROXYHOST:7301' --token-file FILE";
        assert_eq!(remote_check(&target), expected);
        assert_eq!(split_by_server(&target).unwrap()[1].command, expected);
        let without: Target = "tcp://127.0.0.1:7300/memory".parse().unwrap();
        assert_eq!(remote_check(&without), "narrows check tcp://HOST:7300/memory --token-file FILE");
    }
}
