//! The endpoints of a run as one: a single one, or those of a stripe.
//!
//! Their counters are added up (`model::counters::merge_samples`), so that what the load moved is compared with what all of them did.

use crate::link::{ServerLink, StoredObjects};
use crate::stop::StopFlag;
use narrows_engines::endpoint::{ControlClient, RemoteCellParams, sessions};
use narrows_engines::{EngineError, ErrorKind};
use narrows_model::counters::{CountedMachine, merge_samples};
use narrows_model::workload::CacheState;
use narrows_model::{Bytes, Cell, CounterSample, Event, Layer, Target};
use narrows_wire::control::CacheWork;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The endpoints of a run, connected; at least one.
pub struct Servers {
    first: ControlClient,
    others: Vec<ControlClient>,
    /// The first one's session, or those of all.
    session: String,
    /// The proxy on the way to a single one.
    proxy: Option<ControlClient>,
}

impl Servers {
    /// The endpoints behind `clients`; `None` without any.
    #[must_use]
    pub fn from_clients(clients: Vec<ControlClient>) -> Option<Self> {
        let session = sessions(&clients)?;
        let mut clients = clients.into_iter();
        Some(Self { first: clients.next()?, others: clients.collect(), session, proxy: None })
    }

    /// One endpoint alone.
    #[must_use]
    pub fn one(client: ControlClient) -> Self {
        let session = client.session().to_owned();
        Self { first: client, others: Vec::new(), session, proxy: None }
    }

    /// The same, with the proxy on the way to the first.
    #[must_use]
    pub fn behind(self, proxy: Option<ControlClient>) -> Self {
        Self { proxy, ..self }
    }

    /// The proxy on the way.
    #[must_use]
    pub fn proxy(&self) -> Option<&ControlClient> {
        self.proxy.as_ref()
    }

    /// The first of them.
    #[must_use]
    pub fn first(&self) -> &ControlClient {
        &self.first
    }

    /// The first of them, to be asked something.
    pub fn first_mut(&mut self) -> &mut ControlClient {
        &mut self.first
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &ControlClient> {
        std::iter::once(&self.first).chain(&self.others)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut ControlClient> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    /// The endpoint at `host` and `port`.
    fn at(&mut self, host: &str, port: u16) -> Result<&mut ControlClient, EngineError> {
        let wanted = address(host, port);
        self.iter_mut().find(|client| client.facts().address == wanted).ok_or_else(|| {
            EngineError::new(ErrorKind::Unsupported, "ask", address(host, port))
                .detail("the run is not connected to this endpoint")
        })
    }

    /// Free space in the store of the endpoint at `host` and `port`; `None` where there is no such endpoint or it does
    /// not report it.
    #[must_use]
    pub fn free_bytes(&self, host: &str, port: u16) -> Option<Bytes> {
        let wanted = address(host, port);
        store_free_bytes(self.iter().find(|client| client.facts().address == wanted)?)
    }
}

/// Free space in the store of the endpoint that `client` speaks to: the file system's, or what its quota leaves.
#[must_use]
pub fn store_free_bytes(client: &ControlClient) -> Option<Bytes> {
    let free = client.inventory().path.as_ref().and_then(|path| path.free_bytes);
    match (free, client.facts().quota_bytes) {
        (Some(free), Some(quota)) => Some(free.min(quota)),
        (free, quota) => free.or(quota),
    }
}

/// A host and its port as the facts of an endpoint name it.
fn address(host: &str, port: u16) -> String {
    let full = Target::Tcp { host: host.to_owned(), port, layer: Layer::Disk, via: None }.to_string();
    full.trim_start_matches("tcp://").trim_end_matches("/disk").to_owned()
}

fn machine(client: &ControlClient) -> CountedMachine {
    let path = client.inventory().path.as_ref();
    let devices = path.into_iter().flat_map(|path| &path.devices).map(|device| device.name.clone()).collect();
    CountedMachine { boot_id: client.facts().boot_id.clone(), devices }
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Servers").field("session", &self.session).finish_non_exhaustive()
    }
}

impl ServerLink for Servers {
    fn session(&self) -> String {
        self.session.clone()
    }

    fn set_stop_flag(&mut self, stop: &StopFlag) {
        self.iter_mut().for_each(|client| client.set_stop_flag(stop.clone()));
        self.proxy.iter_mut().for_each(|proxy| proxy.set_stop_flag(stop.clone()));
    }

    fn proxy_counters(&mut self) -> Option<CounterSample> {
        self.proxy.as_mut()?.counters().ok()
    }

    fn counters(&mut self) -> Result<CounterSample, EngineError> {
        let samples: Vec<CounterSample> =
            self.iter_mut().map(ControlClient::counters).collect::<Result<_, _>>()?;
        let machines: Vec<CountedMachine> = self.iter().map(machine).collect();
        merge_samples(&machines, samples).ok_or_else(|| {
            EngineError::new(ErrorKind::Protocol, "read counters", self.first.facts().address.clone())
        })
    }

    /// A cell at an endpoint's own storage names the endpoint where there are several.
    fn run_cell(
        &mut self,
        cell: &Cell,
        params: RemoteCellParams,
        on_event: &mut dyn FnMut(Event),
        stop: &dyn Fn() -> bool,
    ) -> Result<(), EngineError> {
        let Target::Tcp { host, port, .. } = &cell.target else {
            return self.first.run_cell(cell, params, on_event, stop);
        };
        let client = self.at(host, *port)?;
        let there = Cell { target: Target::File { path: PathBuf::from(".") }, ..cell.clone() };
        client.run_cell(&there, params, on_event, stop)
    }

    /// What was written is brought to every device first; of the servers on one machine, which share its page cache,
    /// one alone reads the dummy file.
    fn bring_cache_to(
        &mut self,
        stored: &[StoredObjects],
        state: CacheState,
    ) -> Result<Option<f64>, EngineError> {
        let work = if state == CacheState::Cold { CacheWork::Drop } else { CacheWork::Sync };
        let mut shares = Vec::with_capacity(stored.len());
        for place in stored {
            shares.push(self.at(&place.host, place.port)?.cache(&place.names, work)?);
        }
        if let CacheState::Displaced { scan_bytes } = state {
            let mut machines = BTreeSet::new();
            shares.clear();
            for place in stored {
                let client = self.at(&place.host, place.port)?;
                if machines.insert(client.facts().boot_id.clone()) {
                    client.displace_cache(scan_bytes.0)?;
                }
            }
            for place in stored {
                shares.push(self.at(&place.host, place.port)?.cache(&place.names, CacheWork::Look)?);
            }
        }
        let known: Option<Vec<f64>> = shares.into_iter().collect();
        Ok(known
            .filter(|known| !known.is_empty())
            .map(|known| known.iter().sum::<f64>() / known.len() as f64))
    }
}
