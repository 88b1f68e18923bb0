//! A proxy on the way to an endpoint, as `?via=HOST:PORT` of its target.
//!
//! Text form only; what answers there is an engine's business.

use super::host_port;
use std::fmt;

/// How an endpoint's target is written.
pub(super) const FORM: &str = "write tcp://HOST:PORT/LAYER, LAYER one of sink, source, memory, disk, and for a way through \
                               `narrows proxy` tcp://HOST:PORT/LAYER?via=PROXYHOST:PORT";

/// The `narrows proxy` that an endpoint is reached through.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Via {
    /// Name or address of the proxy's host, without brackets.
    pub host: String,
    /// Its TCP port.
    pub port: u16,
}

impl Via {
    /// The proxy that follows `?` behind the endpoint at `host` and `port`.
    ///
    /// # Errors
    /// What is wrong, as a phrase: another key, one twice, no address, the endpoint itself.
    pub(super) fn parse(options: &str, host: &str, port: u16) -> Result<Self, String> {
        let mut found = None;
        for option in options.split('&') {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            if key != "via" {
                return Err(format!("has the key `{key}`, and only via is known"));
            }
            let (host, port) =
                host_port(value).map_err(|problem| format!("has the proxy `{value}`, which {problem}"))?;
            if found.replace(Via { host, port }).is_some() {
                return Err("has the key `via` twice: a path leads through one proxy".to_owned());
            }
        }
        let via = found.ok_or("names no proxy")?;
        if via.host == host && via.port == port {
            return Err(format!("has `{via}` both as the endpoint and as its proxy"));
        }
        Ok(via)
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&address(&self.host, self.port))
    }
}

/// A host and its port as people write them.
pub(super) fn address(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use super::super::{Layer, Target};
    use super::*;

    #[test]
    fn a_way_through_a_proxy_is_read_and_written_alike_and_stays_at_other_layers() {
        for text in ["tcp://h:7300/disk?via=p:7301", "tcp://[::1]:7300/memory?via=[fe80::1]:7301"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        let target: Target = "tcp://h:7300/disk?via=p:7301".parse().unwrap();
        assert_eq!(target.via(), Some(&Via { host: "p".to_owned(), port: 7301 }));
        let sink = target.at_layer(Layer::Sink).unwrap();
        assert_eq!(sink.to_string(), "tcp://h:7300/sink?via=p:7301");
        assert_eq!(sink.without_proxy().to_string(), "tcp://h:7300/sink");
        assert_eq!("tcp://h:7300/disk".parse::<Target>().unwrap().via(), None);
    }

    #[test]
    fn a_wrong_way_is_named_with_what_to_write() {
        for (text, part) in [
            ("tcp://h:1/disk?", "the key ``"),
            ("tcp://h:1/disk?by=p:2", "the key `by`, and only via is known"),
            ("tcp://h:1/disk?via", "the proxy ``, which names no port"),
            ("tcp://h:1/disk?via=p", "the proxy `p`, which names no port"),
            ("tcp://h:1/disk?via=:2", "names no host"),
            ("tcp://h:1/disk?via=p:0", "where a port from 1"),
            ("tcp://h:1/disk?via=::1:2", "without brackets"),
            ("tcp://h:1/disk?via=p:2&via=q:2", "`via` twice"),
            ("tcp://h:1/disk?via=h:1", "`h:1` both as the endpoint and as its proxy"),
            ("tcp://h:1/floppy?via=p:2", "`floppy` is not a layer"),
        ] {
            let message = text.parse::<Target>().unwrap_err().to_string();
            assert!(message.contains(part) && message.contains("?via=PROXYHOST:PORT"), "{text}: {message}");
        }
    }
}
