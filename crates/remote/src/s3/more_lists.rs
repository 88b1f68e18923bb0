//! Requests for lists that the library which signs does not have.

use jiff::Timestamp;
use rusty_s3::{Bucket, Credentials, Map, Method, S3Action};
use std::time::Duration;
use url::Url;

/// A request for a list in a bucket.
pub(super) struct MoreLists<'a> {
    bucket: &'a Bucket,
    credentials: &'a Credentials,
    query: Map<'a>,
    headers: Map<'a>,
}

impl<'a> MoreLists<'a> {
    /// The first objects whose keys begin with `prefix`, by the first version of the list.
    pub(super) fn objects(bucket: &'a Bucket, credentials: &'a Credentials, prefix: &'a str) -> Self {
        let mut query = Map::new();
        query.insert("prefix", prefix);
        Self { bucket, credentials, query, headers: Map::new() }
    }

    /// The uploads in parts of such keys that are not complete.
    pub(super) fn uploads(bucket: &'a Bucket, credentials: &'a Credentials, prefix: &'a str) -> Self {
        let mut list = Self::objects(bucket, credentials, prefix);
        list.query.insert("uploads", "");
        list
    }
}

impl<'a> S3Action<'a> for MoreLists<'a> {
    const METHOD: Method = Method::Get;

    fn query_mut(&mut self) -> &mut Map<'a> {
        &mut self.query
    }

    fn headers_mut(&mut self) -> &mut Map<'a> {
        &mut self.headers
    }

    fn sign_with_time(&self, expires_in: Duration, time: &Timestamp) -> Url {
        rusty_s3::signing::sign(
            time,
            Self::METHOD,
            self.bucket.base_url().clone(),
            self.credentials.key(),
            self.credentials.secret(),
            self.credentials.token(),
            self.bucket.region(),
            expires_in.as_secs(),
            self.query.iter(),
            self.headers.iter(),
        )
    }
}
