//! The client / proxy / server buffer experiment: one stream of bytes through one or two hops, one buffer size a role.
//!
//! Source: the sweeps published with the Onion Routing archive (NRL). A point of a sweep shrinks the buffers of some
//! roles and leaves the others at the largest size; every return value of every read and write is counted.

use crate::cell::CellId;
use crate::counters::Role;
use crate::units::{Bytes, Nanos};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// The buffer sizes of the published experiment, the largest first.
pub const PUBLISHED_SIZES: [Bytes; 9] = [
    Bytes(4096),
    Bytes(2048),
    Bytes(1024),
    Bytes(512),
    Bytes(256),
    Bytes(128),
    Bytes(64),
    Bytes(48),
    Bytes(32),
];

/// Largest buffer of a role: what a peer may be made to allocate.
pub const BUFFER_BYTES_MAX: Bytes = Bytes(64 << 20);

/// Most bytes of one trial: a week at 1 GB/s.
pub const TOTAL_BYTES_MAX: Bytes = Bytes(1 << 49);

/// Largest socket buffer that can be requested: the kernel's own number is twice this.
pub const SOCKET_BUFFER_BYTES_MAX: Bytes = Bytes((1 << 30) - 1);

/// Whose buffers a sweep shrinks, and whether a proxy is between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub enum RelaySweep {
    /// Two nodes, the client's.
    #[serde(rename = "client")]
    Client,
    /// Two nodes, the server's.
    #[serde(rename = "server")]
    Server,
    /// Two nodes, both.
    #[serde(rename = "both")]
    Both,
    /// Three nodes, the client's.
    #[serde(rename = "client-3")]
    Client3,
    /// Three nodes, the server's.
    #[serde(rename = "server-3")]
    Server3,
    /// Three nodes, the proxy's.
    #[serde(rename = "proxy")]
    Proxy,
    /// Three nodes, client's and proxy's.
    #[serde(rename = "client+proxy")]
    ClientProxy,
    /// Three nodes, client's and server's.
    #[serde(rename = "client+server")]
    ClientServer,
    /// Three nodes, proxy's and server's.
    #[serde(rename = "proxy+server")]
    ProxyServer,
    /// Three nodes, all.
    #[serde(rename = "all-3")]
    All3,
}

impl RelaySweep {
    /// All, in the order of the published tables.
    pub const ALL: [Self; 10] = [
        Self::Client,
        Self::Server,
        Self::Both,
        Self::Client3,
        Self::Server3,
        Self::Proxy,
        Self::ClientProxy,
        Self::ClientServer,
        Self::ProxyServer,
        Self::All3,
    ];

    /// The name as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Both => "both",
            Self::Client3 => "client-3",
            Self::Server3 => "server-3",
            Self::Proxy => "proxy",
            Self::ClientProxy => "client+proxy",
            Self::ClientServer => "client+server",
            Self::ProxyServer => "proxy+server",
            Self::All3 => "all-3",
        }
    }

    /// The sweep of this name; `None` when there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sweep| sweep.name() == name)
    }

    /// Whether a proxy is between client and server.
    #[must_use]
    pub fn has_proxy(self) -> bool {
        !matches!(self, Self::Client | Self::Server | Self::Both)
    }

    /// The roles whose buffers it shrinks.
    #[must_use]
    pub fn shrunk_roles(self) -> &'static [Role] {
        match self {
            Self::Client | Self::Client3 => &[Role::Client],
            Self::Server | Self::Server3 => &[Role::Server],
            Self::Both | Self::ClientServer => &[Role::Client, Role::Server],
            Self::Proxy => &[Role::Proxy],
            Self::ClientProxy => &[Role::Client, Role::Proxy],
            Self::ProxyServer => &[Role::Proxy, Role::Server],
            Self::All3 => &[Role::Client, Role::Proxy, Role::Server],
        }
    }

    /// The buffers of one point: `small` for the roles that are shrunk, `large` for the others.
    #[must_use]
    pub fn buffers(self, small: Bytes, large: Bytes) -> RelayBuffers {
        let of = |role: Role| if self.shrunk_roles().contains(&role) { small } else { large };
        RelayBuffers {
            client: of(Role::Client),
            proxy: self.has_proxy().then(|| of(Role::Proxy)),
            server: of(Role::Server),
        }
    }
}

/// One buffer size a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RelayBuffers {
    /// What the client writes at once.
    pub client: Bytes,
    /// What the proxy reads at once; `None` without a proxy.
    pub proxy: Option<Bytes>,
    /// What the server reads at once.
    pub server: Bytes,
}

/// What the roles are joined by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RelayTransport {
    /// TCP sockets.
    Tcp,
    /// Unix stream sockets: one machine alone.
    Unix,
}

/// How a proxy moves bytes from one socket to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ForwardMode {
    /// Read into a buffer, write it out: as published.
    Copy,
    /// `splice` through a pipe: the bytes stay in the kernel.
    Splice,
    /// Receive and send through `io_uring`.
    Uring,
}

/// How the sockets of a relay are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RelaySockets {
    /// What joins the roles.
    pub transport: RelayTransport,
    /// `TCP_NODELAY` on every sending socket; off as published, so that coalescing is seen.
    pub no_delay: bool,
    /// `SO_SNDBUF` as asked for; `None` leaves it to the kernel.
    pub send_buffer: Option<Bytes>,
    /// `SO_RCVBUF` as asked for; `None` leaves it to the kernel.
    pub receive_buffer: Option<Bytes>,
    /// `MSG_WAITALL` on every read of server and proxy: it returns once its buffer is full, at the end of the stream, or with
    /// what it has after 100 ms. Off as published: a read returns what TCP has delivered.
    #[serde(default)]
    pub wait_all: bool,
}

/// One point of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RelayCell {
    /// Its id, `relay/SWEEP/SIZE`.
    pub id: CellId,
    /// The sweep that it belongs to.
    pub sweep: RelaySweep,
    /// The size to which the sweep's roles are shrunk here.
    pub shrunk: Bytes,
    /// The buffers of every role.
    pub buffers: RelayBuffers,
    /// How often it is repeated.
    pub trials: u32,
}

/// The experiment: what every point has in common, and the points in the order in which they run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RelayPlan {
    /// Bytes that one trial moves.
    pub total: Bytes,
    /// How the sockets are set.
    pub sockets: RelaySockets,
    /// How the proxy moves bytes.
    pub forward: ForwardMode,
    /// Whether every byte is verified at the server.
    pub verify: bool,
    /// The points.
    pub cells: Vec<RelayCell>,
}

/// How often a system call returned each number of bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CallSizes {
    /// Return value in bytes, above zero, and how many calls returned it.
    #[serde(deserialize_with = "numbered")]
    #[cfg_attr(feature = "schemas", schemars(with = "BTreeMap<u64, u64>"))]
    pub by_bytes: BTreeMap<u64, u64>,
}

/// Keys of an object are text, and within an event they have to be read as such.
fn numbered<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<u64, u64>, D::Error> {
    let by_text = BTreeMap::<String, u64>::deserialize(deserializer)?;
    let number =
        |text: &str| text.parse().map_err(|_| D::Error::custom(format!("`{text}` is not a number of bytes")));
    by_text.iter().map(|(text, count)| Ok((number(text)?, *count))).collect()
}

impl CallSizes {
    /// Calls that moved bytes.
    #[must_use]
    pub fn call_count(&self) -> u64 {
        self.by_bytes.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Bytes that all calls moved.
    #[must_use]
    pub fn total(&self) -> Bytes {
        let each = self.by_bytes.iter().map(|(bytes, count)| bytes.saturating_mul(*count));
        Bytes(each.fold(0, u64::saturating_add))
    }
}

/// What TCP did for one role in the direction of the stream, from its first byte on: what the socket that it writes to
/// sent, and what the socket that it reads from received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RelaySegments {
    /// Segments with data that were sent.
    pub data_out_count: u64,
    /// Segments with data that were received.
    pub data_in_count: u64,
    /// Segments that were sent again.
    pub retransmitted_count: u64,
}

/// The machine on which a role was played: its CPUs alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RelayMachine {
    /// Boot id: equal ids are one machine; `None` where the kernel does not report it.
    pub boot_id: Option<String>,
    /// CPUs on which the thread that moved the bytes may run; empty where the kernel does not report them.
    pub affinity_cpus: Vec<u32>,
}

/// What one role did in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RelayRoleOutput {
    /// Which.
    pub role: Role,
    /// Name of its host.
    pub host: String,
    /// Its machine; `None` in records from before it was reported.
    #[serde(default)]
    pub machine: Option<RelayMachine>,
    /// Its reads; none for the client.
    pub reads: CallSizes,
    /// Its writes; none for the server.
    pub writes: CallSizes,
    /// From the first byte that it handled to the last.
    pub elapsed_ns: Nanos,
    /// User CPU time of the thread that moved the bytes, over that time.
    pub user_ns: Nanos,
    /// System CPU time of that thread, over that time.
    pub system_ns: Nanos,
    /// Of its TCP sockets; `None` on Unix sockets and where the kernel does not report them.
    pub segments: Option<RelaySegments>,
    /// `SO_SNDBUF` of the socket that it writes to, as the kernel reports it before the first byte; `None` for the server.
    pub granted_send_buffer: Option<Bytes>,
    /// `SO_RCVBUF` of the socket that it reads from, likewise; `None` for the client.
    pub granted_receive_buffer: Option<Bytes>,
}

/// One repetition of one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RelayTrial {
    /// The point.
    pub cell: CellId,
    /// The repetition, from 0.
    pub trial: u32,
    /// From the client's first write until the server reports that it has the last byte: the published elapsed time.
    pub elapsed_ns: Nanos,
    /// Bytes that arrived at the server.
    pub received: Bytes,
    /// Whether all bytes arrived, in order, once (where that was verified); else the trial is no result.
    pub whole: bool,
    /// What went wrong, for people; `None` for a whole trial.
    pub problem: Option<String>,
    /// The roles, client first.
    pub roles: Vec<RelayRoleOutput>,
}

impl RelayTrial {
    /// What `role` did; `None` where there was none or it did not answer.
    #[must_use]
    pub fn role(&self, role: Role) -> Option<&RelayRoleOutput> {
        self.roles.iter().find(|output| output.role == role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sweep_is_found_by_its_name_and_shrinks_its_roles_alone() {
        for sweep in RelaySweep::ALL {
            assert_eq!(RelaySweep::from_name(sweep.name()), Some(sweep));
            let serialised = serde_json::to_string(&sweep).unwrap();
            assert_eq!(serialised, format!("{:?}", sweep.name()));
            let buffers = sweep.buffers(Bytes(32), Bytes(4096));
            let small =
                |role: Role| if sweep.shrunk_roles().contains(&role) { Bytes(32) } else { Bytes(4096) };
            assert_eq!(buffers.client, small(Role::Client));
            assert_eq!(buffers.server, small(Role::Server));
            assert_eq!(buffers.proxy, sweep.has_proxy().then(|| small(Role::Proxy)));
        }
    }

    #[test]
    fn call_sizes_within_an_event_are_read_as_they_were_written() {
        let trial = RelayTrial {
            cell: CellId("relay/both/64B".into()),
            trial: 0,
            elapsed_ns: Nanos(1),
            received: Bytes(128),
            whole: true,
            problem: None,
            roles: vec![RelayRoleOutput {
                role: Role::Server,
                host: "h".into(),
                machine: Some(RelayMachine { boot_id: Some("b".into()), affinity_cpus: vec![1] }),
                reads: CallSizes { by_bytes: BTreeMap::from([(64, 2)]) },
                writes: CallSizes::default(),
                elapsed_ns: Nanos(1),
                user_ns: Nanos(0),
                system_ns: Nanos(1),
                segments: None,
                granted_send_buffer: None,
                granted_receive_buffer: None,
            }],
        };
        let event = crate::Event::RelayTrialFinished(Box::new(trial));
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<crate::Event>(&text).unwrap(), event);
        let wrong = text.replace("\"64\"", "\"-1\"");
        assert!(serde_json::from_str::<crate::Event>(&wrong).is_err());
    }

    #[test]
    fn call_sizes_that_a_liar_reports_do_not_overflow() {
        let lie = CallSizes { by_bytes: BTreeMap::from([(2, u64::MAX), (3, u64::MAX)]) };
        assert_eq!((lie.call_count(), lie.total()), (u64::MAX, Bytes(u64::MAX)));
    }

    #[test]
    fn call_sizes_sum_to_the_bytes_that_were_moved() {
        // Published: the client writes 2048 bytes at once, the server reads at most 4096.
        let published = CallSizes { by_bytes: BTreeMap::from([(2048, 8124), (4096, 8226)]) };
        assert_eq!(published.total(), Bytes(48 << 20));
        assert_eq!(published.call_count(), 16350);
    }
}
