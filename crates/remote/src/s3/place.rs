//! A prefix of our own in a bucket: marked by an object, removed with all objects below it; and those that killed runs have
//! left.
//!
//! Keys outside of a marked prefix of ours are neither written nor deleted.

use super::client::{CallBody, S3Client};
use super::failure::S3Failure;
use super::removal::{LISTS_MAX, delete, empty, with_retries};
use super::site::S3Site;
use narrows_engines::own_folders::{MARKER, PREFIX, forget_remote, lock_making, note_problem, note_remote};
use narrows_engines::{EngineError, ErrorKind, OwnPlace, PlaceRequest};
use narrows_model::{EngineId, S3Address, Target};
use std::sync::Arc;

/// Most bytes of a marker.
const MARKER_BYTES_MAX: u64 = 4096;
/// In waits for one answer: how long a place is removed, and how long those are looked for that killed runs have left.
pub(super) const REMOVE_TIMEOUTS: u64 = 128;
const LEFT_TIMEOUTS: u64 = 8;
/// What is said of places that killed runs have left; of more only the number.
const NOTES_MAX: usize = 16;

/// Makes a client for the place's own requests.
pub(super) type SiteMaker = Arc<dyn Fn(&S3Address) -> Result<Arc<S3Site>, EngineError> + Send + Sync>;

/// A marked prefix; dropping it removes it.
pub(super) struct S3Place {
    address: S3Address,
    target: Target,
    make_site: SiteMaker,
    notes: Vec<String>,
    /// There may be something to remove.
    is_made: bool,
}

/// Whether the part of a bucket at `address` has a name as those that narrows makes.
pub(super) fn is_own_name(address: &S3Address) -> bool {
    address.last_part().starts_with(PREFIX)
}

/// The key of the marker of the part at `address`.
pub(super) fn marker_key(address: &S3Address) -> String {
    address.key(MARKER)
}

impl S3Place {
    /// A new place in the part of a bucket at `parent`; places of earlier runs that have ended are removed.
    pub(super) fn create(
        parent: &S3Address,
        request: &PlaceRequest<'_>,
        make_site: SiteMaker,
    ) -> Result<Self, EngineError> {
        let address = parent.within(&format!("{PREFIX}{:016x}", request.nonce));
        let site = make_site(&address)?;
        let server = site.server();
        let mut client = S3Client::new(site);
        let making = lock_making();
        let target = Target::Scheme { engine: EngineId::S3, rest: address.to_string() };
        let mut made = Self { address, target, make_site, notes: Vec::new(), is_made: true };
        note_remote(&made.key(), made.remover());
        drop(making);
        let line = format!("{}\n", request.owner);
        let marked = client.put(&marker_key(&made.address), CallBody::Bytes(line.as_bytes()));
        // Dropping it removes what was made.
        if let Err(failure) = marked {
            made.is_made = !failure.has_changed_nothing();
            return Err(failure.to_error("create objects in", &server));
        }
        client.end_within(LEFT_TIMEOUTS);
        made.notes = remove_left(&mut client, parent, &made.address, request.is_gone);
        Ok(made)
    }

    fn key(&self) -> String {
        self.target.to_string()
    }

    fn removed(&self) -> Result<(), String> {
        if self.is_made { self.remover()() } else { Ok(()) }
    }

    /// Removes it on a connection of its own.
    fn remover(&self) -> Arc<dyn Fn() -> Result<(), String> + Send + Sync> {
        let (address, make_site) = (self.address.clone(), Arc::clone(&self.make_site));
        Arc::new(move || {
            let site = make_site(&address).map_err(|error| error.to_string())?;
            let mut client = S3Client::new(site);
            client.end_within(REMOVE_TIMEOUTS);
            remove_marked(&mut client, &address).map_err(|failure| failure.detail)
        })
    }
}

impl std::fmt::Debug for S3Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Place").field("target", &self.target).finish_non_exhaustive()
    }
}

impl OwnPlace for S3Place {
    fn target(&self) -> &Target {
        &self.target
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Servers that keep each object as a file have it below the folder of the bucket, which is below their root or is it.
    fn write_proof(&self, name: &str, content: &str) -> Result<Option<String>, EngineError> {
        let mut client = S3Client::new((self.make_site)(&self.address)?);
        let server = client.site.server();
        let key = self.address.key(name);
        client
            .put(&key, CallBody::Bytes(content.as_bytes()))
            .map_err(|failure| failure.to_error("create objects in", &server))?;
        Ok(Some(format!("{}/{key}", self.address.bucket)))
    }
}

impl Drop for S3Place {
    fn drop(&mut self) {
        if let Err(why) = self.removed() {
            note_problem(format!(
                "test objects below {}: {why}; the next run there removes them",
                self.key()
            ));
        }
        forget_remote(&self.key());
    }
}

/// Fails unless the part at `address` is a marked place of ours: nothing else is written to, nothing else removed.
pub(super) fn check_own(client: &mut S3Client, address: &S3Address) -> Result<(), EngineError> {
    let server = client.site.server();
    if !is_own_name(address) {
        return Err(EngineError::new(ErrorKind::Unsupported, "open", server)
            .detail("objects are created and removed only below a prefix that narrows has made"));
    }
    match client.head(&marker_key(address)) {
        Ok(_) => Ok(()),
        Err(failure) if failure.is_missing() => Err(EngineError::new(ErrorKind::NotFound, "open", server)
            .detail(format!("the marker {MARKER} is gone: somebody else has removed it"))
            .hint("run again, and make sure that nothing else changes the objects of a run")),
        Err(failure) => Err(failure.to_error("open", &server)),
    }
}

/// Removes the place at `address` with all objects below it, the marker last.
fn remove_marked(client: &mut S3Client, address: &S3Address) -> Result<(), S3Failure> {
    let marker = marker_key(address);
    empty(client, &address.key(""), Some(&marker))?;
    delete(client, &marker)
}

/// Removes places that killed runs of this machine have left in `parent`; what was done, in sentences.
fn remove_left(
    client: &mut S3Client,
    parent: &S3Address,
    own: &S3Address,
    is_gone: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let mut notes = PlaceNotes::default();
    let mut token = None;
    for _ in 0..LISTS_MAX {
        let parts = |client: &mut S3Client| client.list(&parent.key(PREFIX), true, token.as_deref());
        let found = match with_retries(client, parts) {
            Ok(found) => found,
            Err(failure) => {
                notes.push(format!("what killed runs left there is not known: {}", failure.detail));
                return notes.into_sentences();
            }
        };
        let names = found.folders.iter().filter_map(|folder| own_name_of(folder, parent));
        for name in names.filter(|name| *name != own.last_part()) {
            let address = parent.within(name);
            match remove_if_left(client, &address, is_gone) {
                Ok(false) => {}
                Ok(true) => notes.push(format!("removed {name}, which a run that was killed had left")),
                Err(failure) => {
                    notes.push(format!("{name} of a run that was killed stays: {}", failure.detail));
                }
            }
        }
        match found.next {
            Some(next) if token.as_ref() != Some(&next) => token = Some(next),
            _ => break,
        }
    }
    notes.into_sentences()
}

/// What is said of places that killed runs have left, as far as it is kept.
#[derive(Debug, Default)]
struct PlaceNotes {
    kept: Vec<String>,
    more_count: usize,
}

impl PlaceNotes {
    fn push(&mut self, note: String) {
        if self.kept.len() < NOTES_MAX {
            self.kept.push(note);
        } else {
            self.more_count += 1;
        }
    }

    fn into_sentences(mut self) -> Vec<String> {
        if self.more_count > 0 {
            self.kept.push(format!("and {} places more of runs that were killed", self.more_count));
        }
        self.kept
    }
}

/// The name of a place of ours right below `parent` that `folder` is, as a server lists it; `None` for anything else.
fn own_name_of<'a>(folder: &'a str, parent: &S3Address) -> Option<&'a str> {
    let name = folder.strip_prefix(&parent.key(""))?.strip_suffix('/')?;
    (name.starts_with(PREFIX) && !name.contains('/')).then_some(name)
}

/// Whether the place at `address` was one that a killed run had left, and is removed. One without a marker is none of ours:
/// the marker is made first and deleted last.
fn remove_if_left(
    client: &mut S3Client,
    address: &S3Address,
    is_gone: &dyn Fn(&str) -> bool,
) -> Result<bool, S3Failure> {
    let marker = marker_key(address);
    let line = match with_retries(client, |client| client.small_text(&marker, MARKER_BYTES_MAX)) {
        Ok(line) => line.trim().to_owned(),
        Err(failure) if failure.is_missing() => return Ok(false),
        Err(failure) => return Err(failure),
    };
    let is_left = !line.is_empty() && is_gone(&line);
    if is_left {
        remove_marked(client, address)?;
    }
    Ok(is_left)
}
