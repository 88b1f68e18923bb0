//! Events and samples of a record, merged in the order in which the run reported them.

use crate::damage::DamageList;
use crate::error::RecordError;
use crate::line::LineHeader;
use crate::reader::{Events, Record};
use narrows_model::Event;

type NextEvent = Option<Result<(LineHeader, Event), RecordError>>;

/// Everything that a run reported, in order.
#[derive(Debug)]
pub struct Timeline {
    events: Events,
    samples: Events,
    next_event: NextEvent,
    next_sample: NextEvent,
}

impl Record {
    /// Events and samples in the order in which they were written, as the run reported them.
    ///
    /// # Errors
    /// As for [`Record::events`].
    pub fn timeline(&self) -> Result<Timeline, RecordError> {
        Ok(Timeline::new(self.events()?, self.samples()?))
    }
}

impl Timeline {
    fn new(mut events: Events, mut samples: Events) -> Self {
        let (next_event, next_sample) = (events.advance(), samples.advance());
        Self { events, samples, next_event, next_sample }
    }

    /// What is missing among the lines read so far, of both files.
    #[must_use]
    pub fn damage(&self) -> DamageList {
        self.events.damage().clone().followed_by(self.samples.damage())
    }

    /// Whether the next sample was written before the next event; errors come as early as they can.
    fn sample_is_next(&self) -> bool {
        match (&self.next_event, &self.next_sample) {
            (_, None) => false,
            (None, _) | (_, Some(Err(_))) => true,
            (Some(Err(_)), _) => false,
            (Some(Ok((event, _))), Some(Ok((sample, _)))) => {
                sample.after_events.is_none_or(|count| count <= event.seq)
            }
        }
    }
}

impl Iterator for Timeline {
    type Item = Result<Event, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = if self.sample_is_next() {
            std::mem::replace(&mut self.next_sample, self.samples.advance())
        } else {
            std::mem::replace(&mut self.next_event, self.events.advance())
        };
        next.map(|next| next.map(|(_, event)| event))
    }
}
