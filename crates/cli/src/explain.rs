//! `narrows explain`: what a word of a report means, or what the figures of a record's first screen are computed from.

use crate::args::ExplainArguments;
use crate::console::Console;
use crate::diagnose::read_record;
use crate::exit::{CommandFailure, Exit};
use narrows_record::Record;
use narrows_report::text::{Style, all_words, explained_words, screen_figures, word_page};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The word for the newest record of the current folder.
const LAST: &str = "LAST";

/// Runs the command.
pub(crate) fn run(arguments: &ExplainArguments, console: &Console) -> Result<Exit, CommandFailure> {
    let style = Style { width: console.width(), colour: console.colour, unicode: false, detail: true };
    let text = match arguments.word.join(" ") {
        none if none.is_empty() => list(),
        last if last == LAST => return figures(&newest_record(Path::new("."))?, &style, console),
        word => match page(&word, &style) {
            Some(page) => page,
            None if Path::new(&word).is_dir() => return figures(Path::new(&word), &style, console),
            None => each(&arguments.word, &style)?,
        },
    };
    console.result(&text)?;
    Ok(Exit::Done)
}

/// The pages of several words, one after the other.
fn each(words: &[String], style: &Style) -> Result<String, CommandFailure> {
    let all = words.join(" ");
    let pages: Result<Vec<String>, CommandFailure> =
        words.iter().map(|word| page(word, style).ok_or_else(|| unknown(word))).collect();
    // None of several words is known: they were meant as one.
    match pages {
        Err(_) if words.iter().all(|word| page(word, style).is_none()) => Err(unknown(&all)),
        pages => Ok(pages?.join("\n")),
    }
}

/// The page of a rule, a segment or a word.
fn page(word: &str, style: &Style) -> Option<String> {
    let explained = narrows_analysis::explain(word);
    let page = explained.map(|explanation| narrows_report::text::explanation(&explanation, style));
    page.or_else(|| word_page(word, style))
}

fn list() -> String {
    let mut list = String::from(
        "narrows explain LAST explains the figures of the newest record here, narrows explain RECORD those of another.\n\
         narrows explain WORD, where WORD is one of:\n",
    );
    let explained = narrows_analysis::topics().into_iter().filter_map(narrows_analysis::explain);
    for explanation in explained {
        // Writing to a string cannot fail.
        let _ = writeln!(list, "  {:<28} {}", explanation.topic, explanation.title);
    }
    list.push_str("or a word of a report, or a note below a table of cells:\n");
    for (word, meaning) in all_words() {
        let _ = writeln!(list, "  {word:<28} {meaning}");
    }
    list
}

/// Prints every figure of the first screen of the record at `dir`.
fn figures(dir: &Path, style: &Style, console: &Console) -> Result<Exit, CommandFailure> {
    let summary = read_record(&Record::open(dir)?, console)?;
    console.result(&screen_figures(&summary, &dir.display().to_string(), style))?;
    Ok(if summary.complete { Exit::Done } else { Exit::Untrustworthy })
}

/// The record in `folder` that was begun last.
///
/// # Errors
/// When there is none, or the folder cannot be read.
fn newest_record(folder: &Path) -> Result<PathBuf, CommandFailure> {
    let listed = std::fs::read_dir(folder)
        .map_err(|error| CommandFailure::could_not_run(format!("read the current folder: {error}")))?;
    let paths = listed.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    let records = paths.filter_map(|path| {
        let started_at = Record::open(&path).ok()?.manifest().started_at.clone();
        Some((started_at, path))
    });
    let newest = records.max().map(|(_, path)| path);
    newest.map(|path| path.strip_prefix("./").map_or_else(|_| path.clone(), Path::to_path_buf)).ok_or_else(|| {
        CommandFailure::bad_input(
            "there is no record in the current folder; name one: narrows explain RECORD, or run `narrows check` first",
        )
    })
}

/// Refuses a word that is none, with the one that is probably meant.
fn unknown(word: &str) -> CommandFailure {
    let known = narrows_analysis::topics().into_iter().chain(explained_words());
    let meant = narrows_study::nearest(&word.to_lowercase(), known)
        .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    CommandFailure::bad_input(format!(
        "`{word}` is no code of a rule, no segment, no word of a report and no record; {meant}`narrows explain` lists \
         them all"
    ))
}
