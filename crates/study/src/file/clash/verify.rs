//! What can be verified: where data stays, in which blocks, up to which size.

use super::{Clash, Subject, VERIFY, words};
use narrows_model::verification::{UNIT_BYTES, VERIFIED_FILE_BYTES_MAX};
use narrows_model::{Bytes, EngineId, Layer, Target};

pub(super) fn verify_without_data(subject: &Subject<'_>) -> Option<Clash> {
    let keeps_none = matches!(
        subject.target.form(),
        Target::Null { .. } | Target::Sim { .. } | Target::Tcp { layer: Layer::Sink | Layer::Source, .. }
    );
    if !subject.load.verify || !keeps_none {
        return None;
    }
    let words = words(
        format!("verify = true at {}, where nothing that was written can be read", subject.target),
        "a folder, or the layer memory or disk of an endpoint (tcp://)",
        "leave verify out, or name a target that keeps data",
    );
    Some(subject.clash("verify_without_data", &[VERIFY], words))
}

pub(super) fn verify_in_streams(subject: &Subject<'_>) -> Option<Clash> {
    if !subject.load.verify || subject.engine() != EngineId::Stdio || subject.load.workers == 1 {
        return None;
    }
    let words = words(
        format!("verify = true with {} workers of the engine stdio", subject.load.workers),
        "one worker: a stream reads from its own buffer what another worker has written anew since",
        "leave workers out, or write clients instead, each of which has a file of its own",
    );
    Some(subject.clash("verify_in_streams", &["workload.workers", VERIFY, "workload.engine"], words))
}

pub(super) fn verify_of_parts(subject: &Subject<'_>) -> Option<Clash> {
    let blocks = subject.load.blocks();
    let odd = blocks.iter().find(|share| !share.block_bytes.0.is_multiple_of(UNIT_BYTES))?.block_bytes;
    if !subject.load.verify {
        return None;
    }
    let near = Bytes(odd.0.next_multiple_of(UNIT_BYTES));
    let words = words(
        format!("verify = true with a block of {odd}"),
        format!("multiples of {UNIT_BYTES} bytes, which are checked as one"),
        format!("the next multiple is {near}"),
    );
    Some(subject.clash("verify_of_parts", &[subject.block_key(), VERIFY], words))
}

pub(super) fn verify_over_limit(subject: &Subject<'_>) -> Option<Clash> {
    let file = subject.load.file_bytes;
    if !subject.load.verify || file <= VERIFIED_FILE_BYTES_MAX {
        return None;
    }
    let words = words(
        format!("verify = true with a file of {file} for each client"),
        format!(
            "a file of {VERIFIED_FILE_BYTES_MAX} or less: what it holds is known by 8 MiB of memory a GiB"
        ),
        format!("write file = \"{VERIFIED_FILE_BYTES_MAX}\" or less, and more clients"),
    );
    Some(subject.clash("verify_over_limit", &["workload.file", VERIFY], words))
}
