//! A role asked for over a connection: it is played in a thread of its own while the peer is listened to.

use super::{RoleError, RoleSite, memory_bytes, play};
use crate::channel::{Channel, ConversationEnd, refused};
use crate::session::Sessions;
use crate::threads;
use narrows_engines::Clock;
use narrows_model::relay::RelayTransport;
use narrows_run::{StopFlag, StopRequest};
use narrows_wire::frame::Frame;
use narrows_wire::relay::{RoleCommand, RoleReply, RoleSpec};
use narrows_wire::{Error, ErrorKind, Refusal};
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

/// How often the end of a trial is looked for while the peer is listened to.
const LISTEN: Duration = Duration::from_millis(20);

/// Where roles are played for peers.
pub(crate) struct RoleHost<'a> {
    pub(crate) clock: &'a dyn Clock,
    /// Out of whose memory buffers are taken.
    pub(crate) sessions: &'a Sessions,
    /// Whether this program does what is asked, or why it does not.
    pub(crate) may: &'a (dyn Fn(&RoleSpec) -> Result<(), Error> + Sync),
}

impl RoleHost<'_> {
    /// Does what a frame of the buffer experiment asks for, and answers.
    ///
    /// # Errors
    /// When the peer is gone or breaks the protocol; what a role cannot do is an answer.
    pub(crate) fn answer(&self, channel: &mut Channel, frame: Frame) -> Result<(), ConversationEnd> {
        let asked = match RoleCommand::decode(frame) {
            Ok(RoleCommand::Prepare(asked)) => asked,
            // Nothing is played: there is nothing to stop, and this message has no answer.
            Ok(RoleCommand::Stop) => return Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::Refused(Refusal::Unsupported)) => {
                return channel.send(&failure_reply(&error).encode()?);
            }
            Err(error) => return Err(error.into()),
        };
        let answer = self.run_requested(channel, &asked)?;
        channel.send(&answer.encode()?)
    }

    fn run_requested(&self, channel: &mut Channel, asked: &RoleSpec) -> Result<RoleReply, ConversationEnd> {
        let admitted = self.admit(asked).and_then(|memory| {
            let (sender, listen) = (channel.sender()?, channel.local_ip()?);
            Ok((memory, sender, listen))
        });
        let (_memory, sender, listen) = match admitted {
            Ok(admitted) => admitted,
            Err(error) => return Ok(failure_reply(&error)),
        };
        let stop = StopFlag::default();
        let site = RoleSite { clock: self.clock, stop: &stop, listen };
        let (outcome, received) = std::thread::scope(|scope| {
            let playing = threads::spawn(scope, "role", move || {
                play(asked, &site, &mut |listens| send_reply(&sender, &RoleReply::Ready { listens }))
            });
            let playing = match playing {
                Ok(playing) => playing,
                Err(error) => return (Ok(Err(RoleError::from(error))), Ok(())),
            };
            let mut received = Ok(());
            while !playing.is_finished() && received.is_ok() {
                received = listen_for_stop(channel, &stop);
            }
            if received.is_err() {
                stop.ask(StopRequest::Now);
            }
            (playing.join(), received)
        });
        received?;
        Ok(match outcome {
            Ok(Ok(done)) => RoleReply::Done(Box::new(done)),
            Ok(Err(error)) => RoleReply::Failed { message: error.to_string() },
            Err(_) => RoleReply::Failed {
                message: "the role failed inside the endpoint; see its own messages".to_owned(),
            },
        })
    }

    /// Whether there is place for the role; its memory is given back with the value that is returned.
    fn admit(&self, asked: &RoleSpec) -> Result<crate::quota::Reservation, Error> {
        (self.may)(asked)?;
        if asked.sockets.transport == RelayTransport::Unix {
            return Err(refused(
                Refusal::Unsupported,
                "Unix sockets connect only roles that one command starts on one machine",
            ));
        }
        self.sessions.reserve_memory(memory_bytes(asked))
    }
}

fn send_reply(mut sender: &TcpStream, answer: &RoleReply) -> Result<(), RoleError> {
    let bytes = answer.encode()?;
    sender.write_all(&bytes).map_err(|error| RoleError::failed(format!("answer the request: {error}")))
}

fn failure_reply(error: &Error) -> RoleReply {
    RoleReply::Failed { message: error.to_string() }
}

/// Takes a wish to stop, if one comes soon.
fn listen_for_stop(channel: &mut Channel, stop: &StopFlag) -> Result<(), ConversationEnd> {
    let Some(frame) = channel.receive_within(LISTEN)? else { return Ok(()) };
    match RoleCommand::decode(frame)? {
        RoleCommand::Stop => {
            stop.ask(StopRequest::Now);
            Ok(())
        }
        RoleCommand::Prepare(_) => {
            Err(ConversationEnd::Failed(Error::protocol("a role was requested while another one is active")))
        }
    }
}
