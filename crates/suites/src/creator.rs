//! Where what a rank visits was created, seen from the rank, and what that means for rates of lookups and reads.
//!
//! Not here: which phases visit what others have created.

use narrows_model::summary::ClientSummary;

/// Where the item that a rank visits was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Creator {
    /// By the rank itself, which is the only one.
    Alone,
    /// By the rank itself.
    Itself,
    /// By another rank of the same host, of each rank.
    OwnHost,
    /// By another rank of the same host, of some ranks.
    OwnHostOfSome,
    /// On another host, of each rank.
    OtherHost,
}

impl Creator {
    /// That of the items of a phase in which each of `ranks` visits what the rank `shift` further on has created.
    pub(crate) fn from_ranks(shift: u32, ranks: &[ClientSummary]) -> Self {
        let shift = shift as usize;
        if ranks.len() <= 1 {
            return Self::Alone;
        }
        if shift == 0 {
            return Self::Itself;
        }
        let is_own = |(index, rank): &(usize, &ClientSummary)| {
            ranks.get((index + shift) % ranks.len()).is_some_and(|creator| creator.host == rank.host)
        };
        match ranks.iter().enumerate().filter(is_own).count() {
            0 => Self::OtherHost,
            count if count == ranks.len() => Self::OwnHost,
            _ => Self::OwnHostOfSome,
        }
    }

    /// What that means for the figures, where `option` shifts ranks; `None` where nothing is to be said.
    fn words(self, option: &str) -> Option<String> {
        match self {
            Self::Alone => Some(format!(
                "the one rank visits what it has created itself, which its host may answer from its caches of names, attributes \
                 and data without asking a server: more ranks on several hosts, shifted by {option}, avoid that"
            )),
            Self::Itself => Some(format!(
                "each rank visits what it has created itself, which its host may answer from its caches of names, attributes and \
                 data without asking a server: {option} 1 shifts the ranks, so that those of other hosts are asked for"
            )),
            Self::OwnHost => Some(
                "the ranks are shifted, but those who created the items are on the same host and share its caches of names, \
                 attributes and data: only ranks on several hosts (narrows-mpi) avoid that"
                    .to_owned(),
            ),
            Self::OwnHostOfSome => Some(format!(
                "some ranks visit what another rank of their host has created, and may be answered from its caches: place equally \
                 many on each host, or all by turns, and omit {option} or give {option} 1"
            )),
            Self::OtherHost => None,
        }
    }
}

/// A sentence for each kind of creator that caches matter with, which names the phases of `found`.
pub(crate) fn cache_remarks(found: &[(&str, Creator)], option: &str) -> Vec<String> {
    let sentence = |creator: Creator| {
        let titles: Vec<&str> =
            found.iter().filter(|(_, other)| *other == creator).map(|(title, _)| *title).collect();
        let words = creator.words(option).filter(|_| !titles.is_empty())?;
        Some(format!("{}: {words}", titles.join(", ")))
    };
    [Creator::Alone, Creator::Itself, Creator::OwnHost, Creator::OwnHostOfSome]
        .into_iter()
        .filter_map(sentence)
        .collect()
}
