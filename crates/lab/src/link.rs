//! The links of one host: a veth pair, the two TAPs of a delay wire, and their rate limits.
//!
//! It makes and shapes links; which host has which is [`crate::host`]'s business.

use std::path::Path;

use crate::error::Result;
use crate::tool::{ip, tc};

/// The name that a host's only interface has inside its namespace.
pub(crate) const INSIDE: &str = "eth0";

/// The names and addresses that a host's link is made of.
#[derive(Debug, Clone)]
pub(crate) struct LinkPlan {
    pub(crate) bridge: String,
    pub(crate) netns: String,
    /// The end on the bridge, outside.
    pub(crate) outside: String,
    /// What the inner end of a delay wire is called until it is moved inside.
    pub(crate) passing: String,
    /// Fixed, so that the neighbours' tables stay right when the wire is swapped.
    pub(crate) mac: String,
    /// Address and prefix length.
    pub(crate) address: String,
}

/// Makes the bridge with a fixed MAC: by itself it would take a port's, and change it with the ports.
pub(crate) fn make_bridge(name: &str, mac: &str, address: &str) -> Result<()> {
    ip(&["link", "add", name, "address", mac, "type", "bridge"])?;
    ip(&["addr", "add", address, "dev", name])?;
    ip(&["link", "set", name, "up"]).map(drop)
}

/// Joins the host to the bridge by a veth pair.
pub(crate) fn make_veth(plan: &LinkPlan) -> Result<()> {
    ip(&["link", "add", &plan.outside, "type", "veth", "peer", "name", INSIDE, "netns", &plan.netns])?;
    connect(plan)
}

/// Joins the host to the bridge by the two TAPs of a delay wire that already runs.
pub(crate) fn adopt_taps(plan: &LinkPlan) -> Result<()> {
    ip(&["link", "set", &plan.passing, "netns", &plan.netns, "name", INSIDE])?;
    connect(plan)
}

fn connect(plan: &LinkPlan) -> Result<()> {
    ip(&["link", "set", &plan.outside, "master", &plan.bridge, "up"])?;
    ip(&["-n", &plan.netns, "link", "set", INSIDE, "address", &plan.mac])?;
    ip(&["-n", &plan.netns, "addr", "add", &plan.address, "dev", INSIDE])?;
    ip(&["-n", &plan.netns, "link", "set", INSIDE, "up"]).map(drop)
}

/// Removes the link if it is there; a wire's TAPs vanish with the wire, a veth's ends with each other.
pub(crate) fn remove(name: &str) -> Result<()> {
    if Path::new("/sys/class/net").join(name).exists() {
        ip(&["link", "del", name])?;
    }
    Ok(())
}

/// Limits both directions with a token bucket each.
///
/// The bucket must have room for a packet of 64 KiB that the kernel segments later; 256 KiB is enough for a few Gbit/s
/// at 250 timer ticks a second. 50 ms of queue is what a router of that rate might have, and what `queue_ms` is for most.
pub(crate) fn limit(plan: &LinkPlan, rate: &str, queue_ms: u32) -> Result<()> {
    unlimit(plan)?;
    let latency = format!("{queue_ms}ms");
    let bucket = ["root", "tbf", "rate", rate, "burst", "256kb", "latency", &latency];
    tc(&[&["qdisc", "add", "dev", &plan.outside][..], &bucket].concat())?;
    tc(&[&["-n", &plan.netns, "qdisc", "add", "dev", INSIDE][..], &bucket].concat()).map(drop)
}

/// Removes the limits of both directions, if there are any.
pub(crate) fn unlimit(plan: &LinkPlan) -> Result<()> {
    if tc(&["qdisc", "show", "dev", &plan.outside])?.contains("tbf") {
        tc(&["qdisc", "del", "dev", &plan.outside, "root"])?;
    }
    if tc(&["-n", &plan.netns, "qdisc", "show", "dev", INSIDE])?.contains("tbf") {
        tc(&["-n", &plan.netns, "qdisc", "del", "dev", INSIDE, "root"])?;
    }
    Ok(())
}
