//! Requests of records that have them as words and numbers.

use super::letter_line::{COLD, DIRECT};
use super::options::IozoneOptions;
use super::request::Request;
use crate::client_hosts::SuiteHosts;
use narrows_model::Bytes;
use narrows_model::plan::SuiteSource;

/// Between the lines of the heading.
const BETWEEN: &str = "; ";

/// The request of such a record, without what its output does not depend on.
pub(super) fn request(options: &SuiteSource) -> Option<Request> {
    let is = |name: &str| options.text(name).map(|value| value == "yes");
    let list = |name: &str| -> Option<Vec<u64>> {
        options.text(name)?.split(',').map(|value| value.parse().ok()).collect()
    };
    let (unit, settings) = (options.text("unit")?, options.text("settings")?);
    let heading: Vec<String> =
        settings.split(BETWEEN).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let has_line = |wanted: &str| heading.iter().any(|line| line == wanted);
    let processes = list("processes")?;
    let (least, most) = (processes.first().copied(), processes.last().copied());
    let (is_several, is_range) = (is("throughput")?, is("range").unwrap_or_default());
    let asked = IozoneOptions {
        auto: is("auto")?,
        tests: list("tests")?,
        files_kb: list("files_kb")?,
        records_kb: list("records_kb")?,
        direct: has_line(DIRECT),
        sheet: is("sheet")?,
        ops: unit == "ops/s",
        micros: unit == "us/op",
        cold_mount: has_line(COLD).then(String::new),
        no_retests: !is("retests")?,
        cpu: is("cpu")?,
        stride: Some(options.number("stride")?),
        processes: least.filter(|_| is_several && !is_range),
        processes_least: least.filter(|_| is_range),
        processes_most: most.filter(|_| is_range),
        heading,
        ..IozoneOptions::default()
    };
    Some(Request {
        options: asked,
        has_cuts: options.has_cuts(),
        free: None,
        cpu_cache: options.number("cache_kb").map(|kb| Bytes(kb.saturating_mul(1024))),
        cpu_cache_line: options.number("cache_line_bytes").map(Bytes),
        surface_csv: None,
        surface_svg: None,
        hosts: SuiteHosts::default(),
        direct_alignment: None,
    })
}
