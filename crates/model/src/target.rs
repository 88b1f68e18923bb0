//! What I/O is issued against, as a URL.
//!
//! Parsing and display only; whether a target can be reached is an engine's business.

use crate::engine::EngineId;
use crate::printable::breaks_line;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub mod block;
mod claim;
mod forms;
pub mod iscsi;
pub mod nfs;
pub mod s3;
mod stripe;
mod via;

pub use block::BlockAddress;
pub use claim::UnitClaim;
pub use forms::{forms, schemes};
pub use stripe::Stripe;
pub use via::Via;

/// The layer of an endpoint at which a path is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Bytes are received and dropped.
    Sink,
    /// Bytes are made in memory and sent.
    Source,
    /// Requests are served from memory.
    Memory,
    /// Requests are served from files.
    Disk,
}

impl Layer {
    /// The name as in a URL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Layer::Sink => "sink",
            Layer::Source => "source",
            Layer::Memory => "memory",
            Layer::Disk => "disk",
        }
    }

    /// The layer of this name; `None` when there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Layer::Sink, Layer::Source, Layer::Memory, Layer::Disk]
            .into_iter()
            .find(|layer| layer.name() == name)
    }
}

/// What I/O is issued against.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// A file or folder on a mounted file system.
    File {
        /// Where it is; relative paths mean the current folder.
        path: PathBuf,
    },
    /// A block device of this machine, without a file system.
    Block(BlockAddress),
    /// A `narrows serve` endpoint.
    Tcp {
        /// Name or address of the host, without brackets.
        host: String,
        /// TCP port.
        port: u16,
        /// Where the path is cut.
        layer: Layer,
        /// The proxy on the way; `None` where it is reached directly.
        via: Option<Via>,
    },
    /// No target at all: every request completes at once.
    Null {
        /// Whether each request copies its block once in memory.
        copy: bool,
    },
    /// A simulated target with a declared service-time law.
    Sim {
        /// The profile: a path to a JSON file, or a built-in name.
        profile: String,
    },
    /// A target of a scheme that one engine declares.
    Scheme {
        /// The engine that declares the scheme.
        engine: EngineId,
        /// What follows the colon.
        rest: String,
    },
    /// Several targets of one kind as one.
    Stripe(Stripe),
}

impl Target {
    /// Whether there is a path to storage, real or simulated, of which it can be said what limits it. `null:` completes
    /// requests at once: its figures are the load generator's own.
    #[must_use]
    pub fn is_storage(&self) -> bool {
        self.members().iter().all(|member| match member {
            Target::Null { .. } => false,
            Target::Scheme { engine, .. } => engine.declaration().stores_data,
            _ => true,
        })
    }

    /// Whether it is files or objects that must be written before they can be read.
    #[must_use]
    pub fn stores_objects(&self) -> bool {
        match self.form() {
            Target::File { .. }
            | Target::Block(_)
            | Target::Tcp { layer: Layer::Memory | Layer::Disk, .. } => true,
            Target::Scheme { engine, .. } => engine.declaration().stores_data,
            _ => false,
        }
    }

    /// The path of a file, folder or block device of this machine that the kernel reads and writes; `None` of any other
    /// target, and of a stripe.
    #[must_use]
    pub fn local_path(&self) -> Option<&Path> {
        match self {
            Target::File { path } | Target::Block(BlockAddress { path, .. }) => Some(path),
            _ => None,
        }
    }

    /// The same endpoint, or all endpoints of a stripe, cut at `layer`; `None` for what is no endpoint.
    #[must_use]
    pub fn at_layer(&self, layer: Layer) -> Option<Target> {
        match self {
            Target::Tcp { host, port, via, .. } => {
                Some(Target::Tcp { host: host.clone(), port: *port, layer, via: via.clone() })
            }
            Target::Stripe(stripe) if matches!(self.form(), Target::Tcp { .. }) => {
                let at = |member: &Target| member.at_layer(layer).unwrap_or_else(|| member.clone());
                stripe.with_members(at).ok().map(Target::Stripe)
            }
            _ => None,
        }
    }

    /// The proxy that the endpoint is reached through; `None` where there is none.
    #[must_use]
    pub fn via(&self) -> Option<&Via> {
        match self {
            Target::Tcp { via, .. } => via.as_ref(),
            _ => None,
        }
    }

    /// The same endpoint, reached without its proxy; any other target itself.
    #[must_use]
    pub fn without_proxy(&self) -> Target {
        match self {
            Target::Tcp { host, port, layer, via: _ } => {
                Target::Tcp { host: host.clone(), port: *port, layer: *layer, via: None }
            }
            other => other.clone(),
        }
    }

    /// The target that determines its form: the first member of a stripe, whose members are of one kind; any other
    /// target itself.
    #[must_use]
    pub fn form(&self) -> &Target {
        self.members().first().unwrap_or(self)
    }

    /// The targets that it is made of: a stripe's members, of any other itself alone.
    #[must_use]
    pub fn members(&self) -> &[Target] {
        match self {
            Target::Stripe(stripe) => stripe.members(),
            alone => std::slice::from_ref(alone),
        }
    }

    /// Engines that serve a target of this form, the default one first; whether this machine lets them is not asked. A
    /// stripe is served by those of its members.
    #[must_use]
    pub fn engines(&self) -> Vec<EngineId> {
        EngineId::ALL.iter().copied().filter(|engine| engine.serves(self)).collect()
    }

    /// The first of [`Self::engines`].
    #[must_use]
    pub fn default_engine(&self) -> Option<EngineId> {
        EngineId::ALL.iter().copied().find(|engine| engine.serves(self))
    }
}

/// Why a text is not a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("target `{found}`: {problem}; {hint}")]
pub struct TargetError {
    /// The text as it was found.
    pub found: String,
    /// What is wrong with it.
    pub problem: String,
    /// What to write instead.
    pub hint: String,
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |problem: &str, hint: &str| TargetError {
            found: text.to_owned(),
            problem: problem.to_owned(),
            hint: hint.to_owned(),
        };
        if text.is_empty() {
            return Err(error("is empty", &allowed()));
        }
        if text.contains(breaks_line) {
            return Err(error("has a line break", "reach it through a link of a plain name (ln -s)"));
        }
        let Some((scheme, rest)) = scheme_of(text) else {
            return Ok(Target::File { path: PathBuf::from(text) });
        };
        if let Some((engine, declared)) = forms::declared(scheme) {
            return match (declared.check)(rest) {
                Ok(()) => Ok(Target::Scheme { engine, rest: rest.to_owned() }),
                Err(problem) => Err(error(&problem, &format!("write {}", declared.form))),
            };
        }
        match scheme {
            "blk" => match BlockAddress::parse(rest) {
                Ok(address) => Ok(Target::Block(address)),
                Err(problem) => Err(error(&problem, &format!("write {}", block::FORM))),
            },
            "file" if !rest.is_empty() => Ok(Target::File { path: PathBuf::from(rest) }),
            "file" => Err(error("names no path", "write file:PATH")),
            "null" => match rest {
                "" => Ok(Target::Null { copy: false }),
                "copy" => Ok(Target::Null { copy: true }),
                _ => Err(error("`null:` accepts only `copy`", "write null: or null:copy")),
            },
            "sim" if !rest.is_empty() => Ok(Target::Sim { profile: rest.to_owned() }),
            "sim" => Err(error("names no profile", "write sim:PROFILE")),
            "tcp" => tcp(rest).map_err(|problem| error(&problem, via::FORM)),
            "stripe" => {
                stripe::parse(rest).map(Target::Stripe).map_err(|problem| error(&problem, stripe::FORM))
            }
            "block" => Err(error("`block` is not a known scheme", &format!("write {}", block::FORM))),
            "mpiio" => Err(error(
                "`mpiio:` is no scheme: MPI-IO is an engine of narrows-mpi",
                "give the path, with engine = \"mpiio\" in a study that `mpirun -np N narrows-mpi run STUDY` starts",
            )),
            _ if rest.starts_with('/') && !rest.starts_with("//") => Err(error(
                &format!("`{scheme}` is not a known scheme"),
                &format!(
                    "for an NFS export give its mount point, or nfs://{scheme}{rest} without a mount; for other storage \
                     of a server its mount point, or `narrows serve` there and tcp://{scheme}:7300/disk; a path that has \
                     a colon is written file:PATH"
                ),
            )),
            _ => Err(error(
                &format!("`{scheme}` is not a known scheme"),
                &format!("{}; a path that has a colon is written file:PATH", allowed()),
            )),
        }
    }
}

fn allowed() -> String {
    format!("allowed are {}", forms("and"))
}

/// Splits `scheme:rest` where the part before the first colon looks like a scheme and no slash comes first.
fn scheme_of(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut letters = scheme.chars();
    let starts_well = letters.next().is_some_and(|c| c.is_ascii_alphabetic());
    (starts_well && letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))).then_some((scheme, rest))
}

fn tcp(rest: &str) -> Result<Target, String> {
    let rest = rest.strip_prefix("//").ok_or("misses `//` after `tcp:`")?;
    let (authority, layer) = rest.split_once('/').ok_or("names no layer")?;
    let (host, port) = host_port(authority)?;
    let (layer, options) =
        layer.split_once('?').map_or((layer, None), |(layer, options)| (layer, Some(options)));
    let layer = Layer::from_name(layer).ok_or_else(|| format!("`{layer}` is not a layer"))?;
    let via = options.map(|options| Via::parse(options, &host, port)).transpose()?;
    Ok(Target::Tcp { host, port, layer, via })
}

/// The host and port of `HOST:PORT` or `[V6]:PORT`.
///
/// # Errors
/// What is wrong, as a phrase that follows the text it is about.
pub fn host_port(authority: &str) -> Result<(String, u16), String> {
    let (host, port) = authority.rsplit_once(':').ok_or("names no port")?;
    let bracketed = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    if bracketed.is_none() && host.contains(':') {
        return Err("has an IPv6 address without brackets".to_owned());
    }
    let host = bracketed.unwrap_or(host);
    if host.is_empty() {
        return Err("names no host".to_owned());
    }
    match port.parse::<u16>() {
        Ok(port) if port > 0 => Ok((host.to_owned(), port)),
        _ => Err(format!("has `{port}` where a port from 1 to 65535 belongs")),
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::File { path } => {
                let text = path.to_string_lossy();
                if scheme_of(&text).is_some() { write!(f, "file:{text}") } else { f.write_str(&text) }
            }
            Target::Tcp { host, port, layer, via } => {
                write!(f, "tcp://{}/{}", via::address(host, *port), layer.name())?;
                via.iter().try_for_each(|via| write!(f, "?via={via}"))
            }
            Target::Block(address) => write!(f, "blk:{address}"),
            Target::Null { copy: false } => f.write_str("null:"),
            Target::Null { copy: true } => f.write_str("null:copy"),
            Target::Sim { profile } => write!(f, "sim:{profile}"),
            Target::Scheme { engine, rest } => {
                write!(f, "{}:{rest}", engine.scheme().map_or(engine.name(), |scheme| scheme.name))
            }
            Target::Stripe(stripe) => stripe.fmt(f),
        }
    }
}

impl Serialize for Target {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schemas")]
impl JsonSchema for Target {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Target".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "A target URL, such as /srv/data or tcp://host:7300/disk." })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_path_is_a_file() {
        for path in [".", "/srv/data", "data/x", "./a:b", "/a:b/c"] {
            assert_eq!(path.parse(), Ok(Target::File { path: PathBuf::from(path) }));
        }
    }

    #[test]
    fn every_form_displays_as_it_parses() {
        for text in [
            "/srv",
            "file:a:b",
            "blk:/dev/sda",
            "tcp://h:7300/disk",
            "tcp://[::1]:7300/sink",
            "null:",
            "null:copy",
            "sim:disk",
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_endpoint_and_a_stripe_of_some_are_cut_at_another_layer() {
        let at =
            |text: &str| text.parse::<Target>().unwrap().at_layer(Layer::Sink).map(|cut| cut.to_string());
        assert_eq!(at("tcp://h:1/disk").as_deref(), Some("tcp://h:1/sink"));
        let stripe = at("stripe:tcp://a:1/disk,tcp://b:1/disk?unit=4KiB&peer_depth=2");
        assert_eq!(stripe.as_deref(), Some("stripe:tcp://a:1/sink,tcp://b:1/sink?unit=4KiB&peer_depth=2"));
        assert_eq!((at("/srv"), at("stripe:/a,/b")), (None, None));
    }

    #[test]
    fn every_target_has_engines_of_which_the_first_is_its_default() {
        for (text, engines) in [
            ("/srv", "psync uring mmap stdio objects mpiio"),
            ("blk:/dev/sda", "psync uring"),
            ("stripe:/a,/b", "psync uring mmap stdio objects"),
            ("stripe:tcp://a:1/disk,tcp://b:1/disk", "endpoint"),
            ("tcp://h:7300/disk", "endpoint"),
            ("null:", "null"),
            ("sim:disk", "sim"),
        ] {
            let target: Target = text.parse().unwrap();
            let names: Vec<&str> = target.engines().into_iter().map(EngineId::name).collect();
            assert_eq!(names.join(" "), engines, "{text}");
            assert_eq!(target.default_engine().map(EngineId::name), names.first().copied(), "{text}");
        }
    }

    #[test]
    fn an_unknown_scheme_says_what_is_allowed() {
        let message = "ftp://x".parse::<Target>().unwrap_err().to_string();
        assert!(
            message.contains("`ftp` is not a known scheme") && message.contains("file:PATH"),
            "{message}"
        );
    }

    #[test]
    fn what_is_wrong_with_an_endpoint_is_said() {
        for (text, part) in [
            ("tcp://h/disk", "no port"),
            ("tcp://h:0/disk", "a port from 1"),
            ("tcp://h:70000/disk", "a port from 1"),
            ("tcp://h:1/floppy", "`floppy` is not a layer"),
            ("tcp://::1:1/disk", "without brackets"),
            ("tcp://:1/disk", "no host"),
            ("tcp:h:1/disk", "misses `//`"),
        ] {
            let message = text.parse::<Target>().unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
