//! The registry of figures: one static list; each figure or family of figures has a file.

mod bonnie;
mod check;
mod files;
mod memory;
mod mpi;
mod null;
mod postmark;
mod protocols;
mod protocols_s3;
mod proxy;
mod relay;
mod request_response;
mod stream;

use super::bench::Bench;
use super::finding::PerfFindings;

/// A figure that can be asked for by name.
#[derive(Debug)]
pub(crate) struct PerfFigure {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) measure: fn(&Bench) -> anyhow::Result<PerfFindings>,
}

/// Every figure, in the order in which they are measured.
pub(crate) const FIGURES: &[PerfFigure] = &[
    null::FIGURE,
    files::URING,
    files::PSYNC,
    stream::FIGURE,
    request_response::FIGURE,
    relay::FIGURE,
    proxy::FIGURE,
    protocols::NFS,
    protocols::ISCSI,
    protocols_s3::FIGURE,
    bonnie::FIGURE,
    postmark::FIGURE,
    check::FIGURE,
    memory::FIGURE,
    mpi::IO,
    mpi::ITEMS,
    mpi::PHASES,
    mpi::MERGE,
];

/// Whether `name` asks for a figure: by its name, or by the family before a hyphen, such as `classics`.
fn is_asked(figure: &PerfFigure, name: &str) -> bool {
    figure.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The figures of these names, in the order of the registry; all of them for no name.
///
/// # Errors
/// The first name that none has.
pub(crate) fn named(names: &[String]) -> Result<Vec<&'static PerfFigure>, String> {
    if let Some(unknown) = names.iter().find(|name| !FIGURES.iter().any(|figure| is_asked(figure, name))) {
        let known: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        return Err(format!("no figure {unknown:?}; there are {}", known.join(", ")));
    }
    let chosen =
        FIGURES.iter().filter(|figure| names.is_empty() || names.iter().any(|name| is_asked(figure, name)));
    Ok(chosen.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_in_the_registrys_order_whatever_the_order_asked_for() {
        let chosen = named(&["psync".to_owned(), "null".to_owned()]).expect("both are known");
        assert_eq!(chosen.iter().map(|figure| figure.name).collect::<Vec<_>>(), ["null", "psync"]);
        assert_eq!(named(&[]).expect("all").len(), FIGURES.len());
    }

    #[test]
    fn a_familys_name_asks_for_all_of_its_figures() {
        let chosen = named(&["classics".to_owned()]).expect("a family");
        assert!(chosen.iter().all(|figure| figure.name.starts_with("classics-")) && !chosen.is_empty());
        assert!(named(&["class".to_owned()]).is_err());
    }

    #[test]
    fn a_name_that_no_figure_has_is_refused_with_those_there_are() {
        let error = named(&["warp".to_owned()]).expect_err("there is none");
        assert!(error.contains("\"warp\"") && error.contains("request-response"), "{error}");
    }

    #[test]
    fn no_two_figures_share_a_name() {
        let mut names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FIGURES.len());
    }
}
