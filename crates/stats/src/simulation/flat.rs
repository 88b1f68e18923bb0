//! A path as a list of steps without nesting, its stations, windows and memories numbered.

use super::{PathStep, ServiceStation};
use crate::error::StatsError;

/// One step, by the number of what it uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum FlatStep {
    /// Seconds in which nothing is used.
    Delay(f64),
    /// A visit to a station.
    Visit(usize),
    /// The start of a window.
    Open(usize),
    /// The end of a window.
    Close(usize),
    /// Parts at neighbouring stations, `count` of them from `first` on.
    Divide { first: usize, count: usize, parts: usize },
    /// Room in a memory.
    Store(usize),
}

/// A memory with its device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FlatMemory {
    pub(super) room_len: u64,
    pub(super) stored_len: u64,
    pub(super) device: ServiceStation,
}

/// A checked path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FlatPath {
    pub(super) steps: Vec<FlatStep>,
    pub(super) stations: Vec<ServiceStation>,
    /// Requests of one client in each window.
    pub(super) windows: Vec<u32>,
    pub(super) memories: Vec<FlatMemory>,
    /// Most parts of a request; 0 without a stripe.
    pub(super) parts_max: usize,
    /// Seconds of a request alone, each step taking its mean.
    pub(super) alone_s: f64,
}

impl FlatPath {
    /// The path of `steps`.
    pub(super) fn new(steps: &[PathStep]) -> Result<Self, StatsError> {
        let mut path = Self {
            steps: Vec::new(),
            stations: Vec::new(),
            windows: Vec::new(),
            memories: Vec::new(),
            parts_max: 0,
            alone_s: 0.0,
        };
        for step in steps {
            path.add(step)?;
        }
        if path.alone_s > 0.0 {
            return Ok(path);
        }
        Err(StatsError::BadArgument { requirement: "a path needs a step that takes time" })
    }

    fn add(&mut self, step: &PathStep) -> Result<(), StatsError> {
        match step {
            PathStep::Delay { delay_s } => self.add_delay(*delay_s),
            PathStep::Station(station) => {
                let number = self.add_station(*station)?;
                self.alone_s += station.mean_s;
                self.steps.push(FlatStep::Visit(number));
                Ok(())
            }
            PathStep::Window { in_flight, steps } => {
                let number = self.windows.len();
                self.windows.push(in_flight.get());
                self.steps.push(FlatStep::Open(number));
                for step in steps {
                    self.add(step)?;
                }
                self.steps.push(FlatStep::Close(number));
                Ok(())
            }
            PathStep::Stripe { members, parts } => self.add_stripe(members, parts.get() as usize),
            PathStep::Memory { room_len, stored_len, device } => {
                checked(device)?;
                if *room_len == 0 || stored_len > room_len {
                    let requirement = "a memory has room for a request, and for what is stored in it";
                    return Err(StatsError::BadArgument { requirement });
                }
                self.steps.push(FlatStep::Store(self.memories.len()));
                let memory = FlatMemory { room_len: *room_len, stored_len: *stored_len, device: *device };
                self.memories.push(memory);
                Ok(())
            }
        }
    }

    fn add_delay(&mut self, delay_s: f64) -> Result<(), StatsError> {
        if !(delay_s >= 0.0 && delay_s.is_finite()) {
            return Err(StatsError::BadArgument { requirement: "a delay must be finite and not below 0" });
        }
        self.alone_s += delay_s;
        self.steps.push(FlatStep::Delay(delay_s));
        Ok(())
    }

    fn add_stripe(&mut self, members: &[ServiceStation], parts: usize) -> Result<(), StatsError> {
        if parts > members.len() {
            return Err(StatsError::BadArgument { requirement: "a stripe has a member for each part" });
        }
        let first = self.stations.len();
        for member in members {
            self.add_station(*member)?;
        }
        self.alone_s += members.iter().map(|member| member.mean_s).fold(0.0, f64::max);
        self.parts_max = self.parts_max.max(parts);
        self.steps.push(FlatStep::Divide { first, count: members.len(), parts });
        Ok(())
    }

    fn add_station(&mut self, station: ServiceStation) -> Result<usize, StatsError> {
        checked(&station)?;
        self.stations.push(station);
        Ok(self.stations.len() - 1)
    }
}

fn checked(station: &ServiceStation) -> Result<(), StatsError> {
    if station.mean_s > 0.0 && station.mean_s.is_finite() {
        return Ok(());
    }
    Err(StatsError::BadArgument { requirement: "the mean of a station must be finite and above 0" })
}
