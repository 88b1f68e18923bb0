//! Requests of records that have them as words and numbers.

use super::request::Request;
use super::settings::{PostmarkSettings, ReportForm};
use narrows_model::Bytes;
use narrows_model::plan::SuiteSource;

/// The request of such a record, without its location, which its output does not depend on.
pub(super) fn request(options: &SuiteSource) -> Option<Request> {
    let number = |name: &str| options.number(name);
    // -1 is neither of the two.
    let bias = |name: &str| number(name).filter(|_| options.text(name).is_some_and(|text| text != "-1"));
    let bias = |name: &str| bias(name).and_then(|bias| u8::try_from(bias).ok());
    Some(Request {
        settings: PostmarkSettings {
            size_low: number("size_low_bytes")?,
            size_high: number("size_high_bytes")?,
            number: number("number")?,
            transactions: number("transactions")?,
            seed: number("seed")?,
            locations: Vec::new(),
            subdirectories: number("subdirectories")?,
            read_bytes: number("read_bytes")?,
            write_bytes: number("write_bytes")?,
            is_buffered: options.text("buffering")? == "true",
            bias_read: bias("bias_read"),
            bias_create: bias("bias_create"),
            report: ReportForm::named(&options.text("report")?)?,
        },
        has_cuts: options.has_cuts(),
        memory: number("memory_bytes").map(Bytes),
        free: None,
        rooms: Vec::new(),
    })
}
