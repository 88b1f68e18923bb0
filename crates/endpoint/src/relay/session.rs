//! A role asked for over a connection: it is played in a thread of its own while the peer is listened to.

use super::{RoleError, RoleSite, memory_bytes, play};
use crate::channel::{Channel, End, refused};
use crate::session::Sessions;
use crate::threads;
use narrows_engines::Clock;
use narrows_model::relay::RelayTransport;
use narrows_run::{StopFlag, StopRequest};
use narrows_wire::frame::Frame;
use narrows_wire::relay::{FromRole, Prepare, ToRole};
use narrows_wire::{Error, ErrorKind, Refusal};
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

/// How often the end of a trial is looked for while the peer is listened to.
const LISTEN: Duration = Duration::from_millis(20);

/// Where roles are played for peers.
pub(crate) struct Stage<'a> {
    pub(crate) clock: &'a dyn Clock,
    /// Out of whose memory buffers are taken.
    pub(crate) sessions: &'a Sessions,
    /// Whether this program does what is asked, or why it does not.
    pub(crate) may: &'a (dyn Fn(&Prepare) -> Result<(), Error> + Sync),
}

impl Stage<'_> {
    /// Does what a frame of the buffer experiment asks for, and answers.
    ///
    /// # Errors
    /// When the peer is gone or breaks the protocol; what a role cannot do is an answer.
    pub(crate) fn answer(&self, channel: &mut Channel, frame: Frame) -> Result<(), End> {
        let asked = match ToRole::decode(frame) {
            Ok(ToRole::Prepare(asked)) => asked,
            // Nothing is played: there is nothing to stop, and this message has no answer.
            Ok(ToRole::Stop) => return Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::Refused(Refusal::Unsupported)) => {
                return channel.send(&failed(&error).encode()?);
            }
            Err(error) => return Err(error.into()),
        };
        let answer = self.played(channel, &asked)?;
        channel.send(&answer.encode()?)
    }

    fn played(&self, channel: &mut Channel, asked: &Prepare) -> Result<FromRole, End> {
        let admitted = self.admit(asked).and_then(|memory| {
            let (sender, listen) = (channel.sender()?, channel.local_ip()?);
            Ok((memory, sender, listen))
        });
        let (_memory, sender, listen) = match admitted {
            Ok(admitted) => admitted,
            Err(error) => return Ok(failed(&error)),
        };
        let stop = StopFlag::default();
        let site = RoleSite { clock: self.clock, stop: &stop, listen };
        let (outcome, heard) = std::thread::scope(|scope| {
            let playing = threads::spawn(scope, "role", move || {
                play(asked, &site, &mut |listens| tell(&sender, &FromRole::Ready { listens }))
            });
            let playing = match playing {
                Ok(playing) => playing,
                Err(error) => return (Ok(Err(RoleError::from(error))), Ok(())),
            };
            let mut heard = Ok(());
            while !playing.is_finished() && heard.is_ok() {
                heard = listen_for_stop(channel, &stop);
            }
            if heard.is_err() {
                stop.ask(StopRequest::Now);
            }
            (playing.join(), heard)
        });
        heard?;
        Ok(match outcome {
            Ok(Ok(done)) => FromRole::Done(Box::new(done)),
            Ok(Err(error)) => FromRole::Failed { message: error.to_string() },
            Err(_) => FromRole::Failed {
                message: "the role failed inside the endpoint; its own messages say more".to_owned(),
            },
        })
    }

    /// Whether there is place for the role; its memory is given back with the value that is returned.
    fn admit(&self, asked: &Prepare) -> Result<crate::quota::Reservation, Error> {
        (self.may)(asked)?;
        if asked.sockets.transport == RelayTransport::Unix {
            return Err(refused(
                Refusal::Unsupported,
                "Unix sockets join roles of one machine's command alone",
            ));
        }
        self.sessions.reserve_memory(memory_bytes(asked))
    }
}

fn tell(mut sender: &TcpStream, answer: &FromRole) -> Result<(), RoleError> {
    let bytes = answer.encode()?;
    sender.write_all(&bytes).map_err(|error| RoleError::failed(format!("answer who asked: {error}")))
}

fn failed(error: &Error) -> FromRole {
    FromRole::Failed { message: error.to_string() }
}

/// Takes a wish to stop, if one comes soon.
fn listen_for_stop(channel: &mut Channel, stop: &StopFlag) -> Result<(), End> {
    let Some(frame) = channel.receive_within(LISTEN)? else { return Ok(()) };
    match ToRole::decode(frame)? {
        ToRole::Stop => {
            stop.ask(StopRequest::Now);
            Ok(())
        }
        ToRole::Prepare(_) => Err(End::Told(Error::protocol("a role was asked for while one is played"))),
    }
}
