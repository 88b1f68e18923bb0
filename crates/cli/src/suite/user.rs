//! Who runs this program.

/// Whether `USER[:GROUP]`, each by name or number, is who runs this program.
pub(super) fn is_current(user: &str) -> bool {
    let (name, group) = user.split_once(':').map_or((user, None), |(name, group)| (name, Some(group)));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let own = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().nth(1));
    let named = |path: &str, word: &str, id: Option<&str>| {
        let table = std::fs::read_to_string(path).unwrap_or_default();
        let mut lines = table.lines().map(|line| line.split(':').collect::<Vec<_>>());
        id == Some(word) || lines.any(|line| line.first() == Some(&word) && line.get(2).copied() == id)
    };
    named("/etc/passwd", name, own("Uid:"))
        && group.is_none_or(|group| named("/etc/group", group, own("Gid:")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_user_is_known_by_name_and_number() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let uid =
            status.lines().find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().nth(1)).unwrap();
        assert!(is_current(uid));
        assert!(
            !is_current("nobody-like-this")
                && !is_current("4294967294")
                && !is_current(&format!("{uid}:no-group"))
        );
    }
}
