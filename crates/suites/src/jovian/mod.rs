//! Jovian-2 (University of Maryland, 1996): peer-to-peer parallel I/O, striped over the disks of all serving nodes.
//!
//! Each client writes a constant number of bytes, caches are emptied, and it reads them back; configurations are `local`,
//! `cX-sY` (clients, servers) and `pp-N` (every node both). Deliberately absent: starting servers, which is the command's.

mod arguments;
mod figures;
mod label;
mod legacy;
mod native;
mod nodes;
mod plan;
mod reading;
mod request;
mod studies;
#[cfg(test)]
mod testing;

pub use arguments::{Arguments, ServePriority};
pub use nodes::{NodesRun, ServersToStart};
pub use plan::PreparedNodes;
pub use request::Request;
pub use studies::Studies;

use crate::SuiteStart;
use crate::suite::{ArgumentError, IsUser, Suite, SuiteEntry, to_source};
use narrows_model::plan::SuiteSource;
use narrows_model::summary::Metric;
use narrows_model::typed::SIZES;
use narrows_model::{Plan, Summary};
use narrows_study::Problem;

/// The name on the command line.
pub const NAME: &str = "jovian";

/// The suite.
pub const ENTRY: SuiteEntry = SuiteEntry::new::<Request>(
    NAME,
    "Jovian-2: peer-to-peer parallel I/O, striped over the disks of all serving nodes",
    "Jovian-2, University of Maryland, 1996",
)
.with_hosts()
.with_after_help(|| SIZES.to_owned());

impl Suite for Request {
    type Arguments = Arguments;
    type Prepared = PreparedNodes;

    fn parse(arguments: Arguments, _: IsUser<'_>) -> Result<SuiteStart, ArgumentError> {
        arguments.run().map(|run| SuiteStart::Nodes(Box::new(run)))
    }

    fn problems(&self) -> Vec<Problem> {
        self.problems()
    }

    fn plan(&self, nodes: PreparedNodes) -> Result<Plan, Vec<Problem>> {
        plan::plan(self, &nodes)
    }

    fn source(&self) -> SuiteSource {
        to_source(NAME, self.cut_ns.is_some(), self)
    }

    fn from_options(options: &SuiteSource) -> Option<Self> {
        legacy::request(options)
    }

    fn native(&self, summary: &Summary) -> String {
        native::tables(&figures::rows(summary, self), self)
    }

    fn reading(&self, summary: &Summary) -> Vec<String> {
        let mut all = reading::sentences(&figures::rows(summary, self), self);
        all.extend(reading::of_hosts(summary, self));
        all
    }

    fn metrics(&self, summary: &Summary) -> Vec<(String, Metric)> {
        figures::metrics(summary, self)
    }
}
