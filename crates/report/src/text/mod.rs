//! Text for people: the verdict, the load of a plan, an inventory, progress, explanations.
//!
//! Every function returns whole lines, each ended by a newline, except [`progress`] and [`live`], whose lines have none.

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
pub mod live;
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
mod screen_figures;
mod stuck;
mod study;
mod style;
mod table;
mod thresholds;
mod units;
mod verdict;
mod verified;
mod wording;
mod words;
mod wrap;

pub use comparison::comparison;
pub use costs::costs;
pub use explain::explanation;
pub use extrapolation::extrapolation;
pub use figures::figures;
pub use inventory::inventory;
pub use noise::noise;
pub use observations::observations;
pub use plan::plan;
pub use screen_figures::screen_figures;
pub use study::study;
pub use style::{COLOURS, Style};
pub use verdict::{results, verdict};
pub use words::{all_words, explained_words, word_page};
