//! A bucket and who asks for it: endpoint, region, addressing and credentials as they apply.

use super::profile::{S3Credentials, S3Environment};
use super::wire::WireTarget;
use jiff::Timestamp;
use narrows_engines::{Clock, EngineError, ErrorKind, StopFlag};
use narrows_model::S3Address;
use narrows_model::target::s3::BucketAddressing;
use rustls::ClientConfig;
use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// How long a signature is valid: as long as servers let clocks differ.
const VALID_FOR: Duration = Duration::from_mins(15);
/// The region that requests are signed for where none is given: servers that have none take it.
const USUAL_REGION: &str = "us-east-1";

/// Seconds since the epoch, from which signatures are dated.
pub type EpochClock = fn() -> i64;

/// What waits of requests are bounded by.
#[derive(Clone)]
pub(super) struct RequestBounds {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) stop: StopFlag,
    pub(super) timeout_ns: u64,
}

/// A part of a bucket, and how it is reached.
pub(super) struct S3Site {
    pub(super) address: S3Address,
    pub(super) bucket: Bucket,
    pub(super) credentials: Credentials,
    pub(super) wire: WireTarget,
    epoch_seconds: EpochClock,
}

impl S3Site {
    /// The site at `address`, where `environment` gives what the address does not; `tls` makes what secures connections.
    pub(super) fn resolve(
        address: &S3Address,
        environment: &S3Environment,
        bounds: RequestBounds,
        epoch_seconds: EpochClock,
        tls: impl FnOnce(Option<&str>) -> Result<Arc<ClientConfig>, EngineError>,
    ) -> Result<Self, EngineError> {
        let name = format!("s3:{address}");
        let refused = |kind, detail: String, hint: &str| {
            EngineError::new(kind, "open", name.clone()).detail(detail).hint(hint)
        };
        let region =
            address.region.as_ref().or(environment.region.as_ref()).map_or(USUAL_REGION, String::as_str);
        let endpoint = endpoint_of(address, environment, region).map_err(|problem| {
            refused(ErrorKind::Unsupported, problem, "write endpoint=http://HOST:PORT or https://HOST")
        })?;
        let credentials = environment.credentials.as_ref().ok_or_else(|| {
            let found = environment.problem.clone().unwrap_or_else(|| "no credentials were found".to_owned());
            let hint =
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE and ~/.aws/credentials";
            refused(ErrorKind::Permission, found, hint)
        })?;
        let host = endpoint.host_str().unwrap_or_default().to_owned();
        let style = match address.addressing.unwrap_or_else(|| usual_addressing(&host, &address.bucket)) {
            BucketAddressing::Path => UrlStyle::Path,
            BucketAddressing::Virtual => UrlStyle::VirtualHost,
        };
        let is_https = endpoint.scheme() == "https";
        let bucket =
            Bucket::new(endpoint, style, address.bucket.clone(), region.to_owned()).map_err(|error| {
                refused(
                    ErrorKind::Unsupported,
                    error.to_string(),
                    "write addressing=path, or another endpoint",
                )
            })?;
        let base = bucket.base_url();
        let port = base.port_or_known_default().unwrap_or(if is_https { 443 } else { 80 });
        let ca_file = address.ca_file.as_ref().or(environment.ca_file.as_ref());
        let wire = WireTarget {
            host: base.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned(),
            port,
            tls: if is_https { Some(tls(ca_file.map(String::as_str))?) } else { None },
            clock: bounds.clock,
            stop: bounds.stop,
            timeout_ns: bounds.timeout_ns,
            arrivals: Arc::default(),
        };
        Ok(Self { address: address.clone(), credentials: signer(credentials), bucket, wire, epoch_seconds })
    }

    /// The site as people name it.
    pub(super) fn name(&self) -> String {
        format!("s3:{}", self.address)
    }

    /// Where requests go, for people.
    pub(super) fn server(&self) -> String {
        format!("{} ({}:{})", self.name(), self.wire.host, self.wire.port)
    }

    /// The signed URL of `action`, dated now.
    pub(super) fn sign<'a>(&self, action: &impl S3Action<'a>) -> Url {
        let now = Timestamp::from_second((self.epoch_seconds)()).unwrap_or(Timestamp::UNIX_EPOCH);
        action.sign_with_time(VALID_FOR, &now)
    }

    /// By how many seconds this machine's clock is ahead of the time in the header `date` of an answer.
    pub(super) fn skew_s(&self, date: Option<&str>) -> Option<i64> {
        let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date?).ok()?;
        Some((self.epoch_seconds)().saturating_sub(date.as_second()))
    }
}

fn signer(credentials: &S3Credentials) -> Credentials {
    let (key_id, secret) = (credentials.key_id.clone(), credentials.secret.clone());
    match &credentials.session_token {
        Some(token) => Credentials::new_with_token(key_id, secret, token.clone()),
        None => Credentials::new(key_id, secret),
    }
}

fn endpoint_of(address: &S3Address, environment: &S3Environment, region: &str) -> Result<Url, String> {
    let text = match address.endpoint.as_ref().or(environment.endpoint.as_ref()) {
        Some(text) => text.clone(),
        None => format!("https://s3.{region}.amazonaws.com"),
    };
    let url: Url = text.parse().map_err(|error| format!("the endpoint is no URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("the endpoint is no http://HOST or https://HOST".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the endpoint has a user or a password".to_owned());
    }
    Ok(url)
}

/// As the service of that host asks for: certificates of Amazon's do not match a name with a dot in front.
fn usual_addressing(host: &str, bucket: &str) -> BucketAddressing {
    let is_amazon = host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
    let fits = !bucket.contains('.') && !bucket.contains('_') && !bucket.chars().any(char::is_uppercase);
    if is_amazon && fits { BucketAddressing::Virtual } else { BucketAddressing::Path }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_engines::MonotonicClock;

    fn environment() -> S3Environment {
        let credentials =
            S3Credentials { key_id: "K".to_owned(), secret: "S".to_owned(), session_token: None };
        S3Environment { credentials: Some(credentials), ..S3Environment::default() }
    }

    fn site(rest: &str, environment: &S3Environment) -> Result<S3Site, EngineError> {
        let clock = Arc::new(MonotonicClock::new());
        let bounds = RequestBounds { clock, stop: StopFlag::default(), timeout_ns: 1 };
        let address = S3Address::parse(rest).unwrap();
        S3Site::resolve(
            &address,
            environment,
            bounds,
            || 1_369_353_600,
            |ca_file| super::super::tls::tls_config(ca_file, rest),
        )
    }

    #[test]
    fn the_address_goes_before_the_environment_and_both_before_the_region() {
        let known = S3Environment {
            endpoint: Some("http://e:7".to_owned()),
            region: Some("r-1".to_owned()),
            ..environment()
        };
        let found = site("//bucket/p?endpoint=http://[::1]:8/s3", &known).unwrap();
        assert_eq!((found.wire.host.as_str(), found.wire.port), ("::1", 8));
        assert_eq!(found.bucket.base_url().as_str(), "http://[::1]:8/s3/bucket/");
        let found = site("//bucket/p", &known).unwrap();
        assert_eq!((found.wire.host.as_str(), found.wire.port, found.bucket.region()), ("e", 7, "r-1"));
        let found = site("//bucket/p?endpoint=http://s3.local&addressing=virtual", &known).unwrap();
        assert_eq!((found.wire.host.as_str(), found.wire.port), ("bucket.s3.local", 80));
    }

    #[test]
    fn requests_are_signed_as_amazon_documents() {
        // The example of "Authenticating requests: using query parameters", with this engine's time of validity.
        let known = S3Environment { endpoint: Some("http://s3.amazonaws.com".to_owned()), ..environment() };
        let found = site("//examplebucket", &known).unwrap();
        let url = found.sign(&found.bucket.get_object(Some(&found.credentials), "test.txt"));
        let text = url.as_str();
        assert!(
            text.starts_with(
                "http://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
            )
        );
        assert!(text.contains("X-Amz-Credential=K%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"), "{text}");
        assert!(text.contains("X-Amz-Date=20130524T000000Z&X-Amz-Expires=900"), "{text}");
        assert_eq!(found.skew_s(Some("Fri, 24 May 2013 00:01:40 GMT")), Some(-100));
        assert_eq!(found.skew_s(Some("yesterday")), None);
    }

    #[test]
    fn what_is_missing_is_said_with_what_to_do_and_without_secrets() {
        let error = site("//bucket", &S3Environment::default()).err().unwrap().to_string();
        assert!(error.contains("no credentials") && error.contains("AWS_PROFILE"), "{error}");
        let known = S3Environment { endpoint: Some("https://k:hidden@h".to_owned()), ..environment() };
        let error = site("//bucket", &known).err().unwrap().to_string();
        assert!(error.contains("a user or a password") && !error.contains("hidden"), "{error}");
        let error = site("//bucket?endpoint=https://h&ca=/nowhere.pem", &environment()).err().unwrap();
        assert!(error.to_string().contains("/nowhere.pem"), "{error}");
    }
}
