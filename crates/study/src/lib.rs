//! What is asked becomes a plan: ordered cells, the load they put on, what is left out and why.
//!
//! [`plan_check`] plans `narrows check`; [`opening`] is what it measures first, [`refine`]
//! plans what is worth measuring once a suspect is known; [`parse`]
//! reads a study file and [`plan_study`] plans it; [`ScaleRequest`] makes the study of `narrows scale`; [`plan_relay`] plans the buffer experiment; [`observations::parse`]
//! reads numbers measured elsewhere. All are pure: texts, and the facts of the machine and of the engines, are handed
//! in. Deliberately absent: measurement, files, clocks, and any guess about how fast something is.
#![forbid(unsafe_code)]

mod check;
mod confirm;
mod cut;
mod endpoints;
mod expand;
pub mod file;
mod neighbours;
pub mod observations;
mod opening;
mod prefill;
mod problem;
mod quoted;
mod redirect;
mod refine;
mod relay;
mod request;
mod rings;
mod scale;
pub mod schema;
mod spread;

pub use check::plan_check;
pub use confirm::{BlamedLoad, confirming_cell};
pub use endpoints::{EndpointAddress, endpoints};
pub use expand::{EngineAnswer, StudyFacts, TargetFacts, plan_study};
pub use file::{Study, StudyProblem, StudyProblems, TargetProblem, parse, parse_where};
pub use opening::opening;
pub use prefill::Prefilled;
pub use problem::Problem;
pub use quoted::quoted;
pub use redirect::{redirect_files, redirect_targets, redirected};
pub use refine::{PlannedCells, SuspectedCell, refine};
pub use relay::{RelayRequest, plan_relay};
pub use request::{CheckRequest, EngineFacts, RequestedServer, ServerKind};
pub use rings::RingDemand;
pub use scale::ScaleRequest;
pub use schema::{FileProblem, FileProblems, nearest};
pub use spread::spread;
