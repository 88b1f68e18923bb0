//! The segments of a storage path: the fixed list of stages that can limit it.
//!
//! A static registry; what distinguishes neighbours is in `analysis`.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! segments {
    ($($variant:ident, $id:literal, $parent:expr, $title:literal;)*) => {
        /// One stage of a storage path that can limit it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemas", derive(JsonSchema))]
        pub enum Segment {
            $(
                #[doc = $title]
                #[serde(rename = $id)]
                $variant,
            )*
        }

        impl Segment {
            /// Every segment, in the order of a path from the application to the device.
            pub const ALL: &[Segment] = &[$(Segment::$variant),*];

            /// The fixed id, as in records and on the command line.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self { $(Segment::$variant => $id),* }
            }

            /// What the segment is, in one line for people.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Segment::$variant => $title),* }
            }

            /// The wider segment to name when the evidence does not separate this one from its neighbours.
            #[must_use]
            pub fn parent(self) -> Option<Segment> {
                match self { $(Segment::$variant => $parent),* }
            }

            /// Whether the segment is `whole` or a part of it.
            #[must_use]
            pub fn is_within(self, whole: Segment) -> bool {
                self == whole || self.parent() == Some(whole)
            }
        }
    };
}

segments! {
    Generator, "generator", None, "the load generator itself";
    OfferedLoad, "offered-load", None, "nothing is full: the offered load is delivered";
    WorkloadConcurrency, "workload.concurrency", None, "the application has too few requests in flight";
    HostCpu, "host.cpu", None, "the CPUs of one machine that several roles share";
    Client, "client", None, "the client machine";
    ClientCpu, "client.cpu", Some(Segment::Client), "the client's CPU";
    ClientMemory, "client.memory", Some(Segment::Client), "memory copies on the client";
    ClientCache, "client.cache", Some(Segment::Client), "the client's cache: served there, the storage behind it was not measured";
    ClientFilesystem, "client.filesystem", Some(Segment::Client), "the file system on the client";
    ClientDaemon, "client.daemon", Some(Segment::Client), "the process on the client that serves a file system (FUSE)";
    ClientConnection, "client.connection", Some(Segment::Client), "the window, credits or slots of one connection";
    Network, "network", None, "the network";
    NetworkBandwidth, "network.bandwidth", Some(Segment::Network), "the network's bandwidth";
    NetworkLatency, "network.latency", Some(Segment::Network), "the network's round-trip time";
    NetworkLoss, "network.loss", Some(Segment::Network), "packets lost on the network";
    Proxy, "proxy", None, "the proxy";
    ProxyCpu, "proxy.cpu", Some(Segment::Proxy), "the proxy's CPU";
    ProxyQueue, "proxy.queue", Some(Segment::Proxy), "the proxy, though its CPU is idle";
    Server, "server", None, "the server machine";
    ServerCpu, "server.cpu", Some(Segment::Server), "the server's CPU";
    ServerThreads, "server.threads", Some(Segment::Server), "the server's worker threads";
    ServerProtocol, "server.protocol", Some(Segment::Server), "the server daemon's own path";
    ServerCache, "server.cache", Some(Segment::Server), "the server's cache: served there, the storage behind it was not measured";
    ServerCommit, "server.commit", Some(Segment::Server), "synchronous writes at the server";
    ServerMetadata, "server.metadata", Some(Segment::Server), "namespace operations at the server";
    ServerFilesystem, "server.filesystem", Some(Segment::Server), "the server's file system above the device";
    ServerContention, "server.contention", Some(Segment::Server), "locks and queues at the server";
    Device, "device", None, "the storage device";
    DeviceBandwidth, "device.bandwidth", Some(Segment::Device), "the device's bandwidth";
    DeviceIops, "device.iops", Some(Segment::Device), "the device's operations per second";
    DeviceLatency, "device.latency", Some(Segment::Device), "the device's time per operation";
    DeviceBus, "device.bus", Some(Segment::Device), "a bus shared by several devices";
    Unknown, "unknown", None, "the evidence names no segment";
}

impl Segment {
    /// The segment with this id; `None` when there is none.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|segment| segment.id() == id)
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_unique_and_leads_back_to_its_segment() {
        for segment in Segment::ALL {
            assert_eq!(Segment::from_id(segment.id()), Some(*segment));
        }
    }

    #[test]
    fn a_parent_is_the_part_of_the_id_before_the_dot() {
        for segment in Segment::ALL {
            let prefix = segment.id().split_once('.').map(|(parent, _)| parent);
            if let Some(parent) = segment.parent() {
                assert_eq!(Some(parent.id()), prefix);
            }
        }
    }

    #[test]
    fn json_has_the_id() {
        let text = serde_json::to_string(&Segment::NetworkBandwidth).unwrap();
        assert_eq!(text, "\"network.bandwidth\"");
    }
}
