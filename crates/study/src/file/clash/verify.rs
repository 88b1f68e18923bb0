//! What can be verified: where data stays, in which blocks, up to which size.

use super::{Clash, Subject, text};
use crate::file::fields::marks;
use narrows_model::verification::{UNIT_BYTES, VERIFIED_FILE_BYTES_MAX};
use narrows_model::{Bytes, Layer, Target};

pub(super) fn verify_without_data(subject: &Subject<'_>) -> Option<Clash> {
    let keeps_none = match subject.target.form() {
        Target::Null { .. } | Target::Sim { .. } | Target::Tcp { layer: Layer::Sink | Layer::Source, .. } => {
            true
        }
        Target::Scheme { engine, .. } => !engine.declaration().stores_data,
        _ => false,
    };
    if !subject.load.verify || !keeps_none {
        return None;
    }
    let text = text(
        format!("verify = true at {}, where written data cannot be read back", subject.target),
        "a folder, or the layer memory or disk of an endpoint (tcp://)",
        "omit verify, or name a target that stores data",
    );
    Some(subject.clash("verify_without_data", &marks!(subject.keys; workload.verify), text))
}

pub(super) fn verify_of_parts(subject: &Subject<'_>) -> Option<Clash> {
    let blocks = subject.load.blocks();
    let odd = blocks.iter().find(|share| !share.block_bytes.0.is_multiple_of(UNIT_BYTES))?.block_bytes;
    if !subject.load.verify {
        return None;
    }
    let near = Bytes(odd.0.next_multiple_of(UNIT_BYTES));
    let text = text(
        format!("verify = true with a block of {odd}"),
        format!("multiples of {UNIT_BYTES} bytes, the unit of verification"),
        format!("the next multiple is {near}"),
    );
    Some(subject.clash("verify_of_parts", &[subject.block_mark(), &subject.keys.workload.verify.mark], text))
}

pub(super) fn verify_over_limit(subject: &Subject<'_>) -> Option<Clash> {
    let file = subject.load.file_bytes;
    if !subject.load.verify || file <= VERIFIED_FILE_BYTES_MAX {
        return None;
    }
    let text = text(
        format!("verify = true with a file of {file} for each client"),
        format!(
            "a file of {VERIFIED_FILE_BYTES_MAX} or less: its expected content takes 8 MiB of memory per GiB"
        ),
        format!("write file = \"{VERIFIED_FILE_BYTES_MAX}\" or less, and more clients"),
    );
    Some(subject.clash("verify_over_limit", &marks!(subject.keys; workload.file, workload.verify), text))
}
