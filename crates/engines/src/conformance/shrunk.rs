//! What becomes of a load whose file somebody shortens after its data were laid down.

use super::{BLOCK_BYTES, BLOCK_COUNT, complete, request, worker};
use crate::contract::{EngineFactory, OpenSpec};
use narrows_model::Op;
use std::fs::{self, File};
use std::path::Path;

/// `folder` is the target of `spec`, and contains its first object.
pub(super) fn a_file_that_shrank_is_an_error_and_stays_as_it_is(
    factory: &dyn EngineFactory,
    spec: &OpenSpec,
    folder: &Path,
) {
    let path = folder.join(&spec.objects[0]);
    for left_bytes in [0, spec.object_bytes.0 / 2] {
        lay_down(factory, spec);
        let mut prepared = OpenSpec { laid_down: true, ..spec.clone() };
        let mut running = factory.open(&prepared, &worker()).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(left_bytes).unwrap();
        let found = complete(running.as_mut(), &[request(Op::Read, 0, BLOCK_COUNT - 1)]);
        assert_ne!(found, [(0, Ok(BLOCK_BYTES))], "a block that is gone was read");
        running.close().unwrap();
        for op in [Op::Read, Op::Write] {
            prepared.workload.op = op;
            let refused = factory.open(&prepared, &worker()).err();
            let words = refused.map(|error| error.to_string()).unwrap_or_default();
            assert!(words.contains("truncated"), "{op} of a file that has {left_bytes} bytes left: {words}");
        }
        assert_eq!(fs::metadata(&path).unwrap().len(), left_bytes, "it is left as it was found");
    }
    lay_down(factory, spec);
}

/// Makes the object anew, whole.
fn lay_down(factory: &dyn EngineFactory, spec: &OpenSpec) {
    let mut engine = factory.open(spec, &worker()).unwrap();
    for block in 0..BLOCK_COUNT {
        assert_eq!(complete(engine.as_mut(), &[request(Op::Write, 0, block)]), [(0, Ok(BLOCK_BYTES))]);
    }
    engine.close().unwrap();
}
