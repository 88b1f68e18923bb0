//! The layers of an overlay, from its options.

use crate::parse::mountinfo::Mount;

/// The upper folder first where there is one, then the lower ones from top to bottom; empty for other mounts.
///
/// # Source
/// The kernel's `Documentation/filesystems/overlayfs.rst`: `:` separates lower folders, `\:` is a colon in a name,
/// `lowerdir+=` and `datadir+=` name one each.
pub(super) fn layers(mount: &Mount) -> Vec<String> {
    if mount.fs_type != "overlay" {
        return Vec::new();
    }
    let values = |key: &'static str| {
        mount.super_options.iter().filter_map(move |option| option.strip_prefix(key)?.strip_prefix('='))
    };
    let mut layers: Vec<String> = values("upperdir").map(ToOwned::to_owned).collect();
    layers.extend(values("lowerdir").flat_map(split_at_colons));
    layers.extend(values("lowerdir+").map(ToOwned::to_owned));
    layers.extend(values("datadir+").map(ToOwned::to_owned));
    layers
}

fn split_at_colons(list: &str) -> Vec<String> {
    let mut layers = vec![String::new()];
    let mut characters = list.chars();
    while let Some(character) = characters.next() {
        match (character, layers.last_mut()) {
            (':', _) => layers.push(String::new()),
            ('\\', Some(layer)) => layer.extend(characters.next()),
            (_, Some(layer)) => layer.push(character),
            (_, None) => {}
        }
    }
    // Two colons separate layers of data only.
    layers.retain(|layer| !layer.is_empty());
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_in_a_name_does_not_split_it() {
        assert_eq!(split_at_colons("/a:/b\\:c::/d"), ["/a", "/b:c", "/d"]);
    }
}
