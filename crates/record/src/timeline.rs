//! Events and samples of a record, put together again in the order in which the run told them.

use crate::damage::Damage;
use crate::error::RecordError;
use crate::line::Header;
use crate::reader::Events;
use narrows_model::Event;

type Next = Option<Result<(Header, Event), RecordError>>;

/// Everything that a run told, in order.
#[derive(Debug)]
pub struct Timeline {
    events: Events,
    samples: Events,
    next_event: Next,
    next_sample: Next,
}

impl Timeline {
    pub(crate) fn new(mut events: Events, mut samples: Events) -> Self {
        let (next_event, next_sample) = (events.advance(), samples.advance());
        Self { events, samples, next_event, next_sample }
    }

    /// What is missing among the lines read so far, of both files.
    #[must_use]
    pub fn damage(&self) -> Vec<Damage> {
        [self.events.damage(), self.samples.damage()].concat()
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
