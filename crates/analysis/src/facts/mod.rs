//! Facts that values of `model` have by themselves: of a cell, of two machines, of a path. No layer of the analysis is
//! needed to know them, so every layer may ask.
//!
//! Deliberately absent: figures over several cells, which are the summary's and the view's, and every judgement.

mod cell;
pub(crate) mod flags;
pub(crate) mod foreign;
pub(crate) mod network;
pub(crate) mod offered_load;
mod path;
mod settings;
mod sharing;
mod stripe_members;

pub use cell::time_per_op_s;
pub(crate) use cell::{CEILING_CUTS, ceiling_cut_of_path, is_in_memory, is_stream, reads};
pub(crate) use network::TravelTime;
pub(crate) use path::{is_behind_daemon, is_on_memory, path_or_only, path_to};
pub(crate) use settings::{CellSettings, MixKey, has_mix_of};
pub use sharing::Sharing;
pub(crate) use stripe_members::{StripeMembers, is_at};
