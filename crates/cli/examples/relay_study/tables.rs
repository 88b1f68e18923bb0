//! The page's tables, in markdown, from the rows of both files.

use crate::fits;
use crate::rows::Row;
use narrows_model::observation::PerCall;
use narrows_model::relay::RelaySweep;
use narrows_model::units::ratio;

/// Each part of the page by the name of its markers.
pub(crate) fn parts(published: &[Row], measured: &[Row]) -> Vec<(&'static str, String)> {
    vec![
        ("per call", per_call(published, measured)),
        ("breaks", breaks(published, measured)),
        ("client against both", client_against_both(published, measured)),
        ("sweeps", sweeps(published, measured)),
    ]
}

/// T = a + b n of every sweep, and the ratio of the costs of a call.
fn per_call(published: &[Row], measured: &[Row]) -> String {
    let head =
        ["sweep", "published a, s", "published b, us", "2026 a, ms", "2026 b, us", "b, published / 2026"];
    let lines = RelaySweep::ALL.map(|sweep| {
        let (then, now) = (fits::of(published, sweep), fits::of(measured, sweep));
        let a = |fit: &Option<PerCall>, scale: f64| told(fit.as_ref().map(|fit| fit.fixed_s * scale), 2);
        let b = |fit: &Option<PerCall>, digits: usize| match fit {
            Some(fit @ PerCall { call_s, call_s_interval: Some([low, high]), .. }) => {
                let interval = format!("{:.digits$} to {:.digits$}", low * 1e6, high * 1e6);
                format!("{:.digits$} ({interval}){}", call_s * 1e6, left_out(fit))
            }
            fit => told(fit.as_ref().map(|fit| fit.call_s * 1e6), digits),
        };
        let faster = then.as_ref().zip(now.as_ref()).and_then(|(then, now)| ratio(then.call_s, now.call_s));
        vec![sweep.name().to_owned(), a(&then, 1.0), b(&then, 1), a(&now, 1e3), b(&now, 2), told(faster, 0)]
    });
    table(&head, &lines)
}

/// The mark of a line from which points were removed: how many of how many.
fn left_out(fit: &PerCall) -> String {
    let removed = fit.breaks.len() + fit.excluded.len();
    let all = fit.observations.len() + removed;
    if removed == 0 { String::new() } else { format!(", without {removed} of {all}") }
}

/// Points that the count of calls does not explain.
fn breaks(published: &[Row], measured: &[Row]) -> String {
    let lines = RelaySweep::ALL.map(|sweep| {
        let of = |rows: &[Row]| match fits::of(rows, sweep) {
            None => "no line".to_owned(),
            Some(fit) if fit.breaks.is_empty() => "none".to_owned(),
            Some(fit) => {
                let each = fit.breaks.iter().map(|found| {
                    let cpu = found.cpu_ratio.map_or_else(String::new, |cpu| format!(", CPU at {cpu:.2}"));
                    format!("{}: {:.2}{cpu}", found.observation, found.elapsed_ratio)
                });
                each.collect::<Vec<_>>().join("; ")
            }
        };
        vec![sweep.name().to_owned(), of(published), of(measured)]
    });
    table(&["sweep", "published", "2026"], &lines)
}

/// The time with the client's buffer alone shrunk over that with both shrunk.
fn client_against_both(published: &[Row], measured: &[Row]) -> String {
    let sizes = published.iter().filter(|row| row.sweep == RelaySweep::Client).map(Row::shrunk_bytes);
    let lines: Vec<Vec<String>> = sizes
        .map(|size| {
            let share = |rows: &[Row]| {
                let of = |sweep| rows.iter().find(|row| row.sweep == sweep && row.shrunk_bytes() == size);
                ratio(of(RelaySweep::Client)?.elapsed_s, of(RelaySweep::Both)?.elapsed_s)
            };
            vec![size.to_string(), told(share(published), 2), told(share(measured), 2)]
        })
        .collect();
    table(&["buffer, bytes", "published", "2026"], &lines)
}

/// A table for each sweep.
fn sweeps(published: &[Row], measured: &[Row]) -> String {
    let each = RelaySweep::ALL.map(|sweep| {
        let nodes = if sweep.has_proxy() { "three nodes" } else { "two nodes" };
        format!("### {}: {nodes}\n\n{}", sweep.name(), rates(sweep, published, measured))
    });
    each.join("\n")
}

fn rates(sweep: RelaySweep, published: &[Row], measured: &[Row]) -> String {
    let mut head = vec![
        "buffer",
        "published KiB/s",
        "2026 KiB/s",
        "2026 +-",
        "published share",
        "2026 share",
        "published joined",
        "2026 joined",
    ];
    if sweep.has_proxy() {
        head.extend(["published proxy CPU", "2026 CPU c/p/s"]);
    } else {
        head.push("2026 CPU c/s");
    }
    let of =
        |rows: &'_ [Row]| -> Vec<Row> { rows.iter().filter(|row| row.sweep == sweep).cloned().collect() };
    let (then, now) = (of(published), of(measured));
    let share = |rows: &[Row], row: &Row| {
        rows.first().and_then(|first| ratio(row.rate_kib_per_s, first.rate_kib_per_s))
    };
    let lines: Vec<Vec<String>> = then
        .iter()
        .zip(&now)
        .map(|(old, new)| {
            let spread = new.own.as_ref().and_then(|own| own.half_width_ratio);
            let mut fields = vec![
                old.shrunk_bytes().to_string(),
                format!("{:.0}", old.rate_kib_per_s),
                format!("{:.0}", new.rate_kib_per_s),
                spread.map_or_else(dash, |spread| format!("{:.0} %", spread * 100.0)),
                told(share(&then, old), 3),
                told(share(&now, new), 3),
                told(joined(old), 2),
                told(joined(new), 2),
            ];
            if sweep.has_proxy() {
                fields.push(told(proxy_cpu(old), 2));
            }
            fields.push(cpus(new));
            fields
        })
        .collect();
    table(&head, &lines)
}

/// The client's writes over the server's reads.
fn joined(row: &Row) -> Option<f64> {
    let writes = narrows_model::relay::PUBLISHED_TOTAL.as_f64() / row.buffers[0].map(|bytes| bytes as f64)?;
    ratio(writes, row.server_read_count? as f64)
}

fn proxy_cpu(row: &Row) -> Option<f64> {
    ratio(row.proxy_user_s? + row.proxy_system_s?, row.elapsed_s)
}

fn cpus(row: &Row) -> String {
    let ratios = row.own.as_ref().map(|own| own.cpu_ratios).unwrap_or_default();
    let each: Vec<String> = ratios.into_iter().flatten().map(|ratio| format!("{ratio:.2}")).collect();
    if each.is_empty() { dash() } else { each.join(" / ") }
}

fn told(number: Option<f64>, digits: usize) -> String {
    number.map_or_else(dash, |number| format!("{number:.digits$}"))
}

fn dash() -> String {
    "-".to_owned()
}

fn table(head: &[&str], lines: &[Vec<String>]) -> String {
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    let body = lines.iter().map(|line| format!("| {} |\n", line.join(" | ")));
    std::iter::once(format!("| {} |\n{rule}", head.join(" | "))).chain(body).collect()
}
