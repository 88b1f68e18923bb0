//! Why what was given to a suite is no folder, and what to give instead.
//!
//! Suites time the calls of programs on files. What takes such files is a folder of any file system that this machine has
//! mounted; other targets of narrows take requests, and no such calls.

use narrows_model::{Layer, Target};
use std::path::{Path, PathBuf};

/// What is said of `dir`, which is not there, when it is written as a target that is no folder; `None` for what is
/// written as a path.
pub(super) fn refusal(dir: &Path) -> Option<String> {
    let text = dir.to_str()?;
    let (what, instead) = match text.parse::<Target>() {
        Ok(Target::File { path }) if path != dir => {
            return Some(format!("{text}: give the folder as a path: {}", path.display()));
        }
        Ok(Target::File { .. }) => return None,
        Ok(target @ Target::Tcp { .. }) => ("an endpoint", endpoint_hint(&target)),
        Ok(Target::Block(_)) => (
            "a block device",
            format!("`narrows check {text}` measures it as it is; a file system on it, the mount point"),
        ),
        Ok(Target::Stripe(_)) => (
            "striped over several",
            format!("`narrows check {text}` measures it; `narrows suite jovian` stripes"),
        ),
        Ok(Target::Scheme { engine, .. }) if engine.declaration().stores_data => (
            "not a folder",
            "mount it, and give the mount point; a study (`narrows run`) measures it as it is".to_owned(),
        ),
        Ok(_) => ("not a file system", "a study (`narrows run`) measures it".to_owned()),
        Err(_) if is_path(text) => return None,
        Err(_) => ("not a folder", "mount it, and give the mount point".to_owned()),
    };
    Some(format!("{text} is {what}; {FOLDERS}; {instead}"))
}

/// What suites run on.
const FOLDERS: &str = "this suite works on files: give a folder of a file system that is mounted here (a local disk, \
                       NFS, a parallel file system, tmpfs)";

fn endpoint_hint(target: &Target) -> String {
    let Target::Tcp { host, port, .. } = target else { return String::new() };
    let disk = target.at_layer(Layer::Disk).unwrap_or_else(|| target.clone());
    format!(
        "if that machine exports its folder, mount it, and give the mount point with --server {host}:{port} to see \
         both sides. `narrows check {disk}` measures the endpoint itself, `narrows suite jovian` loads endpoints"
    )
}

/// Whether `text` is a path that has a colon, not a scheme and what follows it.
fn is_path(text: &str) -> bool {
    let scheme = text.split(':').next().unwrap_or_default();
    !text.contains("://") || PathBuf::from(scheme).parent().is_some_and(|parent| parent != Path::new(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Option<String> {
        refusal(Path::new(text))
    }

    #[test]
    fn an_endpoint_is_refused_with_the_mount_to_give_and_what_measures_it() {
        let said = said("tcp://10.0.0.2:7300/memory").unwrap();
        assert!(said.contains("is an endpoint") && said.contains("--server 10.0.0.2:7300"), "{said}");
        assert!(said.contains("`narrows check tcp://10.0.0.2:7300/disk`"), "{said}");
    }

    #[test]
    fn every_other_target_is_refused_with_what_suites_run_on() {
        for text in ["nfs://fs2/export", "s3://bucket/prefix", "null:", "sim:local-disk", "http://fs2/x"] {
            let said = said(text).unwrap();
            assert!(said.contains("a folder of a file system that is mounted here"), "{said}");
        }
        let said = said("file:/mnt/data").unwrap();
        assert!(said.ends_with("give the folder as a path: /mnt/data"), "{said}");
    }

    #[test]
    fn a_path_is_left_to_who_looks_for_it() {
        for text in ["absent", "a:b", "./tcp://x", "/mnt/a:b"] {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
