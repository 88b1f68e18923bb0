//! A role as a process of its own: asked through stdin, answering through stdout, until its parent closes the pipe.

use super::{RoleError, RoleSite, play};
use narrows_engines::Clock;
use narrows_run::client_process::read_frames;
use narrows_run::{StopFlag, StopRequest};
use narrows_wire::relay::{RoleCommand, RoleReply, RoleSpec};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

/// The wish to stop of the trial that runs, shared with who listens meanwhile.
type CurrentStop = Arc<Mutex<StopFlag>>;

/// Serves one parent: plays the roles that `input` asks for, one after the other, and answers on `output`.
///
/// TCP roles listen on loopback alone.
///
/// # Errors
/// When the pipes break; failures of a role are sent to the parent.
pub fn serve_role(
    input: impl Read + Send + 'static,
    mut output: impl Write,
    clock: &Arc<dyn Clock>,
) -> io::Result<()> {
    let (sender, inbox) = mpsc::channel();
    let current: CurrentStop = Arc::default();
    let listener = Arc::clone(&current);
    std::thread::spawn(move || {
        let ended = read_frames(input, |frame| match RoleCommand::decode(frame) {
            Ok(RoleCommand::Prepare(asked)) => sender.send(Ok(asked)).is_ok(),
            Ok(RoleCommand::Stop) => {
                stop(&listener);
                true
            }
            Err(error) => sender.send(Err(error.to_string())).is_ok(),
        });
        if let Err(problem) = ended {
            drop(sender.send(Err(problem)));
        }
        // A parent that ended, however, must end the role too.
        stop(&listener);
    });
    while let Ok(asked) = inbox.recv() {
        let flag = StopFlag::default();
        *current.lock().unwrap_or_else(PoisonError::into_inner) = flag.clone();
        let answer = match asked {
            Ok(asked) => run_requested(&asked, &flag, &**clock, &mut output),
            Err(message) => RoleReply::Failed { message },
        };
        send(&mut output, &answer)?;
    }
    Ok(())
}

fn stop(current: &CurrentStop) {
    current.lock().unwrap_or_else(PoisonError::into_inner).ask(StopRequest::Now);
}

fn run_requested(asked: &RoleSpec, stop: &StopFlag, clock: &dyn Clock, output: &mut impl Write) -> RoleReply {
    let site = RoleSite { clock, stop, listen: IpAddr::V4(Ipv4Addr::LOCALHOST) };
    let mut ready = |listens| {
        send(output, &RoleReply::Ready { listens })
            .map_err(|error| RoleError::failed(format!("answer the parent: {error}")))
    };
    match play(asked, &site, &mut ready) {
        Ok(done) => RoleReply::Done(Box::new(done)),
        Err(error) => RoleReply::Failed { message: error.to_string() },
    }
}

fn send(output: &mut impl Write, answer: &RoleReply) -> io::Result<()> {
    output.write_all(&answer.encode().map_err(io::Error::other)?)?;
    output.flush()
}
