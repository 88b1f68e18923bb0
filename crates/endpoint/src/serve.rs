//! The life of one connection: hello, then control or data.

use crate::channel::{Channel, End, refused};
use crate::connections::Place;
use crate::server::Shared;
use crate::{control, data, random};
use narrows_wire::Refusal;
use narrows_wire::hello::Purpose;
use std::net::TcpStream;
use std::sync::Arc;

/// Serves a connection that was accepted, to its end.
pub(crate) fn serve(socket: TcpStream, place: &Place<'_>, shared: &Shared) {
    let live = Arc::clone(&place.live);
    let Ok(mut channel) = Channel::new(socket, live, Arc::clone(&shared.options.clock)) else { return };
    let greeted = random::nonce()
        .map_err(End::from)
        .and_then(|nonce| channel.greet(nonce, shared.key.clone()))
        .and_then(|purpose| match shared.connections.establish(&place.live) {
            Ok(()) => Ok(purpose),
            Err(why) => Err(End::Told(refused(Refusal::Busy, why))),
        });
    match greeted {
        Ok(Purpose::Control) => {
            channel.live.opened_to_wait();
            control::serve(channel, shared);
        }
        Ok(Purpose::Data) => data::serve(channel, shared),
        Ok(Purpose::Proxy) => channel.part(&refused(
            Refusal::Unsupported,
            "this is a `narrows serve` and no `narrows proxy`; give its address with --server",
        )),
        Err(End::Told(error)) => channel.part(&error),
        Err(End::Gone) => {}
    }
}
