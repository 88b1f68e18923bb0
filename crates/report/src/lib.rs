//! A diagnosis as text for people, and as JSON and comma-separated values for programs: values in, text out, one file a format.
//!
//! Deliberately absent: printing, files, the terminal's width and colours (a [`text::Style`] is passed in), and any
//! judgement: what limits a path is decided in `analysis`, here it is only said.
#![forbid(unsafe_code)]

pub mod csv;
pub mod json;
pub mod text;
