//! Counters of a server on which nothing of ours runs, from the `node_exporter` that runs there anyway.
//!
//! One GET over plain HTTP a reading, bounded in size and in time; redirections are not followed, nothing is sent again. What
//! comes is parsed as text from outside. Deliberately absent: TLS and logins, which an exporter in a trusted network has not,
//! other exporters, and any judgement of the figures.

mod exposition;
mod node;
mod reader;
mod request;

pub use reader::{MetricsReader, MetricsReading};
pub use request::{MetricsError, MetricsErrorKind, MetricsUrl};
