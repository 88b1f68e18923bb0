//! What speaks to servers of others by protocols that need packages of their own, so that `engines` is never built again for
//! them: the engine of a bucket's objects (S3), the reader of a server's metrics.
//!
//! `cli` adds their factories to the registry. Deliberately absent: an async runtime, and any reading of the environment,
//! which is passed in.
#![forbid(unsafe_code)]

pub mod metrics;
pub mod s3;
