//! The published JSON Schemas, generated from the types.

use schemars::{JsonSchema, Schema, schema_for};

use crate::collective::CollectiveRun;
use crate::comparison::Comparison;
use crate::event::Event;
use crate::extrapolation::Extrapolation;
use crate::figures::FigureComparison;
use crate::inventory::Inventory;
use crate::noise::Noise;
use crate::observation::DiagnosisDocument;
use crate::plan::Plan;
use crate::sim_profile::SimProfile;
use crate::summary::Summary;

/// A schema with the name under which it is published.
#[derive(Debug, Clone)]
pub struct PublishedSchema {
    /// File name without ending.
    pub name: &'static str,
    /// The schema.
    pub schema: Schema,
}

/// The schemas of every document in a record or `--json`, sorted by name.
#[must_use]
pub fn published() -> Vec<PublishedSchema> {
    vec![
        published_schema::<CollectiveRun>("narrows.collective.1"),
        published_schema::<Comparison>("narrows.comparison.1"),
        published_schema::<DiagnosisDocument>("narrows.diagnosis.1"),
        published_schema::<Event>("narrows.event.1"),
        published_schema::<Extrapolation>("narrows.extrapolation.1"),
        published_schema::<FigureComparison>("narrows.figures.1"),
        published_schema::<Inventory>("narrows.inventory.1"),
        published_schema::<Noise>("narrows.noise.1"),
        published_schema::<Plan>("narrows.plan.1"),
        published_schema::<SimProfile>("narrows.sim-profile.1"),
        published_schema::<Summary>("narrows.summary.1"),
    ]
}

fn published_schema<T: JsonSchema>(name: &'static str) -> PublishedSchema {
    PublishedSchema { name, schema: schema_for!(T) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_schema_requires_its_verdict() {
        let summary = published().into_iter().find(|s| s.name == "narrows.summary.1").unwrap();
        let required = summary.schema.as_value()["required"].as_array().unwrap().clone();
        assert!(required.iter().any(|key| key == "diagnosis"));
    }
}
