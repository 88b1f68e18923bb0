//! One request of a load: a range of an object, or a whole object by its number.

use super::client::S3Client;
use super::failure::S3Failure;
use super::uploads::put_object;
use narrows_engines::IoRequest;
use narrows_engines::objects::names::ObjectNames;
use narrows_engines::request::OBJECT_LISTED;
use narrows_model::Op;
use narrows_model::units::saturate_u32;
use narrows_model::workload::ObjectSet;
use std::collections::VecDeque;
use std::sync::Arc;

/// What all requests of a worker have in common.
#[derive(Debug)]
pub(super) struct S3Work {
    /// Keys of the objects of a load of blocks.
    pub(super) keys: Vec<String>,
    /// The objects of a load of whole objects, and what their keys begin with.
    pub(super) set: Option<ObjectSet>,
    pub(super) set_prefix: String,
    pub(super) part_bytes: u64,
    /// The key of an object that is there, by which a connection is made.
    pub(super) known_key: String,
}

/// Executes requests, one at a time.
pub(super) struct S3Performer {
    pub(super) client: S3Client,
    work: Arc<S3Work>,
    names: Option<ObjectNames>,
    walk: ListedKeys,
}

/// Keys that are listed, each once.
#[derive(Debug, Default)]
struct ListedKeys {
    keys: VecDeque<String>,
    next: Option<String>,
    is_begun: bool,
}

impl S3Performer {
    pub(super) fn new(client: S3Client, work: Arc<S3Work>) -> Self {
        let names = work.set.as_ref().map(ObjectNames::new);
        Self { client, work, names, walk: ListedKeys::default() }
    }

    /// Makes the connection before the load; from now on a server that is away is waited for.
    pub(super) fn connect(&mut self) -> Result<(), S3Failure> {
        let work = Arc::clone(&self.work);
        self.client.head(&work.known_key)?;
        self.client.begin_load();
        Ok(())
    }

    /// Executes `request` with the block of its slot; how many bytes were moved.
    pub(super) fn perform(&mut self, request: &IoRequest, block: &mut [u8]) -> Result<u32, S3Failure> {
        let work = Arc::clone(&self.work);
        let length_bytes = u64::from(request.length_bytes);
        if request.op == Op::Read {
            let key = work.keys.get(request.object as usize);
            let key = key.ok_or_else(|| S3Failure::unsupported("there is no such object"))?;
            if length_bytes == 0 {
                return Ok(0);
            }
            let came = self.client.get(key, Some(request.offset_bytes), block, length_bytes)?;
            return Ok(saturate_u32(came));
        }
        if request.op == Op::Ping {
            return self.client.head(&work.known_key).map(|_| 0);
        }
        let key = self.key_of(request.object)?;
        match request.op {
            Op::Put => {
                put_object(&mut self.client, &key, block, length_bytes, work.part_bytes)?;
                Ok(request.length_bytes)
            }
            Op::Get => Ok(saturate_u32(self.client.get(&key, None, block, length_bytes)?)),
            Op::Stat => {
                let bytes = self.client.head(&key)?;
                let reads = bytes > 0 && work.set.is_some_and(|set| set.stat_reads);
                if reads { Ok(saturate_u32(self.client.get(&key, None, block, bytes)?)) } else { Ok(0) }
            }
            Op::Delete => self.client.delete(&key).map(|()| 0),
            op => Err(S3Failure::unsupported(format!("{op} is no operation on a bucket"))),
        }
    }

    fn key_of(&mut self, number: u32) -> Result<String, S3Failure> {
        let Some(names) = &mut self.names else {
            return Err(S3Failure::unsupported("this load has no objects by number"));
        };
        if number == OBJECT_LISTED {
            return self.next_listed();
        }
        // Names are digits, letters and slashes.
        let path = names.path_of(number).to_str().unwrap_or_default();
        Ok(format!("{}{path}", self.work.set_prefix))
    }

    fn next_listed(&mut self) -> Result<String, S3Failure> {
        loop {
            if let Some(key) = self.walk.keys.pop_front() {
                return Ok(key);
            }
            if self.walk.is_begun && self.walk.next.is_none() {
                return Err(S3Failure::at_end());
            }
            let token = self.walk.next.take();
            let found = self.client.list(&self.work.set_prefix, false, token.as_deref())?;
            if found.keys.is_empty() && found.next.is_some() {
                return Err(S3Failure::malformed("a part of a list is empty and goes on"));
            }
            (self.walk.keys, self.walk.next, self.walk.is_begun) = (found.keys.into(), found.next, true);
        }
    }
}
