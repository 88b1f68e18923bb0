//! Regimes in order of weight, and one entry where both directions of a regime agree.

use super::rank::{Named, Ranked};
use crate::view::{RegimeKind, reads};
use narrows_model::Limiting;

/// The limiting list: bulk first, then the other kinds; directions that name the same segments become one entry.
pub(crate) fn limiting(ranked: &[Ranked<'_>]) -> Vec<Limiting> {
    let mut entries = Vec::new();
    for kind in RegimeKind::ALL {
        let of_kind: Vec<&Ranked<'_>> = ranked.iter().filter(|ranked| ranked.regime.kind == kind).collect();
        match of_kind.as_slice() {
            [first, second] if kind != RegimeKind::Files && agree(first, second) => {
                entries.extend(joined(first, second));
            }
            each => entries.extend(each.iter().flat_map(|ranked| single(ranked))),
        }
    }
    entries
}

/// Whether two directions name the same segments at the same settings.
fn agree(first: &Ranked<'_>, second: &Ranked<'_>) -> bool {
    let settings =
        |ranked: &Ranked<'_>| (ranked.regime.cell.block_bytes, ranked.regime.cell.in_flight.configured);
    let names = |ranked: &Ranked<'_>| {
        ranked.named.iter().map(|n| (n.segment, n.relation, n.scope)).collect::<Vec<_>>()
    };
    settings(first) == settings(second) && names(first) == names(second)
}

fn single(ranked: &Ranked<'_>) -> Vec<Limiting> {
    ranked.named.iter().map(|named| entry(named, ranked.regime.name())).collect()
}

/// One entry for both directions: the lower confidence, the evidence of both, the gain that both have.
fn joined(first: &Ranked<'_>, second: &Ranked<'_>) -> Vec<Limiting> {
    let regime = first.regime.name_for("read and write");
    let label = |ranked: &Ranked<'_>| if reads(ranked.regime.cell.op) { "read" } else { "write" };
    first
        .named
        .iter()
        .zip(&second.named)
        .map(|(a, b)| {
            let mut joined = entry(a, regime.clone());
            joined.confidence = a.confidence.min(b.confidence);
            joined.relief_gain_ratio = a.relief_gain_ratio.zip(b.relief_gain_ratio).map(|(a, b)| a.min(b));
            joined.codes.extend(b.codes.iter().filter(|code| !a.codes.contains(code)).cloned());
            for evidence in &mut joined.evidence {
                evidence.text = format!("{}: {}", label(first), evidence.text);
            }
            joined.evidence.extend(b.evidence.iter().cloned().map(|mut evidence| {
                evidence.text = format!("{}: {}", label(second), evidence.text);
                evidence
            }));
            joined
        })
        .collect()
}

fn entry(named: &Named, regime: String) -> Limiting {
    Limiting {
        segment: named.segment,
        confidence: named.confidence,
        relation: named.relation,
        scope: named.scope.map(str::to_owned),
        regime,
        codes: named.codes.clone(),
        evidence: named.evidence.clone(),
        relief_gain_ratio: named.relief_gain_ratio,
    }
}
