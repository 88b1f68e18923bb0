//! Outputs in the middle of other text: a whole web page, a terminal's prompts around them, with a final line end or not.

use crate::outputs;
use narrows_suites::import::{Import, ImportOptions, import};

fn read(text: &str, name: &str) -> Import {
    import(text.as_bytes(), name, None, &ImportOptions::default())
        .unwrap_or_else(|problems| panic!("{name}: {problems}"))
}

/// Outputs as text, with what they give by themselves.
fn texts() -> Vec<(outputs::ToolOutput, String)> {
    let all = outputs::all().into_iter();
    all.filter_map(|output| Some((output.clone(), String::from_utf8(output.bytes).ok()?))).collect()
}

fn assert_same(made: &Import, alone: &Import, name: &str) {
    assert_eq!(made.format, alone.format, "{name}");
    assert_eq!(made.observations.observations, alone.observations.observations, "{name}");
}

#[test]
fn a_whole_web_page_gives_what_the_output_in_it_gives() {
    for (output, text) in texts() {
        let alone = read(&text, &output.name);
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let page = format!(
            "<!DOCTYPE html>\n<html><head><title>Results of 2005</title><script>var x = [1, 2, 3];</script></head>\n<body>\n\
             <h1>Disks</h1><p>We ran it on 12 nodes in 2005.</p>\n<pre>\n{escaped}</pre>\n<p>See 3 more pages.</p></body></html>"
        );
        assert_same(&read(&page, &output.name), &alone, &output.name);
        assert_same(&read(&(page + "\n"), &output.name), &alone, &output.name);
    }
}

#[test]
fn a_page_that_ends_right_behind_its_output_is_whole() {
    for (output, text) in texts() {
        let alone = read(&text, &output.name);
        let escaped = text.trim_end().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let page = format!("<html><body><pre>\n{escaped}</pre></body></html>");
        assert_same(&read(&page, &output.name), &alone, &output.name);
        // A page that is cut off within its figures is not.
        let cut = format!("<html><body><pre>\n{}", escaped.trim_end_matches('.'));
        if cut.ends_with(|letter: char| letter.is_ascii_digit()) {
            let problems = import(cut.as_bytes(), "page", None, &ImportOptions::default()).unwrap_err();
            assert!(problems.render().contains("without a line end"), "{}: {problems}", output.name);
        }
    }
}

#[test]
fn text_pasted_from_a_terminal_gives_what_the_output_gives() {
    for (output, text) in texts() {
        let alone = read(&text, &output.name);
        let end = if text.ends_with('\n') { "" } else { "\n" };
        for prompt in ["root@host12:~# ", "[me@host12 data]$ ", "host12% "] {
            let pasted = format!("{prompt}tool -s 64 -n 1\n{text}{end}{prompt}");
            assert_same(&read(&pasted, &output.name), &alone, &format!("{} at {prompt}", output.name));
        }
    }
}

#[test]
fn a_page_without_results_says_so() {
    let page = "<html><body><p>Our disks are fast: 300 MB/s.</p></body></html>";
    let problems = import(page.as_bytes(), "page", None, &ImportOptions::default()).unwrap_err();
    assert!(problems.render().contains("a web page without results of a known tool"), "{problems}");
}
