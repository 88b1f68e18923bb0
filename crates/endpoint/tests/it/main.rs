//! Tests of the server and the proxy over loopback, one module a subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod breach;
mod cells;
mod conformance;
mod control;
mod exhausted;
mod hostile;
mod layers;
mod limits;
mod page_cache;
mod peer_monitor;
mod proxy;
mod proxy_control;
mod proxy_role;
mod quota;
mod relay;
mod replaced_files;
mod signs_of_life;
mod silence;
mod store_check;
mod stripes;
mod support;
mod unfinished;
