//! c
#![forbid(unsafe_code)]
