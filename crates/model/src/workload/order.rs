//! The order in which blocks of a file are visited.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The order in which blocks are visited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// One after the other; each worker has its own part of the file and starts again at its end.
    #[default]
    Sequential,
    /// As sequential, from the end of the worker's part to its start.
    Backward,
    /// In a random order that visits every block of the worker's part once before any of them again.
    Random,
    /// Each request at a block drawn uniformly from the whole file, so that some come twice before others come once.
    RandomWithReplacement,
    /// Each request at a block of the whole file drawn with a probability of `1 / rank^theta`; the ranks are
    /// scattered over the file, alike for all workers.
    Zipf {
        /// The exponent, above 0: at 1 and a million blocks, half of the requests are for a thousandth of them.
        theta: f64,
    },
    /// Blocks at a fixed distance; at the end of the worker's part the next turn starts one block further.
    Stride {
        /// Distance from the start of one block to the start of the next; a multiple of the block size.
        stride_bytes: u64,
        /// Whether a turn ends where the block that follows the next stride is no longer in the part, as IOzone's does; and
        /// in a part of no more blocks than a stride each turn starts at the first one.
        #[serde(default, skip_serializing_if = "is_unset")]
        ends_early: bool,
    },
    /// The first block of the worker's part again and again.
    OneBlock,
    /// Objects as their folder lists them; for stats and deletes of objects alone.
    Listing,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_unset(wish: &bool) -> bool {
    !wish
}

impl Order {
    /// The name as in studies.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Order::Sequential => "sequential",
            Order::Backward => "backward",
            Order::Random => "random",
            Order::RandomWithReplacement => "random_with_replacement",
            Order::Zipf { .. } => "zipf",
            Order::Stride { .. } => "stride",
            Order::Listing => "listing",
            Order::OneBlock => "one_block",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
