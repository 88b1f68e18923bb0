//! Each configuration as a study: its text, from a request.
//!
//! Not here: how its cells end, which a study cannot say and the plan does.

use super::label::Label;
use super::request::Request;
use narrows_model::target::Stripe;
use narrows_model::workload::Acknowledgement;
use narrows_model::{EngineId, Layer, Target};
use narrows_study::{Problem, Study, parse, quoted};

/// The study of each configuration.
#[derive(Debug, Clone)]
pub struct Studies {
    pub(super) each: Vec<(Label, Study)>,
}

impl Studies {
    /// Those of `request`.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn new(request: &Request) -> Result<Self, Vec<Problem>> {
        let problems = request.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        let study = |label: &Label| {
            let target = target(request, *label)?;
            let text = text(request, *label, &target);
            let parsed = parse(&text, &format!("suite jovian {label}"));
            parsed.map(|study| (*label, study)).map_err(|problems| {
                vec![Problem::new("labels", label.to_string(), "what can be measured", problems.render())]
            })
        };
        request.labels.iter().map(study).collect::<Result<_, _>>().map(|each| Self { each })
    }

    /// Every target that is loaded, cuts included; those of the most servers first.
    #[must_use]
    pub fn targets(&self) -> Vec<Target> {
        let mut targets: Vec<Target> = Vec::new();
        for target in self.each.iter().flat_map(|(_, study)| study.targets()) {
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        targets.sort_by_key(|target| std::cmp::Reverse(target.members().len()));
        targets
    }

    /// What has to be known of each of them.
    #[must_use]
    pub fn wanted(&self) -> Vec<(Target, Option<EngineId>)> {
        self.each.iter().flat_map(|(_, study)| study.wanted()).collect()
    }
}

/// The targets of the clients of a configuration.
fn target(request: &Request, label: Label) -> Result<Target, Vec<Problem>> {
    let members: Vec<Target> = match label {
        Label::Local => request.disks.clone(),
        other => request
            .endpoints
            .iter()
            .take(request.endpoint_count(other) as usize)
            .map(|(host, port)| Target::Tcp {
                host: host.clone(),
                port: *port,
                layer: Layer::Disk,
                via: None,
            })
            .collect(),
    };
    match <[Target; 1]>::try_from(members) {
        Ok([only]) => Ok(only),
        Err(members) => {
            Stripe::new(members, request.unit, request.peer_depth).map(Target::Stripe).map_err(|why| {
                vec![Problem::new("servers", why, "servers that differ", "name each of them once")]
            })
        }
    }
}

/// The study of one configuration.
fn text(request: &Request, label: Label, target: &Target) -> String {
    let local = label == Label::Local;
    let late = request.acknowledgement == Acknowledgement::Late;
    let cuts = match (request.cut_ns, local) {
        (None, _) => "",
        (Some(_), true) => "\"local_device\"",
        (Some(_), false) => "\"network_stream\", \"server_storage\"",
    };
    // One request after the other is what a synchronous engine does.
    let depth = match (local, request.engine) {
        (true, None | Some(EngineId::Psync)) => 1,
        _ => request.depth,
    };
    let mut lines = vec![
        format!("target = {}", quoted(&target.to_string())),
        "seconds = 604800".to_owned(),
        "cell_order = \"as_written\"".to_owned(),
        format!("cuts = [{cuts}]"),
        "[workload]".to_owned(),
        format!("block = {}", request.request_bytes(label).0),
        format!("file = {}", request.client_bytes().0),
        format!("depth = {depth}"),
        format!("clients = {}", label.clients()),
    ];
    if local {
        lines.extend(request.engine.map(|engine| format!("engine = \"{}\"", engine.name())));
    }
    lines.extend(late.then(|| {
        let key = if local { "sync = \"dsync\"" } else { "acknowledgement = \"late\"" };
        key.to_owned()
    }));
    lines.extend([
        "[sweep]".to_owned(),
        "op = [\"write\", \"read\"]".to_owned(),
        "[stop]".to_owned(),
        "measure = \"1s\"".to_owned(),
        format!("trials = {}", request.trials),
    ]);
    lines.join("\n") + "\n"
}
