//! Names in a file for the values of an enum.

/// A value that a file gives by its name.
pub(crate) trait Choice: Copy + 'static {
    /// The names, in the order of messages.
    const NAMES: &'static [&'static str];
    /// The value of each name.
    const VALUES: &'static [Self];

    /// The value of `name`.
    fn from_choice(name: &str) -> Option<Self> {
        let index = Self::NAMES.iter().position(|known| *known == name)?;
        Self::VALUES.get(index).copied()
    }
}

/// Names the values of an enum: `choices! { Access { "buffered" = Access::Buffered, ... } }`.
macro_rules! choices {
    ($($type:ty { $($name:literal = $value:expr),* $(,)? })*) => {
        $(impl $crate::schema::Choice for $type {
            const NAMES: &'static [&'static str] = &[$($name),*];
            const VALUES: &'static [Self] = &[$($value),*];
        })*
    };
}
pub(crate) use choices;
