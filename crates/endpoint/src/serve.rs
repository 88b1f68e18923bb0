//! The life of one connection: hello, then control or data.

use crate::channel::{Channel, End, refused};
use crate::connections::Live;
use crate::server::Shared;
use crate::{control, data, random};
use narrows_wire::hello::Purpose;
use narrows_wire::{Refusal, refuse};
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

/// Serves a connection that was let in, to its end.
pub(crate) fn serve(socket: TcpStream, live: Arc<Live>, shared: &Shared) {
    let Ok(mut channel) = Channel::new(socket, live, Arc::clone(&shared.options.clock)) else { return };
    let greeted =
        random::nonce().map_err(End::from).and_then(|nonce| channel.greet(nonce, shared.key.clone()));
    match greeted {
        Ok(Purpose::Control) => {
            channel.live.be_patient();
            control::serve(channel, shared);
        }
        Ok(Purpose::Data) => data::serve(channel, shared),
        Err(End::Told(error)) => channel.part(&error),
        Err(End::Gone) => {}
    }
}

/// Tells a connection that was not let in why, and lets it go.
pub(crate) fn turn_away(mut socket: TcpStream, why: &str) {
    let told = socket
        .set_write_timeout(Some(Duration::from_secs(1)))
        .and_then(|()| socket.write_all(&refuse::encode(&refused(Refusal::Busy, why))));
    if told.is_ok() {
        crate::channel::linger(&mut socket);
    }
}
