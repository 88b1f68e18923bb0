//! A server that was given to a suite in the place of a folder, and that has whole objects for files.

use narrows_model::{Op, Target};
use std::path::Path;

/// The server that `dir` names, which has whole objects for files; `None` where it is a folder, or anything else.
pub(super) fn object_target(dir: &Path) -> Option<Target> {
    let target: Target = dir.to_str()?.parse().ok()?;
    let Target::Scheme { engine, .. } = &target else { return None };
    let ops = engine.declaration().ops;
    let serves =
        [Op::Put, Op::Get, Op::Append, Op::Stat, Op::Delete, Op::Sync].iter().all(|op| ops.contains(op));
    (serves && !dir.exists()).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_takes_the_place_of_a_folder_where_it_serves_all_operations_on_files() {
        let named = |text: &str| object_target(Path::new(text)).map(|target| target.to_string());
        assert_eq!(named("nfs://fs/export").as_deref(), Some("nfs://fs/export"));
        // S3 has no append; the others have no files.
        for text in
            ["s3://bucket/prefix", "iscsi://fs/iqn.2026-01.com.example:d/1", "null:", "/tmp", "absent"]
        {
            assert_eq!(named(text), None, "{text}");
        }
    }
}
