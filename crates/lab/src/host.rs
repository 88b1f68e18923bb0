//! One host of a lab: a network namespace with an address, and what its link can be made to do.
//!
//! Only the network is the host's own: files, CPUs, page cache and process ids are this machine's.

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::counters::{NetDev, parse_net_dev};
use crate::error::{Error, LabErrorKind, Result};
use crate::link::{self, INSIDE, LinkPlan};
use crate::locate::delaywire_bin;
use crate::process::LabProcess;
use crate::rate;
use crate::tool;

/// Hosts are numbered from 1 to this.
pub(crate) const HOST_INDEX_MAX: u8 = 99;
/// Addresses below 10.77.x.11 are for the machine itself.
const FIRST_ADDRESS: u8 = 10;
/// The longest delay of a wire: its queue buffers what arrives in the meantime.
const DELAY_MAX_US: u64 = 10_000_000;
/// The room for packets before a rate limit.
const QUEUE_MS: u32 = 50;

/// A network namespace as a host; a cheap handle that stays valid as long as its [`crate::Lab`].
#[derive(Debug, Clone)]
pub struct Host {
    index: u8,
    address: Ipv4Addr,
    logs: PathBuf,
    plan: LinkPlan,
    state: Arc<Mutex<LinkState>>,
}

/// A rate as tc(8) writes it, and the room before it.
#[derive(Debug)]
struct RateLimit {
    rate: String,
    queue_ms: u32,
}

/// What the link is now: kept so that a swapped wire gets its rate limit again.
#[derive(Debug, Default)]
struct LinkState {
    rate: Option<RateLimit>,
    wire: Option<LabProcess>,
}

impl Host {
    pub(crate) fn new(index: u8, subnet: u8, prefix: &str, bridge: &str, logs: PathBuf) -> Result<Self> {
        if index == 0 || index > HOST_INDEX_MAX {
            let allowed = format!("hosts are numbered from 1 to {HOST_INDEX_MAX}");
            return Err(Error::new(LabErrorKind::Invalid, "make host", index.to_string(), allowed));
        }
        let address = Ipv4Addr::new(10, 77, subnet, FIRST_ADDRESS + index);
        let plan = LinkPlan {
            bridge: bridge.to_owned(),
            netns: format!("{prefix}h{index}"),
            outside: format!("{prefix}v{index}"),
            passing: format!("{prefix}w{index}"),
            mac: format!("02:77:{subnet:02x}:00:00:{index:02x}"),
            address: format!("{address}/24"),
        };
        Ok(Self { index, address, logs, plan, state: Arc::default() })
    }

    /// Makes the namespace and its link; [`Host::remove_link`] and [`Host::remove_netns`] remove what was made before a failure.
    pub(crate) fn make(&self) -> Result<()> {
        tool::ip(&["netns", "add", &self.plan.netns])?;
        tool::ip(&["-n", &self.plan.netns, "link", "set", "lo", "up"])?;
        link::make_veth(&self.plan)
    }

    /// Its number, from 1.
    #[must_use]
    pub fn index(&self) -> u8 {
        self.index
    }

    /// Its address in the lab's subnet.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The name of its namespace under `/run/netns`.
    #[must_use]
    pub fn netns(&self) -> &str {
        &self.plan.netns
    }

    /// The interface on the bridge through which this host receives and sends.
    #[must_use]
    pub fn outside_interface(&self) -> &str {
        &self.plan.outside
    }

    /// A command that will run inside the host's network, with all else as the caller has it.
    ///
    /// `nsenter` enters the network namespace alone and replaces itself by the program; `ip netns exec` would
    /// also make a mount namespace, in which new mounts stay invisible from outside.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.plan.netns)).arg("--").arg(program);
        command
    }

    /// Cuts the host's link as a pulled plug does: nothing is sent or received any more, and no connection is closed.
    ///
    /// # Errors
    /// When ip(8) refuses.
    pub fn cut_link(&self) -> Result<()> {
        tool::ip(&["link", "set", self.outside_interface(), "down"]).map(drop)
    }

    /// Limits what the host sends and what it receives to this rate each; the rate in bits per second.
    ///
    /// A token bucket (`tbf`, burst 256 KiB, latency 50 ms) on each end of the link; it replaces an earlier
    /// limit and stays when [`Host::delay`] swaps the wire.
    ///
    /// # Units
    /// As tc(8) writes rates: `100mbit`, `1gbit`.
    ///
    /// # Errors
    /// [`LabErrorKind::Invalid`] for another notation, else what `tc` said.
    pub fn limit_rate(&self, rate: &str) -> Result<u64> {
        self.limit_rate_with_queue(rate, QUEUE_MS)
    }

    /// As [`Host::limit_rate`], with room before the limit for so many milliseconds of packets: a short queue drops many of
    /// the packets of a full link.
    ///
    /// # Errors
    /// As [`Host::limit_rate`].
    pub fn limit_rate_with_queue(&self, rate: &str, queue_ms: u32) -> Result<u64> {
        let link_bits_per_s = rate::link_bits_per_s(rate)?;
        link::limit(&self.plan, rate, queue_ms)?;
        self.state().rate = Some(RateLimit { rate: rate.to_owned(), queue_ms });
        Ok(link_bits_per_s)
    }

    /// Takes the rate limit away.
    ///
    /// # Errors
    /// What `tc` said.
    pub fn unlimit_rate(&self) -> Result<()> {
        self.state().rate = None;
        link::unlimit(&self.plan)
    }

    /// The payload rate that a TCP stream can sustain over a link of that rate; see [`rate::payload_bytes_per_s`].
    ///
    /// # Units
    /// Bits per second in, bytes per second out.
    #[must_use]
    pub fn payload_bytes_per_s(&self, link_bits_per_s: u64) -> f64 {
        rate::payload_bytes_per_s(link_bits_per_s)
    }

    /// Replaces the host's link by a wire that delays each packet by this much in each direction, so that the
    /// round trip grows by twice of it; 0 puts the plain link back. Rate limit and addresses stay.
    ///
    /// # Errors
    /// [`LabErrorKind::Invalid`] above ten seconds, [`LabErrorKind::Missing`] when the binary `delaywire` is not built, else what
    /// the wire or `ip` said.
    ///
    /// # Cost
    /// Adds 0.1 to 0.2 ms of overhead to the round trip and sustains 1 to 2 Gbit/s on one CPU.
    pub fn delay(&self, one_way_us: u64) -> Result<()> {
        self.delay_and_lose(one_way_us, 0)
    }

    /// As [`Host::delay`], by a wire that also loses one of `loss_every` packets of data in each direction; 0 loses none.
    ///
    /// # Errors
    /// As [`Host::delay`]; [`LabErrorKind::Invalid`] for loss without delay, which the plain link cannot have.
    pub fn delay_and_lose(&self, one_way_us: u64, loss_every: u64) -> Result<()> {
        if one_way_us == 0 && loss_every > 0 {
            let target = format!("one of {loss_every} packets");
            return Err(Error::new(
                LabErrorKind::Invalid,
                "lose",
                target,
                "only a wire with a delay loses packets",
            ));
        }
        if one_way_us > DELAY_MAX_US {
            let allowed = format!("at most {DELAY_MAX_US} us");
            return Err(Error::new(LabErrorKind::Invalid, "delay by", format!("{one_way_us} us"), allowed));
        }
        let mut state = self.state();
        state.wire = None;
        link::remove(&self.plan.outside)?;
        if one_way_us == 0 {
            link::make_veth(&self.plan)?;
        } else {
            state.wire = Some(self.start_wire(one_way_us, loss_every)?);
            link::adopt_taps(&self.plan)?;
        }
        state.rate.as_ref().map_or(Ok(()), |limit| link::limit(&self.plan, &limit.rate, limit.queue_ms))
    }

    /// Bounds what connections that are made in the host from now on buffer for receiving, and with it their window.
    ///
    /// # Units
    /// Bytes; the kernel offers about half of them as window.
    ///
    /// # Errors
    /// When the namespace's setting cannot be written.
    pub fn limit_receive_buffers(&self, bytes: u64) -> Result<()> {
        self.set_tcp("tcp_rmem", &format!("4096 {bytes} {bytes}"))
    }

    /// Gives connections that are made in the host from now on the congestion control of this name, such as `reno`, which
    /// every kernel has and which halves its window at each loss.
    ///
    /// # Errors
    /// When the kernel has none of this name.
    pub fn use_congestion_control(&self, name: &str) -> Result<()> {
        self.set_tcp("tcp_congestion_control", name)
    }

    fn set_tcp(&self, setting: &str, value: &str) -> Result<()> {
        let place = format!("--net=/run/netns/{}", self.plan.netns);
        let script = format!("echo '{value}' > /proc/sys/net/ipv4/{setting}");
        tool::run("nsenter", &[&place, "--", "sh", "-c", &script]).map(drop)
    }

    /// The counters of the host's interface `eth0`, or of another such as `lo`.
    ///
    /// # Errors
    /// [`LabErrorKind::Missing`] when the host has no such interface, else what `nsenter` said.
    pub fn net_dev(&self, interface: &str) -> Result<NetDev> {
        let place = format!("--net=/run/netns/{}", self.plan.netns);
        parse_net_dev(&tool::run("nsenter", &[&place, "--", "cat", "/proc/self/net/dev"])?, interface)
    }

    /// The processes inside the namespace.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let listed = tool::ip(&["netns", "pids", &self.plan.netns]).unwrap_or_default();
        listed.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }

    /// Ends the wire and removes the link, before the namespace: the kernel frees a namespace's devices
    /// later, and their names would be taken until then.
    pub(crate) fn remove_link(&self) -> Result<()> {
        self.state().wire = None;
        link::remove(&self.plan.outside)
    }

    pub(crate) fn remove_netns(&self) -> Result<()> {
        if std::path::Path::new("/run/netns").join(&self.plan.netns).exists() {
            tool::ip(&["netns", "del", &self.plan.netns])?;
        }
        Ok(())
    }

    fn start_wire(&self, one_way_us: u64, loss_every: u64) -> Result<LabProcess> {
        let mut command = Command::new(delaywire_bin()?);
        command.args([&self.plan.outside, &self.plan.passing]);
        command.args([one_way_us.to_string(), loss_every.to_string()]);
        let mut wire = LabProcess::start(&format!("wire{}", self.index), &self.logs, command)?;
        wire.wait_for_line("ready", Duration::from_secs(5))?;
        Ok(wire)
    }

    /// A panic elsewhere leaves the state usable: it is only what to undo.
    fn state(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The interface name of every host inside its namespace.
impl Host {
    /// The host's only interface besides `lo`, as seen inside.
    pub const INTERFACE: &'static str = INSIDE;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(index: u8) -> Result<Host> {
        Host::new(index, 7, "nl7-abc", "nl7-abcb", PathBuf::from("/nowhere"))
    }

    #[test]
    fn a_command_enters_the_network_namespace_alone() {
        let command = host(3).unwrap().command("true");
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(words, ["--net=/run/netns/nl7-abch3", "--", "true"]);
    }

    #[test]
    fn host_numbers_outside_1_to_99_are_refused() {
        assert_eq!(host(0).unwrap_err().kind(), LabErrorKind::Invalid);
        assert_eq!(host(100).unwrap_err().kind(), LabErrorKind::Invalid);
        assert_eq!(host(99).unwrap().address(), Ipv4Addr::new(10, 77, 7, 109));
    }

    #[test]
    fn loss_without_a_wire_is_refused_before_the_link_is_touched() {
        assert_eq!(host(1).unwrap().delay_and_lose(0, 100).unwrap_err().kind(), LabErrorKind::Invalid);
    }

    #[test]
    fn a_delay_above_ten_seconds_is_refused_before_the_link_is_touched() {
        assert_eq!(host(1).unwrap().delay(10_000_001).unwrap_err().kind(), LabErrorKind::Invalid);
    }
}
