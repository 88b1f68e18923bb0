//! NFS and iSCSI over loopback: beside a minimal program over libnfs, `iscsi-perf` and `qemu-img bench`.

use super::PerfFigure;
use crate::perf::bench::{Bench, MEASURE_S};
use crate::perf::contest::{Contender, run_rounds};
use crate::perf::estimate::ratios;
use crate::perf::finding::{PerfFinding, PerfFindings, PerfTarget};
use crate::perf::parse;
use crate::perf::servers::{ISCSI_URL, MOUNT_PORT, NFS_PORT, NamespaceServer, ganesha, tgt};
use crate::perf::study::PerfLoad;
use crate::process::is_installed;
use std::path::PathBuf;
use std::process::Command;

pub(super) const NFS: PerfFigure = PerfFigure {
    name: "protocols-nfs",
    what: "NFSv3 reads and writes of 4 and 128 KiB, depth 1 and 32, over loopback: beside a minimal program over libnfs",
    measure: nfs,
};

pub(super) const ISCSI: PerfFigure = PerfFigure {
    name: "protocols-iscsi",
    what: "iSCSI reads of 4 and 64 KiB, depth 1, 8 and 32, over loopback: beside iscsi-perf and qemu-img bench",
    measure: iscsi,
};

/// Bytes of the file and of the unit: all of it is in the server's memory.
const FILE_BYTES: u64 = 64 << 20;
const FILE: &str = "64MiB";
/// The source of the program over libnfs.
const LIBNFS_LOOP: &str = include_str!("../peers/libnfs_loop.c");
/// Least rate over that of libnfs and of iscsi-perf, and over that of qemu-img.
const OVER_LIBRARY: PerfTarget = PerfTarget::AtLeast(1.2);
const OVER_QEMU: PerfTarget = PerfTarget::AtLeast(1.0);

/// A block as a study and as a program has it.
struct Block {
    text: &'static str,
    bytes: u64,
}

const KIB_4: Block = Block { text: "4KiB", bytes: 4 << 10 };
const KIB_64: Block = Block { text: "64KiB", bytes: 64 << 10 };
const KIB_128: Block = Block { text: "128KiB", bytes: 128 << 10 };

fn nfs(bench: &Bench) -> anyhow::Result<PerfFindings> {
    let export = match Bench::place_in_memory()? {
        Ok(folder) => folder,
        Err(why) => return Ok(missing(why)),
    };
    let server = match ganesha(bench, export.path())? {
        Ok(server) => server,
        Err(why) => return Ok(missing(why)),
    };
    let peer = match libnfs_loop(bench)? {
        Ok(peer) => peer,
        Err(why) => return Ok(missing(why)),
    };
    let mut all = PerfFindings::default();
    for op in ["read", "write"] {
        for block in [KIB_4, KIB_128] {
            for depth in [1, 32] {
                let label = format!("NFS {op} {}, depth {depth}", block.text);
                let target = format!("nfs://127.0.0.1:{NFS_PORT}/data?mountport={MOUNT_PORT}");
                let load = PerfLoad {
                    op,
                    block: block.text,
                    file: Some(FILE),
                    depth,
                    ..PerfLoad::random_reads(target)
                };
                let url = format!(
                    "nfs://127.0.0.1/data/libnfs-file?version=3&nfsport={NFS_PORT}&mountport={MOUNT_PORT}"
                );
                let words = [
                    url,
                    op.to_owned(),
                    block.bytes.to_string(),
                    depth.to_string(),
                    MEASURE_S.to_string(),
                    FILE_BYTES.to_string(),
                ];
                let mut contenders = [
                    Contender::new("narrows", || narrows(bench, &server, &load)),
                    Contender::new("libnfs", || {
                        let mut command = server.beside(Command::new(&peer).args(&words));
                        parse::bare(bench.turn("libnfs", &mut command)?.printed(&[0])?, "ops_per_s")
                    }),
                ];
                let rates = run_rounds(bench.rounds, &mut contenders)?;
                all.findings.extend(compared(&label, &rates, &[("libnfs", OVER_LIBRARY)])?);
            }
        }
    }
    Ok(all)
}

fn iscsi(bench: &Bench) -> anyhow::Result<PerfFindings> {
    let store = match Bench::place_in_memory()? {
        Ok(folder) => folder,
        Err(why) => return Ok(missing(why)),
    };
    let server = match tgt(bench, store.path(), FILE_BYTES)? {
        Ok(server) => server,
        Err(why) => return Ok(missing(why)),
    };
    let mut all = PerfFindings::default();
    let peers: Vec<(&'static str, PerfTarget, IscsiPeer)> = [
        ("iscsi-perf", OVER_LIBRARY, iscsi_perf as IscsiPeer, "libiscsi-bin"),
        ("qemu-img", OVER_QEMU, qemu_img, "qemu-utils qemu-block-extra"),
    ]
    .into_iter()
    .filter_map(|(name, target, turn, package)| {
        if is_installed(name) {
            return Some((name, target, turn));
        }
        all.missing
            .push(format!("{name} is not installed, so nothing is compared with it (apt install {package})"));
        None
    })
    .collect();
    for block in [KIB_4, KIB_64] {
        for depth in [1, 8, 32] {
            let label = format!("iSCSI read {}, depth {depth}", block.text);
            let load = PerfLoad {
                block: block.text,
                order: "sequential",
                depth,
                ..PerfLoad::random_reads(ISCSI_URL)
            };
            let (server, block) = (&server, &block);
            let mut contenders = vec![Contender::new("narrows", || narrows(bench, server, &load))];
            for (name, _, turn) in &peers {
                contenders.push(Contender::new(name, move || turn(bench, server, block, depth)));
            }
            let rates = run_rounds(bench.rounds, &mut contenders)?;
            let named: Vec<(&str, PerfTarget)> =
                peers.iter().map(|(name, target, _)| (*name, *target)).collect();
            all.findings.extend(compared(&label, &rates, &named)?);
        }
    }
    Ok(all)
}

type IscsiPeer = fn(&Bench, &NamespaceServer, &Block, u32) -> anyhow::Result<f64>;

/// Reads a second of iscsi-perf, which counts them in the order of the unit.
fn iscsi_perf(bench: &Bench, server: &NamespaceServer, block: &Block, depth: u32) -> anyhow::Result<f64> {
    let (blocks, depth, seconds) =
        ((block.bytes / 512).to_string(), depth.to_string(), MEASURE_S.to_string());
    let mut command = Command::new("iscsi-perf");
    command.args(["-m", &depth, "-b", &blocks, "-t", &seconds, ISCSI_URL]);
    parse::iscsi_perf_ops_per_s(bench.turn("iscsi-perf", &mut server.beside(&command))?.printed(&[0])?)
}

/// Reads a second of qemu-img, which is given a count and reports the time.
fn qemu_img(bench: &Bench, server: &NamespaceServer, block: &Block, depth: u32) -> anyhow::Result<f64> {
    // Some seconds at the rates of a loopback.
    let count: u32 = if block.bytes > KIB_4.bytes { 15_000 } else { 40_000 };
    let (requests, depth, bytes) = (count.to_string(), depth.to_string(), block.bytes.to_string());
    let mut command = Command::new("qemu-img");
    command
        .args(["bench", "-f", "raw", "-t", "none", "-c", &requests, "-d", &depth, "-s", &bytes, ISCSI_URL]);
    let seconds =
        parse::qemu_img_seconds(bench.turn("qemu-img", &mut server.beside(&command))?.printed(&[0])?)?;
    Ok(f64::from(count) / seconds)
}

/// Operations a second of narrows beside the server.
fn narrows(bench: &Bench, server: &NamespaceServer, load: &PerfLoad) -> anyhow::Result<f64> {
    let command = bench.study_command("narrows", load)?;
    bench.ops_per_s_of(&mut server.beside(&command))
}

/// The program over libnfs, built; or the reason why there is none.
fn libnfs_loop(bench: &Bench) -> anyhow::Result<Result<PathBuf, String>> {
    let (source, program) = (bench.place("libnfs_loop.c"), bench.place("libnfs_loop"));
    std::fs::write(&source, LIBNFS_LOOP)?;
    let built = Command::new("cc").arg("-O2").arg("-o").arg(&program).arg(&source).arg("-lnfs").output();
    Ok(match built {
        Ok(output) if output.status.success() => Ok(program),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
            Err(format!(
                "the program over libnfs is not built, so nothing is compared with it (apt install libnfs-dev): {said}"
            ))
        }
        Err(error) => Err(format!("cc cannot be started, so nothing is compared with libnfs: {error}")),
    })
}

fn missing(why: String) -> PerfFindings {
    PerfFindings { findings: Vec::new(), missing: vec![why] }
}

/// The rates of narrows and of its `peers` under one load, and the ratios to each of them.
pub(super) fn compared(
    label: &str,
    rates: &[Vec<f64>],
    peers: &[(&str, PerfTarget)],
) -> anyhow::Result<Vec<PerfFinding>> {
    let of = |what: &str, unit, values, target| {
        PerfFinding::from_values(format!("{label}: {what}"), unit, values, target)
    };
    let mut found = vec![of("narrows", "op/s", rates[0].clone(), PerfTarget::None)?];
    for ((name, target), theirs) in peers.iter().zip(&rates[1..]) {
        found.push(of(name, "op/s", theirs.clone(), PerfTarget::None)?);
        found.push(of(&format!("over {name}"), "x", ratios(&rates[0], theirs), *target)?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_has_the_rate_of_each_and_a_ratio_to_each_peer() {
        let rates = [vec![120.0, 240.0], vec![100.0, 100.0]];
        let found = compared("NFS read", &rates, &[("libnfs", OVER_LIBRARY)]).expect("finite rates");
        let names: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
        assert_eq!(names, ["NFS read: narrows", "NFS read: libnfs", "NFS read: over libnfs"]);
        assert_eq!(found[2].values, [1.2, 2.4]);
    }
}
