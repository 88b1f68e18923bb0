//! Importers against any bytes: real outputs that were damaged never panic, and what is accepted can be read again. And
//! files that are no output at all are refused with what to do.

use crate::outputs;
use narrows_suites::IMPORTERS;
use narrows_suites::import::{Import, ImportOptions, TEXT_BYTES_MAX, import, importer};
use proptest::prelude::*;

/// The observation file of an import.
fn text_of(made: &Import) -> String {
    narrows_record::observations_text(&made.observations, &made.comments())
}

/// What a read gives is an observation file, or a problem with a place and a hint.
fn check(bytes: &[u8], name: Option<&str>) -> Result<(), String> {
    let completion = ImportOptions::default();
    match import(bytes, "damaged", name.and_then(importer), &completion) {
        Ok(made) => {
            let text = text_of(&made);
            let again = narrows_study::observations::parse(&text, "again");
            again.map(|_| ()).map_err(|problems| format!("{problems}\n{text}"))
        }
        Err(problems) if problems.list.is_empty() => Err("refused without a problem".to_owned()),
        Err(problems) => {
            let silent =
                problems.list.iter().any(|one| one.hint.is_empty() || one.found.is_empty() || one.line == 0);
            if silent { Err(format!("{problems}")) } else { Ok(()) }
        }
    }
}

fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let place = any::<prop::sample::Index>();
    let byte = prop_oneof![any::<u8>(), prop::sample::select(b"0123456789-+,.:<>\"()= \n\teE%".to_vec())];
    let changes = prop::collection::vec((place.clone(), byte, 0..4_u8), 0..12);
    (prop::sample::select(outputs::all()), changes, place, any::<bool>()).prop_map(
        |(output, changes, end, cut)| {
            let mut bytes = output.bytes;
            for (place, byte, how) in changes {
                let at = place.index(bytes.len());
                match how {
                    0 => bytes[at] = byte,
                    1 => bytes.insert(at, byte),
                    2 => {
                        bytes.remove(at);
                    }
                    _ => {
                        let rest = bytes.split_off(at);
                        bytes.extend(rest.iter().rev().take(40));
                        bytes.extend(rest);
                    }
                }
            }
            if cut {
                bytes.truncate(end.index(bytes.len()));
            }
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_outputs_are_read_or_refused_with_a_hint(bytes in damaged()) {
        check(&bytes, None).map_err(TestCaseError::fail)?;
        for one in IMPORTERS {
            check(&bytes, Some(one.name)).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        check(&bytes, None).map_err(TestCaseError::fail)?;
        for one in IMPORTERS {
            check(&bytes, Some(one.name)).map_err(TestCaseError::fail)?;
        }
    }
}

fn refusal(bytes: &[u8], name: Option<&str>) -> String {
    import(bytes, "file", name.and_then(importer), &ImportOptions::default()).unwrap_err().render()
}

#[test]
fn every_output_is_found_by_its_looks() {
    for output in outputs::all() {
        let made = import(&output.bytes, &output.name, None, &ImportOptions::default())
            .unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(made.format, output.format, "{}", output.name);
        check(&output.bytes, Some(output.format)).unwrap();
    }
}

#[test]
fn the_wrong_format_is_reported_with_the_one_that_it_looks_like() {
    let message = refusal(include_bytes!("../data/postmark_long.txt"), Some("bonnie"));
    assert!(
        message.contains("looks like output of PostMark") && message.contains("narrows import postmark FILE"),
        "{message}"
    );
    let fio = refusal(b"{\n  \"fio version\" : \"fio-3.33\",\n", None);
    assert!(fio.contains("looks like output of fio") && fio.contains("docs/guide/observations.md"), "{fio}");
    let toml = refusal(b"schema = \"narrows.observations/1\"\n", None);
    assert!(toml.contains("narrows diagnose FILE.toml"), "{toml}");
    let vmstat = b"procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 1  0      0 23389264  50016 1105324    0    0 17407 16900 1175 5198 45 13 38  4  0
 1  0      0 23389264  50016 1105324    0    0     0     0   77   90  1  0 100  0  0
";
    let vmstat = refusal(vmstat, None);
    assert!(vmstat.contains("a text in no known format"), "as many figures as IOPerf's: {vmstat}");
    let prose = refusal(b"It was a dark and stormy night.\n", None);
    assert!(
        prose.contains("a text in no known format") && prose.contains("postmark, iozone, bonnie, ioperf"),
        "{prose}"
    );
}

#[test]
fn what_is_no_text_is_refused_with_what_to_do() {
    for (bytes, message) in [
        (&b""[..], "an empty file"),
        (b" \n\t\n", "an empty file"),
        (b"\x7fELF\x02\x01\0\0", "a binary file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "a binary spreadsheet"),
        (b"\x1f\x8b\x08", "decompress it"),
    ] {
        assert!(refusal(bytes, None).contains(message), "{message}");
    }
    assert!(refusal(&vec![b'x'; TEXT_BYTES_MAX + 1], None).contains("more than 4194304 bytes"));
}

#[test]
fn bytes_of_another_encoding_do_not_hinder_the_figures() {
    let mut bytes = b"m\xfcnchen".to_vec();
    bytes.extend_from_slice(b",10G,38476,95,49354,14,23415,5,35808,72,63971,5,557.3,0,16,3113,99,+++++,+++,+++++,+++,3138,99,+++++,+++,9620,100\n");
    let made = import(&bytes, "file", None, &ImportOptions::default()).unwrap();
    assert_eq!(made.observations.observations.len(), 12);
    assert!(made.remarks.iter().any(|remark| remark.contains("not UTF-8")));
}
