//! Why a request to a bucket failed: what the server answered, or what became of its connection, as an errno and for people.

use super::wire::WireEnd;
use narrows_engines::{EngineError, ErrorKind};
use rustix::io::Errno;

/// Bytes of a code or a message that are kept.
const WORDS_BYTES_MAX: usize = 300;
/// A difference of clocks of more seconds is worth a word: servers refuse requests from 900 on.
const SKEW_S: i64 = 300;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct S3Failure {
    /// The status of the answer; `None` where none came.
    pub(super) status: Option<u16>,
    /// The code of S3, such as `NoSuchKey`; empty where none came.
    pub(super) code: String,
    /// What happened, for people.
    pub(super) detail: String,
    pub(super) errno: Errno,
    /// The server is silent, or cannot be reached: nothing more can be asked.
    pub(super) is_fatal: bool,
    kind: ErrorKind,
    hint: &'static str,
}

impl S3Failure {
    fn new(errno: Errno, kind: ErrorKind, detail: impl Into<String>, hint: &'static str) -> Self {
        let detail = detail.into();
        Self { status: None, code: String::new(), detail, errno, is_fatal: false, kind, hint }
    }

    /// The answer is none that the protocol has.
    pub(super) fn malformed(why: impl Into<String>) -> Self {
        let hint = "check that the endpoint is that of an S3 server";
        Self::new(
            Errno::PROTO,
            ErrorKind::Protocol,
            format!("the answer is none of S3: {}", why.into()),
            hint,
        )
    }

    /// The server answers with more than it was asked for.
    pub(super) fn oversized(limit_bytes: u64) -> Self {
        let why = format!("the answer has more than the {limit_bytes} bytes that it can have");
        Self::new(Errno::MSGSIZE, ErrorKind::Protocol, why, "see the server's own messages")
    }

    /// All requests together took longer than they may.
    pub(super) fn over() -> Self {
        let hint = "see why the server answers late, or asks for ever more requests";
        Self::new(Errno::TIMEDOUT, ErrorKind::PeerGone, "all requests together took too long", hint)
    }

    /// The engine does not do what was asked for.
    pub(super) fn unsupported(why: impl Into<String>) -> Self {
        Self::new(Errno::INVAL, ErrorKind::Unsupported, why, "")
    }

    /// The list of objects is at its end.
    pub(super) fn at_end() -> Self {
        Self::new(Errno::NOENT, ErrorKind::NotFound, "the list of objects is at its end", "")
    }

    /// Whether the server failed in a request that it has.
    pub(super) fn is_of_server(&self) -> bool {
        matches!(self.status, Some(500 | 502 | 504 | 506..=599)) || self.code == "InternalError"
    }

    /// Whether the server asks for fewer requests.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self.status, Some(429 | 503))
            || self.code.starts_with("SlowDown")
            || self.code == "ServiceUnavailable"
    }

    /// Whether the server does not have the request.
    pub(super) fn is_not_implemented(&self) -> bool {
        matches!(self.status, Some(400 | 405 | 501 | 505))
    }

    /// Whether the request has surely changed nothing: it was refused, or never sent.
    pub(super) fn has_changed_nothing(&self) -> bool {
        matches!(self.status, Some(300..=499 | 501 | 503))
            || self.is_fatal && matches!(self.errno, Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::PROTO)
    }

    /// The answer has this status, and a body of which the first part is `body`; `skew_s` is by how much this machine's
    /// clock is ahead of the server's.
    pub(super) fn answered(status: u16, body: &str, skew_s: Option<i64>) -> Self {
        let code = element(body, "Code");
        let message = element(body, "Message");
        let (errno, kind, hint) = meaning(status, &code);
        let mut detail = format!("the server answered {status}");
        if !code.is_empty() {
            detail = format!("{detail} {code}");
        }
        if !message.is_empty() {
            detail = format!("{detail} ({message})");
        }
        let mut hint = hint;
        let is_refusal = matches!(status, 400 | 403) || code == "RequestTimeTooSkewed";
        if let Some(skew_s) = skew_s.filter(|skew_s| is_refusal && skew_s.abs() >= SKEW_S) {
            let direction = if skew_s > 0 { "ahead of" } else { "behind" };
            detail = format!("{detail}; this machine's clock is {} s {direction} the server's", skew_s.abs());
            hint = "set the clocks of both machines (NTP): signatures are valid for some minutes";
        }
        Self { status: Some(status), code, ..Self::new(errno, kind, detail, hint) }
    }

    /// No answer came: `error` is the HTTP library's, `end` what is known of the connection.
    pub(super) fn unanswered(error: &ureq::Error, end: Option<WireEnd>, timeout_ns: u64) -> Self {
        let running = "check whether the S3 server still runs, and see its own messages";
        let fatal = |failure: Self| Self { is_fatal: true, ..failure };
        match end {
            Some(WireEnd::Silent) => {
                let detail = format!("no answer within {} ms", timeout_ns / 1_000_000);
                fatal(Self::new(Errno::TIMEDOUT, ErrorKind::PeerGone, detail, running))
            }
            Some(WireEnd::Stopped) => {
                let detail = "a stop was requested before the server answered";
                fatal(Self::new(Errno::CANCELED, ErrorKind::Stopped, detail, ""))
            }
            Some(WireEnd::Unknown(why)) => {
                let detail = format!("the host's address was not found: {why}");
                fatal(Self::new(Errno::HOSTUNREACH, ErrorKind::NotFound, detail, "check the endpoint's name"))
            }
            Some(WireEnd::Dial(why)) => {
                let detail = format!("no connection could be made: {why}");
                let hint = "check the endpoint's address and port, and that an S3 server listens there";
                fatal(Self::new(Errno::CONNREFUSED, ErrorKind::Refused, detail, hint))
            }
            Some(WireEnd::Tls(why)) => {
                let detail = format!("TLS was refused: {why}");
                let hint = "check the endpoint's scheme (http or https); give the file with the certificate of its \
                            authority (ca=FILE, or AWS_CA_BUNDLE)";
                fatal(Self::new(Errno::PROTO, ErrorKind::Protocol, detail, hint))
            }
            None => Self::broken(error),
        }
    }

    /// The HTTP library's words are taken only where no URL can be in them: a URL has a signature.
    fn broken(error: &ureq::Error) -> Self {
        let running = "check whether the S3 server still runs, and see its own messages";
        match error {
            ureq::Error::Io(error) => {
                let errno = error.raw_os_error().map_or(Errno::CONNRESET, Errno::from_raw_os_error);
                let detail = format!("the connection ended before the answer was whole: {error}");
                Self::new(errno, ErrorKind::PeerGone, detail, running)
            }
            ureq::Error::Protocol(error) => Self::malformed(error.to_string()),
            ureq::Error::LargeResponseHeader(found, most) => {
                Self::malformed(format!("its headers have {found} bytes of at most {most}"))
            }
            ureq::Error::Http(_) => Self::malformed("its headers are malformed"),
            _ => Self::new(
                Errno::CONNRESET,
                ErrorKind::PeerGone,
                "the connection ended before the answer was whole",
                running,
            ),
        }
    }

    /// The body ended early or could not be read.
    pub(super) fn cut(error: std::io::Error, end: Option<WireEnd>, timeout_ns: u64) -> Self {
        Self::unanswered(&ureq::Error::Io(error), end, timeout_ns)
    }

    /// The error for `operation` on `target`.
    pub(super) fn to_error(&self, operation: &'static str, target: &str) -> EngineError {
        EngineError::new(self.kind, operation, target).detail(self.detail.clone()).hint(self.hint)
    }

    /// Whether there is no such upload in parts.
    pub(super) fn is_missing_upload(&self) -> bool {
        self.status == Some(404) && matches!(self.code.as_str(), "" | "NoSuchUpload" | "NoSuchKey")
    }

    /// Whether there is no such object.
    pub(super) fn is_missing(&self) -> bool {
        self.status == Some(404) && matches!(self.code.as_str(), "" | "NoSuchKey" | "NotFound")
    }
}

/// What a status and a code of S3 mean.
///
/// # Source
/// Amazon S3 API Reference, Error responses: list of error codes.
fn meaning(status: u16, code: &str) -> (Errno, ErrorKind, &'static str) {
    let signed =
        "check the access key and its secret (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_PROFILE)";
    match (status, code) {
        (_, "NoSuchBucket") => {
            (Errno::NOENT, ErrorKind::NotFound, "check the name of the bucket, and the endpoint and region")
        }
        (
            _,
            "XAdminUserNotFound"
            | "SignatureDoesNotMatch"
            | "InvalidAccessKeyId"
            | "InvalidAccessKey"
            | "ExpiredToken"
            | "InvalidToken",
        ) => (Errno::ACCESS, ErrorKind::Permission, signed),
        (_, "RequestTimeTooSkewed") => {
            (Errno::ACCESS, ErrorKind::Permission, "set the clocks of both machines (NTP)")
        }
        (_, "AuthorizationHeaderMalformed" | "AuthorizationQueryParametersError" | "PermanentRedirect")
        | (301 | 307, _) => (
            Errno::REMOTE,
            ErrorKind::Unsupported,
            "check the region (AWS_REGION, or region=) and the endpoint of the bucket",
        ),
        (401 | 403, _) => (
            Errno::ACCESS,
            ErrorKind::Permission,
            "check that this user may do this in the bucket, and the access key and its secret",
        ),
        (404, _) => (Errno::NOENT, ErrorKind::NotFound, "check the bucket and the prefix"),
        (405 | 501, _) => (Errno::OPNOTSUPP, ErrorKind::Unsupported, "the server does not do this"),
        (409 | 412, _) => (Errno::EXIST, ErrorKind::Io, "see the server's own messages"),
        (416, _) => (Errno::NXIO, ErrorKind::Io, "the object is shorter than what was asked for"),
        (429 | 503, _) => (Errno::BUSY, ErrorKind::Io, "the server asks for fewer requests"),
        (507, _) | (_, "QuotaExceeded" | "XMinioStorageFull") => {
            (Errno::NOSPC, ErrorKind::NoSpace, "free some space at the server")
        }
        (400, _) => (Errno::INVAL, ErrorKind::Io, "see the server's own messages"),
        _ => (Errno::IO, ErrorKind::Io, "see the server's own messages"),
    }
}

/// The text of the first element `name` of an answer for people: cut where it is long, without control characters.
fn element(body: &str, name: &str) -> String {
    let text = element_text(body, name);
    let mut end = text.len().min(WORDS_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].chars().filter(|letter| !letter.is_control()).collect()
}

/// The text of the first element `name` of an answer; empty where there is none.
pub(super) fn element_text(body: &str, name: &str) -> String {
    let after = body.split_once(&format!("<{name}>")).map(|(_, after)| after);
    let text = after.and_then(|after| after.split_once('<')).map(|(text, _)| text).unwrap_or_default();
    text.replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_and_the_message_of_an_answer_are_in_the_words() {
        let body = "<?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code><Message>It is &lt;gone&gt;</Message></Error>";
        let failure = S3Failure::answered(404, body, None);
        assert_eq!((failure.code.as_str(), failure.errno), ("NoSuchBucket", Errno::NOENT));
        assert_eq!(failure.detail, "the server answered 404 NoSuchBucket (It is <gone>)");
        assert!(!failure.is_missing(), "the bucket is missing, not the object");
        assert!(S3Failure::answered(404, "", None).is_missing());
    }

    #[test]
    fn what_may_be_sent_again_what_may_have_been_done_and_what_a_server_does_not_have() {
        // Status, code; whether it is the server's failure, busy, not implemented, and has changed nothing.
        for (status, code, expected) in [
            (500, "InternalError", [true, false, false, false]),
            (502, "", [true, false, false, false]),
            (504, "", [true, false, false, false]),
            (524, "", [true, false, false, false]),
            (503, "SlowDown", [false, true, false, true]),
            (429, "TooManyRequests", [false, true, false, true]),
            (501, "NotImplemented", [false, false, true, true]),
            (405, "MethodNotAllowed", [false, false, true, true]),
            (403, "AccessDenied", [false, false, false, true]),
            // One of many objects, in an answer 200.
            (403, "InternalError", [true, false, false, true]),
            (403, "SlowDownWrite", [false, true, false, true]),
        ] {
            let failure = S3Failure::answered(status, &format!("<Code>{code}</Code>"), None);
            let found = [
                failure.is_of_server(),
                failure.is_busy(),
                failure.is_not_implemented(),
                failure.has_changed_nothing(),
            ];
            assert_eq!(found, expected, "{status} {code}");
        }
    }

    #[test]
    fn a_refusal_says_by_how_much_the_clocks_differ() {
        let failure = S3Failure::answered(403, "<Code>RequestTimeTooSkewed</Code>", Some(-4000));
        assert!(failure.detail.contains("4000 s behind the server's"), "{}", failure.detail);
        let near = S3Failure::answered(403, "<Code>AccessDenied</Code>", Some(10));
        assert!(!near.detail.contains("clock"), "{}", near.detail);
        let other = S3Failure::answered(404, "", Some(9999));
        assert!(!other.detail.contains("clock"), "{}", other.detail);
    }

    #[test]
    fn words_of_a_server_are_bounded_and_steer_no_terminal() {
        let body = format!("<Code>\u{1b}[31m{}</Code>", "é".repeat(4000));
        let code = element(&body, "Code");
        assert!(code.len() <= WORDS_BYTES_MAX && !code.contains('\u{1b}'));
        for body in ["<Code>", "<Code>x", "</Code>", ""] {
            drop(S3Failure::answered(500, body, None));
        }
    }
}
