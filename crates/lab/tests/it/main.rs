//! Tests of the lab, and proofs on its machines, one module a subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod beside_refused;
mod block_devices;
mod block_trace;
mod bonnie_counts;
mod cleanup;
mod cpu_figures;
mod device_claims;
mod disks;
mod fidelity;
mod gluster;
mod hosts;
mod ioperf_counts;
mod iozone_counts;
mod iscsi;
mod limits;
mod mdtest_counts;
mod network;
mod nfs;
mod nfs_kernel;
mod nfs_objects;
mod postmark_counts;
mod proofs_listed;
mod ranks;
mod relay_counts;
mod robust;
mod robust_diagnose;
mod robust_files;
mod robust_kill;
mod robust_link;
mod robust_proxy;
mod robust_proxy_slow;
mod robust_silent;
mod s3;
mod s3_others;
mod slow_link;
mod slurm;
mod suite_hosts;
mod suite_jovian;
mod support;
mod verdict_beside;
mod verdict_bus;
mod verdict_bytes;
mod verdict_cache;
mod verdict_connection;
mod verdict_foreign;
mod verdict_generator;
mod verdict_iscsi;
mod verdict_load;
mod verdict_local;
mod verdict_memory;
mod verdict_metrics;
mod verdict_mount;
mod verdict_network;
mod verdict_protocol;
mod verdict_proxy;
mod verdict_quality;
mod verdict_ranks;
mod verdict_record;
mod verdict_s3;
mod verdict_server;
mod verdict_server_cache;
mod verdict_sharing;
mod verdict_sshfs;
mod verdict_storage;
mod verdict_stripe;
mod verdict_think;
