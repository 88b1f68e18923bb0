//! Who talks to whom, in the published words: `local`, `cX-sY`, `pp-N`, and the modes before them.

use narrows_study::Problem;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Most clients: as many as a cell may have.
const CLIENTS_MAX: u32 = 256;
/// Most servers: as many as a stripe may have members.
const SERVERS_MAX: u32 = 64;

/// One configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Label {
    /// One node, its client at its own disks.
    Local,
    /// `cX-sY`: nodes that are clients alone, nodes that are servers alone.
    OneToMany {
        /// Nodes that are clients.
        clients: u32,
        /// Nodes that are servers.
        servers: u32,
    },
    /// `pp-N`: every node is client and server.
    ManyToMany {
        /// Nodes.
        nodes: u32,
    },
}

impl Label {
    /// Nodes with load.
    #[must_use]
    pub fn clients(self) -> u32 {
        match self {
            Label::Local => 1,
            Label::OneToMany { clients, .. } => clients,
            Label::ManyToMany { nodes } => nodes,
        }
    }

    /// Nodes that serve; a local node serves itself.
    #[must_use]
    pub fn servers(self) -> u32 {
        match self {
            Label::Local => 1,
            Label::OneToMany { servers, .. } => servers,
            Label::ManyToMany { nodes } => nodes,
        }
    }

    /// Endpoints that have to be there.
    #[must_use]
    pub fn endpoints(self) -> u32 {
        if self == Label::Local { 0 } else { self.servers() }
    }

    /// The label of this text, or what is wrong with it.
    fn parse(text: &str) -> Result<Self, String> {
        if text == "local" {
            return Ok(Label::Local);
        }
        if let Some(nodes) = text.strip_prefix("pp-").and_then(|nodes| nodes.parse().ok()) {
            let within = (1..=SERVERS_MAX).contains(&nodes);
            return if within { Ok(Label::ManyToMany { nodes }) } else { Err(counts(text)) };
        }
        let parts = text.strip_prefix('c').and_then(|rest| rest.split_once("-s"));
        let Some((Ok(clients), Ok(servers))) = parts.map(|(c, s)| (c.parse::<u32>(), s.parse::<u32>()))
        else {
            return Err("no such label".to_owned());
        };
        let within = (1..=CLIENTS_MAX).contains(&clients) && (1..=SERVERS_MAX).contains(&servers);
        if within { Ok(Label::OneToMany { clients, servers }) } else { Err(counts(text)) }
    }
}

impl TryFrom<String> for Label {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Label::parse(&text)
    }
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        label.to_string()
    }
}

fn counts(text: &str) -> String {
    let most = if text.starts_with("pp") { SERVERS_MAX } else { CLIENTS_MAX };
    format!("a node count outside 1 to {most} (servers up to {SERVERS_MAX})")
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Local => f.write_str("local"),
            Label::OneToMany { clients, servers } => write!(f, "c{clients}-s{servers}"),
            Label::ManyToMany { nodes } => write!(f, "pp-{nodes}"),
        }
    }
}

/// A word before labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LabelMode {
    OneToMany,
    ManyToMany,
}

impl LabelMode {
    fn from_word(word: &str) -> Option<Self> {
        match word {
            "one-to-many" => Some(LabelMode::OneToMany),
            "many-to-many" => Some(LabelMode::ManyToMany),
            _ => None,
        }
    }

    fn accepts(self, label: Label) -> bool {
        match label {
            Label::Local => true,
            Label::OneToMany { .. } => self == LabelMode::OneToMany,
            Label::ManyToMany { .. } => self == LabelMode::ManyToMany,
        }
    }
}

/// The labels that `words` ask for, each once, in their order: `local`, `one-to-many c1-s1 c1-s2`, `many-to-many pp-4`,
/// or several of these after each other.
///
/// # Errors
/// All that is wrong with them, each with its place among the words.
pub(super) fn labels(words: &[String]) -> Result<Vec<Label>, Vec<Problem>> {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    // The mode that has no label so far.
    let mut open: Option<(usize, &str)> = None;
    let mut mode = None;
    for (number, word) in (1..).zip(words) {
        if let Some(named) = LabelMode::from_word(word) {
            problems.extend(open.map(|(at, word)| empty(at, word)));
            (mode, open) = (Some(named), Some((number, word.as_str())));
            continue;
        }
        open = None;
        match Label::parse(word) {
            Ok(label) if mode.is_some_and(|mode| !mode.accepts(label)) => {
                problems.push(misplaced(number, word));
            }
            Ok(label) if found.contains(&label) => {}
            Ok(label) => found.push(label),
            Err(why) => problems.push(unknown(number, word, &why)),
        }
    }
    problems.extend(open.map(|(at, word)| empty(at, word)));
    if found.is_empty() && problems.is_empty() {
        problems.push(Problem::new("labels", "none", ALLOWED, "name at least one, such as local"));
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

const ALLOWED: &str = "local, one-to-many cX-sY, many-to-many pp-N";

fn empty(at: usize, word: &str) -> Problem {
    let example = if word == "one-to-many" { "one-to-many c1-s4" } else { "many-to-many pp-4" };
    Problem::new("labels", format!("{word} (word {at}) without a label"), ALLOWED, format!("write {example}"))
}

fn misplaced(at: usize, word: &str) -> Problem {
    let hint =
        if word.starts_with("pp") { "put many-to-many before it" } else { "put one-to-many before it" };
    Problem::new("labels", format!("{word} (word {at}) after another mode"), ALLOWED, hint)
}

fn unknown(at: usize, word: &str, why: &str) -> Problem {
    let known = ["local", "one-to-many", "many-to-many", "c1-s1", "c1-s4", "pp-4"];
    let meant = narrows_study::nearest(word, known.into_iter())
        .map_or_else(String::new, |near| format!("; is {near} meant?"));
    let hint = format!("c1-s4 is one client and four servers, pp-4 four nodes that are both{meant}");
    Problem::new("labels", format!("{word} (word {at}): {why}"), ALLOWED, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn messages(text: &str) -> String {
        let problems = labels(&words(text)).unwrap_err();
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn labels_are_read_and_written_alike() {
        let text = "local one-to-many c1-s1 c12-s4 many-to-many pp-4";
        let found = labels(&words(text)).unwrap();
        let written: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(written, ["local", "c1-s1", "c12-s4", "pp-4"]);
        assert_eq!((found[2].clients(), found[2].servers(), found[2].endpoints()), (12, 4, 4));
        assert_eq!((found[0].clients(), found[0].servers(), found[0].endpoints()), (1, 1, 0));
        assert_eq!((found[3].clients(), found[3].endpoints()), (4, 4));
    }

    #[test]
    fn a_label_needs_no_mode_and_counts_once() {
        assert_eq!(labels(&words("c1-s2 pp-2 c1-s2")).unwrap().len(), 2);
        assert_eq!(labels(&words("one-to-many local c1-s1")).unwrap().len(), 2);
    }

    #[test]
    fn what_is_no_label_is_refused_with_its_place() {
        for wrong in ["c0-s1", "c1-s0", "pp-0", "c1-s65", "c257-s1", "pp-65"] {
            assert!(messages(wrong).contains(&format!("{wrong} (word 1): a node count outside")), "{wrong}");
        }
        for wrong in ["c1", "s1", "c1-s", "c-s1", "pp", "pp-", "pp-x", "c1-s1-s1", "c-1-s1", "locl", "c1s4"] {
            assert!(messages(wrong).contains(&format!("{wrong} (word 1): no such label")), "{wrong}");
        }
        assert!(messages("locl").contains("is local meant?"));
        assert!(messages("one-to-many pp-4").contains("pp-4 (word 2) after another mode"));
        assert!(messages("one-to-many many-to-many pp-2").contains("one-to-many (word 1) without a label"));
        assert!(messages("c1-s1 many-to-many").contains("many-to-many (word 2) without a label"));
        assert!(messages("").contains("found none"));
    }

    #[test]
    fn all_that_is_wrong_is_listed_at_once() {
        let said = messages("c0-s1 locl one-to-many");
        assert_eq!(said.lines().count(), 3, "{said}");
    }
}
