//! Removes objects and uploads, with the patience that clients of S3 have with a server that fails for a moment.
//!
//! Not here: what may be removed, which `place` decides.

use super::client::{KeyList, S3Client};
use super::failure::S3Failure;

/// Rounds of a list whose end never comes.
pub(super) const LISTS_MAX: usize = 100_000;
/// Waits before a request is sent again that the server failed in, or had no time for: one attempt more than the three that
/// are usual in the SDKs of S3, since what is not removed takes the space of others.
const RETRY_WAITS_NS: [u64; 3] = [100_000_000, 400_000_000, 1_600_000_000];

/// Removes all objects whose keys begin with `prefix` but `stays`, and gives up their uploads.
pub(super) fn empty(client: &mut S3Client, prefix: &str, stays: Option<&str>) -> Result<(), S3Failure> {
    let mut before = Vec::new();
    let mut token: Option<String> = None;
    for _ in 0..LISTS_MAX {
        // Always the first part with anything in it: what was listed is gone then.
        let mut found = first_keys(client, prefix, token.as_deref())?;
        found.keys.retain(|key| Some(key.as_str()) != stays);
        if found.keys.is_empty() {
            match found.next {
                None => return end_uploads(client, prefix),
                Some(next) if next.is_empty() || token.as_ref() == Some(&next) => {
                    return Err(S3Failure::malformed("a part of a list is empty and goes on"));
                }
                Some(next) => token = Some(next),
            }
            continue;
        }
        delete_all(client, &found.keys)?;
        if found.next.is_none() {
            return end_uploads(client, prefix);
        }
        if found.keys == before {
            return Err(S3Failure::malformed("it deletes objects that are listed again as before"));
        }
        before = found.keys;
    }
    Err(S3Failure::malformed("its list of keys has no end"))
}

/// The first keys that begin with `prefix`, or those from `token` on. Servers that do not have the second version of the list,
/// or fail in it (s3rver, where there are more than it lists at once), may have the first.
fn first_keys(client: &mut S3Client, prefix: &str, token: Option<&str>) -> Result<KeyList, S3Failure> {
    with_retries(client, |client| match client.list(prefix, false, token) {
        Err(failure) if failure.is_not_implemented() || failure.is_of_server() => {
            client.list_first(prefix).map_err(|first| if first.is_busy() { first } else { failure })
        }
        listed => listed,
    })
}

/// Deletes an object; one that is not there counts as deleted, whatever the server says of that: an attempt before may have
/// deleted it, and a server that keeps objects as files may have failed afterwards.
pub(super) fn delete(client: &mut S3Client, key: &str) -> Result<(), S3Failure> {
    with_retries(client, |client| match client.delete(key) {
        Err(failure) if failure.is_missing() => Ok(()),
        Err(failure) if failure.is_of_server() => match client.head(key) {
            Err(found) if found.is_missing() => Ok(()),
            _ => Err(failure),
        },
        outcome => outcome,
    })
}

/// Deletes these objects: with one request, or each by itself where the server does not have that request, or fails in it.
fn delete_all(client: &mut S3Client, keys: &[String]) -> Result<(), S3Failure> {
    match with_retries_while(client, S3Failure::is_busy, |client| client.delete_many(keys)) {
        Err(failure) if failure.is_not_implemented() || failure.is_of_server() => {
            keys.iter().try_for_each(|key| delete(client, key))
        }
        deleted => deleted,
    }
}

/// Gives up all uploads of keys that begin with `prefix`.
fn end_uploads(client: &mut S3Client, prefix: &str) -> Result<(), S3Failure> {
    let mut before = Vec::new();
    for _ in 0..LISTS_MAX {
        let uploads = match with_retries(client, |client| client.list_uploads(prefix)) {
            // A server without such a list has no such uploads either.
            Err(failure) if failure.is_not_implemented() || failure.status == Some(404) => Vec::new(),
            listed => listed?,
        };
        if uploads.is_empty() {
            return Ok(());
        }
        if uploads == before {
            return Err(S3Failure::malformed("it gives up uploads that are listed again as before"));
        }
        for (key, upload_id) in &uploads {
            with_retries(client, |client| match client.abort_upload(key, upload_id) {
                Err(failure) if failure.is_missing_upload() => Ok(()),
                outcome => outcome,
            })?;
        }
        before = uploads;
    }
    Err(S3Failure::malformed("its list of uploads has no end"))
}

/// The outcome of `request`, which is sent again some times where the server fails in it or is busy.
pub(super) fn with_retries<T>(
    client: &mut S3Client,
    request: impl FnMut(&mut S3Client) -> Result<T, S3Failure>,
) -> Result<T, S3Failure> {
    with_retries_while(client, |failure| failure.is_of_server() || failure.is_busy(), request)
}

/// The outcome of `request`, which is sent again after each of [`RETRY_WAITS_NS`] while `is_transient` is true of its
/// failure and there is time left.
fn with_retries_while<T>(
    client: &mut S3Client,
    is_transient: impl Fn(&S3Failure) -> bool,
    mut request: impl FnMut(&mut S3Client) -> Result<T, S3Failure>,
) -> Result<T, S3Failure> {
    let mut waits_ns = RETRY_WAITS_NS.into_iter();
    loop {
        let outcome = request(client);
        if !matches!(&outcome, Err(failure) if is_transient(failure)) {
            return outcome;
        }
        match waits_ns.next() {
            Some(wait_ns) if client.wait(wait_ns) => {}
            _ => return outcome,
        }
    }
}
