//! What a disk reports of its own health, as `smartctl` of smartmontools reads it: one that sleeps is not woken.

use super::tool::{self, ToolFailure};
use narrows_model::Inventory;
use narrows_model::inventory::{DeviceHealth, DeviceKind};
use serde_json::Value;
use std::ffi::OsStr;
use std::time::Duration;

/// Longest wait: it asks the disk a few things.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
/// Attributes of ATA disks by their number: sectors replaced, errors not corrected.
const REALLOCATED: u64 = 5;
const UNCORRECTED: u64 = 187;

/// Adds to `inventory` what the disks under its path report of their health; that nothing could be asked is listed.
pub(super) fn add_health(inventory: &mut Inventory) {
    let Some(path) = &mut inventory.path else { return };
    for device in path.devices.iter_mut().filter(|device| device.kind == DeviceKind::Disk) {
        let node = format!("/dev/{}", device.name);
        let words = ["--json", "--health", "--attributes", "--nocheck=standby", &node].map(OsStr::new);
        let unknown = match tool::run("smartctl", &words, ENDS_WITHIN) {
            // Its exit code has a bit for each thing that it found, and does not say whether it was answered.
            Ok(answer) => {
                device.health = health(&answer.text);
                if device.health.is_some() {
                    continue;
                }
                "it reports none".to_owned()
            }
            Err(ToolFailure::Missing) => "smartctl (smartmontools) is not installed".to_owned(),
            Err(ToolFailure::Failed(what)) => what,
        };
        inventory.unknown.push(format!("health of {}: {unknown}", device.name));
    }
}

/// The health in an answer of `smartctl --json`; `None` where it has none.
///
/// # Source
/// smartctl(8); NVM Express Base Specification, SMART / Health Information log.
fn health(text: &str) -> Option<DeviceHealth> {
    let answer: Value = serde_json::from_str(text).ok()?;
    let log = &answer["nvme_smart_health_information_log"];
    let percent = |value: &Value| value.as_f64().map(|percent| percent / 100.0);
    let found = DeviceHealth {
        passed: answer["smart_status"]["passed"].as_bool(),
        temperature_celsius: answer["temperature"]["current"].as_i64(),
        power_on_hours: answer["power_on_time"]["hours"].as_u64(),
        used_ratio: percent(&log["percentage_used"]),
        spare_ratio: percent(&log["available_spare"]),
        medium_error_count: log["media_errors"].as_u64().or_else(|| attribute(&answer, UNCORRECTED)),
        reallocated_sector_count: attribute(&answer, REALLOCATED),
    };
    (found != DeviceHealth::default()).then_some(found)
}

/// The raw value of an attribute of an ATA disk.
fn attribute(answer: &Value, number: u64) -> Option<u64> {
    let table = answer["ata_smart_attributes"]["table"].as_array()?;
    table.iter().find(|one| one["id"].as_u64() == Some(number))?["raw"]["value"].as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_an_nvm_drive_is_its_health() {
        let text = r#"{"smartctl": {"version": [7, 3], "exit_status": 0},
            "device": {"name": "/dev/nvme0n1", "type": "nvme", "protocol": "NVMe"},
            "smart_status": {"passed": true, "nvme": {"value": 0}},
            "nvme_smart_health_information_log": {"critical_warning": 0, "temperature": 41, "available_spare": 100,
                "available_spare_threshold": 10, "percentage_used": 7, "data_units_read": 1, "power_on_hours": 9012,
                "unsafe_shutdowns": 3, "media_errors": 2, "num_err_log_entries": 0},
            "temperature": {"current": 41}, "power_cycle_count": 8, "power_on_time": {"hours": 9012}}"#;
        let found = health(text).unwrap();
        assert_eq!((found.passed, found.temperature_celsius), (Some(true), Some(41)));
        assert_eq!((found.used_ratio, found.spare_ratio), (Some(0.07), Some(1.0)));
        assert_eq!((found.power_on_hours, found.medium_error_count), (Some(9012), Some(2)));
        assert_eq!(found.reallocated_sector_count, None);
    }

    #[test]
    fn the_attributes_of_an_ata_disk_are_its_health() {
        let text = r#"{"device": {"protocol": "ATA"}, "smart_status": {"passed": false},
            "ata_smart_attributes": {"revision": 16, "table": [
                {"id": 5, "name": "Reallocated_Sector_Ct", "value": 100, "raw": {"value": 24, "string": "24"}},
                {"id": 187, "name": "Reported_Uncorrect", "value": 98, "raw": {"value": 1, "string": "1"}}]},
            "power_on_time": {"hours": 41000}, "temperature": {"current": 33}}"#;
        let found = health(text).unwrap();
        assert_eq!((found.passed, found.reallocated_sector_count), (Some(false), Some(24)));
        assert_eq!((found.medium_error_count, found.used_ratio), (Some(1), None));
    }

    #[test]
    fn an_answer_without_health_and_a_torn_one_are_none() {
        let asleep =
            r#"{"smartctl": {"exit_status": 2, "messages": [{"string": "Device is in STANDBY mode"}]}}"#;
        for text in [asleep, "", "{", "[]", "null"] {
            assert_eq!(health(text), None, "{text}");
        }
    }
}
