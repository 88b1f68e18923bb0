//! Verified loads through the whole program: on files and at an endpoint, and what is reported about wrong data.

use crate::support::{Seen, run};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Child;

/// The summary in the record below `folder`.
fn summary(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("record/summary.json")).unwrap()).unwrap()
}

fn study(folder: &Path, text: &str) -> Seen {
    fs::write(folder.join("study.toml"), text).unwrap();
    run(folder, &["run", "study.toml", "--out", "record", "--seed", "7", "--quiet"])
}

fn verifications(folder: &Path) -> Vec<Value> {
    let summary = summary(folder);
    let cells = summary["cells"].as_array().unwrap();
    cells.iter().filter(|cell| cell["cut"] == "path").map(|cell| cell["verification"].clone()).collect()
}

/// Fails unless all that was read under the study `text` was what had been written.
#[track_caller]
fn assert_whole(found: &Value, text: &str) {
    for wrong in ["mismatch_count", "wrong_bytes", "unread_bytes", "undecided_bytes"] {
        assert_eq!(found[wrong], 0, "{wrong}: {found}\n{text}");
    }
    assert!(found["checked_bytes"].as_u64().unwrap() > 0, "{found}");
}

/// A server whose store is in `folder`, and where it listens.
fn serve(folder: &Path) -> (crate::support::Guarded, String) {
    let root = tempfile::tempdir_in(folder).unwrap().keep();
    let mut child: Child = std::process::Command::new(env!("CARGO_BIN_EXE_narrows"))
        .args(["serve", "--listen", "127.0.0.1:0", "--root", root.to_str().unwrap()])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line)
        .unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
    (crate::support::Guarded(child), address)
}

/// Half reads, half writes, at random, in three block sizes.
const LOAD: &str = "ops = { read = 1, write = 1 }\nblock = \"16KiB\"\nfile = \"2MiB\"\n\
                    order = \"random_with_replacement\"\nverify = true\n";

#[test]
fn whole_data_passes_on_every_engine_and_at_both_layers_of_an_endpoint() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, address) = serve(folder.path());
    let targets = format!(
        "[\"{}\"]",
        [".", "memory", "disk"]
            .map(|layer| match layer {
                "." => ".".to_owned(),
                layer => format!("tcp://{address}/{layer}"),
            })
            .join("\", \"")
    );
    let studies = [
        (
            format!(
                "target = \".\"\ncuts = []\n[workload]\n{LOAD}[stop]\nops = 400\n[sweep]\nengine = [\"psync\", \"mmap\", \"uring\"]\nworkers = [1, 3]\n"
            ),
            6,
        ),
        (
            format!(
                "target = \".\"\ncuts = []\n[workload]\n{LOAD}engine = \"uring\"\ndepth = 16\nbatch = 4\n[stop]\nops = 400\n[sweep]\naccess = [\"buffered\", \"direct\"]\n"
            ),
            2,
        ),
        (format!("target = {targets}\ncuts = []\n[workload]\n{LOAD}clients = 2\n[stop]\nops = 400\n"), 3),
        (
            format!(
                "target = \"tcp://{address}/memory\"\ncuts = []\n[workload]\n{LOAD}depth = 16\nworkers = 2\n[stop]\nops = 400\ntrials = 2\n"
            ),
            1,
        ),
    ];
    for (text, cells) in studies {
        let seen = study(folder.path(), &text);
        seen.assert_said(0, &[]);
        assert!(
            seen.stdout.contains("VERIFIED DATA") && seen.stdout.contains("(verified)"),
            "{}",
            seen.stdout
        );
        let found = verifications(folder.path());
        assert_eq!(found.len(), cells, "{text}");
        for found in found {
            assert_whole(&found, &text);
            assert!(found["read_back_bytes"].as_u64().unwrap() >= 2 << 20, "{found}");
        }
        fs::remove_dir_all(folder.path().join("record")).unwrap();
    }
}

#[test]
fn what_one_connection_has_acknowledged_is_read_over_all_others_of_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, address) = serve(folder.path());
    let load = LOAD.replace("16KiB", "64KiB").replace("2MiB", "4MiB");
    for (clients, workers) in [(1, 2), (1, 8), (2, 2)] {
        let text = format!(
            "target = \"tcp://{address}/disk\"\ncuts = []\n[workload]\n{load}depth = 16\nworkers = {workers}\nclients = {clients}\n[stop]\nops = 6000\n"
        );
        let seen = study(folder.path(), &text);
        seen.assert_said(0, &[]);
        assert_whole(&verifications(folder.path())[0], &text);
        fs::remove_dir_all(folder.path().join("record")).unwrap();
    }
}

#[test]
fn whole_data_passes_over_stripes_of_folders_and_of_servers() {
    let folder = tempfile::tempdir().unwrap();
    let servers = [serve(folder.path()), serve(folder.path())];
    for name in ["a", "b", "c"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let [one, other] = &servers;
    let targets = [
        ("stripe:a,b,c?unit=4KiB".to_owned(), "engine = \"uring\"\n"),
        (format!("stripe:tcp://{}/memory,tcp://{}/memory?unit=4KiB", one.1, other.1), "clients = 2\n"),
    ];
    for (target, more) in targets {
        // Blocks of three units and a half: every request meets several members.
        let load = LOAD.replace("16KiB", "14KiB");
        let text = format!(
            "target = \"{target}\"\ncuts = []\n[workload]\n{load}{more}depth = 8\n[stop]\nops = 400\n"
        );
        let seen = study(folder.path(), &text);
        seen.assert_said(0, &[]);
        assert_whole(&verifications(folder.path())[0], &text);
        fs::remove_dir_all(folder.path().join("record")).unwrap();
    }
}

/// The files that narrows makes in a folder of its own below `folder`.
fn data_file(folder: &Path) -> Option<PathBuf> {
    let folders = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    folders.map(|folder| folder.join("data-0")).find(|file| file.exists())
}

#[test]
fn data_that_turns_to_zeros_while_it_is_read_ends_with_code_4_and_says_which_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let text = "target = \".\"\ncuts = []\n[workload]\nverify = true\nfile = \"1MiB\"\n[stop]\nops = 3000\n";
    let path = folder.path().to_owned();
    let load = std::thread::spawn(move || study(&path, text));
    while !load.is_finished() {
        // The file is there from its preparation to the end of the run, and may go between two calls.
        if let Some(file) = data_file(folder.path())
            && let Ok(file) = fs::File::options().write(true).open(file)
            && file.metadata().is_ok_and(|status| status.len() == 1 << 20)
        {
            drop(file.write_all_at(&[0; 512], 512 * 3));
        }
        std::thread::yield_now();
    }
    let seen = load.join().unwrap();
    assert_eq!(seen.code, Some(4), "{seen:?}");
    assert!(seen.stdout.starts_with("WRONG DATA: "), "{}", seen.stdout);
    let flat = seen.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "data-0, bytes 1536 to 2047",
        "zeros; expected seed",
        "generation 0",
        "found no label",
        "(data_mismatch)",
    ] {
        assert!(flat.contains(words), "{words}: {}", seen.stdout);
    }
    let reported = summary(folder.path());
    let cell = &reported["cells"][0];
    assert!(cell["flags"].as_array().unwrap().contains(&"data_mismatch".into()), "{cell}");
    assert_eq!(
        (&cell["errors"][0]["errno"], &cell["errors"][0]["op"]),
        (&"DATA_MISMATCH".into(), &"read".into())
    );
    assert_eq!(reported["doubts"][0]["code"], "data_mismatch");
    let mismatch = &cell["verification"]["mismatches"][0];
    assert_eq!((&mismatch["kind"], &mismatch["offset_bytes"]), (&"zeros".into(), &1536.into()));
    assert!(cell["verification"]["mismatches"].as_array().unwrap().len() <= 8);
    let again = run(folder.path(), &["diagnose", "record"]);
    assert_eq!((again.code, &again.stdout), (seen.code, &seen.stdout));
}

/// Passes everything on to `server` and flips one bit of each answer's byte of this number.
fn flipping_proxy(server: String, at_byte: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        // Ends with the test's process.
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(&server).unwrap());
            let (to, from) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || pass_on(from, to, usize::MAX));
            std::thread::spawn(move || pass_on(server, client, at_byte));
        }
    });
    address
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, at_byte: usize) {
    let (mut buffer, mut passed) = (vec![0; 64 << 10], 0);
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if (passed..passed + length).contains(&at_byte) {
            buffer[at_byte - passed] ^= 1;
        }
        passed += length;
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    drop(to.shutdown(Shutdown::Write));
}

#[test]
fn a_bit_that_is_flipped_between_server_and_client_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, address) = serve(folder.path());
    // Answers are a header of 16 bytes and a block of 64 KiB: this offset is well inside a block, whatever the
    // greeting.
    let proxy = flipping_proxy(address, 30 * (16 + (64 << 10)) + 30_000);
    let text = format!(
        "target = \"tcp://{proxy}/memory\"\ncuts = []\n[workload]\nverify = true\nblock = \"64KiB\"\nfile = \"4MiB\"\n\
         depth = 8\n[stop]\nops = 200\n"
    );
    let seen = study(folder.path(), &text);
    assert_eq!(seen.code, Some(4), "{seen:?}");
    let found = &verifications(folder.path())[0];
    assert_eq!((&found["mismatch_count"], &found["wrong_bytes"]), (&1.into(), &512.into()), "{found}");
    let mismatch = &found["mismatches"][0];
    let seen_as = (&mismatch["kind"], &mismatch["wrong_bit_count"], &mismatch["length_bytes"]);
    assert_eq!(seen_as, (&"altered".into(), &1.into(), &1.into()), "{mismatch}");
    // Nothing was wrong at the server: read back, it is whole.
    assert_eq!((&mismatch["in_read_back"], &found["read_back_bytes"]), (&false.into(), &(4 << 20).into()));
}
