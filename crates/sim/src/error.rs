//! Why a profile or a plan cannot be simulated.

/// Why a profile or a plan cannot be simulated. All of them are the user's to mend: a second try gives the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// A value of the profile is outside what a machine can have.
    #[error("profile `{profile}`: {key} is {found}; {allowed}")]
    Profile {
        /// Name of the profile.
        profile: String,
        /// The value's place in the profile.
        key: String,
        /// The value as it was found.
        found: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A cell of the plan asks for a load that cannot be simulated.
    #[error("cell `{cell}`: {key} is {found}; {allowed}")]
    Cell {
        /// Name of the cell.
        cell: String,
        /// The value's place in the cell.
        key: &'static str,
        /// The value as it was found.
        found: String,
        /// What is allowed.
        allowed: &'static str,
    },
}
