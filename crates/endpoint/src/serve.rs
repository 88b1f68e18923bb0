//! The life of one connection: hello, then control or data.

use crate::channel::{Channel, ConversationEnd, refused};
use crate::connections::ConnectionPermit;
use crate::shared::ServerState;
use crate::{control, data, random};
use narrows_wire::Refusal;
use narrows_wire::hello::Purpose;
use std::net::TcpStream;
use std::sync::Arc;

/// Serves a connection that was accepted, to its end.
pub(crate) fn serve(socket: TcpStream, permit: &ConnectionPermit<'_>, shared: &ServerState) {
    let live = Arc::clone(&permit.live);
    let Ok(mut channel) = Channel::new(socket, live, Arc::clone(&shared.options.clock)) else { return };
    let greeted = random::nonce()
        .map_err(ConversationEnd::from)
        .and_then(|nonce| channel.accept_hello(nonce, shared.key.clone()))
        .and_then(|purpose| match shared.connections.establish(&permit.live) {
            Ok(()) => Ok(purpose),
            Err(why) => Err(ConversationEnd::Failed(refused(Refusal::Busy, why))),
        });
    let greeted = greeted.and_then(|purpose| Ok((purpose, shared.descriptors.for_connection(purpose)?)));
    let (greeted, _files) = match greeted {
        Ok((purpose, files)) => (Ok(purpose), Some(files)),
        Err(end) => (Err(end), None),
    };
    match greeted {
        Ok(Purpose::Control) => {
            channel.live.mark_open_silent();
            control::serve(channel, shared);
        }
        Ok(Purpose::Data) => data::serve(channel, shared),
        Ok(Purpose::Proxy) => channel.close_with(&refused(
            Refusal::Unsupported,
            "this is a `narrows serve`, not a `narrows proxy`; give its address with --server",
        )),
        Err(ConversationEnd::Failed(error)) => channel.close_with(&error),
        Err(ConversationEnd::Gone) => {}
    }
}
