//! The engine `s3`: objects of a bucket, by a kept library that signs and one that speaks HTTP (design 0024).
//!
//! A connection has one request in flight, as HTTP/1.1 has it; more in flight are more connections, each with a thread.
//! Requests are never sent again. Deliberately absent: writes to ranges of objects, caches, proxies, credentials that other
//! services have to be asked for.

mod client;
mod counts;
mod engine;
mod failure;
mod more_lists;
mod name_space;
mod perform;
mod place;
mod pool;
mod profile;
mod removal;
mod site;
mod stream;
mod tls;
mod transport;
mod uploads;
mod wire;
mod writer;

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod place_tests;
#[cfg(test)]
mod tests;

pub use profile::{S3Credentials, S3Environment, S3Sources};
pub use site::EpochClock;

use client::S3Client;
use engine::{ClientGauges, S3Engine, S3Workers};
use narrows_engines::socket::connection_facts;
use narrows_engines::{
    Clock, Engine, EngineError, EngineFactory, ErrorKind, OpenSpec, OwnPlace, PlaceFound, PlaceRequest,
    StopFlag, WorkerContext,
};
use narrows_model::capabilities::Capabilities;
use narrows_model::engine::EngineDeclaration;
use narrows_model::engine::s3::{DECLARATION, PART_BYTES};
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::{Access, CacheState, ObjectCalls, ObjectSet};
use narrows_model::{Bytes, Effective, EngineId, Op, S3Address, Target};
use narrows_sys::buffer::AlignedBuffer;
use narrows_sys::entropy::member_seed;
use perform::{S3Performer, S3Work};
use place::{REMOVE_TIMEOUTS, S3Place, SiteMaker, check_own, is_own_name, marker_key};
use pool::SlotPool;
use removal::{delete, empty};
use rustls::ClientConfig;
use site::{RequestBounds, S3Site};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use uploads::ObjectWriter;
use writer::S3WriterEngine;

/// What the engine declares.
pub const INFO: &EngineDeclaration = &DECLARATION;

/// Wait for each answer while objects are removed.
const REMOVE_TIMEOUT_NS: u64 = 5_000_000_000;
/// Bytes of the block that an object is made of where a load reads one that nobody has written.
const FILL_BYTES: usize = 1 << 20;

/// Options of a study.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(default)]
struct S3Options {
    /// 0 is as many as requests in flight.
    connections: u64,
    part: u64,
}

impl Default for S3Options {
    fn default() -> Self {
        Self { connections: 0, part: PART_BYTES }
    }
}

/// How connections are secured, by the file of certificates.
type TlsConfigs = Arc<Mutex<BTreeMap<Option<String>, Arc<ClientConfig>>>>;

/// Makes `s3` engines.
#[derive(Clone)]
pub struct S3Factory {
    environment: Arc<S3Environment>,
    epoch_seconds: EpochClock,
    clock: Arc<dyn Clock>,
    tls: TlsConfigs,
}

impl std::fmt::Debug for S3Factory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Factory").field("environment", &self.environment).finish_non_exhaustive()
    }
}

impl S3Factory {
    /// Engines that take from `environment` what a target does not say, and sign with the time of `epoch_seconds`; `clock`
    /// bounds what is done outside of a load.
    #[must_use]
    pub fn new(environment: S3Environment, epoch_seconds: EpochClock, clock: Arc<dyn Clock>) -> Self {
        Self { environment: Arc::new(environment), epoch_seconds, clock, tls: TlsConfigs::default() }
    }

    fn site(&self, address: &S3Address, bounds: RequestBounds) -> Result<Arc<S3Site>, EngineError> {
        let tls = |ca_file: Option<&str>| {
            let key = ca_file.map(str::to_owned);
            let mut known = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(config) = known.get(&key) {
                return Ok(Arc::clone(config));
            }
            let made = tls::tls_config(ca_file, &format!("s3:{address}"))?;
            known.insert(key, Arc::clone(&made));
            Ok(made)
        };
        S3Site::resolve(address, &self.environment, bounds, self.epoch_seconds, tls).map(Arc::new)
    }

    fn site_of(&self, spec: &OpenSpec, bounds: RequestBounds) -> Result<Arc<S3Site>, EngineError> {
        self.site(&address_of(&spec.target)?, bounds)
    }
}

/// The engine that writes the object of `spec`.
fn open_writer(
    spec: &OpenSpec,
    worker: &WorkerContext,
    site: &Arc<S3Site>,
) -> Result<S3WriterEngine, EngineError> {
    let [object] = spec.objects.as_slice() else {
        return Err(refused(spec, "one object is written at a time"));
    };
    let mut client = S3Client::new(Arc::clone(site));
    check_own(&mut client, &site.address)?;
    let effective = effective(spec, &client)?;
    let gauges = gauges(&client);
    let blocks = blocks(spec.workload.queue_depth, spec.workload.block_bytes, worker.seed)?;
    let options: S3Options = spec.engine_options()?;
    Ok(S3WriterEngine {
        effective,
        server: site.server(),
        writer: ObjectWriter::new(client, site.address.key(object), options.part),
        blocks,
        gauges,
        queued: Vec::new(),
        done: Vec::new(),
        failure: None,
    })
}

/// The address that `target` is.
fn address_of(target: &Target) -> Result<S3Address, EngineError> {
    let refused = |detail: String| {
        Err(EngineError::new(ErrorKind::Unsupported, "open", target.to_string()).detail(detail))
    };
    match target {
        Target::Scheme { engine: EngineId::S3, rest } => S3Address::parse(rest).or_else(refused),
        _ => refused("the engine s3 supports only s3:".to_owned()),
    }
}

fn refused(spec: &OpenSpec, why: impl Into<String>) -> EngineError {
    EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string()).detail(why)
}

impl EngineFactory for S3Factory {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        address_of(target)?;
        Ok(INFO.capabilities())
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        check_asked(spec)?;
        let bounds = RequestBounds {
            clock: Arc::clone(&worker.clock),
            stop: worker.stop.clone(),
            // Below a millisecond nobody answers.
            timeout_ns: spec.answer_timeout_ns.max(1_000_000),
        };
        let site = self.site_of(spec, bounds)?;
        let ops = spec.workload.ops();
        if spec.create && ops.iter().all(|share| share.op == Op::Write) {
            return Ok(Box::new(open_writer(spec, worker, &site)?));
        }
        if let Some(share) = ops.iter().find(|share| !INFO.ops.contains(&share.op)) {
            return Err(refused(spec, format!("S3 has no {} of a range of an object", share.op)));
        }
        let server = site.server();
        let mut client = S3Client::new(Arc::clone(&site));
        let work = Arc::new(prepared_work(spec, worker, &mut client)?);
        let depth = spec.workload.queue_depth;
        let options: S3Options = spec.engine_options()?;
        let count = match options.connections {
            0 => depth,
            asked => saturate_u32(asked).clamp(1, depth),
        };
        let effective = effective(spec, &client)?;
        let more = (1..count).map(|_| S3Client::new(Arc::clone(&site)));
        let clients: Vec<S3Client> = std::iter::once(client).chain(more).collect();
        let gauges = clients.iter().map(gauges).collect();
        let mut performers: Vec<S3Performer> =
            clients.into_iter().map(|client| S3Performer::new(client, Arc::clone(&work))).collect();
        let failed = |failure: failure::S3Failure| failure.to_error("open", &server);
        let workers = match performers.pop() {
            Some(mut only) if performers.is_empty() && depth == 1 => {
                only.connect().map_err(failed)?;
                S3Workers::Own(Box::new(only))
            }
            last => {
                performers.extend(last);
                S3Workers::Threads(SlotPool::start(performers).map_err(failed)?)
            }
        };
        let blocks = blocks(depth, spec.workload.block_bytes, worker.seed)?;
        Ok(Box::new(S3Engine {
            effective,
            ops: INFO.ops,
            clock: Arc::clone(&worker.clock),
            workers,
            gauges,
            arrivals: Arc::clone(&site.wire.arrivals),
            blocks: blocks.into_iter().map(Some).collect(),
            queued: Vec::with_capacity(depth as usize),
            done: Vec::with_capacity(depth as usize),
            started_count: 0,
            failures: Vec::new(),
            fatal: None,
            server,
        }))
    }

    /// There is nothing of a bucket in this machine's page cache.
    fn bring_cache_to(&self, _spec: &OpenSpec, _state: CacheState) -> Result<Option<f64>, EngineError> {
        Ok(None)
    }

    fn examine(
        &self,
        target: &Target,
        clock: Arc<dyn Clock>,
        timeout_ns: u64,
    ) -> Result<PlaceFound, EngineError> {
        let address = address_of(target)?;
        let bounds = RequestBounds { clock, stop: StopFlag::default(), timeout_ns };
        let site = self.site(&address, bounds)?;
        if address.prefix.is_empty() {
            return Ok(PlaceFound::Folder { free_bytes: None });
        }
        let server = site.server();
        match S3Client::new(site).head(&address.prefix) {
            Ok(length @ 1..) => Ok(PlaceFound::File { length: Bytes(length) }),
            Ok(0) => Ok(PlaceFound::Folder { free_bytes: None }),
            Err(failure) if failure.is_missing() => Ok(PlaceFound::Folder { free_bytes: None }),
            Err(failure) => Err(failure.to_error("examine", &server)),
        }
    }

    fn own_place(
        &self,
        target: &Target,
        request: &PlaceRequest<'_>,
    ) -> Result<Option<Box<dyn OwnPlace>>, EngineError> {
        let (factory, clock) = (self.clone(), Arc::clone(&request.clock));
        let timeout_ns = request.timeout_ns.min(REMOVE_TIMEOUT_NS);
        let make_site: SiteMaker = Arc::new(move |address: &S3Address| {
            let bounds = RequestBounds { clock: Arc::clone(&clock), stop: StopFlag::default(), timeout_ns };
            factory.site(address, bounds)
        });
        Ok(Some(Box::new(S3Place::create(&address_of(target)?, request, make_site)?)))
    }

    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        let bounds = RequestBounds {
            clock: Arc::clone(&self.clock),
            stop: StopFlag::default(),
            timeout_ns: spec.answer_timeout_ns.max(1_000_000),
        };
        let site = self.site_of(spec, bounds)?;
        if !is_own_name(&site.address) {
            return Err(refused(spec, "objects are removed only below a prefix that narrows has made"));
        }
        let mut client = S3Client::new(Arc::clone(&site));
        client.end_within(REMOVE_TIMEOUTS);
        let removed = if spec.workload.objects.is_some() {
            empty(&mut client, &set_prefix(spec, &site.address)?, None)
        } else {
            let objects = spec.objects.iter().filter(|object| !object.is_empty());
            objects.map(|object| site.address.key(object)).try_for_each(|key| delete(&mut client, &key))
        };
        removed.map_err(|failure| failure.to_error("remove objects in", &site.server()))
    }
}

/// Refuses what the engine does not do.
fn check_asked(spec: &OpenSpec) -> Result<(), EngineError> {
    let depth = spec.workload.queue_depth;
    if !(1..=INFO.queue_depth_max).contains(&depth) {
        let most = INFO.queue_depth_max;
        return Err(refused(spec, format!("queue depth {depth} was requested and 1 to {most} are possible"))
            .hint("use another depth, or more workers"));
    }
    if spec.workload.access == Access::Direct {
        return Err(refused(spec, INFO.no_direct_reason()).hint("leave the access as it is by default"));
    }
    match spec.workload.objects {
        Some(set) if set.calls == ObjectCalls::Streams => {
            Err(refused(spec, "objects of a bucket are not moved by the C library's streams"))
        }
        Some(set) => set.problem().map_or(Ok(()), |problem| Err(refused(spec, problem))),
        None => Ok(()),
    }
}

/// What all requests of the load have in common; an object that is read and not there is made, where that is allowed.
fn prepared_work(
    spec: &OpenSpec,
    worker: &WorkerContext,
    client: &mut S3Client,
) -> Result<S3Work, EngineError> {
    let site = Arc::clone(&client.site);
    let options: S3Options = spec.engine_options()?;
    let set: Option<ObjectSet> = spec.workload.objects;
    let mut work = S3Work {
        keys: Vec::new(),
        set,
        set_prefix: String::new(),
        part_bytes: options.part,
        known_key: marker_key(&site.address),
    };
    if set.is_some() {
        check_own(client, &site.address)?;
        work.set_prefix = set_prefix(spec, &site.address)?;
        return Ok(work);
    }
    for object in &spec.objects {
        let key = if object.is_empty() { site.address.prefix.clone() } else { site.address.key(object) };
        if key.is_empty() {
            return Err(refused(spec, "a whole bucket cannot be read as one object"));
        }
        let found = match client.head(&key) {
            Err(failure) if failure.is_missing() && spec.create && !spec.laid_down => {
                make_object(spec, worker, &site, &key)?;
                Ok(spec.object_bytes.0)
            }
            found => found,
        };
        let length = found.map_err(|failure| failure.to_error("open", &site.server()))?;
        let visited = spec.object_bytes.0 - spec.object_bytes.0 % spec.workload.block_bytes.0.max(1);
        if spec.laid_down && length < visited {
            return Err(EngineError::new(ErrorKind::Io, "open", spec.target.to_string())
                .detail(format!(
                    "{object} has {} and had {}: it was replaced meanwhile",
                    Bytes(length),
                    spec.object_bytes
                ))
                .hint("run again, and make sure that nothing else changes the objects of a run"));
        }
        work.known_key.clone_from(&key);
        work.keys.push(key);
    }
    Ok(work)
}

/// Makes an object of entropy of the size that `spec` asks for.
fn make_object(
    spec: &OpenSpec,
    worker: &WorkerContext,
    site: &Arc<S3Site>,
    key: &str,
) -> Result<(), EngineError> {
    let mut client = S3Client::new(Arc::clone(site));
    check_own(&mut client, &site.address)?;
    let block = AlignedBuffer::with_entropy(FILL_BYTES, worker.seed)?;
    let mut writer = ObjectWriter::new(client, key.to_owned(), PART_BYTES);
    let mut left_bytes = spec.object_bytes.0;
    let mut write = || {
        while left_bytes > 0 {
            let part = saturate_usize(left_bytes).min(FILL_BYTES);
            writer.append(&block[..part])?;
            left_bytes -= part as u64;
        }
        writer.finish()
    };
    write().map_err(|failure| failure.to_error("make an object in", &site.server()))
}

/// What the keys of the set of `spec` begin with.
fn set_prefix(spec: &OpenSpec, address: &S3Address) -> Result<String, EngineError> {
    let [name] = spec.objects.as_slice() else {
        return Err(refused(spec, "a set of objects is below one prefix"));
    };
    if name.is_empty() || name.starts_with('.') || name.contains('/') {
        return Err(refused(spec, "the prefix of a set of objects needs a unique name"));
    }
    Ok(format!("{}/", address.key(name)))
}

fn gauges(client: &S3Client) -> ClientGauges {
    ClientGauges { wire: Arc::clone(&client.wire), counts: Arc::clone(&client.counts) }
}

/// What was granted, over the connection that `client` has made.
fn effective(spec: &OpenSpec, client: &S3Client) -> Result<Effective, EngineError> {
    let socket = client.wire.socket();
    let facts = socket.as_ref().map(|socket| connection_facts(socket)).transpose();
    let facts = facts.map_err(|error| EngineError::from_io("open", spec.target.to_string(), error))?;
    Ok(Effective {
        engine: INFO.name().to_owned(),
        access: None,
        queue_depth: spec.workload.queue_depth,
        sync: spec.workload.sync,
        acknowledgement: None,
        write_completion: INFO.write_completion,
        alignment_bytes: Bytes(1),
        connection: facts,
        ring: None,
        has_own_file_table: false,
    })
}

/// One block of entropy per slot, each in memory of its own.
fn blocks(depth: u32, block_bytes: Bytes, seed: u64) -> Result<Vec<AlignedBuffer>, EngineError> {
    let block = |slot: u32| {
        let length = saturate_usize(block_bytes.0.max(1));
        Ok(AlignedBuffer::with_entropy(length, member_seed(seed, u64::from(slot)))?)
    };
    (0..depth).map(block).collect()
}
