//! `narrows proxy`: forwards connections until it is asked to stop.

use crate::args::ProxyArguments;
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use crate::signals::{self, Interrupt};
use crate::token;
use narrows_endpoint::{Proxy, ProxyOptions, ProxyTotals, ServeErrorKind};
use narrows_engines::MonotonicClock;
use narrows_model::units::round_to_u64;
use narrows_run::StopFlag;
use std::sync::Arc;

/// Runs the command.
pub(crate) fn run(arguments: &ProxyArguments, console: &Console) -> Result<Exit, CommandFailure> {
    let stop = StopFlag::default();
    signals::install_handlers(&stop, Interrupt::Now, |_| {})?;
    let journal = console.clone();
    let options = ProxyOptions {
        mode: arguments.mode.into(),
        buffer: arguments.buffer,
        no_delay: arguments.no_delay,
        send_buffer: arguments.send_buffer,
        receive_buffer: arguments.receive_buffer,
        connections_max: arguments.max_connections,
        idle_ns_max: Some(round_to_u64(arguments.idle_seconds * 1e9)),
        token: token::read(arguments.token_file.as_deref())?,
        open: arguments.open,
        journal: Arc::new(move |line| journal.say(&format!("narrows proxy: {line}"))),
        ..ProxyOptions::new(arguments.listen, arguments.to.as_str(), Arc::new(MonotonicClock::new()))
    };
    let proxy = Proxy::bind(options, stop).map_err(|error| match error.kind {
        ServeErrorKind::Options => CommandFailure::bad_input(error.to_string()),
        _ => CommandFailure::could_not_run(error.to_string()),
    })?;
    for notice in proxy.notices() {
        console.say(&format!("narrows proxy: {notice}"));
    }
    signals::end_preparation();
    console.result(&format!("listening on {}\n", proxy.local_address()))?;
    let totals = proxy.run().map_err(|error| CommandFailure::could_not_run(error.to_string()))?;
    console.say(&format_totals(totals));
    Ok(Exit::Done)
}

fn format_totals(totals: ProxyTotals) -> String {
    let ProxyTotals { connection_count, upstream_bytes: there_bytes, downstream_bytes: back_bytes } = totals;
    format!(
        "narrows proxy: {connection_count} connections, {there_bytes} bytes there, {back_bytes} bytes back"
    )
}
