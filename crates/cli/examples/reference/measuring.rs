//! What measures: engines, from their registry, and cuts, from the published schema of a plan.

use crate::markdown::{code, head, properties, section, table};
use narrows_model::engine::{DirectAccess, EngineDeclaration};
use narrows_model::{Cut, EngineId};
use serde_json::Value;

/// The page of engines.
pub(crate) fn engines() -> String {
    let lists =
        "What issues requests of one kind, the targets that each serves, and what \"complete\" means there.";
    let mut page = head("Engines", lists, "the declarations in `narrows_model::engine`");
    for (name, engine) in narrows_engines::registry::descriptions() {
        let mut entries = vec![
            ("what it does", engine.title.to_owned()),
            ("targets", engine.targets.to_owned()),
            ("complete means", engine.completion.to_owned()),
            ("advises the kernel", engine.advice.to_owned()),
            ("example", code(engine.example)),
            ("rests on", engine.source.to_owned()),
        ];
        if let Some(declared) = EngineId::from_name(name).map(EngineId::declaration) {
            entries.extend(limits(declared));
        }
        page.push_str(&section(name, &properties(&entries)));
    }
    page
}

/// What an engine declares beside its description.
fn limits(declared: &EngineDeclaration) -> Vec<(&'static str, String)> {
    let ops: Vec<&str> = declared.ops.iter().map(|op| op.name()).collect();
    let direct = match declared.direct {
        DirectAccess::Yes => "yes".to_owned(),
        DirectAccess::ByTarget => "where the target grants it".to_owned(),
        DirectAccess::Skipped(reason) | DirectAccess::Refused(reason) => format!("no: {reason}"),
    };
    let mut entries = vec![
        ("operations", ops.join(", ")),
        ("in flight", format!("{} at most for each worker", declared.queue_depth_max)),
        ("direct access", direct),
    ];
    if let Some(program) = declared.only_in {
        entries.push(("only in", code(program)));
    }
    if let Some(table) = &declared.options {
        let names: Vec<String> = table.options.iter().map(|option| code(option.name)).collect();
        entries.push(("options", format!("{} in `[workload.{}]`", names.join(", "), table.name)));
    }
    entries
}

/// The page of cuts.
pub(crate) fn cuts() -> String {
    let lists = "A cut measures the path up to one layer only, with the block size and the requests in flight of the \
                 path. Its name is the first part of a cell's name.";
    let mut page = head("Cuts", lists, "the type `narrows_model::Cut`");
    let rows = variants().into_iter().map(|(cut, definition)| {
        let segment = cut
            .segment()
            .map_or_else(|| "none: it is what the others are held against".to_owned(), |s| code(s.id()));
        [code(cut.name()), definition, segment]
    });
    page.push('\n');
    page.push_str(&table(["cut", "what requests pass through", "ceiling of"], rows));
    page
}

/// Every cut with the sentence that defines it.
fn variants() -> Vec<(Cut, String)> {
    let published = narrows_record::schemas::published();
    let schemas = published.iter().filter_map(|schema| serde_json::to_value(&schema.schema).ok());
    let listed =
        schemas.filter_map(|schema| schema.pointer("/$defs/Cut/oneOf").and_then(Value::as_array).cloned());
    let variants = listed.into_iter().next().unwrap_or_default();
    variants
        .iter()
        .filter_map(|variant| {
            let cut = serde_json::from_value(variant.get("const")?.clone()).ok()?;
            Some((cut, variant.get("description")?.as_str()?.to_owned()))
        })
        .collect()
}
