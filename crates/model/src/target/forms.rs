//! The forms that a target can have, for messages: those of this crate and those that engines declare.

use crate::engine::{EngineId, Scheme};

/// The forms whose scheme no single engine declares.
const FORMS: [&str; 8] = [
    "PATH",
    "file:PATH",
    "blk:/dev/NAME",
    "tcp://HOST:PORT/sink|source|memory|disk",
    "stripe:MEMBER,MEMBER?unit=64KiB",
    "null:",
    "null:copy",
    "sim:PROFILE",
];

/// Every form of a target in words; `conjunction` is put before the last one.
#[must_use]
pub fn forms(conjunction: &str) -> String {
    let declared = EngineId::ALL.iter().filter_map(|engine| Some(engine.scheme()?.form));
    let mut forms: Vec<&str> = FORMS.into_iter().chain(declared).collect();
    let last = forms.pop().unwrap_or_default();
    format!("{} {conjunction} {last}", forms.join(", "))
}

/// Every scheme of a target with one member.
pub fn schemes() -> impl Iterator<Item = &'static str> {
    let declared = EngineId::ALL.iter().filter_map(|engine| Some(engine.scheme()?.name));
    ["blk", "file", "null", "sim", "tcp"].into_iter().chain(declared)
}

/// The engine that declares `scheme`; `None` where none does.
pub(super) fn declared(scheme: &str) -> Option<(EngineId, &'static Scheme)> {
    let mut known = EngineId::ALL.iter().filter_map(|engine| Some((*engine, engine.scheme()?)));
    known.find(|(_, known)| known.name == scheme)
}
