//! Engines for servers of others whose protocols need packages of their own, so that `engines` is never built again for
//! them: objects of a bucket (S3).
//!
//! `cli` adds their factories to the registry. Deliberately absent: an async runtime, and any reading of the environment,
//! which is passed in.
#![forbid(unsafe_code)]

pub mod s3;
