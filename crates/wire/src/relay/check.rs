//! What a role may be asked, and whether what it reports agrees with what it was asked.

use super::{Hop, HopAddress, RoleReport, RoleSpec};
use crate::error::{Error, ErrorKind, Refusal, Result};
use narrows_model::Bytes;
use narrows_model::counters::Role;
use narrows_model::relay::{
    BUFFER_BYTES_MAX, CallSizes, ForwardMode, RelayMachine, RelayTransport, SOCKET_BUFFER_BYTES_MAX,
    TOTAL_BYTES_MAX,
};

/// Longest name of a host or socket.
const NAME_BYTES_MAX: usize = 255;

/// Most CPUs that a machine may have.
const CPUS_MAX: usize = 8192;

/// Longest silence that may be asked for: ten minutes, beyond which nobody waits.
const SILENCE_NS_MAX: u64 = 600_000_000_000;

impl RoleSpec {
    /// Whether it is within the protocol's limits and makes sense.
    ///
    /// # Errors
    /// `Refused` that names what is not.
    pub fn check(&self) -> Result<()> {
        let refused = |message: String| Err(Error::new(ErrorKind::Refused(Refusal::Unsupported), message));
        let (Bytes(buffer), Bytes(total)) = (self.buffer, self.total);
        let (buffer_max, total_max, socket_max) =
            (BUFFER_BYTES_MAX.0, TOTAL_BYTES_MAX.0, SOCKET_BUFFER_BYTES_MAX.0);
        if buffer == 0 || buffer > buffer_max {
            return refused(format!(
                "a buffer of {buffer} bytes was requested; allowed are 1 to {buffer_max}"
            ));
        }
        if total == 0 || total > total_max {
            return refused(format!("a trial of {total} bytes was requested; allowed are 1 to {total_max}"));
        }
        if self.role == Role::Client && !total.is_multiple_of(buffer) {
            return refused(format!("{total} bytes are not a multiple of the client's buffer of {buffer}"));
        }
        let sockets = [self.sockets.send_buffer, self.sockets.receive_buffer];
        if let Some(Bytes(asked)) =
            sockets.into_iter().flatten().find(|size| !(1..=socket_max).contains(&size.0))
        {
            return refused(format!(
                "a socket buffer of {asked} bytes was requested; allowed are 1 to {socket_max}"
            ));
        }
        if self.role == Role::Proxy && self.sockets.wait_all && self.forward != ForwardMode::Copy {
            return refused("a proxy waits for a full buffer only where it copies".to_owned());
        }
        if self.silence_ns.0 == 0 || self.silence_ns.0 > SILENCE_NS_MAX {
            return refused(format!("an idle limit of {} ns was requested", self.silence_ns.0));
        }
        match (&self.next, self.role) {
            (None, Role::Server) => Ok(()),
            (Some(hop), Role::Client | Role::Proxy) => hop.check(self.sockets.transport),
            _ => refused("client and proxy have a next hop, and the server has none".to_owned()),
        }
    }
}

impl Hop {
    /// Whether streams of this transport can be sent there.
    ///
    /// # Errors
    /// `Protocol` when it is not.
    pub fn check(&self, transport: RelayTransport) -> Result<()> {
        let (name, fits) = match &self.place {
            HopAddress::Tcp { host, port } => (host, transport == RelayTransport::Tcp && *port > 0),
            HopAddress::Unix { name } => (name, transport == RelayTransport::Unix),
        };
        if fits && is_name(name) {
            return Ok(());
        }
        Err(Error::protocol("a role named an invalid listening address"))
    }
}

fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.contains(char::is_control)
}

impl RoleReport {
    /// Whether the report agrees with itself and with what was asked for: a peer may send false values, and they are printed.
    ///
    /// # Errors
    /// `Protocol` that names the contradiction.
    pub fn check(&self, asked: &RoleSpec) -> Result<()> {
        let inconsistent = |what: String| {
            Err(Error::protocol(format!("the {} sent an impossible report: {what}", asked.role.name())))
        };
        let output = &self.output;
        if output.role != asked.role {
            return inconsistent("it reported a different role than requested".to_owned());
        }
        if !is_name(&output.host) {
            return inconsistent("the name of its host is invalid".to_owned());
        }
        if output.machine.as_ref().is_some_and(|machine| !is_machine(machine)) {
            return inconsistent("an invalid machine".to_owned());
        }
        for (what, calls) in [("reads", &output.reads), ("writes", &output.writes)] {
            if let Some(problem) = calls_problem(calls, asked.buffer) {
                return inconsistent(format!("{what} {problem}"));
            }
        }
        if let Some(problem) = super::consistency::problem(self) {
            return inconsistent(problem);
        }
        let (reads, writes) = (output.reads.total(), output.writes.total());
        match asked.role {
            Role::Client if reads > Bytes(0) => inconsistent("reads of a client".to_owned()),
            Role::Server if writes > Bytes(0) => inconsistent("writes of a server".to_owned()),
            Role::Proxy if reads != writes => {
                inconsistent(format!("{} bytes read and {} written", reads.0, writes.0))
            }
            Role::Client if self.trial_elapsed_ns.is_none_or(|elapsed| elapsed < output.elapsed_ns) => {
                inconsistent("it ended before its last write did".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// Whether a boot id is a name, and CPUs are no more than a kernel reports.
fn is_machine(machine: &RelayMachine) -> bool {
    machine.boot_id.as_ref().is_none_or(|id| is_name(id)) && machine.affinity_cpus.len() <= CPUS_MAX
}

/// What is wrong with return values of calls with a buffer of `buffer`, bounded so that sums cannot overflow.
fn calls_problem(calls: &CallSizes, buffer: Bytes) -> Option<String> {
    let mut total: u64 = 0;
    for (bytes, count) in &calls.by_bytes {
        if *bytes == 0 || *bytes > buffer.0 {
            return Some(format!("of {bytes} bytes with a buffer of {}", buffer.0));
        }
        let sum = bytes.checked_mul(*count).and_then(|all| total.checked_add(all));
        match sum.filter(|sum| *sum <= 2 * TOTAL_BYTES_MAX.0) {
            Some(sum) => total = sum,
            None => return Some("of more bytes than there are".to_owned()),
        }
    }
    None
}
