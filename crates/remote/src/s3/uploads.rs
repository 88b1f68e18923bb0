//! Uploads in parts: an object of several requests.

use super::client::{CallBody, S3Client};
use super::failure::S3Failure;
use narrows_model::units::saturate_usize;

/// Most parts of an upload.
///
/// # Source
/// Amazon S3 User Guide, multipart upload limits.
const PARTS_MAX: u64 = 10_000;

/// Stores an object of `length_bytes`, which are `block` again and again: in parts where it is larger than `part_bytes`.
pub(super) fn put_object(
    client: &mut S3Client,
    key: &str,
    block: &[u8],
    length_bytes: u64,
    part_bytes: u64,
) -> Result<(), S3Failure> {
    if length_bytes <= part_bytes {
        return client.put(key, repeated(block, length_bytes));
    }
    if length_bytes.div_ceil(part_bytes) > PARTS_MAX {
        let why =
            format!("an object of {length_bytes} bytes has more than {PARTS_MAX} parts of {part_bytes}");
        return Err(S3Failure::unsupported(why));
    }
    // Parts begin where a block does, or the object would be another one with other parts.
    let part_bytes = part_bytes.next_multiple_of((block.len() as u64).max(1));
    let upload_id = client.create_upload(key)?;
    let stored = put_parts(client, key, &upload_id, block, length_bytes, part_bytes);
    if stored.is_err() {
        // The failure is what matters; what stays is given up when the place is removed.
        drop(client.abort_upload(key, &upload_id));
    }
    stored
}

fn put_parts(
    client: &mut S3Client,
    key: &str,
    upload_id: &str,
    block: &[u8],
    length_bytes: u64,
    part_bytes: u64,
) -> Result<(), S3Failure> {
    let mut tags = Vec::with_capacity(saturate_usize(length_bytes.div_ceil(part_bytes)));
    let mut at_bytes = 0;
    while at_bytes < length_bytes {
        let part = part_bytes.min(length_bytes - at_bytes);
        let number = u16::try_from(tags.len() + 1).unwrap_or(u16::MAX);
        tags.push(client.upload_part(key, upload_id, number, repeated(block, part))?);
        at_bytes += part;
    }
    client.complete_upload(key, upload_id, &tags)
}

/// What a request sends of an object that is `block` again and again.
fn repeated(block: &[u8], length_bytes: u64) -> CallBody<'_> {
    match usize::try_from(length_bytes) {
        Ok(length) if length <= block.len() => CallBody::Bytes(&block[..length]),
        _ => CallBody::Repeated { block, length_bytes },
    }
}

/// An object that is written from its start to its end, in parts where it is larger than one.
pub(super) struct ObjectWriter {
    client: S3Client,
    key: String,
    part: Vec<u8>,
    part_bytes: usize,
    upload_id: Option<String>,
    tags: Vec<String>,
    pub(super) written_bytes: u64,
}

impl ObjectWriter {
    /// The object `key`, of which nothing is written yet.
    pub(super) fn new(client: S3Client, key: String, part_bytes: u64) -> Self {
        let part_bytes = saturate_usize(part_bytes);
        Self {
            client,
            key,
            part: Vec::new(),
            part_bytes,
            upload_id: None,
            tags: Vec::new(),
            written_bytes: 0,
        }
    }

    /// Adds to its end.
    pub(super) fn append(&mut self, mut bytes: &[u8]) -> Result<(), S3Failure> {
        while !bytes.is_empty() {
            if self.part.len() == self.part_bytes {
                self.send_part()?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(self.part_bytes - self.part.len()));
            self.part.extend_from_slice(now);
            self.written_bytes += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    fn send_part(&mut self) -> Result<(), S3Failure> {
        if self.tags.len() as u64 >= PARTS_MAX {
            return Err(S3Failure::unsupported(format!("an object of more than {PARTS_MAX} parts")));
        }
        let upload_id = match self.upload_id.clone() {
            Some(upload_id) => upload_id,
            None => self.upload_id.insert(self.client.create_upload(&self.key)?).clone(),
        };
        let number = u16::try_from(self.tags.len() + 1).unwrap_or(u16::MAX);
        let body = CallBody::Bytes(&self.part);
        self.tags.push(self.client.upload_part(&self.key, &upload_id, number, body)?);
        self.part.clear();
        Ok(())
    }

    /// Stores what was written, as one object.
    pub(super) fn finish(&mut self) -> Result<(), S3Failure> {
        if self.upload_id.is_none() {
            return self.client.put(&self.key, CallBody::Bytes(&self.part));
        }
        if !self.part.is_empty() {
            self.send_part()?;
        }
        let upload_id = self.upload_id.clone().unwrap_or_default();
        self.client.complete_upload(&self.key, &upload_id, &self.tags)?;
        self.upload_id = None;
        Ok(())
    }
}

impl Drop for ObjectWriter {
    fn drop(&mut self) {
        if let Some(upload_id) = self.upload_id.take() {
            // What stays is given up when the place is removed.
            drop(self.client.abort_upload(&self.key, &upload_id));
        }
    }
}
