//! Where a place in a JSON text is.

use super::*;
use proptest::prelude::*;

#[test]
fn a_wrong_value_is_found_through_objects_and_arrays() {
    let text = "{\"a\": 1,\n \"cells\": [{\"op\": 1}, {\"op\": {\"x\": 7}}]}";
    let column = text.lines().nth(1).unwrap().find('7').unwrap() + 1;
    assert_eq!(key_at(text, 2, column).as_deref(), Some("cells[1].op.x"));
}

#[test]
fn brackets_and_colons_inside_strings_do_not_count() {
    let text = r#"{"a": "]}:{[", "b\"": 5}"#;
    assert_eq!(key_at(text, 1, text.find('5').unwrap() + 1).as_deref(), Some("b\""));
}

#[test]
fn the_top_level_has_no_key() {
    assert_eq!(key_at("17", 1, 2), None);
    assert_eq!(key_at("", 0, 0), None);
}

proptest! {
    #[test]
    fn any_place_of_any_text_is_answered(text in ".{0,80}", line in 0_usize..5, column in 0_usize..200) {
        let _ = key_at(&text, line, column);
    }
}
