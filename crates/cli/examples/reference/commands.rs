//! Every command's help, as the command line itself prints it.

use crate::markdown::head;

/// Columns of help, whatever terminal the page is written in.
const WIDTH_COLUMNS: usize = 100;

/// The page of commands.
pub(crate) fn all() -> String {
    let lists =
        "What each command prints with `--help`. Results go to stdout, progress and messages to stderr.";
    let mut page = head("Commands", lists, "the arguments of the crate `narrows`");
    let mut root = narrows::command_line().term_width(WIDTH_COLUMNS);
    root.build();
    add(&mut page, "narrows", &mut root);
    page
}

/// Adds a command, and then those below it.
fn add(page: &mut String, title: &str, command: &mut clap::Command) {
    page.push_str(&section(title, command));
    for below in command.get_subcommands_mut().filter(|below| !below.is_hide_set()) {
        let title = format!("{title} {}", below.get_name());
        add(page, &title, below);
    }
}

fn section(title: &str, command: &mut clap::Command) -> String {
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    format!("\n## {title}\n\n```text\n{}\n```\n", lines.join("\n").trim_end())
}
