//! A role as a process of its own: asked through stdin, answering through stdout, until its parent closes the pipe.

use super::{RoleError, RoleSite, play};
use narrows_engines::Clock;
use narrows_run::client_process::read_frames;
use narrows_run::{StopFlag, StopRequest};
use narrows_wire::relay::{FromRole, Prepare, ToRole};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

/// The wish to stop of the trial that runs, shared with who listens meanwhile.
type Current = Arc<Mutex<StopFlag>>;

/// Serves one parent: plays the roles that `input` asks for, one after the other, and answers on `output`.
///
/// TCP roles listen on loopback alone.
///
/// # Errors
/// When the pipes break; failures of a role go to the parent.
pub fn serve_role(
    input: impl Read + Send + 'static,
    mut output: impl Write,
    clock: &Arc<dyn Clock>,
) -> io::Result<()> {
    let (sender, inbox) = mpsc::channel();
    let current: Current = Arc::default();
    let listener = Arc::clone(&current);
    std::thread::spawn(move || {
        let ended = read_frames(input, |frame| match ToRole::decode(frame) {
            Ok(ToRole::Prepare(asked)) => sender.send(Ok(asked)).is_ok(),
            Ok(ToRole::Stop) => {
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
            Ok(asked) => played(&asked, &flag, &**clock, &mut output),
            Err(message) => FromRole::Failed { message },
        };
        send(&mut output, &answer)?;
    }
    Ok(())
}

fn stop(current: &Current) {
    current.lock().unwrap_or_else(PoisonError::into_inner).ask(StopRequest::Now);
}

fn played(asked: &Prepare, stop: &StopFlag, clock: &dyn Clock, output: &mut impl Write) -> FromRole {
    let site = RoleSite { clock, stop, listen: IpAddr::V4(Ipv4Addr::LOCALHOST) };
    let mut ready = |listens| {
        send(output, &FromRole::Ready { listens })
            .map_err(|error| RoleError::failed(format!("answer the parent: {error}")))
    };
    match play(asked, &site, &mut ready) {
        Ok(done) => FromRole::Done(Box::new(done)),
        Err(error) => FromRole::Failed { message: error.to_string() },
    }
}

fn send(output: &mut impl Write, answer: &FromRole) -> io::Result<()> {
    output.write_all(&answer.encode().map_err(io::Error::other)?)?;
    output.flush()
}
