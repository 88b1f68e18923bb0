//! The binary `narrows-mpi`: the command line of `narrows`, whose clients are the ranks of an MPI job.
//!
//! Rank 0 runs the command; all others serve it. Not here: the command line, which is the library's of `narrows`.

mod calls;
mod collective;
mod constants;
mod engine;
mod failure;
mod file;
mod gathered;
mod handshake;
mod hints;
mod identity;
mod message;
mod messenger;
mod own_client;
mod polling;
mod ranks;
mod raw;
mod tree;
mod view;

use collective::CollectiveEnd;
use engine::MpiioFactory;
use handshake::MpiJob;
use messenger::{MessengerHandle, Start};
use narrows::{RankJob, Setup};
use narrows_model::EngineId;
use narrows_run::client_process::ClientOrder;
use own_client::OwnClient;
use ranks::RankCoordinator;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Exit code of bad input, as of `narrows`.
const BAD_INPUT: u8 = 2;
/// Exit code where something could not be run, as of `narrows`.
const COULD_NOT_RUN: u8 = 3;

fn main() -> ExitCode {
    if let Err(error) = narrows_sys::process::report_oversized_files_as_errors() {
        return fail(&error.to_string(), COULD_NOT_RUN);
    }
    // As this process was started: the MPI library sets variables of launchers too.
    let _ = narrows::launched_rank();
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    // Of several ranks, what ends the job is for the command of rank 0, which asks all others to stop. The threads of the
    // library start with what is blocked here. A suite of collective calls has no such command: a signal ends it.
    if !collective::is_wanted(&words)
        && let Err(error) = narrows_sys::signals::block_ending_signals()
    {
        return fail(&error.to_string(), COULD_NOT_RUN);
    }
    let (joined, job) = channel();
    let (orders, inbox) = channel();
    let messenger = match MessengerHandle::start(words, joined, OwnClient::new(orders)) {
        Ok(messenger) => messenger,
        Err(problem) => return fail(&problem, COULD_NOT_RUN),
    };
    let (job, io_ranks) = match job.recv() {
        Ok(Ok(Start::Job(job, io_ranks))) => (job, io_ranks),
        Ok(Ok(Start::Ended(end))) => {
            messenger.join();
            return show(&end);
        }
        Ok(Err(refusal)) => {
            messenger.join();
            // The launcher kills all ranks once one has ended with a code: that is for the one which has something to say.
            return refusal.message.map_or(ExitCode::SUCCESS, |message| fail(&message, refusal.code));
        }
        Err(_) => return fail("the thread that makes the calls of MPI has ended", COULD_NOT_RUN),
    };
    let setup = Setup::default().with_engine(EngineId::Mpiio, Arc::new(MpiioFactory::new(io_ranks)));
    if job.rank > 0 {
        return serve(&setup, messenger, inbox);
    }
    if let Err(error) = narrows_sys::signals::receive_ending_signals() {
        let code = fail(&error.to_string(), COULD_NOT_RUN);
        messenger.abort(COULD_NOT_RUN);
        return code;
    }
    if job.ranks.len() < 2 {
        let code = narrows::main_with(&setup);
        messenger.finish();
        return code;
    }
    lead(setup, messenger, inbox, job)
}

/// The life of rank 0: the command, with a client of its own beside it.
fn lead(setup: Setup, messenger: MessengerHandle, inbox: Receiver<ClientOrder>, job: MpiJob) -> ExitCode {
    let coordinator = Arc::new(RankCoordinator::new(messenger.sender(), &job.ranks, job.places));
    let setup = setup.with_job(RankJob { ranks: job.ranks, coordinator: Arc::clone(&coordinator) as _ });
    if let Err(problem) = own_client::start(setup.clone(), inbox, messenger.sender()) {
        let code = fail(&problem, COULD_NOT_RUN);
        messenger.abort(COULD_NOT_RUN);
        return code;
    }
    let code = narrows::main_with(&setup);
    if coordinator.has_lost() {
        // The others may wait for the lost one in a call that does not return.
        messenger.abort(COULD_NOT_RUN);
        return ExitCode::from(COULD_NOT_RUN);
    }
    messenger.finish();
    code
}

/// The life of any other rank, which ends once rank 0 asks it to; the launcher kills those that do not end.
fn serve(setup: &Setup, messenger: MessengerHandle, inbox: Receiver<ClientOrder>) -> ExitCode {
    let served = own_client::serve(setup, inbox, messenger.sender());
    messenger.join();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => fail(&problem, COULD_NOT_RUN),
    }
}

/// Prints what a suite ended with.
fn show(end: &CollectiveEnd) -> ExitCode {
    use std::io::Write as _;
    // Nobody reads what cannot be written.
    drop(std::io::stdout().lock().write_all(end.output.as_bytes()));
    match &end.problem {
        Some(problem) => fail(problem, end.code),
        // As for refusals.
        None if end.output.is_empty() => ExitCode::SUCCESS,
        None => ExitCode::from(end.code),
    }
}

/// Prints why this rank cannot go on.
fn fail(problem: &str, code: u8) -> ExitCode {
    #[allow(clippy::print_stderr, reason = "there is no command yet that could print")]
    {
        eprintln!("narrows: {}", narrows_model::printable::lines(problem));
    }
    ExitCode::from(code)
}
