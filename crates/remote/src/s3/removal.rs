//! Removes objects and uploads, with the patience that clients of S3 have with a server that fails for a moment.
//!
//! Not here: what may be removed, which `place` decides.

use super::client::{KeyList, S3Client};
use super::failure::S3Failure;

/// Rounds of a list whose end never comes.
pub(super) const LISTS_MAX: usize = 100_000;
/// Waits before a request is sent again that the server failed in, or had no time for. The SDKs of S3 send up to three times;
/// what narrows leaves behind, its users have to remove by hand.
const RETRY_WAITS_NS: [u64; 3] = [100_000_000, 400_000_000, 1_600_000_000];

/// Removes all objects whose keys begin with `prefix` but `stays`, and gives up their uploads.
pub(super) fn empty(client: &mut S3Client, prefix: &str, stays: Option<&str>) -> Result<(), S3Failure> {
    let mut before = Vec::new();
    for round in 0.. {
        // Always the first part: what was listed is gone then.
        let mut found = first_keys(client, prefix)?;
        let is_last = found.next.is_none();
        found.keys.retain(|key| Some(key.as_str()) != stays);
        if !found.keys.is_empty() {
            delete_all(client, &found.keys)?;
        }
        if is_last || found.keys.is_empty() {
            break;
        }
        if found.keys == before {
            return Err(S3Failure::malformed("it deletes objects that are listed again as before"));
        }
        before = found.keys;
        if round > LISTS_MAX {
            return Err(S3Failure::malformed("its list of keys has no end"));
        }
    }
    end_uploads(client, prefix)
}

/// The first keys that begin with `prefix`. Servers that do not have the second version of the list, or fail in it (s3rver, where
/// there are more than it lists at once), may have the first.
fn first_keys(client: &mut S3Client, prefix: &str) -> Result<KeyList, S3Failure> {
    match client.list(prefix, false, None) {
        Err(failure) if has_no_such_request(&failure) || failure.is_of_server() => {
            patiently(client, |client| client.list_first(prefix))
        }
        Err(failure) if failure.is_busy() => patiently(client, |client| client.list(prefix, false, None)),
        listed => listed,
    }
}

/// Deletes an object; one that is not there counts as deleted, whatever the server says of that: a server that keeps objects
/// as files may fail in cleaning up folders that another deletion has removed already.
pub(super) fn delete(client: &mut S3Client, key: &str) -> Result<(), S3Failure> {
    patiently(client, |client| match client.delete(key) {
        Err(failure) if failure.is_of_server() => match client.head(key) {
            Err(found) if found.is_missing() => Ok(()),
            _ => Err(failure),
        },
        outcome => outcome,
    })
}

/// Deletes these objects: with one request, or each by itself where the server does not have that request, or fails in it.
fn delete_all(client: &mut S3Client, keys: &[String]) -> Result<(), S3Failure> {
    let deleted = match client.delete_many(keys) {
        // It asks for fewer requests.
        Err(failure) if failure.is_busy() => patiently(client, |client| client.delete_many(keys)),
        deleted => deleted,
    };
    match deleted {
        Err(failure) if has_no_such_request(&failure) || failure.is_of_server() => {
            keys.iter().try_for_each(|key| delete(client, key))
        }
        deleted => deleted,
    }
}

fn has_no_such_request(failure: &S3Failure) -> bool {
    matches!(failure.status, Some(400 | 405 | 501 | 505..=599))
}

/// Gives up all uploads of keys that begin with `prefix`.
fn end_uploads(client: &mut S3Client, prefix: &str) -> Result<(), S3Failure> {
    let mut before = Vec::new();
    for _ in 0..LISTS_MAX {
        let uploads = match patiently(client, |client| client.list_uploads(prefix)) {
            // A server without such a list has no such uploads either.
            Err(failure) if matches!(failure.status, Some(400 | 404 | 405 | 501)) => Vec::new(),
            listed => listed?,
        };
        if uploads.is_empty() {
            return Ok(());
        }
        if uploads == before {
            return Err(S3Failure::malformed("it gives up uploads that are listed again as before"));
        }
        for (key, upload_id) in &uploads {
            patiently(client, |client| client.abort_upload(key, upload_id))?;
        }
        before = uploads;
    }
    Err(S3Failure::malformed("its list of uploads has no end"))
}

/// The outcome of `request`, which is sent again some times where the server fails in it or is busy.
fn patiently<T>(
    client: &mut S3Client,
    mut request: impl FnMut(&mut S3Client) -> Result<T, S3Failure>,
) -> Result<T, S3Failure> {
    for wait_ns in RETRY_WAITS_NS {
        match request(client) {
            Err(failure) if failure.is_of_server() || failure.is_busy() => {
                let clock = std::sync::Arc::clone(&client.site.wire.clock);
                clock.wait_until(clock.now().after(wait_ns));
            }
            outcome => return outcome,
        }
    }
    request(client)
}
