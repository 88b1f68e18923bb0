//! The list of uploads in parts that are not complete.

use jiff::Timestamp;
use rusty_s3::{Bucket, Credentials, Map, Method, S3Action};
use std::time::Duration;
use url::Url;

/// The request for uploads that are not complete, which the library that signs does not have.
pub(super) struct ListUploads<'a> {
    bucket: &'a Bucket,
    credentials: &'a Credentials,
    query: Map<'a>,
    headers: Map<'a>,
}

impl<'a> ListUploads<'a> {
    pub(super) fn new(bucket: &'a Bucket, credentials: &'a Credentials, prefix: &'a str) -> Self {
        let mut query = Map::new();
        query.insert("prefix", prefix);
        query.insert("uploads", "");
        Self { bucket, credentials, query, headers: Map::new() }
    }
}

impl<'a> S3Action<'a> for ListUploads<'a> {
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
