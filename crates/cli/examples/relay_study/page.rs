//! The page: what stands between two markers is written, all else is left as it is.

use crate::{rows, tables};
use anyhow::Context;

/// `page` with the tables of both files.
pub(crate) fn with_tables(page: &str, published: &str, measured: &str) -> anyhow::Result<String> {
    let published = rows::parse(published).context("the published figures")?;
    let measured = rows::parse(measured).context("the figures of the record")?;
    tables::parts(&published, &measured)
        .into_iter()
        .try_fold(page.to_owned(), |page, (name, text)| between(&page, name, &text))
}

/// `page` with what a record says of its machine.
pub(crate) fn with_facts(page: &str, facts: &str) -> anyhow::Result<String> {
    between(page, "facts", facts)
}

fn between(page: &str, name: &str, text: &str) -> anyhow::Result<String> {
    let (begin, end) = (
        format!("<!-- {name}: written by cargo xtask relay-study -->\n"),
        format!("<!-- end of {name} -->\n"),
    );
    let missing = || format!("the page has no part {name:?}");
    let (before, rest) = page.split_once(&begin).with_context(missing)?;
    let (_, after) = rest.split_once(&end).with_context(missing)?;
    Ok(format!("{before}{begin}\n{text}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn what_stands_around_the_markers_is_left_and_a_page_without_them_is_refused() {
        let page = "a\n<!-- x: written by cargo xtask relay-study -->\nold\n<!-- end of x -->\nb\n";
        let written = between(page, "x", "new\n").unwrap();
        assert!(written.starts_with("a\n<!-- x") && written.ends_with("-->\nb\n"));
        assert!(written.contains("\nnew\n") && !written.contains("old"));
        assert_eq!(between(&written, "x", "new\n").unwrap(), written);
        assert!(between(page, "y", "new\n").is_err());
    }
}
