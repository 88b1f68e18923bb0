//! What a key of an observation file takes: type, unit, range.
//!
//! Not here: reading a value of it, which is `value`'s; the keys themselves, which are `keys`'.

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Any text.
    Text,
    /// One of these names.
    Name(&'static [&'static str]),
    /// The id of a segment.
    Segment,
    /// A number, with its unit in words; empty where it has none.
    Number {
        /// The least.
        min: f64,
        /// The most.
        max: f64,
        /// What it counts.
        unit: &'static str,
    },
    /// A whole number, with what it counts; `1e9` is one too.
    Whole {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
        /// What it counts.
        unit: &'static str,
    },
    /// A list of numbers of this kind.
    Numbers(&'static Kind),
    /// A value of this kind for each of some names.
    Each(&'static [&'static str], &'static Kind),
    /// A value of this kind for each of some segments.
    EachSegment(&'static Kind),
    /// Names of factors with their value: a number or a text.
    Factors,
    /// Numbers with `+ - * / ( )`.
    Arithmetic,
}

/// The roles of a path, as keys.
pub(crate) const ROLES: &[&str] = &["client", "proxy", "server"];
/// Where bytes are counted, as keys.
pub(crate) const PLACES: &[&str] = &["application", "wire", "device"];
/// Most values of a list, and most factors of an observation.
pub(crate) const VALUES_MAX: usize = 100_000;
/// Most factors of an observation.
pub(crate) const FACTORS_MAX: usize = 32;
/// Characters of a text at most.
pub(crate) const TEXT_CHARS_MAX: usize = 4_000;

impl Kind {
    /// The type in words, for the reference.
    #[must_use]
    pub fn type_words(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Name(_) => "name",
            Kind::Segment => "segment",
            Kind::Number { .. } => "number",
            Kind::Whole { .. } => "whole number",
            Kind::Numbers(_) => "list of numbers",
            Kind::Each(ROLES, _) => "table by role",
            Kind::Each(..) => "table by place",
            Kind::EachSegment(_) => "table by segment",
            Kind::Factors => "table",
            Kind::Arithmetic => "arithmetic",
        }
    }

    /// The unit in words; empty where there is none.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Kind::Number { unit, .. } | Kind::Whole { unit, .. } => unit,
            Kind::Numbers(of) | Kind::Each(_, of) | Kind::EachSegment(of) => of.unit(),
            _ => "",
        }
    }

    /// What is allowed, in words that follow "allowed:".
    #[must_use]
    pub fn allowed(self) -> String {
        let unit = self.unit();
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        match self {
            Kind::Text => "a text in quotes".to_owned(),
            Kind::Name(names) => {
                let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
                quoted.join(", ")
            }
            Kind::Segment => {
                "the id of a segment, such as \"network.bandwidth\"; `narrows explain` lists them".to_owned()
            }
            Kind::Number { min, max, .. } => format!("a number from {min} to {max}{unit}"),
            Kind::Whole { min, max, .. } => format!("a whole number from {min} to {max}{unit}"),
            Kind::Numbers(of) => format!("a list of 1 to {VALUES_MAX}, each {}", of.allowed()),
            Kind::Each(names, of) => format!("a table of {}, each {}", names.join(", "), of.allowed()),
            Kind::EachSegment(of) => format!("a table of segments, each {}", of.allowed()),
            Kind::Factors => {
                "a table of names with numbers or texts, such as { disks = 2, cache = \"on\" }".to_owned()
            }
            Kind::Arithmetic => "numbers with + - * / and brackets, such as \"9 * 1024 / 47\"".to_owned(),
        }
    }
}
