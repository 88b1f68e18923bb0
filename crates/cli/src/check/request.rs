//! From what was typed and found to a plan.

use super::resolved_target::{ResolvedTarget, ResolvedTargetKind};
use super::server::CheckServer;
use crate::args::{CheckArguments, CheckOp};
use crate::exit::CommandFailure;
use narrows_engines::{Clock, EngineFactory};
use narrows_model::capabilities::Capabilities;
use narrows_model::{Bytes, Op, Plan, Target};
use narrows_study::{CheckRequest, EngineFacts, Problem, plan_check, redirect_files, redirect_targets};
use std::sync::Arc;

/// The plan of what was asked for.
///
/// # Errors
/// All problems of the request at once.
pub(crate) fn plan(
    arguments: &CheckArguments,
    resolved: &ResolvedTarget,
    server: Option<&CheckServer>,
    seed: u64,
    clock: &Arc<dyn Clock>,
) -> Result<Plan, CommandFailure> {
    let mut request = request(arguments, resolved, server, seed);
    if let Some(server) = server.filter(|_| arguments.target.via().is_some()) {
        request.past_the_proxy = server.past_the_proxy(&arguments.target, clock);
    }
    let mut plan = plan_check(&request).map_err(|problems| refuse(&problems))?;
    if let (Some(own), Target::File { path }) = (resolved.own_folder(), &arguments.target) {
        redirect_files(&mut plan, &|planned| (planned == path).then(|| own.to_path_buf()));
    }
    redirect_targets(&mut plan, &|target| resolved.led_into_own(target));
    Ok(plan)
}

fn request(
    arguments: &CheckArguments,
    resolved: &ResolvedTarget,
    server: Option<&CheckServer>,
    seed: u64,
) -> CheckRequest {
    let facts = resolved.inventory();
    let mut request = CheckRequest::new(arguments.target.clone());
    request.budget_s = arguments.seconds;
    request.trials = arguments.trials;
    request.seed = seed;
    if let Some(seconds) = arguments.cell_seconds {
        request.cell_seconds = seconds;
    }
    request.blocks = some_unless_empty(&arguments.block);
    request.depths = some_unless_empty(&arguments.depth);
    request.ops = some_unless_empty(&arguments.op).map(|ops| ops.into_iter().map(op).collect());
    request.max_bytes_per_s = arguments.max_rate.map(|rate| rate.0);
    request.deep = arguments.deep;
    request.path_kind = facts.path.as_ref().map(|path| path.kind);
    request.export = resolved.export();
    request.memory_bytes = facts.host.usable_memory();
    request.free_bytes =
        facts.path.as_ref().and_then(|path| path.free_bytes).or(resolved.exported_free_bytes());
    if let ResolvedTargetKind::File { length } = resolved.kind() {
        request.existing_file = Some(*length);
    }
    if let Some(unit) = resolved.unit() {
        request.existing_file = unit.read_length();
        request.read_only_reason = unit.read_only_reason();
    }
    request.engines.path = path_capabilities(resolved, &arguments.target);
    if let Some(server) = server {
        request.server = server.as_planned();
        request.free_bytes = min_of(request.free_bytes, server.free_bytes());
        request.engines = EngineFacts {
            path: request.engines.path,
            server_memory: server.capabilities(narrows_model::Layer::Memory),
            server_disk: server.capabilities(narrows_model::Layer::Disk),
        };
    }
    request
}

fn path_capabilities(resolved: &ResolvedTarget, target: &Target) -> Option<Capabilities> {
    let target = resolved.own_file().map_or_else(|| target.clone(), |path| Target::File { path });
    let factory = crate::registry::registry().factory(&target, None).ok()?;
    EngineFactory::capabilities(factory.as_ref(), &target).ok()
}

fn some_unless_empty<T: Clone>(list: &[T]) -> Option<Vec<T>> {
    (!list.is_empty()).then(|| list.to_vec())
}

fn op(op: CheckOp) -> Op {
    match op {
        CheckOp::Read => Op::Read,
        CheckOp::Write => Op::Write,
    }
}

fn min_of(a: Option<Bytes>, b: Option<Bytes>) -> Option<Bytes> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn refuse(problems: &[Problem]) -> CommandFailure {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    CommandFailure::bad_input(format!("this check cannot be planned:\n  {}", lines.join("\n  ")))
}
