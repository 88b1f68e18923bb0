//! Requests to a bucket, one at a time over one connection: signed, sent once, read within bounds, counted.
//!
//! Nothing is sent again and no redirection is followed. No URL is in a message: it has a signature.

use super::counts::{EndedCall, S3Call, S3Counts};
use super::failure::{S3Failure, element_text};
use super::more_lists::MoreLists;
use super::name_space::in_usual_name_space;
use super::site::S3Site;
use super::transport::{LaterResolver, WireConnector};
use super::wire::Wire;
use narrows_engines::Tick;
use narrows_model::units::saturate_usize;
use rusty_s3::actions::list_objects_v2::ListObjectsV2;
use rusty_s3::actions::{CompleteMultipartUpload, CreateMultipartUpload, DeleteObjects, ObjectIdentifier};
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use ureq::http::{Method, Request, Response};
use ureq::unversioned::transport::Connector;
use ureq::{Agent, Body, SendBody};
use url::Url;

/// Most bytes of an answer that is no data: a list of a thousand keys of 1024 letters, each escaped.
const TEXT_BYTES_MAX: u64 = 4 << 20;
/// Bytes of the body of a refusal that are read.
const REFUSAL_BYTES_MAX: u64 = 64 << 10;
/// Most bytes of the head of an answer.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// An answer that is no data must be whole within this many times the answer timeout.
const WHOLE_TIMEOUTS: u64 = 4;

/// What a request sends.
#[derive(Debug, Clone, Copy)]
pub(super) enum CallBody<'a> {
    /// Nothing.
    None,
    /// These bytes.
    Bytes(&'a [u8]),
    /// A block again and again, so many bytes in all.
    Repeated { block: &'a [u8], length_bytes: u64 },
}

/// A part of a list of keys.
#[derive(Debug, Default)]
pub(super) struct KeyList {
    pub(super) keys: Vec<String>,
    /// Beginnings of keys up to a slash, each with it.
    pub(super) folders: Vec<String>,
    /// Where the next part goes on; `None` after the last.
    pub(super) next: Option<String>,
}

/// One request at a time.
pub(super) struct S3Client {
    pub(super) site: Arc<S3Site>,
    pub(super) wire: Arc<Wire>,
    pub(super) counts: Arc<Mutex<S3Counts>>,
    agent: Agent,
    /// When all of what is done with it must be over, whatever a single answer takes.
    ends_at: Option<Tick>,
}

/// One request, signed.
struct SignedCall<'a> {
    call: S3Call,
    method: Method,
    url: Url,
    headers: &'a [(&'static str, String)],
    body: CallBody<'a>,
    /// The answer has data, of which only silence is bounded.
    is_data: bool,
}

impl S3Client {
    /// A client of `site`, not connected yet.
    pub(super) fn new(site: Arc<S3Site>) -> Self {
        Self::over(site, WireConnector)
    }

    /// The same over connections that `connector` makes.
    pub(super) fn over<C: Connector>(site: Arc<S3Site>, connector: impl FnOnce(Arc<Wire>) -> C) -> Self {
        let wire = Arc::new(Wire::new(site.wire.clone()));
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(1)
            .max_idle_connections_per_host(1)
            .max_response_header_size(HEAD_BYTES_MAX)
            .user_agent(concat!("narrows/", env!("CARGO_PKG_VERSION")))
            .build();
        let agent = Agent::with_parts(config, connector(Arc::clone(&wire)), LaterResolver);
        Self { site, wire, counts: Arc::default(), agent, ends_at: None }
    }

    /// From now on all requests together take no longer than `timeouts` waits for one answer: a server may answer each of
    /// them late, and give answers that ask for ever more requests.
    pub(super) fn end_within(&mut self, timeouts: u64) {
        let span_ns = self.site.wire.timeout_ns.saturating_mul(timeouts);
        self.ends_at = Some(self.site.wire.clock.now().after(span_ns));
    }

    /// Waits; false, without a wait, where all requests together would be over by then.
    pub(super) fn wait(&self, span_ns: u64) -> bool {
        let clock = &self.site.wire.clock;
        let until = clock.now().after(span_ns);
        let has_time = self.ends_at.is_none_or(|end| until < end);
        if has_time {
            clock.wait_until(until);
        }
        has_time
    }

    /// A load begins: what was counted until now is its opening, and from now on a server that is away is waited for.
    pub(super) fn begin_load(&self) {
        self.wire.wait_for_server();
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).begin_load();
    }

    /// Bytes of the object `key`.
    pub(super) fn head(&mut self, key: &str) -> Result<u64, S3Failure> {
        let site = Arc::clone(&self.site);
        let url = site.sign(&site.bucket.head_object(Some(&site.credentials), key));
        let call = SignedCall::plain(S3Call::Head, Method::HEAD, url);
        self.exchange(&call, |response, _| Ok(length_of(response).unwrap_or(0)))
    }

    /// Reads the object `key`, or from a place on of it, into `block` again and again, up to `length_bytes`; how many came.
    pub(super) fn get(
        &mut self,
        key: &str,
        from_bytes: Option<u64>,
        block: &mut [u8],
        length_bytes: u64,
    ) -> Result<u64, S3Failure> {
        let site = Arc::clone(&self.site);
        let url = site.sign(&site.bucket.get_object(Some(&site.credentials), key));
        let range = from_bytes.map(|from| {
            ("range", format!("bytes={from}-{}", from.saturating_add(length_bytes).saturating_sub(1)))
        });
        let headers: Vec<_> = range.into_iter().collect();
        let call = SignedCall {
            headers: &headers,
            is_data: true,
            ..SignedCall::plain(S3Call::Get, Method::GET, url)
        };
        self.exchange(&call, |response, reader| {
            if from_bytes.is_some() && response.status().as_u16() != 206 {
                return Err(S3Failure::malformed("it has all of the object where a range was asked for"));
            }
            reader.read_into(response, block, length_bytes)
        })
    }

    /// The text of a small object.
    pub(super) fn small_text(&mut self, key: &str, bytes_max: u64) -> Result<String, S3Failure> {
        let site = Arc::clone(&self.site);
        let url = site.sign(&site.bucket.get_object(Some(&site.credentials), key));
        let call = SignedCall::plain(S3Call::Get, Method::GET, url);
        self.exchange(&call, |response, reader| reader.read_text(response, bytes_max))
    }

    /// Stores an object.
    pub(super) fn put(&mut self, key: &str, body: CallBody<'_>) -> Result<(), S3Failure> {
        let site = Arc::clone(&self.site);
        let url = site.sign(&site.bucket.put_object(Some(&site.credentials), key));
        let call = SignedCall { body, ..SignedCall::plain(S3Call::Put, Method::PUT, url) };
        self.exchange(&call, drop_rest)
    }

    /// Deletes an object; one that is not there counts as deleted, as the protocol has it.
    pub(super) fn delete(&mut self, key: &str) -> Result<(), S3Failure> {
        check_names_itself(key)?;
        let site = Arc::clone(&self.site);
        let url = site.sign(&site.bucket.delete_object(Some(&site.credentials), key));
        self.exchange(&SignedCall::plain(S3Call::Delete, Method::DELETE, url), drop_rest)
    }

    /// Deletes up to a thousand objects.
    pub(super) fn delete_many(&mut self, keys: &[String]) -> Result<(), S3Failure> {
        let site = Arc::clone(&self.site);
        let objects: Vec<ObjectIdentifier> = keys.iter().cloned().map(ObjectIdentifier::new).collect();
        let action: DeleteObjects<'_, _> =
            site.bucket.delete_objects(Some(&site.credentials), objects.iter());
        let url = site.sign(&action);
        let (body, md5) = action.body_with_md5();
        let headers = [("content-md5", md5), ("content-type", "application/xml".to_owned())];
        let call = SignedCall {
            body: CallBody::Bytes(body.as_bytes()),
            headers: &headers,
            ..SignedCall::plain(S3Call::DeleteMany, Method::POST, url)
        };
        let text = self.exchange(&call, |response, reader| reader.read_text(response, TEXT_BYTES_MAX))?;
        // Servers differ in the name space of this answer, which the library that signs takes in one alone.
        if !text.contains("<DeleteResult") {
            return Err(S3Failure::malformed("it is no result of a deletion"));
        }
        match text.split_once("<Error>") {
            None => Ok(()),
            Some((_, error)) => Err(S3Failure::answered(403, error, None)),
        }
    }

    /// Keys that begin with `prefix`, from `token` on; up to the next slash if `by_folder`.
    pub(super) fn list(
        &mut self,
        prefix: &str,
        by_folder: bool,
        token: Option<&str>,
    ) -> Result<KeyList, S3Failure> {
        let site = Arc::clone(&self.site);
        let mut action = site.bucket.list_objects_v2(Some(&site.credentials));
        action.with_prefix(prefix);
        if by_folder {
            action.with_delimiter("/");
        }
        if let Some(token) = token {
            action.with_continuation_token(token);
        }
        let call = SignedCall::plain(S3Call::List, Method::GET, site.sign(&action));
        let text = self.exchange(&call, |response, reader| reader.read_text(response, TEXT_BYTES_MAX))?;
        let text = in_usual_name_space(&text, "ListBucketResult");
        let found =
            ListObjectsV2::parse_response(&text).map_err(|error| S3Failure::malformed(error.to_string()))?;
        let keys: Vec<String> = found.contents.into_iter().map(|object| object.key).collect();
        let folders: Vec<String> = found.common_prefixes.into_iter().map(|folder| folder.prefix).collect();
        if !keys.iter().chain(&folders).all(|key| key.starts_with(prefix)) {
            return Err(S3Failure::malformed("it lists keys that were not asked for"));
        }
        Ok(KeyList { keys, folders, next: found.next_continuation_token })
    }

    /// The first keys that begin with `prefix`, by the first version of the list, which is older than [`Self::list`] and has no
    /// token; `next` is empty where there are more.
    pub(super) fn list_first(&mut self, prefix: &str) -> Result<KeyList, S3Failure> {
        let site = Arc::clone(&self.site);
        let url = site.sign(&MoreLists::objects(&site.bucket, &site.credentials, prefix));
        let call = SignedCall::plain(S3Call::List, Method::GET, url);
        let text = self.exchange(&call, |response, reader| reader.read_text(response, TEXT_BYTES_MAX))?;
        if !text.contains("<ListBucketResult") {
            return Err(S3Failure::malformed("it is no list of objects"));
        }
        let keys: Vec<String> =
            text.split("<Contents>").skip(1).map(|object| element_text(object, "Key")).collect();
        if !keys.iter().all(|key| key.starts_with(prefix)) {
            return Err(S3Failure::malformed("it lists keys that were not asked for"));
        }
        // Elements in another form than this look like an empty list, by which objects would stay for ever.
        let next = match element_text(&text, "IsTruncated").as_str() {
            "true" => Some(String::new()),
            "false" if !keys.is_empty() || !text.contains("Contents") => None,
            _ => return Err(S3Failure::malformed("it is a list of objects in an unknown form")),
        };
        Ok(KeyList { keys, folders: Vec::new(), next })
    }

    /// Begins an upload in parts; its id.
    pub(super) fn create_upload(&mut self, key: &str) -> Result<String, S3Failure> {
        let site = Arc::clone(&self.site);
        let action = site.bucket.create_multipart_upload(Some(&site.credentials), key);
        let call = SignedCall {
            body: CallBody::Bytes(&[]),
            ..SignedCall::plain(S3Call::CreateUpload, Method::POST, site.sign(&action))
        };
        let text = self.exchange(&call, |response, reader| reader.read_text(response, TEXT_BYTES_MAX))?;
        let text = in_usual_name_space(&text, "InitiateMultipartUploadResult");
        let made = CreateMultipartUpload::parse_response(&text)
            .map_err(|error| S3Failure::malformed(error.to_string()))?;
        Ok(made.upload_id().to_owned())
    }

    /// Sends part `number` of an upload, from 1; its tag.
    pub(super) fn upload_part(
        &mut self,
        key: &str,
        upload_id: &str,
        number: u16,
        body: CallBody<'_>,
    ) -> Result<String, S3Failure> {
        let site = Arc::clone(&self.site);
        let action = site.bucket.upload_part(Some(&site.credentials), key, number, upload_id);
        let call =
            SignedCall { body, ..SignedCall::plain(S3Call::UploadPart, Method::PUT, site.sign(&action)) };
        self.exchange(&call, |response, _| {
            let tag = response.headers().get("etag").and_then(|tag| tag.to_str().ok());
            tag.map(str::to_owned).ok_or_else(|| S3Failure::malformed("a part has no ETag"))
        })
    }

    /// Makes the object of an upload of its parts.
    pub(super) fn complete_upload(
        &mut self,
        key: &str,
        upload_id: &str,
        tags: &[String],
    ) -> Result<(), S3Failure> {
        let site = Arc::clone(&self.site);
        let tags = tags.iter().map(String::as_str);
        let action: CompleteMultipartUpload<'_, _> =
            site.bucket.complete_multipart_upload(Some(&site.credentials), key, upload_id, tags);
        let url = site.sign(&action);
        let body = action.body();
        let call = SignedCall {
            body: CallBody::Bytes(body.as_bytes()),
            ..SignedCall::plain(S3Call::CompleteUpload, Method::POST, url)
        };
        let text = self.exchange(&call, |response, reader| reader.read_text(response, TEXT_BYTES_MAX))?;
        // It may begin to answer before it knows.
        if text.contains("<Error>") { Err(S3Failure::answered(500, &text, None)) } else { Ok(()) }
    }

    /// Gives an upload up.
    pub(super) fn abort_upload(&mut self, key: &str, upload_id: &str) -> Result<(), S3Failure> {
        check_names_itself(key)?;
        let site = Arc::clone(&self.site);
        let action = site.bucket.abort_multipart_upload(Some(&site.credentials), key, upload_id);
        let url = site.sign(&action);
        self.exchange(&SignedCall::plain(S3Call::AbortUpload, Method::DELETE, url), drop_rest)
    }

    /// Up to a thousand uploads of keys that begin with `prefix` and are not complete: keys and ids.
    pub(super) fn list_uploads(&mut self, prefix: &str) -> Result<Vec<(String, String)>, S3Failure> {
        let site = Arc::clone(&self.site);
        let url = site.sign(&MoreLists::uploads(&site.bucket, &site.credentials, prefix));
        let call = SignedCall::plain(S3Call::ListUploads, Method::GET, url);
        let text = self.exchange(&call, |response, reader| reader.read_text(response, TEXT_BYTES_MAX))?;
        let uploads = text.split("<Upload>").skip(1);
        let found = uploads.map(|one| (element_text(one, "Key"), element_text(one, "UploadId")));
        Ok(found.filter(|(key, id)| key.starts_with(prefix) && !id.is_empty()).collect())
    }

    /// Sends a request and reads its answer with `read`, where that is no refusal; counts both.
    fn exchange<T>(
        &mut self,
        call: &SignedCall<'_>,
        read: impl FnOnce(&mut Response<Body>, &AnswerReader<'_>) -> Result<T, S3Failure>,
    ) -> Result<T, S3Failure> {
        let clock = Arc::clone(&self.site.wire.clock);
        let began = clock.now();
        let whole_ns = self.site.wire.timeout_ns.saturating_mul(WHOLE_TIMEOUTS);
        if self.ends_at.is_some_and(|end| began >= end) {
            return Err(S3Failure::over());
        }
        let whole_by = (!call.is_data).then(|| began.after(whole_ns));
        self.wire.begin(whole_by.into_iter().chain(self.ends_at).min());
        let before = self.wire.counts();
        let reader = AnswerReader { wire: &self.wire, timeout_ns: self.site.wire.timeout_ns };
        let (outcome, is_answered) = match self.run(call) {
            Err(failure) => (Err(failure), false),
            Ok(mut response) if response.status().is_success() => (read(&mut response, &reader), true),
            Ok(mut response) => (Err(self.refusal(&mut response)), true),
        };
        let ended = EndedCall {
            call: call.call,
            began_ns: began.0,
            ended_ns: clock.now().0,
            before,
            after: self.wire.counts(),
            is_answered,
            is_error: outcome.is_err(),
        };
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).add(&ended);
        outcome
    }

    fn run(&self, call: &SignedCall<'_>) -> Result<Response<Body>, S3Failure> {
        let mut request = Request::builder().method(call.method.clone()).uri(call.url.as_str());
        for (name, value) in call.headers {
            request = request.header(*name, value);
        }
        let malformed = |_| S3Failure::unsupported("the key or the endpoint cannot be part of a request");
        let answered = match call.body {
            CallBody::None => self.agent.run(request.body(()).map_err(malformed)?),
            CallBody::Bytes(bytes) => self.agent.run(request.body(bytes).map_err(malformed)?),
            CallBody::Repeated { block, length_bytes } => {
                let mut reader = RepeatedBlock { block, at: 0, left_bytes: length_bytes };
                let request = request.header("content-length", length_bytes);
                let body = SendBody::from_reader(&mut reader);
                self.agent.run(request.body(body).map_err(malformed)?)
            }
        };
        answered.map_err(|error| S3Failure::unanswered(&error, self.wire.end(), self.site.wire.timeout_ns))
    }

    fn refusal(&self, response: &mut Response<Body>) -> S3Failure {
        let status = response.status().as_u16();
        let date = response.headers().get("date").and_then(|date| date.to_str().ok()).map(str::to_owned);
        let skew_s = self.site.skew_s(date.as_deref());
        // What is longer than a refusal can be is cut: its code comes first.
        let body = read_start(response, REFUSAL_BYTES_MAX);
        S3Failure::answered(status, &body, skew_s)
    }
}

impl SignedCall<'_> {
    fn plain(call: S3Call, method: Method, url: Url) -> Self {
        Self { call, method, url, headers: &[], body: CallBody::None, is_data: false }
    }
}

/// Refuses a key that is another object's in a URL, where `.` and `..` lead elsewhere: it may come from a list, and what it led to
/// need not be ours.
fn check_names_itself(key: &str) -> Result<(), S3Failure> {
    if key.split(['/', '\\']).any(|part| matches!(part, "." | "..")) {
        return Err(S3Failure::malformed("a key has `.` or `..` between its slashes, and was not touched"));
    }
    Ok(())
}

fn length_of(response: &Response<Body>) -> Option<u64> {
    response.headers().get("content-length")?.to_str().ok()?.parse().ok()
}

/// The start of the body, as far as it comes.
fn read_start(response: &mut Response<Body>, bytes_max: u64) -> String {
    let mut bytes = Vec::new();
    // What came before a failure is what there is.
    drop(response.body_mut().as_reader().take(bytes_max).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads what is left of an answer that has nothing of interest, so that its connection can be used again.
fn drop_rest(response: &mut Response<Body>, reader: &AnswerReader<'_>) -> Result<(), S3Failure> {
    reader.read_text(response, TEXT_BYTES_MAX).map(drop)
}

/// Reads bodies of answers within bounds.
struct AnswerReader<'a> {
    wire: &'a Wire,
    timeout_ns: u64,
}

impl AnswerReader<'_> {
    fn cut(&self, error: std::io::Error) -> S3Failure {
        S3Failure::cut(error, self.wire.end(), self.timeout_ns)
    }

    /// The whole body as text, which has at most `bytes_max`.
    fn read_text(&self, response: &mut Response<Body>, bytes_max: u64) -> Result<String, S3Failure> {
        let mut bytes = Vec::new();
        let reader = response.body_mut().as_reader();
        reader.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| self.cut(error))?;
        if bytes.len() as u64 > bytes_max {
            return Err(S3Failure::oversized(bytes_max));
        }
        String::from_utf8(bytes).map_err(|_| S3Failure::malformed("it is no text"))
    }

    /// The body into `block` again and again; it has at most `length_bytes`.
    fn read_into(
        &self,
        response: &mut Response<Body>,
        block: &mut [u8],
        length_bytes: u64,
    ) -> Result<u64, S3Failure> {
        if length_of(response).is_some_and(|length| length > length_bytes) {
            return Err(S3Failure::oversized(length_bytes));
        }
        let arrival = self.wire.begin_body(length_of(response).unwrap_or(0));
        let mut reader = response.body_mut().as_reader();
        let mut done_bytes = 0_u64;
        loop {
            let left_bytes = length_bytes - done_bytes;
            let mut beyond = [0; 1];
            let room = if left_bytes == 0 || block.is_empty() {
                &mut beyond[..]
            } else {
                let at = saturate_usize(done_bytes % block.len() as u64);
                let end = block.len().min(at.saturating_add(saturate_usize(left_bytes)));
                &mut block[at..end]
            };
            match reader.read(room).map_err(|error| self.cut(error))? {
                0 => return Ok(done_bytes),
                _ if left_bytes == 0 => return Err(S3Failure::oversized(length_bytes)),
                came => {
                    arrival.arrived(came);
                    done_bytes += came as u64;
                }
            }
        }
    }
}

/// A block again and again.
struct RepeatedBlock<'a> {
    block: &'a [u8],
    at: usize,
    left_bytes: u64,
}

impl Read for RepeatedBlock<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let part = (self.block.len() - self.at).min(room.len()).min(saturate_usize(self.left_bytes));
        room[..part].copy_from_slice(&self.block[self.at..self.at + part]);
        self.at = (self.at + part) % self.block.len().max(1);
        self.left_bytes -= part as u64;
        Ok(part)
    }
}
