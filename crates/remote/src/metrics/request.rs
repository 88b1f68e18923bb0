//! One GET of a server's metrics: where they are, within which bounds they are read, and what is refused.

use super::node::{self, NodeCounters};
use narrows_model::printable::one_line;
use std::fmt;
use std::io::Read;
use std::str::FromStr;
use std::time::Duration;
use ureq::http::Response;
use ureq::{Agent, Body};
use url::Url;

/// A reading must be whole within this time: exporters take some 10 ms, and those of large machines a few 100 ms.
pub(super) const DEADLINE: Duration = Duration::from_secs(2);
/// Most bytes of a text of metrics; those of a machine with a hundred CPUs and disks have a few 100 KiB.
const BODY_BYTES_MAX: u64 = 8 << 20;
/// Most bytes of the head of an answer.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// The path that exporters have their metrics at.
const USUAL_PATH: &str = "/metrics";
/// What is asked for.
const ACCEPTED: &str = "text/plain;version=0.0.4,text/plain;q=0.5";
/// Kinds of content in which metrics are text.
const TEXT_KINDS: [&str; 2] = ["text/plain", "application/openmetrics-text"];

/// Where a server's metrics are: `http://HOST:PORT/PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsUrl(Url);

impl FromStr for MetricsUrl {
    type Err = MetricsError;

    fn from_str(text: &str) -> Result<Self, MetricsError> {
        let refused = |what: String| {
            let shown = one_line(text);
            let text = format!("{shown} {what}; write http://HOST:9100/metrics, as Prometheus is given it");
            MetricsError { kind: MetricsErrorKind::BadUrl, text }
        };
        let mut url = Url::parse(text).map_err(|error| refused(format!("is no URL ({error})")))?;
        if url.scheme() != "http" {
            return Err(refused(format!(
                "is of {}, and metrics are read over plain http alone",
                url.scheme()
            )));
        }
        if !url.username().is_empty() || url.password().is_some() {
            // The URL is printed and recorded.
            return Err(MetricsError {
                kind: MetricsErrorKind::BadUrl,
                text: "a URL of metrics with a user or a password is not taken: it would be in the record"
                    .to_owned(),
            });
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(refused("has no host".to_owned()));
        }
        if url.path() == "/" && url.query().is_none() {
            url.set_path(USUAL_PATH);
        }
        url.set_fragment(None);
        Ok(Self(url))
    }
}

impl fmt::Display for MetricsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// What can be done about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsErrorKind {
    /// Another URL is needed.
    BadUrl,
    /// Nothing answered, or not in time.
    Unreachable,
    /// Something else than a `node_exporter` answered, or what it says cannot be used.
    NotMetrics,
    /// It is not asked any more, since it did not answer in time again and again.
    GivenUp,
}

/// Why a server's metrics cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsError {
    kind: MetricsErrorKind,
    text: String,
}

impl MetricsError {
    /// What can be done about it.
    #[must_use]
    pub fn kind(&self) -> MetricsErrorKind {
        self.kind
    }

    /// The machine starts no thread.
    pub(super) fn no_thread(error: &std::io::Error) -> Self {
        let text = format!("start a thread that reads the server's metrics: {error}");
        Self { kind: MetricsErrorKind::Unreachable, text }
    }

    /// After `count` readings in a row that ended by the deadline nothing is asked any more.
    pub(super) fn given_up(count: u32) -> Self {
        let text = format!("{count} readings in a row had no whole answer within {} s", DEADLINE.as_secs());
        Self { kind: MetricsErrorKind::GivenUp, text }
    }

    fn unusable(text: impl Into<String>) -> Self {
        Self { kind: MetricsErrorKind::NotMetrics, text: text.into() }
    }
}

impl fmt::Display for MetricsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for MetricsError {}

/// What asks for metrics.
pub(super) fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_response_header_size(HEAD_BYTES_MAX)
        .timeout_global(Some(DEADLINE))
        .user_agent(concat!("narrows/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent()
}

/// The counters at `url` now.
///
/// # Errors
/// When nothing answers in time, and when the answer is not what a `node_exporter` reports.
pub(super) fn counters(agent: &Agent, url: &MetricsUrl) -> Result<NodeCounters, MetricsError> {
    // A connection that is kept may be closed at the other end by the time of the next reading.
    let request = agent.get(url.0.as_str()).header("accept", ACCEPTED).header("connection", "close");
    let mut response = request.call().map_err(|error| unanswered(&error))?;
    check_head(&response)?;
    let text = body(&mut response)?;
    node::counters(&text).map_err(MetricsError::unusable)
}

fn check_head(response: &Response<Body>) -> Result<(), MetricsError> {
    let header =
        |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
    let status = response.status();
    if status.is_redirection() {
        let to = one_line(header("location"));
        return Err(MetricsError::unusable(format!(
            "it answers {} and leads to \"{to}\": redirections are not followed, name the place itself",
            status.as_u16()
        )));
    }
    if status.as_u16() != 200 {
        return Err(MetricsError::unusable(format!("it answers with status {}", status.as_u16())));
    }
    let kind = header("content-type").split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    if TEXT_KINDS.contains(&kind.as_str()) {
        return Ok(());
    }
    let shown = if kind.is_empty() { "no type".into() } else { one_line(&kind) };
    Err(MetricsError::unusable(format!(
        "its answer is of {shown} instead of text/plain, the text format of Prometheus"
    )))
}

fn body(response: &mut Response<Body>) -> Result<String, MetricsError> {
    let mut bytes = Vec::new();
    let reader = response.body_mut().as_reader();
    // An answer of a length that it does not have ends early, and one without an end ends with the deadline.
    reader.take(BODY_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| MetricsError {
        kind: MetricsErrorKind::Unreachable,
        text: format!("its answer did not come to an end within {} s: {error}", DEADLINE.as_secs()),
    })?;
    if bytes.len() as u64 > BODY_BYTES_MAX {
        return Err(MetricsError::unusable(format!(
            "its answer is longer than {} MiB",
            BODY_BYTES_MAX >> 20
        )));
    }
    String::from_utf8(bytes).map_err(|_| MetricsError::unusable("its answer is no text"))
}

fn unanswered(error: &ureq::Error) -> MetricsError {
    let text = match error {
        ureq::Error::Timeout(_) => format!("no whole answer within {} s", DEADLINE.as_secs()),
        ureq::Error::HostNotFound => "the host is not known".to_owned(),
        other => one_line(&other.to_string()).into_owned(),
    };
    MetricsError { kind: MetricsErrorKind::Unreachable, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_port_alone_have_the_usual_path() {
        for (typed, meant) in [
            ("http://s:9100", "http://s:9100/metrics"),
            ("http://s:9100/", "http://s:9100/metrics"),
            ("http://s:9100/node/metrics?collect[]=cpu#x", "http://s:9100/node/metrics?collect[]=cpu"),
            ("http://[::1]:9100/metrics", "http://[::1]:9100/metrics"),
        ] {
            assert_eq!(typed.parse::<MetricsUrl>().unwrap().to_string(), meant);
        }
    }

    #[test]
    fn what_is_not_plain_http_is_refused_with_what_to_write() {
        for typed in [
            "https://s:9100/metrics",
            "s:9100",
            "",
            "file:///etc/passwd",
            "http://",
            "ftp://s/x",
            "http:///x y",
        ] {
            let Err(error) = typed.parse::<MetricsUrl>() else { continue };
            assert_eq!(error.kind(), MetricsErrorKind::BadUrl);
            assert!(error.to_string().contains("http://HOST:9100/metrics"), "{error}");
        }
        assert!(
            "https://s/metrics".parse::<MetricsUrl>().is_err() && "s:9100".parse::<MetricsUrl>().is_err()
        );
    }

    #[test]
    fn a_password_is_refused_and_not_repeated() {
        let error = "http://me:secret@s:9100/".parse::<MetricsUrl>().unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
