//! A data connection from its opening to its end, by what it is to.

use crate::channel::{Channel, ConversationEnd};
use crate::shared::ServerState;
use crate::{disk, memory, random, stream};
use narrows_model::Layer;
use narrows_wire::open::OpenRequest;

/// Serves one data connection from its opening to its end.
pub(crate) fn serve(mut channel: Channel, shared: &ServerState) {
    let opened = receive_opening(&mut channel, shared).and_then(|open| {
        let session = match &open.session {
            Some(id) => shared.sessions.find(id)?,
            None => shared.sessions.open(random::session_id()?, &shared.descriptors),
        };
        let member = session.join(&channel.live)?;
        channel.live.set_life(&member.session.life);
        channel.live.mark_open();
        Ok((open, member))
    });
    let (open, member) = match opened {
        Ok(opened) => opened,
        Err(ConversationEnd::Failed(error)) => return channel.close_with(&error),
        Err(ConversationEnd::Gone) => return,
    };
    match open.layer {
        Layer::Sink | Layer::Source => stream::serve(channel, shared, &open, &member),
        Layer::Memory => memory::serve(channel, shared, &open, &member),
        Layer::Disk => disk::serve(channel, shared, &open, &member),
    }
}

/// The opening; what arrives of it is charged until it is whole.
fn receive_opening(channel: &mut Channel, shared: &ServerState) -> Result<OpenRequest, ConversationEnd> {
    channel.charge_unfinished(shared.sessions.openings())?;
    let open = OpenRequest::decode(channel.receive()?)?;
    channel.release_unfinished();
    Ok(open)
}
