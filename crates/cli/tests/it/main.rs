//! Tests of the binary `narrows` as its users run it, one module a subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod bad_endpoint;
mod bad_numbers;
mod bad_proxy;
mod bad_record;
mod bad_relay;
mod bad_study;
mod bad_target;
mod clean;
mod closed_output;
mod compare;
mod compare_figures;
mod costs;
mod early_signals;
mod fail_if;
mod folder_rights;
mod hostile_files;
mod hostile_folder;
mod hostile_record;
mod hosts;
mod import;
mod kept_verdicts;
mod lost_clients;
mod noise;
mod objects;
mod observations;
mod predict;
mod printed;
mod readme;
mod relay;
mod scale;
mod serve;
mod serve_descriptors;
mod server_metrics;
mod signals;
mod situations;
mod stopped_clients;
mod stopped_peers;
mod stripes;
mod studies;
mod suite_bonnie;
mod suite_hosts;
mod suite_io500;
mod suite_ioperf;
mod suite_iozone;
mod suite_jovian;
mod suite_mdtest;
mod suite_mdtest_trees;
mod suite_places;
mod suite_postmark;
mod support;
mod unwritable_target;
mod verified;
mod verified_proxy;
mod via_proxy;
