//! What the calls of an engine are of, whichever connection they are on.

use super::peer::StoragePeer;
use crate::clock::Tick;
use crate::error::EngineError;
use crate::flights::RequestFlights;

/// What the calls of an engine are of, whichever connection they are on.
pub(crate) trait ConnectionLoad {
    /// Whom its connections are to.
    type Peer: StoragePeer;

    fn peer(&self) -> &Self::Peer;

    fn flights(&self) -> &RequestFlights;

    fn flights_mut(&mut self) -> &mut RequestFlights;

    /// Reads the clock, once for all that arrived together.
    fn read_clock(&mut self);

    /// When something that was waited for came last, or waiting began.
    fn last_progress(&self) -> Tick;

    /// What is waited for is waited for from the last read of the clock on.
    fn begin_wait(&mut self);

    /// Why the load cannot go on.
    fn take_failure(&mut self) -> Option<EngineError>;
}
