//! Network interfaces, from `/sys/class/net`.

use narrows_model::inventory::NicFacts;
use narrows_model::units::Bytes;

use crate::error::ProbeError;
use crate::parse::{block, number};
use crate::root::Root;
use crate::unknown::UnknownFacts;

const FOLDER: &str = "/sys/class/net";
const BITS_PER_MEGABIT: u64 = 1_000_000;

/// The kernel's "unknown" as some drivers print it: -1 without its sign.
const SPEED_UNKNOWN: u64 = u32::MAX as u64;

/// A VLAN on a bond in a bridge is three; bounds the walk down.
const LAYERS_MAX: usize = 8;

/// All interfaces, by name.
pub(super) fn read(root: &Root, unknown: &mut UnknownFacts) -> Vec<NicFacts> {
    let names = unknown.note("network interfaces", root.names(FOLDER)).unwrap_or_default();
    // `bonding_masters` is a file among the interfaces' folders.
    let interfaces = names.into_iter().filter(|name| root.exists(&format!("{FOLDER}/{name}/operstate")));
    interfaces.map(|name| interface(root, name, unknown)).collect()
}

fn interface(root: &Root, name: String, unknown: &mut UnknownFacts) -> NicFacts {
    let file = |file: &str| format!("{FOLDER}/{name}/{file}");
    let operstate = unknown.note(&format!("state of {name}"), root.text(&file("operstate")));
    let mtu_path = file("mtu");
    let mtu = root
        .read(&mtu_path)
        .and_then(|bytes| block::count(&bytes).map_err(|bad| ProbeError::malformed(&mtu_path, &bad)));
    let mtu = unknown.note(&format!("largest packet of {name}"), mtu);
    let is_virtual = !root.exists(&file("device"));
    let speed = megabits(root, &file("speed")).filter(|_| rests_on_hardware(root, &name, 0));
    if speed.is_none() && !is_virtual {
        unknown.add(format!("link speed of {name}: the device does not report it"));
    }
    NicFacts {
        operstate: operstate.unwrap_or_else(|| "unknown".to_owned()),
        link_bits_per_s: speed.map(|megabits| megabits.saturating_mul(BITS_PER_MEGABIT)),
        mtu_bytes: mtu.map(Bytes),
        is_virtual,
        name,
    }
}

/// Whether the interface or one that it is made of has hardware: a bond does, and its speed is theirs. Others (veth,
/// tun, bridges of them) answer with a number that their driver's author chose, which bounds nothing.
fn rests_on_hardware(root: &Root, name: &str, depth: usize) -> bool {
    if root.exists(&format!("{FOLDER}/{name}/device")) {
        return true;
    }
    let entries = root.names(&format!("{FOLDER}/{name}")).unwrap_or_default();
    let mut lower = entries.iter().filter_map(|entry| entry.strip_prefix("lower_"));
    depth < LAYERS_MAX && lower.any(|lower| rests_on_hardware(root, lower, depth + 1))
}

/// Reading the file of a link that is down or has no speed fails (`EINVAL`) or gives -1.
fn megabits(root: &Root, path: &str) -> Option<u64> {
    let text = root.text(path).ok()?;
    number(text.as_bytes()).filter(|&speed| speed > 0 && speed < SPEED_UNKNOWN)
}
