//! Engines as data: what each serves, can do, takes as options and refuses. One file an engine.
//!
//! Study keys, their defaults and clashes, the reference and messages follow from these declarations (design 0012).
//! Not here: how an engine issues requests, which is its folder in the crate `engines`, and what this machine grants.

use crate::target::Target;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

mod declaration;
mod option;

// One file an engine; `cargo xtask new engine` adds a line.
pub mod endpoint;
pub mod iscsi;
pub mod mmap;
pub mod mpiio;
pub mod nfs;
pub mod null;
pub mod objects;
pub mod psync;
pub mod s3;
pub mod sim;
pub mod stdio;
pub mod uring;
// new engine: module

pub use declaration::{
    ClashText, DirectAccess, EngineClash, EngineDeclaration, EngineDescription, ProtocolProbe, Scheme,
    Serves, StripeSupport,
};
pub use option::{EngineOption, EngineOptions, OptionKind, OptionTable};

macro_rules! engines {
    ($($variant:ident = $module:ident, $doc:literal;)*) => {
        /// One engine.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemas", derive(JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum EngineId {
            $(#[doc = $doc] $variant,)*
        }

        impl EngineId {
            /// Every engine, in the order of the reference; of those that serve a target the first is its default.
            pub const ALL: &[EngineId] = &[$(EngineId::$variant),*];

            /// The names of [`Self::ALL`].
            pub const NAMES: &[&str] = &[$(stringify!($module)),*];

            /// The name, as in records and studies.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(EngineId::$variant => stringify!($module),)* }
            }

            /// What the engine declares.
            #[must_use]
            pub fn declaration(self) -> &'static EngineDeclaration {
                match self { $(EngineId::$variant => &$module::DECLARATION,)* }
            }
        }
    };
}

engines! {
    Null = null, "Completes every request immediately.";
    Sim = sim, "A declared machine, simulated.";
    Psync = psync, "`pread` and `pwrite`.";
    Uring = uring, "`io_uring`.";
    Mmap = mmap, "A file mapped into memory.";
    Stdio = stdio, "The C library's buffered streams.";
    Objects = objects, "Whole files: created, read, stat, deleted.";
    Endpoint = endpoint, "A `narrows serve` endpoint.";
    Nfs = nfs, "An NFS server, without a mount.";
    Iscsi = iscsi, "A logical unit of an iSCSI target, without a block device.";
    S3 = s3, "Objects of a bucket.";
    Mpiio = mpiio, "MPI-IO by the ranks of a job.";
    // new engine: name
}

impl EngineId {
    /// Whether a worker has at most one request in flight, so that more in flight takes more workers.
    #[must_use]
    pub fn is_synchronous(self) -> bool {
        self.declaration().queue_depth_max == 1
    }

    /// The engine of this name; `None` when there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|engine| engine.name() == name)
    }

    /// Whether the engine serves `target`.
    #[must_use]
    pub fn serves(self, target: &Target) -> bool {
        let declared = self.declaration();
        match (declared.serves, target.form()) {
            _ if matches!(target, Target::Stripe(_)) && declared.in_stripes == StripeSupport::None => false,
            (Serves::Paths | Serves::PathsAndDevices, Target::File { .. })
            | (Serves::PathsAndDevices, Target::Block(_))
            | (Serves::Endpoints, Target::Tcp { .. })
            | (Serves::Null, Target::Null { .. })
            | (Serves::Simulated, Target::Sim { .. }) => true,
            (Serves::Scheme(_), Target::Scheme { engine, .. }) => *engine == self,
            _ => false,
        }
    }

    /// The scheme of targets that only this engine serves; `None` where it serves targets of another form.
    #[must_use]
    pub fn scheme(self) -> Option<&'static Scheme> {
        match &self.declaration().serves {
            Serves::Scheme(scheme) => Some(scheme),
            _ => None,
        }
    }
}

impl fmt::Display for EngineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
