//! `narrows import`: published and printed outputs become observation files that `narrows diagnose` evaluates; anything
//! else is refused with exit code 2 and what to do.

use crate::support::{run, strangers_folder};
use std::fs;
use std::path::{Path, PathBuf};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../suites/tests/data")
}

#[test]
fn the_published_tables_of_ioperf_give_their_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rhic.toml");
    let words = [
        "import",
        "auto",
        "ioperf_star_2002.csv",
        "--network",
        "12MiB/s",
        "--local=server-local",
        "--block",
        "8KiB",
        "--claim",
        "9*1024/47 = 215",
        "--source",
        "RHIC Computing Facility, 2002",
        "--out",
        out.to_str().unwrap(),
    ];
    let seen = run(&data(), &words);
    seen.assert_said(0, &["51 of 54 rows obey", "15 of 15 columns", "narrows diagnose"]);
    assert!(seen.stdout.is_empty(), "{}", seen.stdout);
    let verdict = run(folder.path(), &["diagnose", "rhic.toml", "--detail"]);
    verdict.assert_said(0, &[]);
    let unwrapped = verdict.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "47-clients <rcas6*> fwrite",
        "the server machine",
        "the storage device",
        "the client's cache",
        "not 215",
        "40 % to 72 % of the 101 Mbit/s",
    ] {
        assert!(unwrapped.contains(part), "{part}: {}", verdict.stdout);
    }
    let again = run(&data(), &words);
    again.assert_said(2, &["exists and is not overwritten"]);
}

#[test]
fn without_out_the_file_goes_to_stdout_and_the_remarks_to_stderr() {
    for (file, expected) in [
        ("bonnie_pvfs2_bgl_2005.csv", "rewrite is 84 %"),
        ("bonnie_2.00.txt", "too fast to time"),
        ("postmark_long.txt", "printed sums and rates are correct"),
        ("iozone_auto.txt", "memory was exhausted there"),
    ] {
        let seen = run(&data(), &["import", "auto", file, "--memory", "5GiB"]);
        seen.assert_said(0, &[expected]);
        assert!(seen.stdout.contains("schema = \"narrows.observations/1\""), "{file}");
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x.toml"), &seen.stdout).unwrap();
        run(folder.path(), &["diagnose", "x.toml"]).assert_said(0, &[]);
    }
}

#[test]
fn one_device_of_several_becomes_ceilings() {
    let seen = run(&data(), &["import", "bonnie", "bonnie_pvfs2_bgl_2005.csv", "--as-device", "12"]);
    seen.assert_said(0, &["0 observations and 2 ceilings", "add the [[observation]]s"]);
    assert_eq!(seen.stdout.matches("count = 12").count(), 2, "{}", seen.stdout);
}

#[test]
fn what_is_no_such_output_is_refused_with_exit_code_2_and_what_to_do() {
    let folder = strangers_folder();
    let files: [(&str, &[u8], &str); 5] = [
        ("empty", b"", "an empty file"),
        ("binary", b"\x7fELF\0\0\0", "a binary file"),
        ("prose", b"It was a dark and stormy night.\n", "a text in no known format"),
        ("torn", b"fs2,10G,38476,95,49354,14,23415,5,35808,72,63971,5,557.3\n", "27 (version 1.03)"),
        (
            "odd",
            b"KB/sec RealKB/sec CPU%\nh 400000 -1 2 50 1 2 50 1 2 50 1 2 50 1 2 50\n",
            "odd:2:10: found `-1`",
        ),
    ];
    for (name, bytes, expected) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
        let seen = run(folder.path(), &["import", "auto", name]);
        seen.assert_said(2, &[expected, "hint: "]);
        assert!(seen.stdout.is_empty());
    }
    let wrong = data().join("postmark_long.txt");
    let seen = run(folder.path(), &["import", "ioperf", wrong.to_str().unwrap()]);
    seen.assert_said(2, &["looks like output of PostMark", "narrows import postmark FILE"]);
    run(folder.path(), &["import", "auto", "nowhere"]).assert_said(2, &["nowhere", "or - for stdin"]);
    run(folder.path(), &["import", "spreadsheet", "empty"]).assert_said(2, &["possible values: auto"]);
    let file = data().join("bonnie_pvfs2_bgl_2005.csv");
    let claim = ["import", "auto", file.to_str().unwrap(), "--claim", "nine/47 = 215"];
    run(folder.path(), &claim).assert_said(2, &["claim.left"]);
}
