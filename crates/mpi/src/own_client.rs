//! The client of this rank: the orders that it gets from its messenger, and its life.

use crate::message::LocalMessage;
use narrows::{CommandFailure, Setup, serve_rank};
use narrows_run::assignment::ToClient;
use narrows_run::client_process::ClientOrder;
use narrows_run::{StopFlag, StopRequest};
use std::io::{Error, ErrorKind};
use std::sync::mpsc::{Receiver, Sender};
use std::thread::Builder;

/// The way from the messenger to the client of its rank.
pub(crate) struct OwnClient {
    orders: Sender<ClientOrder>,
    trial: u64,
    stop: StopFlag,
}

impl OwnClient {
    /// A client that takes its orders at the other end of `orders`.
    pub(crate) fn new(orders: Sender<ClientOrder>) -> Self {
        Self { orders, trial: 0, stop: StopFlag::default() }
    }

    /// Sends it a message; a request to stop is heeded at once, whatever the client does.
    pub(crate) fn send(&mut self, trial: u64, message: ToClient) {
        match &message {
            ToClient::Prepare(..) => {
                self.trial = trial;
                self.stop = StopFlag::default();
            }
            ToClient::Stop if trial == self.trial => self.stop.ask(StopRequest::Now),
            _ => {}
        }
        // A client that is gone has ended its process or says so by itself.
        drop(self.orders.send(ClientOrder { trial, message, stop: self.stop.clone() }));
    }
}

impl Drop for OwnClient {
    fn drop(&mut self) {
        self.stop.ask(StopRequest::Now);
    }
}

/// Serves as the client of this rank until its messenger ends.
///
/// # Errors
/// Why it could not go on, for people.
pub(crate) fn serve(
    setup: &Setup,
    inbox: Receiver<ClientOrder>,
    messenger: Sender<LocalMessage>,
) -> Result<(), String> {
    let mut answer = move |trial, message| {
        messenger.send(LocalMessage::FromOwn { trial, message }).map_err(|_| {
            Error::new(ErrorKind::BrokenPipe, "the thread that makes the calls of MPI has ended")
        })
    };
    serve_rank(setup, inbox, &mut answer).map_err(|failure| match failure {
        CommandFailure::BadInput(error) | CommandFailure::CouldNotRun(error) => error.to_string(),
    })
}

/// The same in a thread of its own, for the rank that has a command beside it.
///
/// # Errors
/// When the system refuses a thread.
pub(crate) fn start(
    setup: Setup,
    inbox: Receiver<ClientOrder>,
    messenger: Sender<LocalMessage>,
) -> Result<(), String> {
    let life = move || drop(serve(&setup, inbox, messenger));
    let thread = Builder::new().name("client".to_owned()).spawn(life);
    thread.map(drop).map_err(|error| format!("start a thread for the client of rank 0: {error}"))
}
