//! The receiver of a run's events.

use crate::event::Event;

/// Why an event could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SinkError {
    /// What happened, where, what to do.
    pub message: String,
    /// The cause, where there is one.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Takes a run's events in order.
pub trait Sink {
    /// Takes one event.
    ///
    /// # Errors
    /// When the event could not be kept; the run then stops, since a run that loses data must say so.
    fn event(&mut self, event: &Event) -> Result<(), SinkError>;
}

impl Sink for Vec<Event> {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        self.push(event.clone());
        Ok(())
    }
}
