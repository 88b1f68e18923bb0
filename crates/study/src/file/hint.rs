//! The nearest name to one that is not known, and the words that other tools use for ours.
//!
//! Not here: whether a name is known.

use super::keys::{KEYS, Key, TABLES};
use crate::located::nearest;

/// What other tools call our keys; see the glossary.
const ELSEWHERE: &[(&str, &str)] = &[
    ("bs", "workload.block"),
    ("block_size", "workload.block"),
    ("block_sizes", "workload.block"),
    ("blocksize", "workload.block"),
    ("bssplit", "workload.blocks"),
    ("bandwidth", "workload.max_rate"),
    ("concurrency", "workload.depth"),
    ("direct", "workload.access"),
    ("duration", "stop.measure"),
    ("durability", "workload.sync"),
    ("filename", "target"),
    ("file_size", "workload.file"),
    ("fsync", "workload.sync"),
    ("iodepth", "workload.depth"),
    ("iodepth_batch", "workload.batch"),
    ("ioengine", "workload.engine"),
    ("iops", "workload.max_ops"),
    ("loops", "stop.trials"),
    ("mix", "workload.ops"),
    ("numjobs", "workload.workers"),
    ("offered_load", "workload.offered"),
    ("path", "target"),
    ("processes", "workload.clients"),
    ("qd", "workload.depth"),
    ("queue_depth", "workload.depth"),
    ("ramp_time", "stop.warm_up"),
    ("randseed", "seed"),
    ("rate", "workload.max_rate"),
    ("rate_iops", "workload.max_ops"),
    ("rate_process", "workload.arrivals"),
    ("repetitions", "stop.trials"),
    ("runtime", "stop.measure"),
    ("rw", "workload.op"),
    ("rwmixread", "workload.ops"),
    ("size", "workload.file"),
    ("targets", "target"),
    ("theta", "workload.zipf_theta"),
    ("thinktime", "workload.think"),
    ("think_time", "workload.think"),
    ("threads", "workload.workers"),
    ("time", "seconds"),
    ("warmup", "stop.warm_up"),
];

/// `did you mean ...?` for a target with a slip in its scheme or in the layer of its endpoint; `None` for any other.
pub(crate) fn target(found: &str) -> Option<String> {
    let (scheme, rest) = found.split_once(':')?;
    let near = nearest(&scheme.to_lowercase(), ["file", "null", "sim", "tcp"].into_iter())?;
    let of_scheme = format!("{near}:{rest}");
    let of_layer = || {
        let (server, layer) = of_scheme.rsplit_once('/')?;
        let layers = ["sink", "source", "memory", "disk"].into_iter();
        Some(format!("{server}/{}", nearest(&layer.to_lowercase(), layers)?))
    };
    let meant = [Some(of_scheme.clone()), of_layer()].into_iter().flatten();
    let whole = meant.into_iter().find(|meant| meant.parse::<narrows_model::Target>().is_ok())?;
    Some(format!("did you mean \"{whole}\"?"))
}

/// What to do about a key `found` in the table `table` that is not there.
pub(crate) fn key(table: &str, found: &str) -> String {
    let place = |path: &str| {
        let (wanted, name) = path.rsplit_once('.').unwrap_or(("", path));
        match wanted {
            _ if wanted == table => format!("did you mean `{name}`?"),
            "" => format!("did you mean `{name}`, above all tables?"),
            _ => format!("did you mean `{name}` in [{wanted}]?"),
        }
    };
    let lower = found.to_lowercase();
    let in_sweep = table == "sweep" || table.starts_with("sweep.");
    let here = names_in(table);
    if let Some(near) = nearest(&lower, here.iter().map(String::as_str)) {
        return format!("did you mean `{near}`?");
    }
    let elsewhere = ELSEWHERE.iter().find(|(theirs, _)| *theirs == lower).and_then(|(_, path)| Key::of(path));
    let exact = KEYS.iter().find(|key| key.name() == lower);
    let near = nearest(&lower, KEYS.iter().map(Key::name));
    let meant = exact.or(elsewhere).or_else(|| KEYS.iter().find(|key| Some(key.name()) == near));
    match meant {
        Some(key) if in_sweep && key.swept => format!("did you mean `{}`?", key.factor()),
        Some(key) => place(key.path),
        None => "leave it out: no key is called so, and none nearly".to_owned(),
    }
}

/// Names of the keys and tables that may stand in `table`.
pub(crate) fn names_in(table: &str) -> Vec<String> {
    if table == "sweep" || table.starts_with("sweep.") {
        let inner = table.strip_prefix("sweep").unwrap_or_default().trim_start_matches('.');
        return KEYS
            .iter()
            .filter(|key| key.swept)
            .filter_map(|key| match inner {
                "" => Some(key.factor()),
                _ => key.factor().strip_prefix(inner).and_then(|rest| rest.strip_prefix('.')),
            })
            .map(str::to_owned)
            .collect();
    }
    let keys = KEYS.iter().filter(|key| key.table() == table).map(|key| key.name().to_owned());
    let tables = TABLES.iter().filter_map(|(path, _)| {
        let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
        (parent == table && !name.is_empty()).then(|| name.to_owned())
    });
    keys.chain(tables).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_put_right_where_it_is() {
        assert_eq!(key("workload", "blok"), "did you mean `block`?");
        assert_eq!(key("", "titel"), "did you mean `title`?");
        assert_eq!(key("", "worklaod"), "did you mean `workload`?");
        assert_eq!(key("sweep", "dpeth"), "did you mean `depth`?");
    }

    #[test]
    fn a_key_in_the_wrong_table_is_sent_to_its_own() {
        assert_eq!(key("", "depth"), "did you mean `depth` in [workload]?");
        assert_eq!(key("workload", "seconds"), "did you mean `seconds`, above all tables?");
        assert_eq!(
            key("workload", "registered_files"),
            "did you mean `registered_files` in [workload.ring]?"
        );
    }

    #[test]
    fn a_word_of_another_tool_is_told_ours() {
        assert_eq!(key("workload", "iodepth"), "did you mean `depth`?");
        assert_eq!(key("workload", "bs"), "did you mean `block`?");
        assert_eq!(key("sweep", "bs"), "did you mean `block`?");
        assert_eq!(key("workload", "runtime"), "did you mean `measure` in [stop]?");
        for (_, path) in ELSEWHERE {
            assert!(Key::of(path).is_some(), "{path}");
        }
    }

    #[test]
    fn what_is_like_nothing_gets_the_list() {
        assert!(key("stop", "zzzzzzzz").starts_with("leave it out"));
    }
}
