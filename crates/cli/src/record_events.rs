//! The facts and events of a record, and where it is damaged: what every command that reads records shares.

use crate::console::Console;
use crate::exit::CommandFailure;
use narrows_analysis::RunFacts;
use narrows_model::Event;
use narrows_record::{DamageKind, DamageList, Record};

/// Places of damage that are listed one by one.
const DAMAGE_SHOWN_MAX: usize = 5;

/// Says the places where `what` is damaged.
pub(crate) fn say_damage(what: &str, damage: &DamageList, console: &Console) {
    let mut more_count = damage.count();
    for damage in damage.listed().iter().take(DAMAGE_SHOWN_MAX) {
        console.say(&format!("narrows: {what} is damaged: {damage}"));
        more_count = more_count.saturating_sub(1);
    }
    if more_count > 0 {
        console.say(&format!("narrows: and {more_count} more places"));
    }
}

/// The facts of a record's run.
pub(crate) fn facts_of(record: &Record) -> RunFacts {
    let manifest = record.manifest();
    RunFacts {
        narrows_version: manifest.narrows_version.clone(),
        started_at: manifest.started_at.clone(),
        command: manifest.command.clone(),
    }
}

/// Hands every event of a record to `take`, in order, and returns where the record is damaged.
///
/// # Errors
/// When the record cannot be read.
pub(crate) fn take_events(
    record: &Record,
    take: &mut dyn FnMut(&Event),
) -> Result<DamageList, CommandFailure> {
    let mut timeline = record.timeline()?;
    for event in &mut timeline {
        take(&event?);
    }
    let missing = record.damage().listed().iter().filter(|damage| damage.kind == DamageKind::FileMissing);
    Ok(missing.cloned().collect::<DamageList>().followed_by(&timeline.damage()))
}
