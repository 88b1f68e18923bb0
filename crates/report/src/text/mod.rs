//! Text for people: the verdict, the load of a plan, an inventory, progress, explanations.
//!
//! Every function returns whole lines, each ended by a newline, except [`progress`], whose lines have none.

mod cells;
mod comparison;
mod costs;
mod evidence;
mod explain;
mod extrapolation;
mod factor_value;
mod faults;
mod figures;
mod first_screen;
mod flags;
mod headline;
mod inventory;
mod lists;
mod names;
mod next;
mod nfs_mount;
mod noise;
mod observations;
mod path;
mod plan;
pub mod progress;
mod protocol;
mod reading;
mod relay;
mod relay_plan;
mod remarks;
mod stuck;
mod study;
mod style;
mod table;
mod units;
mod verdict;
mod verified;
mod wording;
mod wrap;

pub use comparison::comparison;
pub use costs::costs;
pub use explain::explanation;
pub use extrapolation::extrapolation;
pub use figures::figures;
pub use flags::flags;
pub use inventory::inventory;
pub use noise::noise;
pub use observations::observations;
pub use plan::plan;
pub use study::study;
pub use style::{COLOURS, Style};
pub use verdict::{results, verdict};
